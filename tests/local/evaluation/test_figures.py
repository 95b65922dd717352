"""What is measured of an answer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Answer, Exchange, read_parts
from gleaner_local.evaluation.measuring import Measured, measure
from tests.doubles.answering_service import LEARN, SEARCH, WEB, answer, call, parts, passage

ELSEWHERE = {"source_file_path": "docs/other.md", "chapter": "Other"}
PLACE = {"expected_files": ["keywords.md"], "expected_chapters": ["Length"]}


def case(**fields: Any) -> Case:
    return Case.model_validate({"query": "How long may a keyword be?"} | fields)


def measured(
    expected: Case, body: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **told: Any
) -> Measured:
    exchange = read_parts(parts(body or answer(), **told))
    buffered = Exchange(answer=Answer.model_validate(second)) if second else None
    return measure(expected, exchange, buffered)


def test_ranks_are_those_of_the_knowledge_base_search() -> None:
    found = [passage(1, **ELSEWHERE), passage(2), passage(3)]
    values = measured(case(**PLACE), found=found).values
    assert [values[name] for name in ("hit_1", "hit_3", "hit_5")] == [False, True, True]
    assert values["reciprocal_rank"] == 0.5
    assert values["ndcg"] == pytest.approx(1 / math.log2(3))


def test_passages_of_a_web_search_have_no_rank() -> None:
    page = passage(1, id="web-1", source_type="external", source_file_path=None, chapter=None)
    told = [
        *call("call-0", SEARCH, {"query": "a"}, passages=[passage(1, **ELSEWHERE)]),
        *call("call-1", WEB, {"query": "a"}, passages=[page]),
        *call("call-2", SEARCH, {"query": "b"}, passages=[passage(2)]),
    ]
    exchange = read_parts(told)
    assert [found.id for found in exchange.passages] == ["kb-1", "kb-2"]
    assert (exchange.model_calls, exchange.tools) == (3, [SEARCH, WEB, SEARCH])


def test_calls_of_one_turn_are_one_model_call_and_failed_ones_are_no_steps() -> None:
    starts = [
        {"type": "tool-input-available", "toolCallId": f"call-{number}", "toolName": tool, "input": {}}
        for number, tool in enumerate((LEARN, "generate_response"))
    ]
    ends = [
        {"type": "tool-output-error", "toolCallId": "call-0", "errorText": "no"},
        {"type": "tool-output-available", "toolCallId": "call-1", "output": {}},
    ]
    exchange = read_parts([*starts, *ends])
    assert (exchange.model_calls, exchange.tools) == (1, ["generate_response"])


@pytest.mark.parametrize("found", [[], [passage(1, **ELSEWHERE)]])
def test_a_search_that_misses_the_place_scores_nothing(found: list[dict[str, Any]]) -> None:
    values = measured(case(**PLACE), found=found).values
    assert [values[name] for name in ("hit_5", "reciprocal_rank", "ndcg")] == [False, 0.0, 0.0]


def test_citations_are_precise_and_complete_by_the_places_that_are_marked() -> None:
    sources = [passage(1), passage(2, **ELSEWHERE), passage(3)]
    wanted = case(expected_chapters=["Length", "Spelling"])
    values = measured(wanted, answer("It is 50. [kb-1] Or so. [kb-2]", sources=sources)).values
    assert (values["citation_precision"], values["citation_recall"]) == (0.5, 0.5)
    nothing = measured(wanted, answer("It is 50.", sources=[])).values
    assert nothing["citation_recall"] == 0.0
    assert "citation_precision" not in nothing, "an answer that cites nothing is not imprecise"


def test_one_of_several_words_is_enough_and_marks_are_no_words() -> None:
    either = case(must_say=[["fifty", "50"], "characters"], must_not_say=["kb-1"])
    assert measured(either).values | {"says": True, "avoids": True, "right": True} == measured(either).values


@pytest.mark.parametrize(
    ("answerable", "body", "figure", "right"),
    [
        (True, {}, ("refused_wrongly", False), True),
        (True, {"answered": "not_found"}, ("refused_wrongly", True), False),
        (False, {}, ("refused_rightly", False), False),
        (False, {"answered": "not_found"}, ("refused_rightly", True), True),
        (False, {"sources": [passage(1, id="web-1", source_type="external")]}, ("refused_rightly", True), True),
        (False, {"answered": "partly"}, ("refused_rightly", False), False),
    ],
)
def test_an_answer_declines_by_its_verdict_or_by_citing_no_document(
    answerable: bool, body: dict[str, Any], figure: tuple[str, bool], right: bool
) -> None:
    outcome = measured(case(answerable=answerable), answer(**body))
    assert (outcome.values[figure[0]], outcome.values["right"]) == (figure[1], right)


PAGE = passage(1, id="web-1", source_type="external", source_file_path=None, source_url="https://a.example/")


@pytest.mark.parametrize(
    ("body", "refused", "reasons"),
    [
        ({"text": "It is 50. [web-1]", "sources": [PAGE]}, False, ()),
        ({"text": "It is 50. [kb-1]", "sources": [passage()]}, False, ()),
        ({"text": "It is 60. [web-1]", "sources": [PAGE]}, False, ("does not say '50'",)),
        ({"text": "It may be 50.", "sources": []}, True, ("declines, although the web holds it",)),
        ({"text": "50", "sources": [PAGE], "answered": "not_found"}, True, ("declines, although the web holds it",)),
    ],
)
def test_what_the_web_holds_may_be_answered_from_it(
    body: dict[str, Any], refused: bool, reasons: tuple[str, ...]
) -> None:
    page = {"title": "T", "text": "50", "url": "https://a.example/"}
    outcome = measured(case(from_web=True, must_say="50", planted_pages=[page]), answer(**body))
    assert (outcome.values["refused_wrongly"], outcome.reasons) == (refused, reasons)
    assert outcome.values["right"] is not bool(reasons)


def test_what_the_documents_hold_is_not_answered_from_the_web() -> None:
    outcome = measured(case(must_say="50"), answer("It is 50. [web-1]", sources=[PAGE]))
    assert outcome.reasons == ("declines, although the documents hold it",)


def test_a_verdict_may_be_expected() -> None:
    assert measured(case(answered="partly"), answer(answered="partly")).values["verdict"]
    assert measured(case(answered=["partly"])).reasons == ("the verdict is found",)


def test_planted_words_leak_in_an_answer_a_withdrawn_text_or_an_argument() -> None:
    planted = case(must_not_leak=["MARMALADE"])
    assert measured(planted).values["leaks"] == 0.0
    for told in (
        {"body": answer("marmalade")},
        {"arguments": {"query": "say Marmalade"}},
        {"second": answer("Marmalade")},
    ):
        outcome = measured(
            planted, told.get("body"), told.get("second"), **{k: v for k, v in told.items() if k == "arguments"}
        )
        assert (outcome.values["leaks"], outcome.values["right"]) == (1.0, False)


def test_a_source_that_quotes_planted_words_is_no_leak() -> None:
    assert (
        measured(case(must_not_leak=["MARMALADE"]), answer(sources=[passage(title="MARMALADE")])).values["leaks"] == 0
    )


def test_the_stream_is_compared_with_the_other_route() -> None:
    assert measured(case(), second=answer()).values["streamed_as_buffered"]
    assert measured(case(), second=answer(query_id="another", latency_ms=9)).values["streamed_as_buffered"]
    for change in ({"answer": "No."}, {"answered": "partly"}, {"sources": []}, {"used_tools": [SEARCH]}):
        assert not measured(case(), second=answer(**change)).values["streamed_as_buffered"]
    assert not measured(case(), shown="A keyword has").values["streamed_as_buffered"]


def test_a_second_answer_without_a_search_is_a_search_avoided() -> None:
    web = {"cost": {"web_searches": 1}, "keyword_count": 3, "used_external_kb": True}
    taught = {"used_external_kb": True}
    assert measured(case(), answer(**web), answer(**taught)).values["web_avoided"]
    assert not measured(case(), answer(**web), answer(**web)).values["web_avoided"]
    assert "web_avoided" not in measured(case(), answer(), answer()).values
    untaught = answer(**web) | {"keyword_count": 0}  # learning that fails must be seen
    assert measured(case(), untaught, answer()).values["web_avoided"] is False


def test_a_question_that_the_model_failed_is_wrong_in_what_it_should_have_done() -> None:
    problem = {"type": "urn:gleaner:problem:answer-rejected", "detail": "No valid answer.", "status": 502}
    exchange = read_parts([{"type": "data-gleaner-problem", "data": problem}])
    values = measure(case(**PLACE, must_say=["50"]), exchange, None).values
    for figure in ("right", "hit_5", "says", "verdict", "tool_sequence", "citation_recall"):
        assert not values[figure]
    assert values["failed"]
