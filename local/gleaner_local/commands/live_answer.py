"""Shows on a terminal how a question is answered, and the answer as it comes."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import terminal
from gleaner_local.commands.presentation import SourceNumbers, show_facts

_STEPS = {
    "search": "Searching the documents",
    "decide": "Reading what was found",
    "learn": "Reading what the web says",
    "answer": "Writing the answer",
    "cite": "Asking for the sources of the answer",
}
_CALLS = {"knowledge_base_search": "Searching the documents", "perplexity_search": "Searching the web"}
_OUTCOMES = {
    "knowledge_base_search": "Searched the documents",
    "perplexity_search": "Searched the web",
    "index_keywords": "Noted keywords",
}
_WITHDRAWN = "The text above is withdrawn: the service did not accept it."
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_REFRESH_SECONDS = 0.1
_OTHER_LINES = 2  # of the terminal's height, that the end of a long block leaves free


def show_as_it_comes(parts: Iterable[dict[str, Any]], question: str, console: Console) -> None:
    """Print the parts of a UI message stream, the answer to `question`, as they come.

    Raises CallFailed for the problem that ends one.
    """
    with LiveAnswer(question, console) as display:
        for part in parts:
            display.show(part)


class LiveAnswer:
    """The steps and the text of one answer. Finished blocks of the text stay; the last one is drawn as it grows."""

    def __init__(self, question: str, console: Console) -> None:
        self._question = question
        self._console = console
        # Not refreshed by itself: rich's own thread takes no notice of what is printed meanwhile, and the two mix.
        self._live = Live(console=console, transient=True, auto_refresh=False, vertical_overflow="crop")
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        self._refresher = threading.Thread(target=self._refresh, daemon=True)
        self._status: RenderableType = ""
        self._calls: dict[str, dict[str, Any]] = {}  # by id
        self._numbers = SourceNumbers()
        self._known_ids: set[str] = set()
        self._text = ""  # of the open text part that is not printed yet
        self._has_text = False  # of the open text part, something is printed
        self._has_lines = False  # on the terminal, above the text

    def __enter__(self) -> Self:
        self._live.__enter__()
        self._wait("Asking")
        self._refresher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended.set()
        self._refresher.join()
        self._live.update("")
        self._live.__exit__(kind, error, trace)

    def show(self, part: dict[str, Any]) -> None:
        """Show a part; one that is not known has nothing to show. Raises CallFailed for a problem."""
        with self._lock:
            self._show(part)

    def _refresh(self) -> None:
        while not self._has_ended.wait(_REFRESH_SECONDS):
            with self._lock:
                self._live.refresh()

    def _show(self, part: dict[str, Any]) -> None:
        match part:
            case {"type": "data-gleaner-step", "data": {"step": step}}:
                self._wait(_STEPS.get(step, str(step)))
            case {"type": "tool-input-available", "toolCallId": call_id}:
                self._calls[call_id] = part
                self._show_call(part)
            case {"type": "tool-output-available" | "tool-output-error", "toolCallId": call_id}:
                self._show_outcome(self._calls.get(call_id, {}), part)
            case {"type": "data-gleaner-passages", "data": passages}:
                self._known_ids.update(passage["id"] for passage in passages)
                self._numbers.allow(self._known_ids)
            case {"type": "text-delta", "delta": delta}:
                self._write(terminal.show_block(delta))
            case {"type": "text-end"}:
                self._end_text(is_withdrawn="providerMetadata" in part)
            case {"type": "data-gleaner-answer", "data": answer}:
                self._finish(answer)
            case {"type": "data-gleaner-problem", "data": problem}:
                raise CallFailed(f"{problem['detail']} ({problem['type']})")

    def _wait(self, what: str) -> None:
        """Say what the service does now."""
        line = Text(f"{terminal.show_line(what)} …", style="dim", no_wrap=True, overflow="ellipsis")
        self._status = _Spinner(line)
        self._draw()

    def _show_call(self, call: dict[str, Any]) -> None:
        if what := _CALLS.get(call["toolName"]):
            self._wait(f"{what}{_quote(call)}")

    def _show_outcome(self, call: dict[str, Any], outcome: dict[str, Any]) -> None:
        tool = call.get("toolName", "")
        if tool not in _OUTCOMES:
            return
        result = outcome.get("output", {}).get("count")
        told = f"failed: {outcome['errorText']}" if "errorText" in outcome else f"{_count(tool, result)}{_quote(call)}"
        line = terminal.show_line(f"{_OUTCOMES[tool]}: {told}")
        self._console.print(Text(f"· {line}", style="dim"), no_wrap=True, overflow="ellipsis")
        self._has_lines = True

    def _write(self, text: str) -> None:
        self._status = ""
        *blocks, self._text = split_blocks(self._text + text)
        self._draw(is_below_text=bool(blocks))
        for block in blocks:
            self._print_block(block)

    def _end_text(self, *, is_withdrawn: bool) -> None:
        block, self._text = self._text, ""
        self._draw(is_below_text=True)
        if block.strip():
            self._print_block(block)
        if is_withdrawn and self._has_text:
            self._console.print(Text(f"\n{_WITHDRAWN}", style="yellow"))
            self._has_lines = True
            self._numbers = SourceNumbers(self._known_ids)
            self._has_text = False

    def _finish(self, answer: dict[str, Any]) -> None:
        self._status = ""
        self._draw(is_below_text=True)
        self._numbers.allow(source["id"] for source in answer["sources"])
        show_facts(self._console, answer, self._question, self._numbers)

    def _print_block(self, block: str) -> None:
        if self._has_text or self._has_lines:
            self._console.print()
        self._console.print(self._render(block))
        self._has_text = True

    def _draw(self, *, is_below_text: bool = False) -> None:
        """Draw what is not final below what is; a moment later unless something is printed above it now."""
        shown: list[RenderableType] = [self._status] if self._status else []
        if self._text.strip():
            gap = [Text("")] if is_below_text or self._has_text or self._has_lines else []
            shown = [*gap, self._render(self._text), *shown]
        self._live.update(_Tail(Group(*shown)), refresh=is_below_text)

    def _render(self, text: str) -> Markdown:
        return Markdown(self._numbers.replace_marks(text), hyperlinks=False)


class _Spinner:
    """A spinner before one line, which is cut at the width of the terminal."""

    def __init__(self, line: Text) -> None:
        self._spinner = Spinner("dots", style="dim")
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame = self._spinner.render(console.get_time())
        line = Text.assemble(frame, " ", self._line, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
        line.truncate(max(1, options.max_width - 1), overflow="ellipsis")
        yield line


class _Tail:
    """The last lines of something that may be higher than the terminal."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options, pad=False)
        for line in lines[-max(1, console.height - _OTHER_LINES) :]:
            yield from line
            yield Segment.line()


def split_blocks(text: str) -> list[str]:
    """The blocks of a Markdown text that has not ended; the last one may still grow, and may be empty.

    A block ends at an empty line outside code, unless what follows is indented and so belongs to a list.
    """
    blocks, block, fence = [], "", ""
    lines = text.splitlines(keepends=True)
    for position, line in enumerate(lines):
        is_after_gap = position > 0 and not lines[position - 1].strip()
        if is_after_gap and not fence and block.strip() and line.strip() and not line[0].isspace():
            blocks.append(block)
            block = ""
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        block += line
    return [*blocks, block]


def _quote(call: dict[str, Any]) -> str:
    query = call.get("input", {}).get("query")
    return f" for “{' '.join(query.split())}”" if isinstance(query, str) else ""


def _count(tool: str, count: Any) -> str:
    unit = "keyword" if tool == "index_keywords" else "passage"
    return f"{count} {unit}{'' if count == 1 else 's'}"
