"""Whose web searches a question shares: those of callers who may read what it has seen."""

from __future__ import annotations

from typing import Any

from gleaner.groups import NOBODY, Groups
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.model import Grounding, LearningMode, Mode, Passage, SourceType
from gleaner.runtime.deadline import Deadline
from gleaner.tools.workspace import Question, Workspace

UNUSED: Any = None


def make_workspace(*seen: Groups, earlier: Groups = (), learning: LearningMode = LearningMode.SHARED) -> Workspace:
    """The state of a question that saw passages of these groups."""
    workspace = Workspace(
        question=Question(
            query_id="Q",
            session_id=None,
            text="What?",
            kb_id="kb",
            mode=Mode.WHOLE_BOOK,
            grounding=Grounding.OPEN,
            caller="ann",
            learning=learning,
            earlier_groups=earlier,
        ),
        search=lambda *_: RetrievalResult((), False),
        has_knowledge_base=lambda _: True,
        web=None,
        learning=UNUSED,
        deadline=Deadline.after(20),
        background=UNUSED,
    )
    source = SourceType.KNOWLEDGE_BASE
    for key, groups in enumerate(seen):
        workspace.admit([Passage(key=str(key), content="", score=1, source_type=source, title="", groups=groups)])
    return workspace


def test_searches_are_shared_among_those_who_may_read_the_same() -> None:
    scopes = [
        make_workspace(*seen).search_scope()
        for seen in ((), ((),), (("hr",),), (("board", "hr"), ("hr", "staff")), (("board",),), (("a", "b"),))
    ]
    assert scopes[0] == scopes[1] == "kb"
    assert scopes[2] == scopes[3]
    assert len(set(scopes)) == 4
    assert make_workspace(earlier=("hr",)).search_scope() == scopes[2]


def test_what_nobody_may_read_alike_is_neither_shared_nor_learned() -> None:
    for workspace in (make_workspace(("hr",), ("staff",)), make_workspace(earlier=NOBODY), make_workspace(NOBODY)):
        assert workspace.search_scope() is None
        assert workspace.groups() == NOBODY
        assert workspace.learnable_results() == set()


def test_private_searches_of_a_group_stay_private() -> None:
    scope = make_workspace(("hr",), learning=LearningMode.CALLER).search_scope()
    assert scope is not None
    assert "ann" in scope
    assert scope != make_workspace(("hr",)).search_scope()


def test_an_outdated_answer_that_the_model_was_shown_counts_as_seen() -> None:
    workspace = make_workspace()
    workspace.shown_groups.append(("hr",))
    assert workspace.groups() == ("hr",)
