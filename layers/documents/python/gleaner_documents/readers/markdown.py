"""Reads Markdown and its dialects by way of HTML, so that the same layout rules apply to both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._front_matter import read_front_matter
from gleaner_documents.readers._markdown_blocks import add_block_rules
from gleaner_documents.readers._markdown_fences import MAX_DEPTH, read_code_title, read_directive, without_options
from gleaner_documents.readers._markdown_html import add_html_rules
from gleaner_documents.readers._markdown_inline import add_inline_rules
from gleaner_documents.readers._markdown_notes import add_token_rules
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers.html import collect_sections, parse_html

# Lists in lists, two levels each: the parser drops blocks that nest deeper, and it is recursive. Emphasis and links
# keep the parser's own limit, which costs no text; a higher one would cost much time on a run of brackets.
MAX_BLOCK_NESTING = 200
MAX_INLINE_NESTING = 20
# A page of Docusaurus is MDX whatever its name ends with: it imports components and uses them.
_MODULE = re.compile(r"^import\s[^\n]*['\"]|^export\s", re.MULTILINE)
_COMPONENT_LINE = re.compile(r"^[ \t]*<[A-Z]\w*[\s/>]", re.MULTILINE)
# `#!python name` is how PyMdown names the language of code in a line; a path after the sign is a shebang.
_LANGUAGE_SIGN = re.compile(r"^(?:#!|:::)[a-z][\w+-]*[ \t]+(?=\S)")


def read_markdown(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document; its title is the front matter's, else the first H1, else `fallback_title`.

    Generators (Hugo, Jekyll, Docusaurus, MkDocs, MyST, VitePress) all show the front matter's title as that of the
    page, and many pages use H1 for each of their sections. A description becomes the first paragraph, unless the text
    has it already. Raises NotText and InvalidGroups.
    """
    text = decode(source_file_path, data).removeprefix("\ufeff")
    front = read_front_matter(text)
    source_url = front.source_url or source_url
    body = text[front.end :]
    is_mdx = source_file_path.lower().endswith(".mdx") or bool(_MODULE.search(body) and _COMPONENT_LINE.search(body))
    html = _create_renderer(components=is_mdx).render(body)
    description = f"<p>{escape(front.description)}</p>\n" if front.description and front.description not in body else ""
    collector = collect_sections(parse_html(description + html), base_url=source_url)
    return Document(
        source_file_path=source_file_path,
        title=front.title or collector.first_h1 or fallback_title,
        description=shorten(front.description),
        sections=tuple(collector.sections),
        source_url=source_url,
        groups=front.groups,
    )


def _create_renderer(*, components: bool) -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"maxNesting": MAX_BLOCK_NESTING}).enable(["table", "strikethrough"])
    dollarmath_plugin(renderer, allow_space=False, allow_digits=False, allow_blank_lines=False)
    deflist_plugin(renderer)
    footnote_plugin(renderer, move_to_end=False)
    add_block_rules(renderer)
    add_inline_rules(renderer, components=components)
    add_token_rules(renderer)
    renderer.core.ruler.after("block", "nesting", _limit_inline_nesting)
    add_html_rules(renderer)
    if components:
        renderer.disable("code")  # in MDX, indented text is text: components are indented
    renderer.add_render_rule("fence", _render_fence)
    renderer.add_render_rule("code_inline", _render_code)
    renderer.add_render_rule("math_inline", _render_math)
    renderer.add_render_rule("math_block", _render_math_block)
    return renderer


def _limit_inline_nesting(state: StateCore) -> None:
    state.md.options["maxNesting"] = MAX_INLINE_NESTING


def _render_fence(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, env: EnvType) -> str:
    info, content = unescapeAll(tokens[index].info), tokens[index].content
    depth = env.get("depth", 0)
    directive = read_directive(info, content) if depth < MAX_DEPTH else None
    if directive is None:
        title = read_code_title(info)
        code = escape(without_options(info, content))
        return (f"<p>{escape(title)}</p>\n" if title else "") + f"<pre><code>{code}</code></pre>\n"
    title, text = directive
    nested = {"depth": depth + 1, "references": env.get("references", {})}
    body = _create_renderer(components=False).render(text, nested)
    return f"<p>{escape(title)}</p>\n{body}" if title else str(body)


def _render_code(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    return f"<code>{escape(_LANGUAGE_SIGN.sub('', tokens[index].content))}</code>"


def _render_math(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    return escape(f"${tokens[index].content}$")


def _render_math_block(_: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType) -> str:
    return f"<p>{escape(f'$${tokens[index].content}$$')}</p>\n"
