"""The success criteria, as one question shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.answering._execution import CallOutcome
from gleaner.answering.steps import Progress
from gleaner.tools import generate_response, index_keywords, knowledge_base_search
from gleaner.tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Whether each criterion was met; None: the question does not concern it."""

    knowledge_base_searched: bool | None  # SC-001; None: the model could not be asked
    answered_on_first_attempt: bool | None  # SC-002; None: no answer was due yet
    keywords_after_web: bool | None  # SC-003; None: the web was not asked
    helped_by_keywords: bool | None  # SC-006; None: nothing learned was found, or it was not needed
    retry_recovered: bool | None  # SC-007, whether the model then did all it was told; None: it needed no feedback
    context_carried: bool | None  # SC-008; None: there are no earlier turns


def assess(
    progress: Progress, outcomes: Sequence[CallOutcome], workspace: Workspace, *, context_carried: bool | None
) -> Criteria:
    """What a question that is over, with an answer or without, shows of the criteria."""
    searched = any(outcome.executed and outcome.call.name == knowledge_base_search.NAME for outcome in outcomes)
    return Criteria(
        knowledge_base_searched=searched if progress.model_calls else None,
        answered_on_first_attempt=_on_first_attempt(progress, outcomes),
        keywords_after_web=set(workspace.web_answers) <= workspace.learned_results if workspace.web_answers else None,
        helped_by_keywords=_helped_by_keywords(workspace),
        retry_recovered=_recovered(progress, outcomes, workspace, searched=searched),
        context_carried=context_carried,
    )


def _recovered(
    progress: Progress, outcomes: Sequence[CallOutcome], workspace: Workspace, *, searched: bool
) -> bool | None:
    """Whether the model made every call that feedback asked it for, whatever else became of the question."""
    done = {
        knowledge_base_search.NAME: searched,
        generate_response.NAME: workspace.answer is not None,
        # By a call of its own: what it does not index, the service does. Before the feedback there was no such call.
        index_keywords.NAME: any(o.succeeded and o.call.name == index_keywords.NAME for o in outcomes),
    }
    asked_for = [tool for tool, failures in progress.failures.items() if failures]
    return all(done[tool] for tool in asked_for) if asked_for else None


def _helped_by_keywords(workspace: Workspace) -> bool | None:
    """Whether the answer rests on what earlier web answers taught, of the questions that this could have helped.

    Those are the ones for which something learned was found, and which the knowledge base alone did not answer: they
    were answered from what was learned, or went to the web once more.
    """
    if workspace.answer is None or not any(passage.keyword_ids for passage in workspace.passages()):
        return None
    helped = any(source.keyword_ids for source in workspace.answer.sources)
    return helped if helped or workspace.web_answers else None


def _on_first_attempt(progress: Progress, outcomes: Sequence[CallOutcome]) -> bool | None:
    attempts = [outcome for outcome in outcomes if outcome.call.name == generate_response.NAME]
    missed = generate_response.NAME in progress.failures
    if not attempts and not missed:
        return None
    return not missed and attempts[0].succeeded
