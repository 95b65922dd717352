"""HTML in Markdown: tags in a line that format it, and blocks, whose tags are closed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import html_block as read_html_block
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from gleaner_documents.readers._markdown_marks import MACRO
from gleaner_documents.readers._markup_tags import without_template_tags
from gleaner_documents.readers.html import parse_html

# Inline formatting tags. Any other "<...>" in running text is text: List<String>, <name>.
_FORMATTING = re.compile(
    r"<!--|</?(a|abbr|b|br|cite|code|del|details|dfn|div|em|i|img|ins|kbd|mark|p|q|s|samp|small|span|strong|sub"
    r"|summary|sup|u|var|wbr)\b[^>]*>",
    re.IGNORECASE,
)
_COMPONENT = re.compile(r"</?[A-Z>]")
_LIST_TAG = re.compile(r"</?(?:ul|ol|li)\b")
_LIST_START = re.compile(r"<[uo]l\b")
_MAX_LIST_TOKENS = 1_000  # each tag looks at all of them
_LIST_ENDS = ("</ul>", "</ol>")
_DETAILS = re.compile(r"<(/?)details\b", re.IGNORECASE)


def add_html_rules(renderer: MarkdownIt) -> None:
    """Add the rules."""
    renderer.block.ruler.at("html_block", _read_html_block, {"alt": ["paragraph", "reference", "blockquote"]})
    renderer.add_render_rule("html_inline", _render_inline_html)
    renderer.add_render_rule("html_block", _render_html_block)


def _read_html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The tags of components open no HTML: what stands between them is Markdown. Nor do macros, which are text."""
    position = state.bMarks[start] + state.tShift[start]
    is_markdown = _COMPONENT.match(state.src, position) or MACRO.match(state.src, position)
    return not is_markdown and read_html_block(state, start, end, silent)


def _render_inline_html(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    tag = tokens[index].content
    return tag if _FORMATTING.match(tag) or _is_list(tokens, index) else escape(tag)


def _is_list(tokens: Sequence[Token], index: int) -> bool:
    """Whether a tag belongs to a list that begins and ends in this line, as in the cell of a table.

    A list that stays open would hold the rest of the document.
    """
    if len(tokens) > _MAX_LIST_TOKENS or not _LIST_TAG.match(tokens[index].content.casefold()):
        return False
    tags = [token.content.casefold() if token.type == "html_inline" else "" for token in tokens]
    opens = next((number for number, tag in enumerate(tags) if _LIST_START.match(tag)), len(tags))
    closes = next((number for number in range(len(tags) - 1, -1, -1) if tags[number] in _LIST_ENDS), -1)
    return opens <= index <= closes


def _render_html_block(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, env: EnvType) -> str:
    """Closes the tags of the block: an open <nav> would swallow the rest of the document.

    A <details> stays open where a later block closes it, so that the Markdown between them is its body.
    """
    html = without_template_tags(tokens[index].content)
    if "last_details_end" not in env:
        ends = (number for number, token in enumerate(tokens) if "</details" in token.content.lower())
        env["last_details_end"] = max(ends, default=-1)
    return _close_tags(html, keep_details=index < env["last_details_end"])


def _close_tags(html: str, *, keep_details: bool) -> str:
    still_open = ends = 0
    for tag in _DETAILS.finditer(html):
        if not tag[1]:
            still_open += 1
        elif still_open:
            still_open -= 1
        else:
            ends += 1
    closed = str(parse_html(html))
    for _ in range(still_open if keep_details else 0):
        closed = closed.rpartition("</details>")[0]
    return "</details>" * ends + closed
