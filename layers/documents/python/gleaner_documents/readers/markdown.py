"""Reads Markdown (CommonMark with tables) by way of HTML, so that the same layout rules apply to both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers.html import collect_sections, parse_html

# Metadata: "---", then only "key: value", list, indented, comment or empty lines, then "---".
_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:(?:[\w-]+:.*|[ \t]+.*|- .*|#.*|)\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.MULTILINE)
# Inline formatting tags. Any other "<...>" in running text is text: List<String>, <name>.
_FORMATTING = re.compile(
    r"<!--|</?(a|abbr|b|br|cite|code|del|details|dfn|div|em|i|img|ins|kbd|mark|p|q|s|samp|small|span|strong|sub"
    r"|summary|sup|u|var|wbr)\b[^>]*>",
    re.IGNORECASE,
)


def read_markdown(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document; its title is the first H1, else the front matter's title, else `fallback_title`.

    Raises NotText.
    """
    text = decode(source_file_path, data)
    front = _FRONT_MATTER.match(text)
    title = _FRONT_TITLE.search(front.group(1)) if front else None
    html = _create_renderer().render(text[front.end() :] if front else text)
    collector = collect_sections(parse_html(html))
    return Document(
        source_file_path=source_file_path,
        title=collector.first_h1 or (shorten(title.group(2)) if title else "") or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _create_renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark").enable("table")
    renderer.add_render_rule("html_inline", _render_inline_html)
    renderer.add_render_rule("html_block", _render_html_block)
    return renderer


def _render_inline_html(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    tag = tokens[index].content
    return tag if _FORMATTING.match(tag) else escape(tag)


def _render_html_block(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    """Closes the tags of the block: an open <nav> would swallow the rest of the document."""
    return str(parse_html(tokens[index].content))
