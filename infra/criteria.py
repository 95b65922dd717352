"""The success criteria as metrics: each measured by the query function, shown, and held to its bar by an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.environments import Environment

# The dimension `service` of the functions' metrics.
SERVICE = "query"
PRUNE_SERVICE = "keyword-prune"


def namespace(environment: Environment) -> str:
    """The CloudWatch namespace of an environment's own metrics."""
    return f"Gleaner/{environment.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A criterion measured as 1 or 0 at each question it concerns: its average is a share."""

    code: str
    title: str
    metric: str
    at_least_percent: float | None  # None: shown, not held to a bar


def shares(environment: Environment) -> Sequence[Share]:
    """The criteria that are shares, with the environment's bars."""
    bars = environment.alarms
    return (
        Share(code="SC-001", title="Knowledge base searched", metric="KnowledgeBaseSearched", at_least_percent=100),
        Share(
            code="SC-002",
            title="Answer tool called on the first attempt",
            metric="AnsweredOnFirstAttempt",
            at_least_percent=bars.answer_first_attempt_percent,
        ),
        Share(
            code="SC-003", title="Keywords indexed after a web answer", metric="KeywordsAfterWeb", at_least_percent=100
        ),
        Share(
            code="SC-006",
            title="Answers helped by learned keywords",
            metric="HelpedByKeywords",
            at_least_percent=bars.helped_by_keywords_percent,
        ),
        Share(
            code="SC-007",
            title="Retries that recovered",
            metric="RetriesRecovered",
            at_least_percent=bars.retries_recovered_percent,
        ),
        Share(code="SC-008", title="Context carried in a session", metric="ContextCarried", at_least_percent=None),
    )
