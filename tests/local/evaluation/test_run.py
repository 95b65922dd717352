"""Asking cases of a service that fails now and then: what is asked again, and what is told as not asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import Response

from gleaner_local.clients.http_api import ApiClient
from gleaner_local.evaluation.asking import ATTEMPTS, Asker
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.run import Outcome, Run, RunSettings
from tests.doubles.answering_service import AnsweringService, answer, parts, passage, problem, serving, stream

Reply = Callable[[str, dict[str, Any]], Any]
STRICT = {"grounding": "strict"}


def case(query: str = "How long?", **fields: Any) -> Case:
    return Case.model_validate({"id": query, "query": query} | fields)


def run(
    service: AnsweringService, *cases: Case, timeout: float = 10, **settings: Any
) -> tuple[list[Outcome], list[float]]:
    """The outcomes, and the seconds that were waited."""
    waits: list[float] = []
    with serving(service) as url:
        asker = Asker(ApiClient(url, timeout=timeout), sleep=waits.append)
        return Run(asker, RunSettings(**{"both_ways": False} | settings)).ask_all(cases), waits


def failing(times: int, failure: Callable[[], Any]) -> Reply:
    """Fails so many requests for an answer, and answers the rest."""
    left = [times]
    lock = threading.Lock()

    def reply(_path: str, _body: dict[str, Any]) -> Any:
        with lock:
            left[0] -= 1
            return failure() if left[0] >= 0 else None

    return reply


PASSING: dict[str, Callable[[], Response]] = {
    "throttled": lambda: problem(429, "throttled"),
    "unavailable": lambda: problem(503, "model-unavailable"),
    "a proxy's page": lambda: Response("<h1>Bad gateway</h1>", 502),
    "a stream that breaks off": lambda: stream(parts(answer())[:3], is_whole=False),
    "a stream without an answer": lambda: stream([{"type": "start"}]),
    "a problem at the end of a stream": lambda: stream(
        [
            {
                "type": "data-gleaner-problem",
                "data": {"type": "urn:gleaner:problem:deadline-exceeded", "status": 504, "detail": "late"},
            }
        ]
    ),
}


@pytest.mark.parametrize("failure", PASSING)
def test_a_passing_failure_is_asked_again_under_the_same_key(failure: str) -> None:
    service = AnsweringService(failing(2, PASSING[failure]))
    [outcome], waits = run(service, case())
    assert outcome.measured[0].values["right"]
    assert waits == [1.0, 2.0]
    keys = [headers.get("idempotency-key") for headers in service.headers if "idempotency-key" in headers]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_the_wait_that_a_service_asks_for_is_kept() -> None:
    service = AnsweringService(failing(1, lambda: problem(429, "throttled", **{"retry-after": "7"})))
    assert run(service, case())[1] == [7.0]


@pytest.mark.parametrize("failure", PASSING)
def test_what_keeps_failing_is_not_asked_and_never_wrong(failure: str) -> None:
    hard = case("Hard?", **STRICT)
    service = AnsweringService(lambda _path, body: PASSING[failure]() if body["query"] == "Hard?" else None)
    (good, bad), waits = run(service, case("Easy?", **STRICT), hard)
    assert good.measured
    assert not bad.measured
    assert f"asked {ATTEMPTS} times" in bad.not_asked
    assert len(waits) == ATTEMPTS - 1


def test_a_service_that_hangs_is_left_after_its_time() -> None:
    released = threading.Event()

    def hang(_path: str, body: dict[str, Any]) -> None:
        if body["query"] == "Hang?":
            released.wait(60)
        else:  # it is asked when the first was given up
            released.set()

    (first, second), _ = run(AnsweringService(hang), case("Hang?"), case("Go on?"), timeout=0.5)
    assert "Timeout" in first.not_asked
    assert second.measured


def test_a_service_that_is_down_is_not_tried_for_every_case() -> None:
    service = AnsweringService(lambda _path, _body: problem(503, "store-unavailable"))
    outcomes, _ = run(service, *(case(f"Question {number}?") for number in range(200)))
    assert all(outcome.not_asked for outcome in outcomes)
    assert len(service.asked()) == 5 * ATTEMPTS
    assert "the 5 before it got no answer" in outcomes[-1].not_asked


@pytest.mark.parametrize("failure", [problem(429, "quota-exceeded"), problem(401, "unauthorized")])
def test_a_failure_that_holds_for_all_ends_the_run_at_once(failure: Response) -> None:
    service = AnsweringService(lambda _path, _body: failure)
    outcomes, waits = run(service, *(case(f"Question {number}?") for number in range(9)))
    assert len(service.asked()) == 1
    assert not waits
    assert all(outcome.not_asked for outcome in outcomes)


@pytest.mark.parametrize(
    ("status", "slug"), [(404, "unknown-knowledge-base"), (403, "not-allowed"), (400, "validation-failed")]
)
def test_a_case_that_the_service_refuses_is_told_and_the_others_are_asked(status: int, slug: str) -> None:
    service = AnsweringService(lambda _path, body: problem(status, slug) if body.get("kb_id") else None)
    (refused, asked), _ = run(service, case("A?", kb_id="nowhere"), case("B?"))
    assert slug in refused.not_asked
    assert asked.measured


@pytest.mark.parametrize(
    ("status", "slug"), [(502, "answer-rejected"), (422, "answer-refused"), (502, "mandatory-tool-missing")]
)
def test_what_the_model_makes_of_a_question_is_an_answer_and_a_wrong_one(status: int, slug: str) -> None:
    [outcome], waits = run(AnsweringService(lambda _path, _body: problem(status, slug)), case())
    assert not waits
    assert not outcome.not_asked
    assert (outcome.measured[0].values["failed"], outcome.measured[0].values["right"]) == (True, False)


def test_an_answer_of_another_service_is_told() -> None:
    [outcome], _ = run(
        AnsweringService(lambda _path, _body: stream([{"type": "data-gleaner-answer", "data": {}}])), case()
    )
    assert "not the form of Gleaner's" in outcome.not_asked


def test_earlier_turns_are_asked_in_the_session_that_the_question_goes_on_with() -> None:
    service = AnsweringService()
    [outcome], _ = run(service, case("And then?", turns=["First?", "Second?"]), both_ways=True)
    assert outcome.measured[0].values["streamed_as_buffered"]
    asked = [(path, body["query"], "session_id" in body) for method, path, body in service.requests if method == "POST"]
    earlier = [("/api/chat/query", "First?", False), ("/api/chat/query", "Second?", True)]
    assert asked == [
        *earlier,
        ("/api/chat/stream", "And then?", True),
        *earlier,
        ("/api/chat/query", "And then?", True),
    ]
    assert [method for method, *_ in service.requests].count("DELETE") == 2


def test_cases_that_may_teach_each_other_are_asked_in_their_order_whatever_the_concurrency() -> None:
    service = AnsweringService()
    chained = [case(f"Web {number}?") for number in range(20)]
    free = [case(f"Strict {number}?", **STRICT) for number in range(20)]
    outcomes, _ = run(service, *(one for pair in zip(chained, free, strict=True) for one in pair), concurrency=8)
    assert [query for query in service.asked() if query.startswith("Web")] == [one.query for one in chained]
    assert [outcome.case.query for outcome in outcomes][:3] == ["Web 0?", "Strict 0?", "Web 1?"]
    assert all(outcome.measured for outcome in outcomes)


def test_the_other_route_is_asked_by_itself_only_of_the_local_model() -> None:
    for model, expected in (("scripted", 0), ("gleaner-extractive", 1)):
        service = AnsweringService(lambda _path, _body, model=model: answer(metadata={"model": model}))  # type: ignore[misc]
        run(service, case(), both_ways=None)
        assert len(service.asked("/api/chat/query")) == expected


def test_what_cannot_be_planted_is_not_asked() -> None:
    planted = {"must_not_leak": ["X"], "planted_passages": [{"title": "t", "text": "X"}]}
    service = AnsweringService()
    (missed, asked), _ = run(service, case("A?", **planted), case("B?"))
    assert "--load" in missed.not_asked
    assert asked.measured
    assert service.asked() == ["B?"]


def test_a_case_is_asked_as_often_as_wished() -> None:
    replies = iter([answer(), answer("No idea.", sources=[]), answer()])
    service = AnsweringService(lambda _path, _body: next(replies))
    [outcome], _ = run(service, case(expected_files=["keywords.md"]), repeats=3)
    assert [measured.values["right"] for measured in outcome.measured] == [True, False, True]


@pytest.mark.parametrize(("after", "rounds", "missed"), [(2, [1, 1, 0], 1), (4, [1, 1, 1], 0), (8, [2, 2, 2], 0)])
def test_an_interruption_keeps_whole_rounds_or_what_the_first_one_measured(
    after: int, rounds: list[int], missed: int
) -> None:
    left = [after]

    def interrupt(count: int) -> None:
        left[0] -= count
        if not left[0]:
            raise KeyboardInterrupt

    with serving(AnsweringService()) as url:
        interrupted = Run(Asker(ApiClient(url)), RunSettings(repeats=9, both_ways=False), interrupt)
        outcomes = interrupted.ask_all([case(f"Question {number}?") for number in range(3)])
    assert interrupted.is_interrupted
    assert [len(outcome.measured) for outcome in outcomes] == rounds
    assert [outcome.not_asked for outcome in outcomes].count("the run was interrupted") == missed


def test_passages_come_from_the_stream() -> None:
    found = [passage(1, source_file_path="docs/other.md"), passage(2)]
    service = AnsweringService(lambda _path, _body: stream(parts(answer(), found=found)))
    [outcome], _ = run(service, case(expected_files=["docs/keywords.md"]))
    assert outcome.measured[0].values["reciprocal_rank"] == 0.5
