"""The text of an answer: which sources it marks, and which links it may keep. Code in it is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from gleaner.guards._markdown_code import shielded, unshielded

_ID = r"(?:kb|web)-\d+"
_MARKS = re.compile(rf"\[\s*({_ID}(?:\s*[,;]\s*{_ID})*)\s*\]", re.IGNORECASE)

# Elements that load, run or restyle something, or that a browser reads by rules of their own.
_ACTIVE = re.compile(
    r"</?(?:img|image|picture|iframe|frame|frameset|a|area|map|script|noscript|template|link|object|embed|applet|"
    r"video|audio|source|track|svg|math|form|input|button|textarea|select|meta|base|style|portal|dialog|"
    r"marquee|details)\b[^<>]*>",
    re.IGNORECASE,
)
_PLAIN_ELEMENT = r"</?(?:br|b|i|em|strong|sub|sup|kbd|u|s|del|ins|mark|small)\s{0,3}/?>"
# "<" that could begin an element. A plain element within a line may stay; at the beginning of a line it would
# begin a block of HTML, in which nothing else is Markdown.
_ELEMENT = re.compile(
    rf"(?P<kept>(?<=[^\s>]){_PLAIN_ELEMENT}|(?<=\w)[ \t]+{_PLAIN_ELEMENT}|<https?://[^<>\s\x00]+>)|<(?=[a-z/!?])",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^([ \t>*+\-0-9.)]*\[(?:[^\[\]\\]|\\.){1,999}+\]):", re.MULTILINE | re.DOTALL)
_INSIDE = r"\((?P<{}>(?:[^()]|\([^()]*\))*+)\)"  # of the parentheses of a link: an address, perhaps a title
_LINKS = re.compile(
    rf"!\[(?P<alternative>[^\[\]]*)\]{_INSIDE.format('image')}"
    rf"|\[(?P<words>[^\[\]]*)\]{_INSIDE.format('link')}"
    r"|(?P<rest>\]\(|!(?=\[))"  # of a link or image that is written otherwise
    r"|<(?P<bracketed>https?://[^<>\s\x00]+)>"
    r"|(?P<bare>(?:(?:https?|ftp)://|(?<![\w/.@-])www\.)[^\s<>|\"\[\]`\x00]+)",
    re.IGNORECASE,
)
_TRAILING = ".,:;!?*_~')}"  # after an address they belong to the sentence
_MOST_PASSES = 8


def with_plain_marks(answer: str) -> str:
    """The answer with each mark of its own: `[kb-1, kb-2]` becomes `[kb-1] [kb-2]`."""
    prose, code = shielded(answer)
    plain = _MARKS.sub(
        lambda marks: " ".join(f"[{found.lower()}]" for found in re.findall(_ID, marks[1], re.IGNORECASE)), prose
    )
    return unshielded(plain, code)


def marked_ids(answer: str) -> list[str]:
    """The ids that the answer marks, in order; `answer` has plain marks."""
    return [mark[1] for mark in _MARKS.finditer(shielded(answer)[0])]


def without_marks(answer: str) -> str:
    """The answer without its marks; `answer` has plain ones."""
    prose, code = shielded(answer)
    return unshielded(_MARKS.sub("", prose), code)


def without_foreign_links(answer: str, allowed: Collection[str]) -> str:
    """The answer with links to `allowed` addresses alone; it holds no control characters but tab and newline.

    Of other links the words stay and the address goes, images and active elements go whole, and what might
    begin another element or the definition of a link is changed so that it does not: an address that the
    model was talked into is a way to carry data out.
    """
    addresses = frozenset(allowed).union(url.partition("://")[2] for url in allowed)  # as www.example.org
    for _ in range(_MOST_PASSES):  # what is taken out may join what stood around it to another link
        once = _pass(answer, addresses)
        if once == answer:
            return answer
        answer = once
    return answer.replace("](", "] (").replace("<", "‹").replace("]:", "] :").replace("://", ":// ")


def _pass(answer: str, allowed: frozenset[str]) -> str:
    prose, code = shielded(answer)
    prose = _ACTIVE.sub("", prose)
    prose = _ELEMENT.sub(lambda element: element["kept"] or "‹", prose)
    prose = _DEFINITION.sub(r"\1 :", prose)
    return unshielded(_LINKS.sub(_replacement(allowed), prose), code)


def _replacement(allowed: frozenset[str]) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        if found["alternative"] is not None:
            return found["alternative"]
        if found["words"] is not None:
            target = _target(found["link"])
            return f"[{found['words']}]({target})" if target in allowed else found["words"]
        if found["rest"] is not None:
            return f"{found['rest'][0]} {found['rest'][1:]}"
        if found["bracketed"] is not None:
            return found[0] if found["bracketed"] in allowed else ""
        return _bare(found["bare"], found.string[found.end() : found.end() + 1], allowed)

    return replace


def _target(inside: str) -> str:
    """The address in the parentheses of a link, without its title."""
    first = (inside.split() or [""])[0]
    return first[1:-1] if first.startswith("<") and first.endswith(">") else first


def _bare(run: str, following: str, allowed: frozenset[str]) -> str:
    """What stays of an address in the text and what is written on to it."""
    if any(run.startswith(address) and not run[len(address) :].strip(_TRAILING) for address in allowed):
        return f"{run} " if following == "[" else run  # or a reader takes the mark for a part of the address
    return run[len(run.rstrip(_TRAILING)) :]
