"""The agent loop with real clients over scripted servers: its steps, feedback, retries and limits."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.responses import Response

from gleaner.answering._execution import CallOutcome
from gleaner.answering.agent import Agent
from gleaner.answering.conversation import build_conversation
from gleaner.answering.question import Services
from gleaner.answering.steps import LoopLimits, Step
from gleaner.errors import AnswerRejected, MandatoryToolMissing
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.model import Grounding, Mode
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.tools.workspace import PassageSearch, Question, Workspace
from gleaner.wiring import build_services, build_stores
from tests.doubles.scripted_model import ScriptedModel, answer, calls, completion, index, says, search, web
from tests.doubles.scripted_web import ScriptedWeb, result

QUESTION = Question(
    query_id="01ARZ3NDEKTSV4RRFFQ69G5FAV",
    session_id="01ARZ3NDEKTSV4RRFFQ69G5FAW",
    text="How are duplicates merged?",
    kb_id="default_kb",
    mode=Mode.WHOLE_BOOK,
    grounding=Grounding.OPEN,
)
WEB_TEXT = "Starlette 1.0 was released in 2026 [1]."
WEB_PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
WEB_ANSWER = answer("It was released in 2026. [web-1]", ("web-1",))


@dataclass(frozen=True, slots=True)
class Run:
    """An agent with its workspace, and the outcomes that its listener got."""

    agent: Agent
    workspace: Workspace
    outcomes: list[CallOutcome]

    def start(self) -> None:
        """Answer the question."""
        self.agent.run(build_conversation(QUESTION, ()))
        self.workspace.background.flush()

    def answer(self) -> str:
        """The accepted answer."""
        assert self.workspace.answer is not None
        return self.workspace.answer.text


@pytest.fixture
def services(settings: dict[str, str]) -> Services:
    """The clients that the query function uses, over scripted servers."""
    configuration = Settings.from_env(settings)
    return build_services(configuration, build_stores(configuration))


@pytest.fixture
def web_server(scripted_web_server: tuple[ScriptedWeb, str]) -> ScriptedWeb:
    """The web search, which finds one page."""
    server = scripted_web_server[0]
    server.finds(WEB_TEXT, WEB_PAGE)
    return server


def make_run(
    services: Services,
    *,
    seconds: float = 60,
    limits: LoopLimits | None = None,
    passage_search: PassageSearch | None = None,
) -> Run:
    """A run of which nothing was started yet, with a deadline of `seconds`."""
    deadline = Deadline.after(seconds)

    def search_knowledge_base(kb_id: str, query: str, top_k: int, until: Deadline) -> RetrievalResult:
        return services.retrieval.search(kb_id, query, top_k=top_k, deadline=until)

    workspace = Workspace(
        question=QUESTION,
        search=passage_search or search_knowledge_base,
        has_knowledge_base=lambda _kb_id: False,
        web=services.web,
        learning=services.learning,
        deadline=deadline,
        background=Background(services.io_executor, deadline),
    )
    outcomes: list[CallOutcome] = []
    agent = Agent(services.model, workspace, services.tool_executor, limits or LoopLimits(), outcomes.append)
    return Run(agent, workspace, outcomes)


def offered(request: dict[str, Any]) -> list[str]:
    """The names of the tools in a request to the model."""
    return [tool["function"]["name"] for tool in request["tools"]]


def tool_results(request: dict[str, Any]) -> list[tuple[str, Any]]:
    """Call id and decoded content of the tool messages in a request to the model."""
    messages = [message for message in request["messages"] if message["role"] == "tool"]
    return [(message["tool_call_id"], json.loads(message["content"])) for message in messages]


def test_a_search_and_an_answer_end_the_run(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    run = make_run(services)
    run.start()
    assert run.answer() == "Merged. [kb-1]"
    assert [outcome.call.name for outcome in run.outcomes] == ["knowledge_base_search", "generate_response"]
    assert all(outcome.succeeded for outcome in run.outcomes)
    assert (run.agent.progress.step, run.agent.progress.model_calls) == (Step.ANSWER, 2)
    assert (run.agent.usage.input_tokens, run.agent.usage.output_tokens) == (200, 20)
    assert run.agent.model_name == "scripted"
    assert not run.workspace.degraded


@pytest.mark.parametrize(
    ("replies", "missing"),
    [
        ([says("Merged."), calls(search()), calls(answer())], "knowledge_base_search"),
        ([calls(search()), says("Merged."), calls(answer())], "generate_response"),
        ([calls(search()), calls(answer("Merged.", ("kb-9",))), calls(answer())], "generate_response"),
    ],
)
def test_a_missing_mandatory_call_gets_feedback_and_one_retry(
    services: Services, model: ScriptedModel, replies: list[Any], missing: str
) -> None:
    model.plays(*replies)
    run = make_run(services)
    run.start()
    assert run.answer() == "Merged. [kb-1]"
    assert run.agent.progress.failures == {missing: 1}
    [feedback] = [
        message["content"]
        for message in model.requests[-1]["messages"]
        if message["role"] == "user" and message["content"].startswith("[gleaner]")
    ]
    assert f"Expected now: a call of the tool {missing}" in feedback


def test_an_answer_without_sources_is_asked_for_them_once(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Merged.", ())), calls(answer()))
    run = make_run(services)
    run.start()
    assert run.answer() == "Merged. [kb-1]"
    assert offered(model.requests[2]) == ["generate_response"]
    assert "names no sources" in model.requests[2]["messages"][-1]["content"]
    assert (len(model.requests), run.workspace.degraded) == (3, set())


@pytest.mark.parametrize(
    "reply",
    [
        calls(answer("Merged.", ())),
        calls(answer("Merged.", ("kb-9",))),
        says("Merged."),
        Response(status_code=401),
        completion({"content": None, "refusal": "No."}),
    ],
    ids=["the same", "unknown", "plain text", "an error", "a refusal"],
)
def test_an_answer_that_stays_without_sources_is_a_fallback(
    services: Services, model: ScriptedModel, reply: Any
) -> None:
    model.plays(calls(search()), calls(answer("Merged.", ())), reply)
    run = make_run(services)
    run.start()
    assert run.answer() == "Merged."
    assert run.workspace.degraded == {"the answer names no sources"}
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("claim", "passages", "seconds", "degraded"),
    [
        ({"answered": "Not found"}, True, 60, set()),  # the passages do not hold it
        ({}, False, 60, set()),  # there are none
        ({}, True, 20, {"the answer was forced by the deadline", "the answer names no sources"}),
    ],
)
def test_an_answer_is_not_asked_for_sources_in_vain(
    services: Services,
    model: ScriptedModel,
    claim: dict[str, str],
    passages: bool,
    seconds: float,
    degraded: set[str],
) -> None:
    found_nothing: PassageSearch = lambda _kb_id, _query, _top_k, _deadline: RetrievalResult((), False)  # noqa: E731
    model.plays(calls(search()), calls(answer("Nothing says so.", (), **claim)))
    limits = LoopLimits(answer_seconds=30)
    run = make_run(services, seconds=seconds, limits=limits, passage_search=None if passages else found_nothing)
    run.start()
    assert run.workspace.degraded == degraded
    assert len(model.requests) == 2


def test_keywords_and_sources_are_both_asked_for(
    services: Services, model: ScriptedModel, web_server: ScriptedWeb
) -> None:
    model.plays(calls(search()), calls(web()), calls(answer("In 2026.", ())), calls(index("ASGI")), calls(WEB_ANSWER))
    run = make_run(services)
    run.start()
    assert run.answer() == "It was released in 2026. [web-1]"
    assert [offered(request) for request in model.requests[3:]] == [["index_keywords"], ["generate_response"]]
    assert run.agent.progress.failures == {"index_keywords": 1, "generate_response": 1}


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([says("Merged.")], MandatoryToolMissing),
        ([calls(search()), says("Merged.")], MandatoryToolMissing),
        ([calls(search()), calls(answer("Merged.", ("kb-9",)))], AnswerRejected),
    ],
)
def test_a_mandatory_call_that_is_missing_twice_is_an_error(
    services: Services, model: ScriptedModel, replies: list[Any], error: type[Exception]
) -> None:
    model.plays(*replies)
    run = make_run(services)
    with pytest.raises(error):
        run.start()
    assert run.workspace.answer is None
    assert len(model.requests) == len(replies) + 1


def test_a_model_that_only_writes_text_is_named_as_the_cause(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("Merged."))
    with pytest.raises(MandatoryToolMissing, match=r"plain text.*choose a model that calls tools"):
        make_run(services).start()


def test_a_web_answer_is_indexed_in_the_turn_that_answers(
    services: Services, model: ScriptedModel, web_server: ScriptedWeb
) -> None:
    model.plays(calls(search()), calls(web()), calls(index("Starlette release"), WEB_ANSWER))
    run = make_run(services)
    run.start()
    assert run.answer() == "It was released in 2026. [web-1]"
    assert [keyword.keyword_text for keyword in run.workspace.learned.values()] == ["Starlette release"]
    assert set(run.workspace.learned_results) == set(run.workspace.web_answers)
    assert set(offered(model.requests[2])) == {"index_keywords", "generate_response", "perplexity_search"}
    assert len(model.requests) == 3


def test_keywords_that_the_model_never_indexes_are_extracted(
    services: Services, model: ScriptedModel, web_server: ScriptedWeb
) -> None:
    model.plays(calls(search()), calls(web()), calls(WEB_ANSWER), says("Done."))
    run = make_run(services)
    run.start()
    assert run.workspace.learned
    assert offered(model.requests[3]) == ["index_keywords"]
    assert run.agent.progress.failures == {"index_keywords": 1}


@pytest.mark.parametrize(
    ("seconds", "limits", "degraded"),
    [
        (20, LoopLimits(answer_seconds=30), {"the answer was forced by the deadline"}),
        (60, LoopLimits(model_calls=3), set()),
    ],
)
def test_the_answer_is_forced_when_time_or_model_calls_run_out(
    services: Services, model: ScriptedModel, seconds: float, limits: LoopLimits, degraded: set[str]
) -> None:
    model.plays(calls(search()), calls(answer()))
    run = make_run(services, seconds=seconds, limits=limits)
    run.start()
    assert offered(model.requests[1]) == ["generate_response"]
    assert run.answer() == "Merged. [kb-1]"
    assert run.workspace.degraded == degraded


def test_calls_of_one_turn_run_in_parallel_and_keep_their_order(services: Services, model: ScriptedModel) -> None:
    barrier = threading.Barrier(2)

    def wait_for_the_other(_kb_id: str, query: str, top_k: int, deadline: Deadline) -> RetrievalResult:
        barrier.wait(60)
        return services.retrieval.search(QUESTION.kb_id, query, top_k=top_k, deadline=deadline)

    model.plays(calls(search("merged keywords"), search("pruned keywords"), ids=["first", "second"]), calls(answer()))
    run = make_run(services, passage_search=wait_for_the_other)
    run.start()
    assert [outcome.call.id for outcome in run.outcomes[:2]] == ["first", "second"]
    assert [call_id for call_id, _ in tool_results(model.requests[1])] == ["first", "second"]
    assert all("chunks" in content for _, content in tool_results(model.requests[1]))


def test_identical_calls_of_one_turn_run_once(services: Services, model: ScriptedModel) -> None:
    queries: list[str] = []

    def record(_kb_id: str, query: str, top_k: int, deadline: Deadline) -> RetrievalResult:
        queries.append(query)
        return services.retrieval.search(QUESTION.kb_id, query, top_k=top_k, deadline=deadline)

    model.plays(calls(search(), search(), ids=["first", "second"]), calls(answer()))
    run = make_run(services, passage_search=record)
    run.start()
    assert len(queries) == 1
    (_, first), (_, second) = tool_results(model.requests[1])
    assert first == second
    assert run.agent.progress.spent["knowledge_base_search"] == 2


def test_an_unforeseen_error_of_a_tool_is_told_to_the_model_and_logged(
    services: Services, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    def break_once(kb_id: str, query: str, top_k: int, until: Deadline) -> RetrievalResult:
        if query == "first":
            raise ZeroDivisionError("a fault of this program")
        return services.retrieval.search(kb_id, query, top_k=top_k, deadline=until)

    model.plays(calls(search("first")), calls(search("second")), calls(answer()))
    run = make_run(services, passage_search=break_once)
    run.start()
    assert run.answer() == "Merged. [kb-1]"
    error = tool_results(model.requests[1])[0][1]["error"]
    assert error["code"] == "internal" and "fault of this program" not in error["message"]
    assert run.workspace.degraded == {"knowledge_base_search failed"}
    assert "ZeroDivisionError: a fault of this program" in caplog.text


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("Use `rows[1]` [1].", "Use `rows[1]` [web-1]."),
        ("```py\nrows[1]\n```\n[1]", "```py\nrows[1]\n```\n[web-1]"),
        ("1. Run\n   ```\n   x[1]\n   ```\n[1][7]", "1. Run\n   ```\n   x[1]\n   ```\n[web-1]"),
        (f"m[{'9' * 5_000}] [1]", "m [web-1]"),
        (f"`m[{'9' * 5_000}]` [1]", f"`m[{'9' * 5_000}]` [web-1]"),
        ("`` `x`[1] `` and `a` [1]", "`` `x`[1] `` and `a` [web-1]"),
    ],
)
def test_marks_in_the_code_of_a_web_answer_are_kept(
    services: Services, model: ScriptedModel, web_server: ScriptedWeb, found: str, told: str
) -> None:
    web_server.finds(found, WEB_PAGE)
    model.plays(calls(search()), calls(web()), calls(index("Starlette release"), WEB_ANSWER))
    make_run(services).start()
    assert tool_results(model.requests[2])[-1][1]["answer"] == told
