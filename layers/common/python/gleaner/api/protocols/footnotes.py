"""A list of sources at the end of an answer, for clients that show no citations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gleaner.guards.answer_text import AllowedLinks, remove_foreign_links

# Whatever could begin or end something in Markdown. A backslash before it makes it a plain character.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#!|~&$]")
_ESCAPED = r"\\\g<0>"
# What makes code, in which an address would be left as it is.
_CODE = re.compile(r"`|^~~~+")
_SPACES = re.compile(r"\s+")
# In the angle brackets of a target; what else a URL may not hold has no place there either.
_UNSAFE_IN_TARGET = re.compile(r"[\s<>\\\x00-\x1f]")
_MAX_TITLE = 200  # characters
_FOOTNOTES = re.compile(r"\n\n---\n\n(?:- \[(?:kb|web)-\d+\] [^\n]*(?:\n|\Z))+\Z")


@dataclass(frozen=True, slots=True)
class Footnote:
    """A source: the id of its mark, its title, and the address at which it is read, if there is one."""

    id: str
    title: str
    url: str | None


def list_footnotes(sources: Iterable[Footnote]) -> str:
    """What follows an answer: a line for each source, as Markdown that says no words of any language; maybe nothing."""
    lines = [f"- [{source.id}] {_link(source)}" for source in sources]
    return "\n\n---\n\n" + "\n".join(lines) if lines else ""


def cut_footnotes(answer: str) -> str:
    """An answer without its list of sources, which a client sends back with the conversation."""
    return _FOOTNOTES.sub("", answer)


def _link(source: Footnote) -> str:
    # Titles of web pages are written by anybody: none may become a link, an image or an element.
    words = _SPACES.sub(" ", source.title).strip()[:_MAX_TITLE] or source.id
    if source.url is None:  # nor may an address in one
        plain = _SPACES.sub(" ", _CODE.sub(" ", words)).strip() or source.id
        return _SPECIAL.sub(_ESCAPED, remove_foreign_links(plain, AllowedLinks.of(())))
    title = _SPECIAL.sub(_ESCAPED, words)
    target = _UNSAFE_IN_TARGET.sub(lambda char: "".join(f"%{byte:02X}" for byte in char[0].encode()), source.url)
    return f"[{title}](<{target}>)"
