"""The steps of the agent loop, and which tools each offers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gleaner.model import Grounding, Mode
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.workspace import Workspace

# A search whose service failed so often is not offered again: it would cost this question its time-out once
# more. The knowledge base gets a second chance, since without it there is nothing to answer from.
_MOST_ERRORS = {knowledge_base_search.NAME: 2, perplexity_search.NAME: 1}


class Step(StrEnum):
    """Where a query stands."""

    SEARCH = "search"  # the knowledge base must be searched
    DECIDE = "decide"  # the passages are judged: refine, ask the web, or answer
    LEARN = "learn"  # a web answer is there: index keywords and answer
    ANSWER = "answer"  # nothing but the answer is left


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """What one query may spend. A knowledge base question needs 2 model calls, one with the web 3."""

    model_calls: int = 10
    knowledge_base_searches: int = 3
    web_searches: int = 2
    calls_per_turn: int = 8
    answer_seconds: float = 8.0  # with less left, the answer is forced


@dataclass(slots=True)
class Progress:
    """What a query has spent, and which failures it has had."""

    step: Step = Step.SEARCH
    model_calls: int = 0
    spent: dict[str, int] = field(default_factory=dict)  # executed calls by tool
    errors: dict[str, int] = field(default_factory=dict)  # those of them whose service failed, by tool
    failures: dict[str, int] = field(default_factory=dict)  # turns without the call that was due, by tool

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
                *_refinements(progress, limits),
                *_web(progress, workspace, limits),
                generate_response.NAME,
            ]
        case Step.LEARN if workspace.answer is not None:
            return [index_keywords.NAME]
        case Step.LEARN:
            return [index_keywords.NAME, generate_response.NAME, *_web(progress, workspace, limits)]
        case Step.ANSWER:
            return [generate_response.NAME]


def web_allowed(workspace: Workspace) -> bool:
    """Whether this question may go to the web at all."""
    question = workspace.question
    return workspace.web is not None and question.mode is Mode.WHOLE_BOOK and question.grounding is Grounding.OPEN


def searches_left(progress: Progress, limits: LoopLimits) -> dict[str, int]:
    """How many calls of each search may still be executed, by tool."""
    caps = {
        knowledge_base_search.NAME: limits.knowledge_base_searches,
        perplexity_search.NAME: limits.web_searches,
    }
    return {
        tool: 0 if progress.errors.get(tool, 0) >= _MOST_ERRORS[tool] else max(0, cap - progress.count(tool))
        for tool, cap in caps.items()
    }


def _refinements(progress: Progress, limits: LoopLimits) -> list[str]:
    left = searches_left(progress, limits)[knowledge_base_search.NAME]
    return [knowledge_base_search.NAME] if left else []


def _web(progress: Progress, workspace: Workspace, limits: LoopLimits) -> list[str]:
    left = searches_left(progress, limits)[perplexity_search.NAME]
    return [perplexity_search.NAME] if left and web_allowed(workspace) else []
