"""Rules on the parsed tokens of Markdown: footnotes at their references, alerts, tasks, deleted text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from gleaner_documents.readers._markdown_blocks import label

_ALERT = re.compile(r"\[!(?P<kind>[\w-]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>[^\n]*)(?:\n|$)")
# GitHub's form before alerts had a syntax.
_EARLY_ALERT = re.compile(r"\*\*(?:Note|Tip|Important|Warning|Caution)\*\*[ \t]*\n(?P<title>)")
_TASK = re.compile(r"\[(?P<mark>[ xX])\][ \t]+")


def add_token_rules(renderer: MarkdownIt) -> None:
    """Add the rules; footnotes are parsed by a plugin that leaves the definitions where they stand."""
    renderer.core.ruler.before("inline", "alerts_and_tasks", _read_alerts_and_tasks)
    renderer.core.ruler.push("deletions", _drop_deletions)
    renderer.core.ruler.push("footnotes_at_references", _move_footnotes)


def _read_alerts_and_tasks(state: StateCore) -> None:
    """`> [!NOTE] Title` keeps its title only; `- [x]` gets a sign that stays readable in a quote."""
    tokens = state.tokens
    for position, token in enumerate(tokens[2:], start=2):
        if token.type != "inline":
            continue
        parent = tokens[position - 2].type
        is_quote = parent == "blockquote_open"
        alert = (_ALERT.match(token.content) or _EARLY_ALERT.match(token.content)) if is_quote else None
        task = _TASK.match(token.content) if parent == "list_item_open" else None
        if alert:
            title = label(alert["title"])
            token.content = "\n".join(filter(None, (title, token.content[alert.end() :])))
        elif task:
            token.content = ("☐ " if task["mark"] == " " else "☑ ") + token.content[task.end() :]


def _drop_deletions(state: StateCore) -> None:
    for token in state.tokens:
        if token.children:
            token.children = list(_without_deletions(token.children))


def _without_deletions(tokens: Sequence[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (token.type == "s_open") - (token.type == "s_close")
        if not depth and token.type != "s_close":
            yield token


def _move_footnotes(state: StateCore) -> None:
    """Put the text of each footnote after its first reference. One that nothing refers to stays where it is."""
    definitions = _find_definitions(state.tokens)
    notes = state.env.get("footnotes", {}).get("list", {})
    inline_notes = {number: data["tokens"] for number, data in notes.items() if "tokens" in data}
    moved: set[str] = set()
    result: list[Token] = []
    pending: list[Token] = []
    for token in state.tokens:
        if token.children:
            later = _fill_references(token, definitions, inline_notes, moved)
            pending += later
        result.append(token)
        if token.level == 0 and token.nesting <= 0 and pending and token.type != "inline":
            result += pending
            pending = []
    state.tokens = list(_without_moved([*result, *pending], moved))


def _find_definitions(tokens: Sequence[Token]) -> dict[str, list[Token]]:
    definitions: dict[str, list[Token]] = {}
    body: list[Token] | None = None
    for token in tokens:
        if token.type == "footnote_reference_open":
            body = definitions.setdefault(token.meta["label"], [])
        elif token.type == "footnote_reference_close":
            body = None
        elif body is not None:
            body.append(token)
    return definitions


def _fill_references(
    token: Token, definitions: dict[str, list[Token]], inline_notes: dict[int, list[Token]], moved: set[str]
) -> list[Token]:
    """Replace the references in a paragraph; return the footnotes that are too long to stand within it."""
    children: list[Token] = []
    later: list[Token] = []
    for child in token.children or ():
        if child.type != "footnote_ref":
            children.append(child)
            continue
        name = child.meta.get("label")
        body = definitions.get(name, []) if name is not None else []
        note = inline_notes.get(child.meta["id"], [])
        if name is not None and name not in moved:
            moved.add(name)
            if [part.type for part in body] == ["paragraph_open", "inline", "paragraph_close"]:
                note = body[1].children or []
            else:
                later += [part.copy() for part in body]
        if note:
            children += [_text(" ("), *note, _text(")")]
    token.children = children
    return later


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _without_moved(tokens: Sequence[Token], moved: set[str]) -> Iterator[Token]:
    skipping = False
    for token in tokens:
        if token.type == "footnote_reference_open":
            skipping = token.meta["label"] in moved
        elif token.type == "footnote_reference_close":
            skipping = False
        elif not skipping:
            yield token
