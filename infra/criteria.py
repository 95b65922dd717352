"""The success criteria as metrics. The query function emits them, the dashboard shows them, alarms watch their bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.alarm_bars import Bar
from infra.environment import Environment

# The dimension `service` of the functions' metrics.
SERVICE = "query"
PRUNE_SERVICE = "keyword-prune"
INGEST_SERVICE = "ingest"
# Requests that the query function answered with a status of 500 or more, by the function's version.
FAILED_ANSWERS = "FailedAnswers"


def namespace(environment: Environment) -> str:
    """The CloudWatch namespace of an environment's own metrics."""
    return f"Gleaner/{environment.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A criterion that is 1 or 0 for each question it applies to, so that its average is a share."""

    code: str
    title: str
    metric: str
    bar: Bar | None  # None: shown without an alarm


def shares(environment: Environment) -> Sequence[Share]:
    """The criteria that are shares, with the environment's bars."""
    bars = environment.alarms
    return (
        _share("SC-001", "Knowledge base searched", "KnowledgeBaseSearched", bars.knowledge_base_searched),
        _share(
            "SC-002",
            "Answer tool called on the first attempt",
            "AnsweredOnFirstAttempt",
            bars.answered_on_first_attempt,
        ),
        _share("SC-003", "Keywords indexed after a web answer", "KeywordsAfterWeb", bars.keywords_after_web),
        _share("SC-006", "Answers helped by learned keywords", "HelpedByKeywords", bars.helped_by_keywords),
        _share("SC-007", "Retries that recovered", "RetriesRecovered", bars.retries_recovered),
        _share("SC-008", "Context carried in a session", "ContextCarried", None),
    )


def _share(code: str, title: str, metric: str, bar: Bar | None) -> Share:
    return Share(code=code, title=title, metric=metric, bar=bar)


def describe_periods(bar: Bar) -> str:
    """The sample over which a bar is evaluated, in words."""
    period = {5: "5 minutes", 60: "an hour", 24 * 60: "a day"}.get(bar.minutes, f"{bar.minutes} minutes")
    return f"in {period}" if bar.questions == 1 else f"of {bar.questions} or more questions in {period}"
