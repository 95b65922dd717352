"""Which tools each step of the agent loop offers."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner.answering.steps import LoopLimits, Progress, Step, offered_tools
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.model import Grounding, Mode
from gleaner.runtime.deadline import Deadline
from gleaner.tools.registry import TOOLS
from gleaner.tools.workspace import Question, Workspace

UNUSED: Any = object()  # steps call no service


def make_workspace(
    *, text: str = "When?", mode: Mode = Mode.WHOLE_BOOK, grounding: Grounding = Grounding.OPEN
) -> Workspace:
    question = Question(query_id="q", session_id="s", text=text, kb_id="default_kb", mode=mode, grounding=grounding)
    return Workspace(
        question=question,
        search=lambda _kb_id, _query, _top_k, _deadline: RetrievalResult((), False),
        has_knowledge_base=UNUSED,
        web=UNUSED,
        learning=UNUSED,
        deadline=Deadline.after(60),
        background=UNUSED,
    )


def test_every_tool_is_offered_at_some_step() -> None:
    workspace = make_workspace()
    offered = {tool for step in Step for tool in offered_tools(Progress(step=step), workspace, LoopLimits())}
    assert offered == set(TOOLS)


def test_every_step_offers_a_tool() -> None:
    workspace = make_workspace()
    for step in Step:
        assert offered_tools(Progress(step=step), workspace, LoopLimits())


def test_strict_grounding_and_selected_text_never_offer_the_web() -> None:
    for workspace in (make_workspace(grounding=Grounding.STRICT), make_workspace(mode=Mode.SELECTED_TEXT)):
        for step in Step:
            assert "perplexity_search" not in offered_tools(Progress(step=step), workspace, LoopLimits())


def test_a_search_is_not_offered_once_its_calls_are_used_up() -> None:
    progress = Progress(step=Step.DECIDE, spent={"knowledge_base_search": 3, "perplexity_search": 2})
    assert offered_tools(progress, make_workspace(), LoopLimits()) == ["generate_response"]


def test_a_search_whose_service_keeps_failing_is_not_offered_again() -> None:
    progress = Progress(step=Step.DECIDE, errors={"knowledge_base_search": 2, "perplexity_search": 1})
    assert offered_tools(progress, make_workspace(), LoopLimits()) == ["generate_response"]


@pytest.mark.parametrize(
    "text",
    ["hello", "Thanks!", "?", "👍", "Danke schön!", "谢谢你", "شكرا جزيلا", "Who are you?", "Was kannst du?", "help"],
)
def test_small_talk_is_not_searched_on_the_web(text: str) -> None:
    offered = offered_tools(Progress(step=Step.DECIDE), make_workspace(text=text), LoopLimits())
    assert offered == ["knowledge_base_search", "generate_response"]
