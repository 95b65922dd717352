"""The agent loop: offers tools, executes the model's calls, and enforces the mandatory ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, Protocol

from gleaner.answering._call_events import CallEvents
from gleaner.answering._execution import CallOutcome, Execution
from gleaner.answering._release import STOPPED, AnswerRelease, AnswerStopped, to_stopped_turn
from gleaner.answering.conversation import shorten
from gleaner.answering.events import Sink, StepTaken, ignore
from gleaner.answering.steps import LoopLimits, Progress, Step, offered_tools, searches_left
from gleaner.clients.chat_model import ChatModel
from gleaner.errors import (
    AnswerRefused,
    AnswerRejected,
    ContextTooLong,
    DeadlineExceeded,
    GleanerError,
    MandatoryToolMissing,
    ServiceUnavailable,
)
from gleaner.knowledge.learning import extract_keywords
from gleaner.model import ChatMessage, ModelTurn, TokenUsage
from gleaner.prompts import read_prompt
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.registry import tool_specs
from gleaner.tools.workspace import KEYWORDS_NOT_INDEXED, Workspace

logger = logging.getLogger(__name__)

_CUT_OFF = "The reply was cut off at the maximum length. Repeat the call and make it shorter."

_NO_CALLS = "It wrote plain text. If that recurs, choose a model that calls tools; asking again may not help."


class OutcomeListener(Protocol):
    """Called with every finished tool call, in the order of the calls within a turn."""

    def __call__(self, outcome: CallOutcome, /) -> None: ...


class Agent:
    """Takes one query through its steps; `run` leaves the accepted answer in the workspace."""

    def __init__(
        self,
        model: ChatModel,
        workspace: Workspace,
        executor: Executor,
        limits: LoopLimits,
        listener: OutcomeListener,
        emit: Sink = ignore,
        admit: Callable[[], None] = lambda: None,
    ) -> None:
        """`admit` is called after each call of the model, before anything comes of it; what it raises ends the run."""
        self._model = model
        self._workspace = workspace
        self._limits = limits
        self._emit = emit
        self._admit = admit
        self.progress = Progress()
        self._shown_step: Step | None = None
        self.release = AnswerRelease(workspace, emit)
        events = CallEvents(workspace, emit)
        self._execution = Execution(workspace, executor, listener, events, max_calls=limits.calls_per_turn)
        self._web_answer_count = 0
        self._asked_for_sources = False
        self.is_shortened = False  # earlier turns were dropped because the conversation was too long
        self.usage = TokenUsage()
        self.model_name = ""

    def run(self, conversation: Sequence[ChatMessage]) -> None:
        """Run until an answer is accepted and web answers are indexed.

        Raises MandatoryToolMissing or AnswerRejected if the model misses a mandatory call twice, or AnswerRefused,
        ModelUnavailable, ContextTooLong, DeadlineExceeded, and whatever `admit` raises.
        """
        messages = list(conversation)
        while not self._is_finished():
            self._force_answer_when_late()
            self._show_step()
            offered = offered_tools(self.progress, self._workspace, self._limits)
            try:
                turn = self._ask(messages, offered)
            except GleanerError:
                if self._workspace.answer is None:
                    raise
                self._finish_learning()  # only keywords or sources were missing: keep the answer
                continue
            outcomes = self._execution.run(turn.tool_calls, offered, searches_left(self.progress, self._limits))
            messages += _as_messages(turn, outcomes)
            feedback = self._advance(turn, outcomes)
            self._show_answer()
            if feedback is not None:
                messages.append(ChatMessage(role="user", content=feedback))
        if self._workspace.lacks_sources():
            self._workspace.degraded.add("the answer names no sources")
        self._show_answer()

    @property
    def has_asked(self) -> bool:
        """Whether the model answered once, in whatever way."""
        return self.progress.model_calls > 0 or self.usage != TokenUsage()

    def _is_finished(self) -> bool:
        return self._workspace.answer is not None and self.progress.step not in (Step.LEARN, Step.CITE)

    def _show_step(self) -> None:
        if self.progress.step is not self._shown_step:
            self._shown_step = self.progress.step
            self._emit(StepTaken(step=self.progress.step))

    def _show_answer(self) -> None:
        """Show the answer once no other can take its place; without one, what was shown is void."""
        if (answer := self._workspace.answer) is None:
            self.release.withdraw()
        elif self._is_finished() or not self._workspace.lacks_sources():
            self.release.finish(answer.text)

    def _force_answer_when_late(self) -> None:
        """Force the answer when time or the budget of model calls is running out."""
        if self.progress.step not in (Step.DECIDE, Step.LEARN) or self._workspace.answer is not None:
            return
        if self._is_running_out():
            self._workspace.degraded.add("the answer was forced by the deadline")
        if self._is_running_out() or self.progress.model_calls >= self._limits.model_calls - 2:
            self._finish_learning()

    def _is_running_out(self) -> bool:
        return self._workspace.deadline.remaining() < self._limits.answer_seconds

    def _ask(self, messages: list[ChatMessage], offered: Sequence[str]) -> ModelTurn:
        complete = partial(self._complete, offered=offered)
        try:
            turn = complete(messages)
        except ContextTooLong:
            if self.is_shortened:
                raise
            self.is_shortened = True
            messages[:] = shorten(messages, self._workspace.question)
            turn = complete(messages)
        self.usage += turn.usage
        self._admit()
        if turn.is_refused:
            raise AnswerRefused
        self.progress.model_calls += 1
        self.model_name = turn.model or self.model_name
        return turn

    def _complete(self, messages: Sequence[ChatMessage], offered: Sequence[str]) -> ModelTurn:
        tools = tool_specs(self._workspace)
        more: dict[str, Any] = {}
        if self.release.is_wanted(offered):
            self.release.begin()
            more["on_partial"] = self.release.take
        try:
            return self._model.complete(
                messages, tools, callable_tools=offered, deadline=self._workspace.deadline, **more
            )
        except AnswerStopped as stopped:
            return to_stopped_turn(stopped.arguments, messages, tools)

    def _advance(self, turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> str | None:
        """Move to the step that the outcomes allow. Returns feedback for the model if it missed a mandatory call."""
        self._count(outcomes)
        executed = {outcome.call.name for outcome in outcomes if outcome.executed}
        if self.progress.step is Step.SEARCH:
            if knowledge_base_search.NAME not in executed:
                return self._enforce(knowledge_base_search.NAME, turn, outcomes)
            self.progress.step = Step.DECIDE
            return None
        if len(self._workspace.web_answers) > self._web_answer_count:
            self._web_answer_count = len(self._workspace.web_answers)
            self.progress.step = Step.LEARN
            return None
        if self._workspace.answer is not None:
            return self._advance_after_answer()
        return self._advance_before_answer(turn, outcomes, executed)

    def _count(self, outcomes: Sequence[CallOutcome]) -> None:
        progress = self.progress
        for outcome in outcomes:
            if outcome.executed:
                tool = outcome.call.name
                progress.spent[tool] = progress.count(tool) + 1
                if outcome.error is not None:
                    progress.errors[tool] = progress.errors.get(tool, 0) + 1

    def _advance_before_answer(
        self, turn: ModelTurn, outcomes: Sequence[CallOutcome], executed: set[str]
    ) -> str | None:
        if executed & {knowledge_base_search.NAME, perplexity_search.NAME}:
            return None
        feedback = None if index_keywords.NAME in executed else self._enforce(generate_response.NAME, turn, outcomes)
        self._finish_learning()
        return feedback

    def _advance_after_answer(self) -> str | None:
        """Ask the model once to index keywords for web answers, which the service does otherwise, and for sources."""
        progress, tool = self.progress, index_keywords.NAME
        # If the store failed on the model's keywords, asking again would not help.
        was_tried = tool in progress.failures or tool in progress.errors
        if (
            self._workspace.learnable_results()
            and not self._workspace.learned
            and not was_tried
            and not self._is_running_out()
        ):
            progress.failures[tool] = 1
            return read_prompt("learn_keywords")
        self._finish_learning()
        return self._ask_for_sources()

    def _ask_for_sources(self) -> str | None:
        """Ask the model once for the sources of its answer; the answer stands if there are none in the next."""
        progress, tool = self.progress, generate_response.NAME
        was_asked, self._asked_for_sources = self._asked_for_sources, True
        if was_asked or not self._workspace.lacks_sources() or self._is_running_out():
            return None
        progress.failures.setdefault(tool, 1)
        progress.step = Step.CITE
        return read_prompt("cite_sources")

    def _finish_learning(self) -> None:
        """Index the web answers that the model did not, under extracted keywords; then only the answer is missing."""
        for answer in self._workspace.web_answers.values():
            if answer.result_id not in self._workspace.learnable_results() - self._workspace.learned_results.keys():
                continue
            try:
                index_keywords.learn(extract_keywords(answer), answer, self._workspace)
            except (ServiceUnavailable, DeadlineExceeded):
                logger.warning("keywords were not indexed: the store failed")
                self._workspace.degraded.add(KEYWORDS_NOT_INDEXED)
            except Exception:
                logger.exception("keywords were not indexed")
                self._workspace.degraded.add(KEYWORDS_NOT_INDEXED)
        self.progress.step = Step.ANSWER

    def _enforce(self, expected: str, turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> str:
        """Return feedback that the call of `expected` is mandatory. Raises AnswerFailed the second time."""
        failures = self.progress.failures.get(expected, 0) + 1
        self.progress.failures[expected] = failures
        attempted = any(call.name == expected for call in turn.tool_calls)
        if failures > 1:
            if attempted and expected == generate_response.NAME:
                raise AnswerRejected("The language model gave no valid answer, even after a retry. Ask again.")
            raise MandatoryToolMissing(
                f"The language model did not make the mandatory call of {expected}, even after a retry. "
                + ("Ask again." if turn.tool_calls else _NO_CALLS)
            )
        reason = _describe_miss(turn, outcomes, attempted=attempted)
        return read_prompt("enforcement").format(expected=expected, step=self.progress.step.value, reason=reason)


def _describe_miss(turn: ModelTurn, outcomes: Sequence[CallOutcome], *, attempted: bool) -> str:
    if turn.finish_reason == "length":
        return _CUT_OFF
    if turn.finish_reason == STOPPED:
        return f"The call was rejected. {' '.join(outcome.error or '' for outcome in outcomes)}"
    return "The call was rejected, see its result." if attempted else "A plain text answer is not delivered."


def _as_messages(turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> list[ChatMessage]:
    """The model's turn as a message, and one tool message for each of its calls."""
    # A turn that was stopped lacks the fields that its provider would want back with the call.
    if turn.finish_reason == STOPPED or (not turn.tool_calls and not turn.content):
        return []
    messages = [ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)]
    messages += [
        ChatMessage(role="tool", content=outcome.content, tool_call_id=outcome.call.id) for outcome in outcomes
    ]
    return messages
