"""Finds the addresses in a text, and writes them so that equal addresses are equal strings.

An address is compared as browsers read it: case of scheme and host, default ports, other scripts in host names,
percent-encoding and a final slash make no difference; scheme, path, query and fragment do. What such a string looks
like is private to this module: `address_key` makes it of every address that is compared.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from urllib.parse import SplitResult, quote, urlsplit

from gleaner.addresses import MAX_ADDRESS_CHARS

TRAILING = ".,:;!?*_~')}"  # after a URL these belong to the sentence
# An address begins here, also within another one; where it ends is open to doubt.
_START = re.compile(r"(?:(?:https?|ftp)://|mailto:|(?<![^\W_])www\.)(?=[^\s<>|\"`\\\x00])", re.IGNORECASE)
_RUN = re.compile(rf"[^\s<>|\"`\\\x00]{{1,{MAX_ADDRESS_CHARS}}}")
_AUTHORITY = re.compile(r"(?:[a-z]+:(?://)?(?:\[[0-9a-f:.]*\])?|www\.)[^/?#]*", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z]+:(?://)?", re.IGNORECASE)
_PREFIX = re.compile(r"(?:[a-z]+:(?://)?(?:\[[0-9a-f:.]*\])?|www\.)", re.IGNORECASE)
# Where an address may end although no white space follows: before punctuation and text of scripts without spaces.
_PUNCTUATION = re.compile("[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65‘’“”«»…।॥،؛؟]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_BRACKET = re.compile(r"[\[\]]")
_PARENTHESIS = re.compile(r"[()]")

_E_MAIL = re.compile(r"(?<![\w.%+-])[\w.%+'-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)")
_UNREADABLE = re.compile(r"[\x00-\x20\x7f\\<>\"`]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
# Python follows IDNA 2003, which maps these to other letters. Browsers do not, and reach another host.
_DEVIATIONS = re.compile("[ßẞς\u200c\u200d]")


def collect_addresses(markdown: Iterable[str]) -> frozenset[str]:
    """Collect the keys of all addresses in some texts, e-mail addresses among them."""
    keys: set[str] = set()
    for text in markdown:
        for start in _START.finditer(text):
            run = _RUN.match(text, start.start())
            for address in cut_run(run[0]) if run else ():
                keys.update(_equivalents(address_key(address)))
        for e_mail in _E_MAIL.finditer(text):
            keys.update(_equivalents(address_key(f"mailto:{e_mail[0]}")))
    return frozenset(keys)


def extract_addresses(markdown: str) -> tuple[str, frozenset[str]]:
    """Return a text with the host in place of each address, and the keys of the addresses."""
    keys: set[str] = set()
    parts: list[str] = []
    end = 0
    for start in _START.finditer(markdown):
        run = _RUN.match(markdown, start.start())
        if start.start() < end or not run:
            continue
        address = _trim(run[0])
        key = address_key(address)
        if key:
            keys.add(key)
            parts += [markdown[end : start.start()], f" {_read_host(address)} "]
            end = start.start() + len(address)
    return "".join((*parts, markdown[end:])), frozenset(keys)


def cut_run(run: str) -> list[str]:
    """Return what may be the address at the start of a run of characters without white space, longest first."""
    prefix, authority = _PREFIX.match(run), _AUTHORITY.match(run)
    starts = (prefix.end() if prefix else 0, authority.end() if authority else 0)
    ends = {len(run)}
    for pattern in (_PUNCTUATION, _NOT_ASCII, _BRACKET):
        ends.update(match.start() for start in starts if (match := pattern.search(run, start)))
    cuts = {run[:end] for end in ends}
    cuts.update([_cut_parenthesis(cut) for cut in cuts])
    cuts.update([cut.rstrip(TRAILING) for cut in cuts])
    return sorted(filter(None, cuts), key=len, reverse=True)


def address_key(address: str) -> str | None:
    """Return the string that all spellings of an address share; None for what nobody may link to.

    That is a relative address, one of another scheme than http, https, ftp and mailto, and one with a user name.
    """
    plain = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), address)
    if len(address) > MAX_ADDRESS_CHARS or _UNREADABLE.search(plain):
        return None
    has_scheme = plain[:4].lower() != "www."
    try:
        parts = urlsplit(plain if has_scheme else f"//{plain}")
        if parts.scheme == "mailto":
            return _mail_key(parts)
        if (has_scheme and parts.scheme not in _DEFAULT_PORTS) or "@" in parts.netloc:
            return None
        authority = _authority_key(parts)
    except ValueError:  # no port, no host in brackets, or no host of IDNA
        return None
    if not authority:
        return None
    scheme = f"{parts.scheme}:" if has_scheme else ""
    path = _normalize(parts.path).removesuffix("/")
    query = f"?{_normalize(parts.query)}" if parts.query else ""
    fragment = f"#{_normalize(parts.fragment)}" if parts.fragment else ""
    return f"{scheme}//{authority}{path}{query}{fragment}"


def _mail_key(parts: SplitResult) -> str | None:
    name, sign, host = parts.path.rpartition("@")
    query = f"?{_normalize(parts.query)}" if parts.query else ""
    return f"mailto:{_normalize(name)}@{host.lower()}{query}" if sign and name and host else None


def _authority_key(parts: SplitResult) -> str:
    host = (parts.hostname or "").removesuffix(".")
    if "%" in host:
        return ""
    if not host.isascii() and not _DEVIATIONS.search(host):
        host = host.encode("idna").decode()
    host = f"[{host}]" if ":" in host else host.lower()
    is_default = parts.port in (None, _DEFAULT_PORTS.get(parts.scheme or "http"))
    return host if is_default or not host else f"{host}:{parts.port}"


def _normalize(part: str) -> str:
    """Normalise percent-encoding (RFC 3986, section 6.2.2) and encode other scripts (RFC 3987, section 3.1)."""
    return _NOT_ASCII.sub(lambda run: quote(run[0]), _ESCAPE.sub(_normalize_escape, part))


def _normalize_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()


def _equivalents(key: str | None) -> Iterator[str]:
    """Yield the keys under which an address may be linked to: without its fragment, and `www.` without a scheme."""
    if key is None:
        return
    for address in {key, key.partition("#")[0]}:
        yield address
        if address.startswith("//"):
            yield from (f"http:{address}", f"https:{address}")
        elif "://www." in address:
            yield address.partition(":")[2]


def _read_host(address: str) -> str:
    authority = _AUTHORITY.match(address)
    return _SCHEME.sub("", authority[0]) if authority else ""


def _trim(run: str) -> str:
    """Return the address at the start of a run as readers would take it."""
    authority = _AUTHORITY.match(run)
    end = _PUNCTUATION.search(run, authority.end() if authority else 0)
    return _cut_parenthesis(run[: end.start()] if end else run).rstrip(TRAILING)


def _cut_parenthesis(run: str) -> str:
    """Cut before the first parenthesis that closes none of the run's own."""
    depth = 0
    for parenthesis in _PARENTHESIS.finditer(run):
        depth += 1 if parenthesis[0] == "(" else -1
        if depth < 0:
            return run[: parenthesis.start()]
    return run
