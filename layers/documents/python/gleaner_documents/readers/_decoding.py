"""Decodes bytes as UTF-8, as UTF-16 with a byte order mark, or as an HTML file declares; never guesses."""

from __future__ import annotations

import codecs

from gleaner_documents.model import NotText

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(source_file_path: str, data: bytes, *, declared: str | None = None) -> str:
    """The text of `data`, with line ends as "\\n".

    Raises NotText for binary data, and for text that is not in the encoding of its byte order mark, `declared` or
    UTF-8.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None and b"\0" in data:
        raise NotText(source_file_path, "is a binary file, not text")
    try:
        text = _decode_as(data, encoding, declared)
    except UnicodeDecodeError as error:
        raise NotText(
            source_file_path,
            f"is not {error.encoding.upper()} text (byte {error.start}); save it as UTF-8",
        ) from error
    if "\0" in text:
        raise NotText(source_file_path, "is a binary file, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode_as(data: bytes, bom_encoding: str | None, declared: str | None) -> str:
    if bom_encoding:
        return data.decode(bom_encoding)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if not declared:
            raise
        try:
            return data.decode(declared)
        except LookupError:  # unknown encoding: the UTF-8 error says what to do
            pass
        raise
