"""Assesses the success criteria for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.answering._execution import CallOutcome
from gleaner.answering.steps import Progress
from gleaner.tools import generate_response, index_keywords, knowledge_base_search
from gleaner.tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Whether each criterion was met; None means that it does not apply to the question."""

    knowledge_base_searched: bool | None  # SC-001; None: the model did not reply
    answered_on_first_attempt: bool | None  # SC-002; None: the question failed before an answer was due
    keywords_after_web: bool | None  # SC-003; None: there is no web answer that may be indexed
    helped_by_keywords: bool | None  # SC-006; None: no stored web answer was found or needed
    retry_recovered: bool | None  # SC-007; None: the model needed no feedback
    context_carried: bool | None  # SC-008; None: there are no earlier turns


def assess(
    progress: Progress, outcomes: Sequence[CallOutcome], workspace: Workspace, *, context_carried: bool | None
) -> Criteria:
    """Assess a finished question, whether it was answered or failed."""
    searched = any(outcome.executed and outcome.call.name == knowledge_base_search.NAME for outcome in outcomes)
    learnable = workspace.learnable_results()
    return Criteria(
        knowledge_base_searched=searched if progress.model_calls else None,
        answered_on_first_attempt=_answered_on_first_attempt(progress, outcomes),
        keywords_after_web=learnable <= workspace.learned_results.keys() if learnable else None,
        helped_by_keywords=_helped_by_keywords(workspace),
        retry_recovered=_recovered_from_feedback(progress, outcomes, workspace, searched=searched),
        context_carried=context_carried,
    )


def _recovered_from_feedback(
    progress: Progress, outcomes: Sequence[CallOutcome], workspace: Workspace, *, searched: bool
) -> bool | None:
    """Whether the model made every call that feedback asked for, however the question ended."""
    is_done = {
        knowledge_base_search.NAME: searched,
        generate_response.NAME: workspace.answer is not None and not workspace.lacks_sources(),
        # Only the model's own call counts, since the service indexes otherwise; there was none before the feedback.
        index_keywords.NAME: any(o.succeeded and o.call.name == index_keywords.NAME for o in outcomes),
    }
    missed_tools = [tool for tool, failures in progress.failures.items() if failures]
    return all(is_done[tool] for tool in missed_tools) if missed_tools else None


def _helped_by_keywords(workspace: Workspace) -> bool | None:
    """Whether the answer cites stored web answers; None if they could not have helped.

    They could have helped if some were found and the knowledge base alone did not answer the question: it was
    answered from them, or searched the web again.
    """
    if workspace.answer is None or not any(passage.keyword_ids for passage in workspace.passages()):
        return None
    is_cited = any(source.keyword_ids for source in workspace.answer.sources)
    return is_cited if is_cited or workspace.web_answers else None


def _answered_on_first_attempt(progress: Progress, outcomes: Sequence[CallOutcome]) -> bool | None:
    attempts = [outcome for outcome in outcomes if outcome.call.name == generate_response.NAME]
    was_missed = generate_response.NAME in progress.failures
    if not attempts and not was_missed:
        return None
    return not was_missed and attempts[0].succeeded
