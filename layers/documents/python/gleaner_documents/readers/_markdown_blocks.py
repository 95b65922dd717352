"""Block rules for the dialects of Markdown: admonitions, tabs, containers and lines that are no text.

Every rule keeps the text in a block and drops its signs. A block that does not end is no error: the signs go and the
text stays. Sources of the forms: PyMdown Extensions (`!!!`, `???`, `===`, `///`), Docusaurus, VuePress, Pandoc and MyST
(`:::`), Hugo and Jekyll (`{{< highlight >}}`, `{% highlight %}`), MDX (`import`, `export`, `{/* */}`).
"""

from __future__ import annotations

import re
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

from gleaner_documents.readers._markup_tags import match_component, match_template_tag, read_attributes

MAX_BLOCK_CHARS = 20_000  # how far the end of a comment or of templated code is searched

_INDENTED = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]*(?P<params>\S.*)|===[!+]*[ \t]+(?P<tab>[\"'].*)")
_CONTAINER = re.compile(r":{3,}[ \t]*(?P<params>[^:]*|[^:].*)|/{3,}[ \t]*(?P<block>[\w-]+(?:[ \t]*\|.*)?)?")
_PARAMETERS = re.compile(
    r"(?:\{[ \t]*(?P<directive>[\w:-]+)[ \t]*\}|(?P<name>[a-z][\w-]*)(?=[\s\[{|\"']|$))?(?P<rest>.*)"
)
_OPTION = re.compile(r"[ \t]*:[\w-]+:(?:[ \t].*)?")
_BLOCK_OPTION = re.compile(r"(?: {4}|\t)[\w-]+:(?:[ \t].*)?")
_BRACES = re.compile(r"\{[^{}]*\}")
_COLUMNS = re.compile(r"[\d ]*")  # how many a grid has
_LAYOUT_WORDS = re.compile(r"(?:\b(?:inline|end|annotate|collapse|open|closed?)\b\s*)+")
_SKIPPED_LINE = re.compile(
    r"\([\w:./-]+\)=|\[TOC\]|\[\[(?:_?toc_?)\]\]|\{:?\s*toc\s*\}|-{1,4}8<-{1,4}.*|\+\+\+|\{\{<\s*toc\s*>\}\}"
    # Other files: VitePress's code, mdBook's, markdown-include's, and videos of markdown-it.
    r"|<<<[ \t]*(?:@|\.{1,2}/)\S*.*|\{\{#\w*(?:include|playground|title)\b[^}]*\}\}|\{![^!\n]*!\}"
    r"|@\[[\w-]+\]\([^()]*\)",
    re.IGNORECASE,
)
_IMPORT = re.compile(r"import\s+(?:[\w*{},\s$]{1,500}?\sfrom\s+)?(['\"])[^'\"\n]+\1[ \t]*;?[ \t]*(?=\n|\Z)")
_EXPORT = re.compile(r"export\s+(?:const|let|var|default|function|async|class|\*|\{)")
_CODE_TAGS = frozenset(("highlight", "code", "code-toggle", "prism", "chroma", "mermaid", "terminal"))
_CODE_TAB = re.compile(r"\b(?:code)?lang\s*=")
_TAB_PANE = re.compile(r"\{\{[<%]\s*tabpane\b[^\n]*")
_TEXT_PANE = re.compile(r"\btext\s*=\s*\"?true\b")
_COMMENT_ENDS = (("{/*", "*/}"), ("%%", "%%"))
_ENDS_SENTENCE = re.compile(r"[.?!:;…。？！：✓✗]$")  # or says all in one sign


def add_block_rules(renderer: MarkdownIt) -> None:
    """Add the rules before those of CommonMark: "===" after a line would underline a heading."""
    ends_paragraph: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules = (_indented, _container, _no_text, _tag_code, _closing_tag)
    for name, rule in zip(("indented", "container", "no_text", "tag_code", "closing_tag"), rules, strict=True):
        renderer.block.ruler.before("fence", name, rule, ends_paragraph)
    renderer.block.ruler.before("fence", "module", _module)
    renderer.block.ruler.before("fence", "spaced_component", _spaced_component)


def label(title: str) -> str:
    """A title as a line before what it names; the colon says that it belongs to what follows."""
    name = " ".join(title.split())
    return name if not name or _ENDS_SENTENCE.search(name) else f"{name}:"


def read_title(parameters: str) -> str:
    """The title in what follows the marker of a block: `note "Title"`, `note[Title]{#id}`, `{note} Title`."""
    match = _PARAMETERS.match(parameters.strip())
    rest = match["rest"] if match else parameters
    attributes = "".join(_BRACES.findall(rest))
    rest = _BRACES.sub(" ", rest).strip().lstrip("|").strip()
    rest = _LAYOUT_WORDS.sub("", rest, count=1) if _LAYOUT_WORDS.match(rest) else rest
    for opening, closing in ('""', "''", "[]"):
        if rest.startswith(opening):
            rest = rest[1:].rpartition(closing)[0] or rest[1:]
    title = "" if _COLUMNS.fullmatch(rest) else rest.strip()
    return title or read_attributes(attributes).get("title", "")


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _push_label(state: StateBlock, title: str, line: int) -> None:
    if not title:
        return
    state.push("paragraph_open", "p", 1).map = [line, line + 1]
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = label(title), [line, line + 1], []
    state.push("paragraph_close", "p", -1)


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A marker with an indented body; the body ends at the first line that is not indented."""
    match = None if state.is_code_block(start) else _INDENTED.fullmatch(_line(state, start))
    if match is None or silent:
        return match is not None
    margin = state.sCount[start] + 1
    following = start + 1
    while following < end and (state.isEmpty(following) or state.sCount[following] > margin):
        following += 1
    indents = [state.sCount[line] for line in range(start + 1, following) if not state.isEmpty(line)]
    state.push("container_open", "div", 1).map = [start, following]
    _push_label(state, read_title(match["params"] or match["tab"]), start)
    saved = state.blkIndent, state.lineMax, state.parentType
    if indents:
        state.blkIndent, state.lineMax, state.parentType = min(*indents, margin + 3), following, "root"
        state.md.block.tokenize(state, start + 1, following)
    state.blkIndent, state.lineMax, state.parentType = saved
    state.push("container_close", "div", -1)
    state.line = following
    return True


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The line that opens or closes a container. Its body is read in place, so no line needs a partner."""
    match = None if state.is_code_block(start) else _CONTAINER.fullmatch(_line(state, start))
    if match is None or silent:
        return match is not None
    parameters = match["params"] or match["block"] or ""
    _push_label(state, read_title(parameters), start)
    state.line = start + 1
    option = _BLOCK_OPTION if match["block"] else _OPTION if parameters.startswith("{") else None
    while (
        option and state.line < end and option.fullmatch(state.src, state.bMarks[state.line], state.eMarks[state.line])
    ):
        state.line += 1
    return True


def _closing_tag(state: StateBlock, start: int, _: int, silent: bool) -> bool:
    """A closing tag on a line of its own ends the paragraph or table before it."""
    begin = state.bMarks[start] + state.tShift[start]
    tag = None if state.is_code_block(start) else match_template_tag(state.src, begin)
    if tag is None or not tag.name.startswith(("/", "end")) or state.src[tag.end : state.eMarks[start]].strip():
        return False
    state.line = state.line if silent else start + 1
    return True


def _no_text(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Comments and lines that are for the generator only."""
    if state.is_code_block(start):
        return False
    line = _line(state, start)
    if not _SKIPPED_LINE.fullmatch(line):
        return _skip_comment(state, start, end, line, silent)
    state.line = state.line if silent else start + 1
    return True


def _skip_comment(state: StateBlock, start: int, end: int, line: str, silent: bool) -> bool:
    for opening, closing in _COMMENT_ENDS:
        if line.startswith(opening):
            begin = state.bMarks[start] + state.tShift[start]
            limit = min(state.eMarks[end - 1], begin + MAX_BLOCK_CHARS)
            found = state.src.find(closing, begin + len(opening), limit)
            last = _find_line(state, start, end, found) if found >= 0 else None
            if last is None or state.src[found + len(closing) : state.eMarks[last]].strip():
                return False
            state.line = state.line if silent else last + 1
            return True
    return False


def _find_line(state: StateBlock, start: int, end: int, position: int) -> int | None:
    return next((line for line in range(start, end) if state.eMarks[line] >= position), None)


def _tag_code(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Code between tags, which is no Markdown: Hugo's and Jekyll's `highlight`; and comments between tags."""
    begin = state.bMarks[start] + state.tShift[start]
    tag = None if state.is_code_block(start) else match_template_tag(state.src, begin)
    is_code_tab = tag is not None and tag.name == "tab" and _is_code_tab(state.src, begin, tag.end)
    if tag is None or (tag.name not in (*_CODE_TAGS, "comment") and not is_code_tab):
        return False
    closing = re.compile(r"\{(?:\{[<%]|%-?)\s*(?:/|end)\s*" + re.escape(tag.name) + r"\s*(?:[>%]\}|-?%)\}")
    match = closing.search(state.src, tag.end, min(state.eMarks[end - 1], begin + MAX_BLOCK_CHARS))
    last = _find_line(state, start, end, match.end()) if match else None
    body = state.src[tag.end : match.start()] if match else ""
    if last is None or ("```" in body and tag.name != "comment"):
        return False
    if silent:
        return True
    if tag.name != "comment":
        _push_label(state, tag.title, start)
        token = state.push("fence", "code", 0)
        token.content, token.map = dedent(body).strip() + "\n", [start, last + 1]
    state.line = last + 1
    return True


def _is_code_tab(text: str, begin: int, end: int) -> bool:
    """Docsy's tabs hold code, unless they or the pane around them say that they hold text."""
    if not text.startswith("{{<", begin) or text.endswith("/>}}", begin, end):
        return False
    name = text.rfind("tabpane", max(0, begin - MAX_BLOCK_CHARS), begin)
    pane = _TAB_PANE.match(text, text.rfind("{", 0, max(0, name)) - 1)
    return not _TEXT_PANE.search(pane[0]) if pane else _CODE_TAB.search(text, begin, end) is not None


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The imports and exports of MDX. An export ends with a blank line outside its brackets."""
    begin = state.bMarks[start] + state.tShift[start]
    line = _line(state, start)
    if silent or state.sCount[start] != state.blkIndent or not line.startswith(("import", "export")):
        return False
    match = _IMPORT.match(state.src, begin, begin + MAX_BLOCK_CHARS)
    last = _find_line(state, start, end, match.end()) if match else None
    if last is None and _EXPORT.match(line):
        last = _find_export_end(state, start, end)
    if last is None:
        return False
    state.line = last + 1
    return True


def _spaced_component(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The tag of a component with a blank line in it, which would end a paragraph."""
    begin = state.bMarks[start] + state.tShift[start]
    tag = None if silent or state.is_code_block(start) else match_component(state.src, begin)
    last = _find_line(state, start, end, tag.end) if tag else None
    if tag is None or last is None or state.src[tag.end : state.eMarks[last]].strip():
        return False
    if not any(state.isEmpty(line) for line in range(start, last)):
        return False
    _push_label(state, tag.title, start)
    state.line = last + 1
    return True


def _find_export_end(state: StateBlock, start: int, end: int) -> int:
    depth = 0
    for line in range(start, end):
        text = _line(state, line)
        depth += sum(text.count(opening) for opening in "{[(") - sum(text.count(closing) for closing in "}])")
        if depth <= 0 and (line + 1 == end or state.isEmpty(line + 1) or text.endswith(";")):
            return line
    return next((line for line in range(start, end) if line + 1 == end or state.isEmpty(line + 1)), start)
