"""Releases an answer sentence by sentence while the model writes it: decision 0029 says what is held back, and why."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Sequence

from gleaner.answering._looks import Looks
from gleaner.answering.conversation import estimate_tokens
from gleaner.answering.events import AnswerDelta, AnswerWithdrawn, Sink, ignore
from gleaner.errors import ToolCallRejected
from gleaner.guards.answer_text import find_marked_ids
from gleaner.guards.release import cut_open, cut_unsettled
from gleaner.model import ChatMessage, ModelTurn, PartialCall, TokenUsage, ToolCall, ToolSpec, new_id
from gleaner.tools import generate_response, index_keywords
from gleaner.tools.answer_filters import AnswerFilters
from gleaner.tools.workspace import Workspace

STOPPED = "stopped"  # the reason why a turn ended that AnswerStopped ended
# Once a reader has something to read, the next sentence may come as much later as nobody notices: one takes seconds to
# read, and a model of 50 tokens a second writes one in this time. To read and to check at this interval takes a
# fraction of the CPU time.
LOOK_SECONDS = 0.4
_WORDS_PER_SECOND = 60.0  # that no model writes whose first words are not there in a moment anyway


class AnswerStopped(Exception):
    """The answer that is being written cites unknown passages alone, so it would be rejected."""

    def __init__(self, arguments: str) -> None:
        super().__init__("The answer cites no passage that was retrieved.")
        self.arguments = arguments


class AnswerRelease:
    """What a reader has seen of the answer to one question.

    `begin` starts a turn of the model, `take` reads its parts, `finish` shows the rest of the answer that was accepted,
    and `withdraw` voids what was shown. They are never called at the same time.
    """

    def __init__(self, workspace: Workspace, emit: Sink, *, look_seconds: float = LOOK_SECONDS) -> None:
        """`look_seconds`: the least time between two looks at an answer of which something was shown."""
        self._workspace = workspace
        self._emit = emit
        self._shown = ""
        self._filters = AnswerFilters(())
        self._attempt = 0
        self._looks = Looks()
        self._look_seconds = look_seconds
        self._looked_at = -math.inf  # monotonic time
        self._position: int | None = None  # of the answer among the calls
        self._is_held = False

    def is_wanted(self, offered: Collection[str]) -> bool:
        """Whether somebody reads the answer as it comes, and the next turn may bring one."""
        return self._emit is not ignore and generate_response.NAME in offered

    def begin(self) -> None:
        """Start to read a turn."""
        self._filters = AnswerFilters(self._workspace.passages())
        self._restart(attempt=0)

    def take(self, call: PartialCall) -> float:
        """Release what is certain once this part has arrived. Raises AnswerStopped.

        Returns the seconds for which no more parts are needed.
        """
        if call.attempt != self._attempt:
            self.withdraw()
            self._restart(call.attempt)
        if call.tool != generate_response.NAME:
            # An answer beside a search is rejected.
            self._is_held = self._is_held or call.tool != index_keywords.NAME
            return 0.0
        if self._position is None:
            self._position = call.position
        if self._is_held or call.position != self._position:
            return 0.0
        may_look = not self._shown or time.monotonic() >= self._looked_at + self._look_seconds
        if may_look and self._looks.are_due(call.arguments):
            before = len(self._shown)
            self._look(call)
            self._looks.note(call.arguments, has_shown=len(self._shown) > before)
            self._looked_at = time.monotonic()
        if self._shown:
            return self._look_seconds
        return min(self._look_seconds, self._looks.words_missing(call.arguments) / _WORDS_PER_SECOND)

    def finish(self, answer: str) -> None:
        """Show what is missing of the accepted answer, and all of it anew if it begins otherwise."""
        if not answer.startswith(self._shown):
            self.withdraw()
        self._show(answer)

    def withdraw(self) -> None:
        """Void what was shown, if anything was."""
        if self._shown:
            self._shown = ""
            self._emit(AnswerWithdrawn())

    def _restart(self, attempt: int) -> None:
        self._attempt = attempt
        self._position = None
        self._looks = Looks()
        self._is_held = False

    def _look(self, call: PartialCall) -> None:
        partial = generate_response.read_partial(call.arguments)
        if partial is None:
            return
        restored = self._filters.restore(partial.answer)
        draft = self._filters.draft(cut_open(restored))
        if draft != restored:  # again: what was removed may have been the end of something
            draft = cut_open(draft)
        draft = draft.rstrip()
        cited_ids, source_ids = self._filters.cite(partial.sources, draft)
        if cited_ids and not source_ids and find_marked_ids(draft) and call.position == 0:
            raise AnswerStopped(call.arguments)
        if not source_ids and (cited_ids or self._workspace.needs_sources()):
            return
        checked = self._check(draft, source_ids)
        if checked.startswith(self._shown):
            self._show(cut_unsettled(checked, known=len(self._shown)))

    def _check(self, draft: str, source_ids: Sequence[str]) -> str:
        """What the filters leave of a draft, whatever it cites later."""
        try:
            checked = self._filters.finish(draft, source_ids)
            if checked == draft:
                return checked
            # A link that is foreign so far may be to a passage that is cited later.
            return _cut_common(checked, self._filters.finish(draft, source_ids, may_cite_all=True))
        except ToolCallRejected:
            return ""

    def _show(self, text: str) -> None:
        if len(text) > len(self._shown):
            rest, self._shown = text[len(self._shown) :], text
            self._emit(AnswerDelta(text=rest))


def _cut_common(text: str, other: str) -> str:
    end = next((place for place, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), len(text))
    return text[:end]


def to_stopped_turn(arguments: str, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> ModelTurn:
    """The turn that AnswerStopped ended, as far as it came. Its usage is estimated, because none was reported."""
    partial = generate_response.read_partial(arguments)
    if partial is None:
        raise AssertionError("an answer was stopped that nobody could read")
    sent = [message.content + "".join(call.arguments for call in message.tool_calls) for message in messages]
    sent += [tool.description + json.dumps(tool.parameters) for tool in tools]
    return ModelTurn(
        tool_calls=(ToolCall(id=f"call_{new_id()}", name=generate_response.NAME, arguments=partial.model_dump_json()),),
        content="",
        finish_reason=STOPPED,
        model="",
        usage=TokenUsage(input_tokens=sum(map(estimate_tokens, sent)), output_tokens=estimate_tokens(arguments)),
    )
