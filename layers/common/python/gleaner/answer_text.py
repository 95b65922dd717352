"""The text of an answer: which sources it marks, and which links it may keep. Code in it is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

# Code is matched first wherever text is rewritten, so that what looks like a mark or a link in it stays.
_CODE = r"```.*?(?:```|\Z)|`[^`\n]*`"
_ID = r"(?:kb|web)-\d+"
_MARKS = re.compile(rf"({_CODE})|\[\s*({_ID}(?:\s*[,;]\s*{_ID})*)\s*\]", re.DOTALL | re.IGNORECASE)
_LINKS = re.compile(
    rf"({_CODE})"
    r"|!\[([^\]]*)\]\([^)]*\)"  # an image
    r"|\[([^\]]*)\]\(\s*<?([^)\s>]*)[^)]*\)"  # a link
    r"|<(https?://[^>\s]+)>"  # an address in angle brackets
    r"|(https?://[^\s<>()\[\]\"'`]+)"  # a bare address
    r"|(<(?:img|iframe|a|script|link|object|embed|video|audio|source|svg|form|meta|base)\b[^>]*>)",
    re.DOTALL | re.IGNORECASE,
)
_TRAILING = ".,;:!?"  # after an address they belong to the sentence


def with_plain_marks(answer: str) -> str:
    """The answer with each mark of its own: `[kb-1, kb-2]` becomes `[kb-1] [kb-2]`."""

    def plain(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        return " ".join(f"[{found.lower()}]" for found in re.findall(_ID, match[2], re.IGNORECASE))

    return _MARKS.sub(plain, answer)


def marked_ids(answer: str) -> list[str]:
    """The ids that the answer marks, in order; `answer` has plain marks."""
    return [match[2] for match in _MARKS.finditer(answer) if match[2] is not None]


def without_foreign_links(answer: str, allowed: Collection[str]) -> str:
    """The answer with links to `allowed` addresses alone.

    Of other links the words stay and the address goes, and images and active elements go whole: an address
    that the model was talked into is a way to carry data out.
    """
    return _LINKS.sub(_replacement(frozenset(allowed)), answer)


def _replacement(allowed: frozenset[str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        code, alternative, words, target, bracketed, bare, _element = match.groups()
        if code is not None:
            return code
        if alternative is not None:
            return alternative
        if words is not None:
            return match[0] if target in allowed else words
        if bracketed is not None:
            return match[0] if bracketed in allowed else ""
        if bare is not None:
            address = bare.rstrip(_TRAILING)
            return bare if address in allowed else bare[len(address) :]
        return ""

    return replace
