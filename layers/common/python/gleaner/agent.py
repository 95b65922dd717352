"""The agent loop: it offers tools, executes what the model calls, and enforces what must be called."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Protocol

from gleaner.clients.openai_chat import ChatModel
from gleaner.conversation import shortened
from gleaner.errors import (
    AnswerRejected,
    ContextTooLong,
    DeadlineExceeded,
    GleanerError,
    MandatoryToolMissing,
    ServiceUnavailable,
)
from gleaner.execution import CallOutcome, Execution
from gleaner.learning import extract_keywords
from gleaner.model import ChatMessage, ModelTurn, TokenUsage
from gleaner.prompts import read_prompt
from gleaner.steps import LoopLimits, Progress, Step, offered_tools
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.registry import tool_spec
from gleaner.tools.workspace import Workspace

logger = logging.getLogger(__name__)


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
        self._progress = Progress()
        self._execution = Execution(workspace, executor, listener, most_calls=limits.calls_per_turn)
        self._web_answers_seen = 0
        self._shortened = False
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
            offered = offered_tools(self._progress, self._workspace, self._limits)
            try:
                turn = self._ask(messages, offered)
            except GleanerError:
                if self._workspace.answer is None:
                    raise
                self._end_learning()  # only keywords were still asked for: the answer stands
                continue
            outcomes = self._execution.run(turn.tool_calls, offered)
            messages += _as_messages(turn, outcomes)
            feedback = self._advance(turn, outcomes)
            if feedback is not None:
                messages.append(ChatMessage(role="user", content=feedback))

    def _finished(self) -> bool:
        return self._workspace.answer is not None and self._progress.step is not Step.LEARN

    def _hurry(self) -> None:
        """Force the answer when the budget of model calls or the time is nearly spent."""
        if self._progress.step not in (Step.DECIDE, Step.LEARN) or self._workspace.answer is not None:
            return
        if self._late():
            self._workspace.degraded.add("the answer was forced by the deadline")
        if self._late() or self._progress.model_calls >= self._limits.model_calls - 2:
            self._end_learning()

    def _late(self) -> bool:
        return self._workspace.deadline.remaining() < self._limits.answer_seconds

    def _ask(self, messages: list[ChatMessage], offered: Sequence[str]) -> ModelTurn:
        specs = [tool_spec(name) for name in offered]
        try:
            turn = self._model.complete(messages, specs, deadline=self._workspace.deadline)
        except ContextTooLong:
            if self._shortened:
                raise
            self._shortened = True
            messages[:] = shortened(messages, self._workspace.question)
            turn = self._model.complete(messages, specs, deadline=self._workspace.deadline)
        self._progress.model_calls += 1
        self.usage += turn.usage
        self.model_name = turn.model or self.model_name
        return turn

    def _advance(self, turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> str | None:
        """Take the step that the outcomes allow; feedback for the model when it did not do what was due."""
        self._count(outcomes)
        executed = {outcome.call.name for outcome in outcomes if outcome.executed}
        if self._progress.step is Step.SEARCH:
            if knowledge_base_search.NAME not in executed:
                return self._enforce(knowledge_base_search.NAME, turn)
            self._progress.step = Step.DECIDE
            return None
        if len(self._workspace.web_answers) > self._web_answers_seen:
            self._web_answers_seen = len(self._workspace.web_answers)
            self._progress.step = Step.LEARN
            return None
        if self._workspace.answer is not None:
            return self._after_answer()
        return self._before_answer(turn, executed)

    def _count(self, outcomes: Sequence[CallOutcome]) -> None:
        for outcome in outcomes:
            if outcome.executed:
                self._progress.spent[outcome.call.name] = self._progress.count(outcome.call.name) + 1
                if outcome.call.name == perplexity_search.NAME and outcome.error is not None:
                    self._progress.web_failures += 1

    def _before_answer(self, turn: ModelTurn, executed: set[str]) -> str | None:
        if executed & {knowledge_base_search.NAME, perplexity_search.NAME}:
            return None
        feedback = None if index_keywords.NAME in executed else self._enforce(generate_response.NAME, turn)
        self._end_learning()
        return feedback

    def _after_answer(self) -> str | None:
        """Keywords are indexed after every web answer: asked for once, then made by the service."""
        asked = self._progress.failures.setdefault(index_keywords.NAME, 0)
        if self._workspace.web_answers and not self._workspace.learned and not asked and not self._late():
            self._progress.failures[index_keywords.NAME] = 1
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
        self._progress.step = Step.ANSWER

    def _enforce(self, expected: str, turn: ModelTurn) -> str:
        """Feedback that `expected` was due; the second time, an error."""
        failures = self._progress.failures.get(expected, 0) + 1
        self._progress.failures[expected] = failures
        attempted = any(call.name == expected for call in turn.tool_calls)
        if failures > 1:
            if attempted and expected == generate_response.NAME:
                raise AnswerRejected("The language model gave no valid answer, also after a retry. Ask again.")
            raise MandatoryToolMissing(
                f"The language model did not make the mandatory call of {expected}, also after a retry. Ask again."
            )
        reason = "The call was refused, see its result." if attempted else "A plain text answer is not delivered."
        return read_prompt("enforcement").format(expected=expected, step=self._progress.step.value, reason=reason)


def _as_messages(turn: ModelTurn, outcomes: Sequence[CallOutcome]) -> list[ChatMessage]:
    """The model's turn and one tool message for each of its calls."""
    if not turn.tool_calls and not turn.content:
        return []
    messages = [ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls)]
    messages += [
        ChatMessage(role="tool", content=json.dumps(outcome.result, ensure_ascii=False), tool_call_id=outcome.call.id)
        for outcome in outcomes
    ]
    return messages
