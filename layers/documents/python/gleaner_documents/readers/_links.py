"""Writes the links of a document in Markdown, so that an address is kept beside the words that it stands behind."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urljoin, urlsplit

from gleaner.addresses import MAX_ADDRESS_CHARS

_WEB = ("http", "https")
_SCHEMES = (*_WEB, "ftp", "mailto")
# Browsers ignore these in addresses: "java\nscript:" runs (https://url.spec.whatwg.org/#concept-basic-url-parser).
_IGNORED = re.compile("[\t\n\r]")
# What ends an address in Markdown or a table, or is invisible.
_ENDS_ADDRESS = re.compile('[\\s<>"`|\\\\\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')
_PARENTHESES = re.compile(r"[()]")
_SINGLE_PARENTHESES = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_WRITTEN_LINK = re.compile(r"\[([^\[\]]+)\]\((?:[^()\s]|\([^()\s]*\))+\)|<((?:https?|ftp)://[^<>\s]+)>")
_SCHEME_AND_WWW = re.compile(r"(?:(?:https?|ftp)://|mailto:)?(?:www\.)?", re.IGNORECASE)


def link_text(text: str, address: str, base_url: str | None) -> str:
    """The words of a link with its address, in Markdown: `[text](address)`, or `<address>` if both say the same.

    An e-mail address that is its own text stays bare. A relative address is resolved against `base_url`. Only the text
    stays where there is no such base, and where the address is none that people follow: a fragment of the page, a
    script, data, or an address with a password. Without text there is nothing to read, so nothing is returned.
    """
    words = " ".join(text.split())
    absolute = _resolve(address, base_url) if words else None
    if absolute is None:
        return words
    if _say_the_same(words, absolute):
        return absolute.partition(":")[2] if absolute.startswith("mailto:") else f"<{absolute}>"
    if "[" in words or "]" in words:  # in the brackets of a link some readers would take them for its end
        return f"{words} <{absolute}>"
    return f"[{words}]({absolute})"


def address_after(text: str, address: str) -> str:
    """What stands after the words of a link where they are not marked: ` <address>`, unless they are the address."""
    absolute = _resolve(address, None)
    return "" if absolute is None or _say_the_same(text, absolute) else f" <{absolute}>"


def without_addresses(text: str) -> str:
    """`text` with the words of its links alone."""
    return _WRITTEN_LINK.sub(lambda link: link[1] or link[2], text)


def _resolve(address: str, base_url: str | None) -> str | None:
    """The absolute address as it can stand in Markdown; None if only the text of the link is to stay."""
    plain = _IGNORED.sub("", address).strip()
    if not plain or plain.startswith("#"):
        return None
    try:
        absolute = plain if urlsplit(plain).scheme else urljoin(base_url or "", plain)
        parts = urlsplit(absolute)
        if not _is_followed(parts):
            return None
    except ValueError:  # no port, or no address in brackets
        return None
    written = _ENDS_ADDRESS.sub(_encode, absolute)
    if not _SINGLE_PARENTHESES.fullmatch(written):
        written = _PARENTHESES.sub(_encode, written)
    written = parts.scheme + written[len(parts.scheme) :]
    return written if len(written) <= MAX_ADDRESS_CHARS else None


def _is_followed(parts: SplitResult) -> bool:
    """Whether people follow such an address: of a known kind, with a host and without a name or password."""
    if parts.scheme not in _SCHEMES:
        return False
    if parts.scheme == "mailto":
        return "@" in parts.path
    _ = parts.port  # raises ValueError
    return bool(parts.hostname) and "@" not in parts.netloc


def _encode(character: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in character[0].encode())


def _say_the_same(words: str, address: str) -> bool:
    """Whether the text of a link is its address, with or without scheme, `www.` and final slash."""
    return _shorten(words) == _shorten(address)


def _shorten(address: str) -> str:
    return _SCHEME_AND_WWW.sub("", address, count=1).rstrip("/").casefold()
