"""Finds how much of a text that is still being written may be shown: what comes later must not change it."""

from __future__ import annotations

import re

from gleaner.guards._markdown_code import find_open_code, shield_code, unshield_code
from gleaner.guards.disclosure import RUN_WORDS
from gleaner.sentences import sentence_slices

_BRACKET = re.compile(r"[\[\]]")
_PARENTHESIS = re.compile(r"[()]")
# An element, or an address in angle brackets, that nothing closes yet.
_OPEN_ELEMENT = re.compile(r"<(?:[a-z/!?\x00][^<>]*+|[^\s<>]*+)\Z", re.IGNORECASE)
# A look-alike of a control token, of which the end is missing. Tokens are shorter than this.
_OPEN_TOKEN = re.compile(r"‹{1,2}[^‹›]{0,200}\Z|⟦[^⟦⟧]{0,200}\Z")
# What may be a URL and reaches the end: what follows may belong to it.
_ENDS_RUN = re.compile(r"[\s<>|\"\[\]`\x00]")
_URL_BEGINS = re.compile(r"(?:https?|ftp)\\?:|www\\?\.|(?:mailto|xmpp)\\?:|\\?/\\?/", re.IGNORECASE)
_MAX_RUN = 4_000  # characters at the end in which a URL is looked for; no address that may be linked to is longer
_WORD_OR_CODE = re.compile(r"\x00\d+\x00|([^\W_]+)")  # code counts as no word, though it may hold some


def cut_open(restored: str) -> str:
    """Cut `restored` where a piece of code, a link, an element, a mark, a token or a URL begins that has no end yet.

    What is left reads the same whatever follows. `restored` must contain no NUL characters.
    """
    may_have_code = "`" in restored or "~" in restored
    prose, code = shield_code(restored[: find_open_code(restored)]) if may_have_code else (restored, [])
    ends = (_find_open_bracket(prose), _find_open_element(prose), _find_open_token(prose), _find_open_url(prose))
    return unshield_code(prose[: min(ends)], code)


def cut_unsettled(checked: str, known: int = 0) -> str:
    """Keep the whole sentences of `checked` after which twelve words follow: so long a run of instructions is.

    No sentence ends within code. The first `known` characters, if any, must be a result for a beginning of `checked`.
    """
    prose, code = shield_code(checked)
    end = length = 0 if code else known
    starts = [word.start() for word in _WORD_OR_CODE.finditer(prose, length) if word[1]]
    if len(starts) < RUN_WORDS:
        return checked[:length]
    for sentence in sentence_slices(prose, length):
        length += len(sentence)
        if length > starts[-RUN_WORDS]:
            break
        end = length
    return unshield_code(prose[:end], code)


def _find_open_bracket(prose: str) -> int:
    """The first bracket that is open, or that a target without an end makes a link."""
    starts: list[int] = []
    for bracket in _BRACKET.finditer(prose):
        if bracket[0] == "[":
            starts.append(bracket.start())
        elif starts:
            start = starts.pop()
            if not starts and (bracket.end() == len(prose) or _has_open_target(prose, bracket.end())):
                return _before_sign(prose, start)
    return _before_sign(prose, starts[0]) if starts else len(prose)


def _has_open_target(prose: str, start: int) -> bool:
    """Whether a parenthesis follows the words of a link and is not closed."""
    depth = 0
    for parenthesis in _PARENTHESIS.finditer(prose, start) if prose.startswith("(", start) else ():
        depth += 1 if parenthesis[0] == "(" else -1
        if depth == 0:
            return False
    return depth > 0


def _before_sign(prose: str, start: int) -> int:
    """An exclamation mark belongs to the image that follows it."""
    return start - 1 if prose[start - 1 : start] == "!" else start


def _find_open_element(prose: str) -> int:
    element = _OPEN_ELEMENT.match(prose, max(0, prose.rfind("<")))
    return element.start() if element else len(prose)


def _find_open_token(prose: str) -> int:
    token = _OPEN_TOKEN.search(prose, max(0, len(prose) - 250))
    return token.start() if token else len(prose)


def _find_open_url(prose: str) -> int:
    run = _ENDS_RUN.split(prose[-_MAX_RUN:])[-1]
    url = _URL_BEGINS.search(prose, len(prose) - len(run))
    return url.start() if url else len(prose)
