"""The agent loop: it offers tools, executes what the model calls, and enforces what must be called."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Protocol

from gleaner.answering._execution import CallOutcome, Execution
from gleaner.answering.conversation import shortened
from gleaner.answering.steps import LoopLimits, Progress, Step, offered_tools, searches_left
from gleaner.clients.chat_model import ChatModel
from gleaner.errors import (
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
from gleaner.tools.workspace import Workspace

logger = logging.getLogger(__name__)

# What the model is told of a reply that did not come to its end, by finish_reason.
_CUT_OFF = {
    "length": "The reply was cut off at its longest length. Make the call again, and shorter.",
    "content_filter": "The reply was stopped by the provider's content filter. Put it in other words.",
}


class OutcomeListener(Protocol):
    """Called with every finished tool call, in the order of the calls within a turn."""

    def __call__(self, outcome: CallOutcome) -> None: ...


class Agent:
    """One query's way through the steps; `run` leaves the accepted answer in the workspace."""

    def __init__(
        self,
        model: ChatModel,
        workspace: Workspace,
        executor: Executor,
        limits: LoopLimits,
        listener: OutcomeListener,
    ) -> None:
        self._model = model
        self._workspace = workspace
        self._limits = limits
        self.progress = Progress()
        self._execution = Execution(workspace, executor, listener, most_calls=limits.calls_per_turn)
        self._web_answers_seen = 0
        self.shortened = False  # whether earlier turns were left out because the conversation was too long
        self.usage = TokenUsage()
        self.model_name = ""

    def run(self, conversation: Sequence[ChatMessage]) -> None:
        """Work until an answer is accepted and what the web taught is indexed.

        Raises MandatoryToolMissing or AnswerRejected when the model fails twice at what it must do,
        ModelUnavailable, ContextTooLong, DeadlineExceeded.
        """
        messages = list(conversation)
        while not self._finished():
            self._hurry()
            offered = offered_tools(self.progress, self._workspace, self._limits)
            try:
                turn = self._ask(messages, offered)
            except GleanerError:
                if self._workspace.answer is None:
                    raise
                self._end_learning()  # only keywords were still asked for: the answer stands
                continue
            left = searches_left(self.progress, self._limits)
            outcomes = self._execution.run(turn.tool_calls, offered, left)
            messages += _as_messages(turn, outcomes)
            feedback = self._advance(turn, outcomes)
            if feedback is not None:
                messages.append(ChatMessage(role="user", content=feedback))

    def _finished(self) -> bool:
        return self._workspace.answer is not None and self.progress.step is not Step.LEARN

    def _hurry(self) -> None:
        """Force the answer when the budget of model calls or the time is nearly spent."""
        if self.progress.step not in (Step.DECIDE, Step.LEARN) or self._workspace.answer is not None:
            return
        if self._late():
            self._workspace.degraded.add("the answer was forced by the deadline")
        if self._late() or self.progress.model_calls >= self._limits.model_calls - 2:
            self._end_learning()

    def _late(self) -> bool:
        return self._workspace.deadline.remaining() < self._limits.answer_seconds

    def _ask(self, messages: list[ChatMessage], offered: Sequence[str]) -> ModelTurn:
        complete = partial(
            self._model.complete,
            tools=tool_specs(self._workspace),
            callable_tools=offered,
            deadline=self._workspace.deadline,
        )
        try:
            turn = complete(messages)
        except ContextTooLong:
            if self.shortened:
                raise
            self.shortened = True
            messages[:] = shortened(messages, self._workspace.question)
            turn = complete(messages)
        self.progress.model_calls += 1
        self.usage += turn.usage
        self.model_name = turn.model or self.model_name
        return turn

    def _advance(self, turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> str | None:
        """Take the step that the outcomes allow; feedback for the model when it did not do what was due."""
        self._count(outcomes)
        executed = {outcome.call.name for outcome in outcomes if outcome.executed}
        if self.progress.step is Step.SEARCH:
            if knowledge_base_search.NAME not in executed:
                return self._enforce(knowledge_base_search.NAME, turn)
            self.progress.step = Step.DECIDE
            return None
        if len(self._workspace.web_answers) > self._web_answers_seen:
            self._web_answers_seen = len(self._workspace.web_answers)
            self.progress.step = Step.LEARN
            return None
        if self._workspace.answer is not None:
            return self._after_answer()
        return self._before_answer(turn, executed)

    def _count(self, outcomes: Sequence[CallOutcome]) -> None:
        progress = self.progress
        for outcome in outcomes:
            if outcome.executed:
                tool = outcome.call.name
                progress.spent[tool] = progress.count(tool) + 1
                if outcome.error is not None:
                    progress.errors[tool] = progress.errors.get(tool, 0) + 1

    def _before_answer(self, turn: ModelTurn, executed: set[str]) -> str | None:
        if executed & {knowledge_base_search.NAME, perplexity_search.NAME}:
            return None
        feedback = None if index_keywords.NAME in executed else self._enforce(generate_response.NAME, turn)
        self._end_learning()
        return feedback

    def _after_answer(self) -> str | None:
        """Keywords are indexed after every web answer: asked for once, then made by the service."""
        progress, tool = self.progress, index_keywords.NAME
        # When the store failed at the model's keywords, asking for them again is of no use.
        asked = tool in progress.failures or tool in progress.errors
        if self._workspace.web_answers and not self._workspace.learned and not asked and not self._late():
            progress.failures[tool] = 1
            return read_prompt("learn_keywords")
        self._end_learning()
        return None

    def _end_learning(self) -> None:
        """Index what the model did not, from the web answers themselves; only the answer is left then."""
        for answer in self._workspace.web_answers.values():
            if answer.result_id in self._workspace.learned_results:
                continue
            try:
                index_keywords.learn(extract_keywords(answer), answer, self._workspace)
            except (ServiceUnavailable, DeadlineExceeded):
                logger.warning("keywords were not indexed: the store failed")
                self._workspace.degraded.add("keywords could not be indexed")
        self.progress.step = Step.ANSWER

    def _enforce(self, expected: str, turn: ModelTurn) -> str:
        """Feedback that `expected` was due; the second time, an error."""
        failures = self.progress.failures.get(expected, 0) + 1
        self.progress.failures[expected] = failures
        attempted = any(call.name == expected for call in turn.tool_calls)
        if failures > 1:
            if attempted and expected == generate_response.NAME:
                raise AnswerRejected("The language model gave no valid answer, also after a retry. Ask again.")
            raise MandatoryToolMissing(
                f"The language model did not make the mandatory call of {expected}, also after a retry. Ask again."
            )
        told = "The call was refused, see its result." if attempted else "A plain text answer is not delivered."
        reason = _CUT_OFF.get(turn.finish_reason, told)
        return read_prompt("enforcement").format(expected=expected, step=self.progress.step.value, reason=reason)


def _as_messages(turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> list[ChatMessage]:
    """The model's turn and one tool message for each of its calls."""
    if not turn.tool_calls and not turn.content:
        return []
    messages = [ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)]
    messages += [
        ChatMessage(role="tool", content=json.dumps(outcome.result, ensure_ascii=False), tool_call_id=outcome.call.id)
        for outcome in outcomes
    ]
    return messages
