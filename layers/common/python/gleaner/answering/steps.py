"""The steps of the agent loop, and which tools each offers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gleaner.model import Grounding, LearningMode, Mode
from gleaner.small_talk import recognize
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.workspace import Workspace

# A search is not offered again after this many failures of its service, because each costs the question a timeout.
# The knowledge base gets a second chance, since without it there is nothing to answer from.
_MAX_ERRORS = {knowledge_base_search.NAME: 2, perplexity_search.NAME: 1}


class Step(StrEnum):
    """The current step of a query."""

    SEARCH = "search"  # the knowledge base must be searched
    DECIDE = "decide"  # the model judges the passages: it refines the search, asks the web, or answers
    LEARN = "learn"  # there is a web answer: index keywords, unless nothing is learned, and answer
    ANSWER = "answer"  # only the answer is missing
    CITE = "cite"  # there is an answer, but it names no sources: the model is asked for it once more


_ANSWER_SECONDS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """The budget of one query. A question to the knowledge base needs 2 model calls, one with the web 3."""

    model_calls: int = 10
    knowledge_base_searches: int = 3
    web_searches: int = 2
    calls_per_turn: int = 8
    answer_seconds: float = _ANSWER_SECONDS  # when less time is left, the answer is forced

    @classmethod
    def for_deadline(cls, seconds: float) -> LoopLimits:
        """The limits of a question that may take `seconds`: a long deadline is for models that take long to answer."""
        return cls(answer_seconds=max(min(_ANSWER_SECONDS, seconds / 3), seconds / 4))


@dataclass(slots=True)
class Progress:
    """How far a query has come, and its failures so far."""

    step: Step = Step.SEARCH
    model_calls: int = 0
    spent: dict[str, int] = field(default_factory=dict)  # executed calls, by tool
    errors: dict[str, int] = field(default_factory=dict)  # executed calls whose service failed, by tool
    failures: dict[str, int] = field(default_factory=dict)  # turns without the mandatory call, by tool

    def count(self, tool: str) -> int:
        """Executed calls of a tool."""
        return self.spent.get(tool, 0)


def offered_tools(progress: Progress, workspace: Workspace, limits: LoopLimits) -> list[str]:
    """The names of the tools that the model may call now."""
    match progress.step:
        case Step.SEARCH:
            return [knowledge_base_search.NAME]
        case Step.DECIDE:
            return [
                *_knowledge_base_tools(progress, limits),
                *_web_tools(progress, workspace, limits),
                generate_response.NAME,
            ]
        case Step.LEARN if workspace.answer is not None:
            return [index_keywords.NAME]
        case Step.LEARN:
            return [
                *_learning_tools(workspace),
                generate_response.NAME,
                *_web_tools(progress, workspace, limits),
            ]
        case Step.ANSWER | Step.CITE:
            return [generate_response.NAME]


def is_web_allowed(workspace: Workspace) -> bool:
    """Whether this question may search the web at all."""
    question = workspace.question
    if workspace.web is None or question.mode is not Mode.WHOLE_BOOK or question.grounding is not Grounding.OPEN:
        return False
    return recognize(question.text) is None  # a web search for "hello" would be paid, and its result learned


def searches_left(progress: Progress, limits: LoopLimits) -> dict[str, int]:
    """How many calls of each search may still be executed, by tool."""
    limits_by_tool = {
        knowledge_base_search.NAME: limits.knowledge_base_searches,
        perplexity_search.NAME: limits.web_searches,
    }
    return {
        tool: 0 if progress.errors.get(tool, 0) >= _MAX_ERRORS[tool] else max(0, limit - progress.count(tool))
        for tool, limit in limits_by_tool.items()
    }


def _learning_tools(workspace: Workspace) -> list[str]:
    return [] if workspace.question.learning is LearningMode.OFF else [index_keywords.NAME]


def _knowledge_base_tools(progress: Progress, limits: LoopLimits) -> list[str]:
    has_calls_left = searches_left(progress, limits)[knowledge_base_search.NAME] > 0
    return [knowledge_base_search.NAME] if has_calls_left else []


def _web_tools(progress: Progress, workspace: Workspace, limits: LoopLimits) -> list[str]:
    has_calls_left = searches_left(progress, limits)[perplexity_search.NAME] > 0
    return [perplexity_search.NAME] if has_calls_left and is_web_allowed(workspace) else []
