"""Bytes to text: UTF-8, or UTF-16 with a byte order mark, or what an HTML file declares; never a guess."""

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

    Raises NotText for binary data and for text in another encoding than its mark, `declared` or UTF-8.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None and b"\0" in data:
        raise NotText(source_file_path, "is a binary file, not text")
    try:
        text = _decoded(data, encoding, declared)
    except UnicodeDecodeError as error:
        raise NotText(
            source_file_path,
            f"is not {error.encoding.upper()} text (byte {error.start}); save it as UTF-8",
        ) from error
    if "\0" in text:
        raise NotText(source_file_path, "is a binary file, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, marked: str | None, declared: str | None) -> str:
    if marked:
        return data.decode(marked)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if not declared:
            raise
        try:
            return data.decode(declared)
        except LookupError:  # an encoding that does not exist: the UTF-8 error says what to do
            pass
        raise
