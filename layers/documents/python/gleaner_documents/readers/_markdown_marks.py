"""Inline rules for marks in text: keys, insertions and highlights, Critic Markup, emoji, abbreviations, macros."""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

MAX_MARK_CHARS = 500

# Critic Markup: an insertion stays, a deletion and a comment go.
_CRITIC = re.compile(r"\{\+\+(.*?)\+\+\}|\{--.*?--\}|\{~~.*?~>(.*?)~~\}|\{>>.*?<<\}|\{==(.*?)==\}", re.DOTALL)
_EMOJI = re.compile(r":([a-z][a-z0-9_+-]{0,60}):(?![\w:])(?:\{[^{}]*\})?")
_EMOJI_SIGNS = {"check": "✓", "x": "✗", "close": "✗", "cross": "✗"}
_HIGHLIGHT = re.compile(r"==(?=[^\s=])(.+?)(?<=[^\s=])==(?!=)", re.DOTALL)
_SUPERSCRIPT = re.compile(r"\^([^\s^\[\]]{1,20})\^")
# Between letters only: GitHub takes a single tilde around words for a deletion.
_SUBSCRIPT = re.compile(r"~([^\s~]{1,20})~(?!~)")
_ABBREVIATION = re.compile(r"\*\[([^\[\]\n]{1,100})\]:[ \t]*")
_INSERTION = re.compile(r"\^\^(?=[^\s^])(.+?)(?<=[^\s^])\^\^(?!\^)", re.DOTALL)
# PyMdown's keys, `++ctrl+alt+del++`; C++ has no name after its signs.
_KEYS = re.compile(r"\+\+([a-z0-9][\w-]*(?:\+[\w-]+)*)\+\+(?!\+)", re.IGNORECASE)
# Comments that Material for MkDocs shows: `<!-- md:version 9.6.0 -->`. The others show a badge without a value.
MACRO = re.compile(r"<!--[ \t]*md:(\w+)(?:[ \t]+([^\n]*?))?[ \t]*-->")
_SHOWN_MACROS = {"version": "", "setting": "", "option": "", "default": "Default: "}


def add_mark_rules(renderer: MarkdownIt) -> None:
    """Add the rules before that of emphasis, and that of macros before that of HTML."""
    ruler = renderer.inline.ruler
    for name, rule in (
        ("critic", _critic),
        ("highlight", _highlight),
        ("insertion", _insertion),
        ("superscript", _superscript),
        ("subscript", _subscript),
        ("keys", _keys),
        ("emoji", _emoji),
        ("abbreviation", _abbreviation),
    ):
        ruler.before("emphasis", name, rule)
    ruler.before("html_inline", "macro", _macro)


def write(state: StateInline, text: str, end: int, silent: bool) -> bool:
    """Replace what stands before `end` by `text`."""
    if not silent and text:
        state.append_pending(text)
    state.pos = end
    return True


def parse_inside(state: StateInline, start: int, end: int, after: int, silent: bool) -> bool:
    """Read the characters from `start` to `end` as Markdown and go on at `after`."""
    if not silent:
        maximum = state.posMax
        state.pos, state.posMax = start, end
        state.level += 1  # the parser limits how deep its rules call each other
        state.md.inline.tokenize(state)
        state.level -= 1
        state.posMax = maximum
    state.pos = after
    return True


def _critic(state: StateInline, silent: bool) -> bool:
    match = _CRITIC.match(state.src, state.pos, state.pos + MAX_MARK_CHARS) if state.src[state.pos] == "{" else None
    return match is not None and write(state, next(filter(None, match.groups()), ""), match.end(), silent)


def _highlight(state: StateInline, silent: bool) -> bool:
    match = _HIGHLIGHT.match(state.src, state.pos, min(state.posMax, state.pos + MAX_MARK_CHARS))
    return match is not None and parse_inside(state, match.start(1), match.end(1), match.end(), silent)


def _insertion(state: StateInline, silent: bool) -> bool:
    match = _INSERTION.match(state.src, state.pos, min(state.posMax, state.pos + MAX_MARK_CHARS))
    return match is not None and parse_inside(state, match.start(1), match.end(1), match.end(), silent)


def _superscript(state: StateInline, silent: bool) -> bool:
    match = _SUPERSCRIPT.match(state.src, state.pos, state.posMax)
    return match is not None and write(state, f"^{match[1]}", match.end(), silent)


def _subscript(state: StateInline, silent: bool) -> bool:
    """`H~2~O`, written as HTML's H<sub>2</sub>O is."""
    match = _SUBSCRIPT.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "~" else None
    if match is None or not state.src[state.pos - 1 : state.pos].isalnum():
        return False
    if not silent:
        state.push("html_inline", "", 0).content = f"<sub>{escape(match[1])}</sub>"
    return write(state, "", match.end(), silent)


def _keys(state: StateInline, silent: bool) -> bool:
    match = _KEYS.match(state.src, state.pos, min(state.posMax, state.pos + MAX_MARK_CHARS))
    if match is None or state.src[state.pos - 1 : state.pos].isalnum():
        return False
    return write(state, "+".join(key.replace("-", " ").title() for key in match[1].split("+")), match.end(), silent)


def _emoji(state: StateInline, silent: bool) -> bool:
    """Emoji and icons by name; those that say yes or no become a sign, as they may be all that a cell holds."""
    before = state.src[state.pos - 1 : state.pos]
    match = _EMOJI.match(state.src, state.pos, state.posMax) if state.src[state.pos] == ":" else None
    if match is None or before.isalnum() or before in (":", "/"):
        return False
    parts = re.split(r"[-_]", match[1])
    return write(state, next((_EMOJI_SIGNS[part] for part in parts if part in _EMOJI_SIGNS), ""), match.end(), silent)


def _abbreviation(state: StateInline, silent: bool) -> bool:
    starts_line = state.pos == 0 or state.src[state.pos - 1] == "\n"
    match = _ABBREVIATION.match(state.src, state.pos, state.posMax) if starts_line else None
    return match is not None and write(state, f"{match[1]}: ", match.end(), silent)


def _macro(state: StateInline, silent: bool) -> bool:
    match = MACRO.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if match is None:
        return False
    value = match[2] or ""
    if match[1] not in _SHOWN_MACROS or not value:
        return write(state, "", match.end(), silent)
    write(state, _SHOWN_MACROS[match[1]], state.pos, silent)
    parse_inside(state, match.start(2), match.end(2), match.end(), silent)
    if not silent and state.tokens and state.tokens[-1].type == "text":
        state.tokens[-1].content = state.tokens[-1].content.rstrip()  # text was read up to the next sign, here "-->"
    return True
