"""Citation marks and links in the text of an answer. Code is never changed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from gleaner.guards import disclosure
from gleaner.guards._markdown_code import shield_code, unshield_code
from gleaner.guards._own_addresses import TRAILING, address_key, collect_addresses, cut_run

_ID = r"(?:kb|web)-\d+"
_MARKS = re.compile(rf"\[\s*({_ID}(?:\s*[,;]\s*{_ID})*)\s*\]", re.IGNORECASE)
_MARK_OR_CODE = re.compile(rf"{_MARKS.pattern}|\x00(?P<code>\d+)\x00", re.IGNORECASE)
_SPACED_MARKS = re.compile(rf"[ \t]*{_MARKS.pattern}", re.IGNORECASE)

# HTML elements that load, run or restyle something, or that browsers parse by special rules.
_ACTIVE = re.compile(
    r"</?(?:img|image|picture|iframe|frame|frameset|a|area|map|script|noscript|template|link|object|embed|applet|"
    r"video|audio|source|track|svg|math|form|input|button|textarea|select|meta|base|style|portal|dialog|"
    r"marquee|details)\b[^<>]*>",
    re.IGNORECASE,
)
_BRACKETED = r"<(?:(?:https?|ftp)://|mailto:)[^<>\s\x00]+>"
_PLAIN_ELEMENT = r"</?(?:br|b|i|em|strong|sub|sup|kbd|u|s|del|ins|mark|small)\s{0,3}/?>"
# A "<" that could start an element. A plain element may stay within a line; at the start of a line it would start
# an HTML block, in which Markdown is not parsed.
_ELEMENT = re.compile(
    rf"(?P<plain>(?<=[^\s>]){_PLAIN_ELEMENT}|(?<=\w)[ \t]+{_PLAIN_ELEMENT}|{_BRACKETED})|<(?=[a-z/!?])",
    re.IGNORECASE,
)
# A check box may precede the definition (GFM task lists).
_DEFINITION = re.compile(
    r"^([ \t>*+\-0-9.)]*(?:\[[ x]\][ \t]+)?\[(?:[^\[\]\\]|\\.){1,999}+\]):", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_INSIDE = r"\((?P<{}>(?:[^()]|\([^()]*\))*+)\)"  # in the parentheses of a link: a URL and an optional title
# What GFM and linkify-it turn into links, also after an underscore. Some readers first resolve escapes.
_BARE = (
    r"(?:(?:https?|ftp)\\?:\\?/\\?/|(?<![^\W_])www\\?\.|(?<![^\W_])(?<![:/])//(?=[\w@:%-]++\.))"
    r"[^\s<>|\"\[\]`\x00]+"
)
_LINKS = re.compile(
    r"(?=[!\[\]<mxhfw/])(?:"  # the characters that the alternatives begin with: most others are passed over at once
    rf"!\[(?P<alternative>[^\[\]]*)\]{_INSIDE.format('image')}"
    rf"|\[(?P<words>[^\[\]]*)\]{_INSIDE.format('link')}"
    r"|(?P<rest>\]\(|!(?=\[))"  # the rest of a link or image in another notation
    rf"|(?P<bracketed>{_BRACKETED})"
    r"|(?P<scheme>(?:mailto|xmpp)\\?:)(?=\S)(?=(?P<mail>[^\s<>|\"\[\]`\x00]{0,400}))"
    rf"|(?P<bare>{_BARE})"
    r"|(?P<www>(?<![^\W_])www\\?\.)(?=[<>|\"\[\]`]))",  # GFM takes these for a part of the URL
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?=(?:#\d{1,7}|#x[0-9a-f]{1,6}|colon|sol|period);)", re.IGNORECASE)
_IN_URL = re.compile(r"[A-Za-z0-9:/.]")
_MAX_ENTITY = 10
_ENDS_URL = re.compile(rf"[{re.escape(TRAILING)}\"]*+(?=\s|$)")  # in every reading
_OMISSION_IN_WORDS = "…"  # brackets would end the words of a link
_MAX_PASSES = 8
_OPENS = re.compile(r"[(:\[]")  # after brackets these make a link or a definition
_E_MAIL_IN_BRACKETS = re.compile(r"<(?:mailto:)?([\w.%+'-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})>", re.IGNORECASE)
# What breaks every link, element and URL, code or not.
_BREAKS = (
    (re.compile(r"\](?=[(:])"), "] "),
    (re.compile(r"!(?=\[)"), "! "),
    (re.compile(r"<"), "‹"),
    (re.compile(r"&(?=[#cps])"), "& "),
    (re.compile(r"(?<=/)\\?(?=/)"), " "),
    (re.compile(r"(www\\?\.|(?:mailto|xmpp)\\?:)(?=\S)", re.IGNORECASE), r"\1 "),
)


def split_marks(answer: str) -> str:
    """Give each id its own mark: `[kb-1, kb-2]` becomes `[kb-1] [kb-2]`."""
    prose, code = shield_code(answer)
    plain = _MARKS.sub(
        lambda marks: " ".join(f"[{source_id.lower()}]" for source_id in re.findall(_ID, marks[1], re.IGNORECASE)),
        prose,
    )
    return unshield_code(plain, code)


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in an answer: its place in code points, and the id that it holds."""

    start: int
    end: int
    id: str


def find_marks(answer: str) -> list[Mark]:
    """Return the marks in `answer`, in order; each mark must have one id."""
    prose, code = shield_code(answer)
    marks, shift = [], 0  # what the placeholders of code so far are shorter than the code
    for match in _MARK_OR_CODE.finditer(prose):
        if match["code"] is None:
            marks.append(Mark(match.start() + shift, match.end() + shift, match[1]))
        else:
            shift += len(code[int(match["code"])]) - len(match[0])
    return marks


def find_marked_ids(answer: str) -> list[str]:
    """Return the ids of the marks in `answer`, in order; each mark must have one id."""
    return [mark.id for mark in find_marks(answer)]


def keep_marks(answer: str, ids: Collection[str]) -> str:
    """Remove the marks of all ids but `ids` from an answer whose marks are split."""
    prose, code = shield_code(answer)
    kept = _MARKS.sub(lambda mark: mark[0] if mark[1] in ids else "", prose)
    return unshield_code(kept, code)


def remove_marks(answer: str) -> str:
    """Remove the marks from `answer`; each mark must have one id."""
    prose, code = shield_code(answer)
    return unshield_code(_MARKS.sub("", prose), code)


def drop_marks(answer: str) -> str:
    """Remove the marks from an answer as it was stored, each with the space before it."""
    return replace_in_prose(_SPACED_MARKS, lambda _: "", answer.replace("\x00", ""))


def replace_in_prose(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], markdown: str) -> str:
    """Replace the matches of `pattern` outside code; `markdown` must contain no NUL characters."""
    prose, code = shield_code(markdown)
    return unshield_code(pattern.sub(replace, prose), code)


@dataclass(frozen=True, slots=True)
class AllowedLinks:
    """What an answer may link to: `urls` exactly as they are, and in any spelling the addresses in `own` texts."""

    urls: frozenset[str]
    own: frozenset[str] = frozenset()  # keys of addresses

    @classmethod
    def of(cls, urls: Collection[str], own: Iterable[str] = ()) -> AllowedLinks:
        """Collect what is allowed; `own` are texts and addresses of the owner's documents."""
        return cls(frozenset(urls).union(url.partition("://")[2] for url in urls), collect_addresses(own))

    def allow(self, address: str) -> bool:
        """Return whether an answer may link to `address`."""
        return address in self.urls or (bool(self.own) and address_key(address) in self.own)

    def cut(self, run: str) -> str | None:
        """Return the allowed address at the start of a run without white space; None if there is none."""
        for url in self.urls:
            if run.startswith(url) and not run[len(url) :].strip(TRAILING):
                return url
        addresses = cut_run(run) if self.own else ()
        return next((address for address in addresses if address_key(address) in self.own), None)


def remove_foreign_links(answer: str, allowed: AllowedLinks) -> str:
    """Keep only `allowed` links. `answer` must contain no control characters except tab and newline.

    Other links lose their URL and keep their text; where a URL is the text, `[…]` stands in its place. Images and
    active elements are removed. Whatever might start another element or a link definition is changed so that it does
    not. Otherwise an attacker who talks the model into a URL could use it to send data out. E-mail addresses are kept:
    they load nothing, and answers name contacts.
    """
    for _ in range(_MAX_PASSES):  # removing a link may join the text around it to a new link
        cleaned = _remove_once(answer, allowed)
        if cleaned == answer:
            return answer
        answer = cleaned
    for pattern, replacement in _BREAKS:
        answer = pattern.sub(replacement, answer)
    return answer


def _remove_once(answer: str, allowed: AllowedLinks) -> str:
    prose, code = shield_code(answer)
    prose = _ACTIVE.sub("", prose)
    prose = _E_MAIL_IN_BRACKETS.sub(r"\1", prose)
    prose = _ELEMENT.sub(lambda element: element["plain"] or "‹", prose)
    prose = _DEFINITION.sub(r"\1 :", prose)
    prose = _ENTITY.sub(_escape_if_in_url, prose)
    return unshield_code(_replace_links(prose, allowed), code)


def _escape_if_in_url(ampersand: re.Match[str]) -> str:
    """Escape an entity that could be part of a URL: nobody writes letters, digits and colons in this way."""
    entity = ampersand.string[ampersand.start() : ampersand.start() + _MAX_ENTITY].partition(";")[0]
    return "&amp;" if _IN_URL.fullmatch(html.unescape(f"{entity};")) else "&"


def _replace_links(prose: str, allowed: AllowedLinks, *, omission: str = disclosure.PLACEHOLDER) -> str:
    def replace(link: re.Match[str]) -> str:
        if link["alternative"] is not None:
            return link["alternative"]
        if link["words"] is not None:
            return _replace_link(link, allowed)
        if link["rest"] is not None:
            return f"{link['rest'][0]} {link['rest'][1:]}"
        if opening := link["scheme"] or link["www"]:
            return opening if allowed.cut(opening + (link["mail"] or "")) else f"{opening} "
        if link["bracketed"] is not None:
            return link[0] if allowed.allow(link[0][1:-1]) else _omit(link, omission)
        return _replace_bare(link, allowed, omission)

    return _LINKS.sub(replace, prose)


def _replace_link(link: re.Match[str], allowed: AllowedLinks) -> str:
    words, target = link["words"], _extract_target(link["link"])
    if not allowed.allow(target):
        return str(words)
    # Readers may see no link around the words, for example if they contain a blank line.
    return f"[{_replace_links(words, allowed, omission=_OMISSION_IN_WORDS)}]({target}){_separate(link)}"


def _extract_target(inside: str) -> str:
    """Return the URL in the parentheses of a link, without its title."""
    first = (inside.split(maxsplit=1) or [""])[0]
    return first[1:-1] if first.startswith("<") and first.endswith(">") else first


def _replace_bare(link: re.Match[str], allowed: AllowedLinks, omission: str) -> str:
    """Return what stays of a bare URL and the characters attached to it."""
    run = link["bare"]
    address = allowed.cut(run)
    if address is None:
        return _omit(link, omission, run[len(run.rstrip(TRAILING)) :])
    rest = run[len(address) :]
    if rest.strip(TRAILING):  # text of a script without spaces, which some readers take for a part of the URL
        return f"{address} {rest}"
    return run + _separate(link)


def _omit(link: re.Match[str], omission: str, rest: str = "") -> str:
    """Return what stands in place of an address, and the characters after it."""
    return omission + rest + (" " if _OPENS.match(link.string, link.end()) else "")


def _separate(link: re.Match[str]) -> str:
    """Return the space without which some reader would treat what follows as part of the URL."""
    return "" if _ENDS_URL.match(link.string, link.end()) else " "
