"""The metrics of a question: its success criteria and its cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from starlette.responses import JSONResponse

from gleaner.application import build_api
from gleaner.runtime.settings import Settings
from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search, web
from tests.doubles.scripted_web import ScriptedWeb, result

PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 0.1, "output": 10}', "WEB_SEARCH_PRICE": "0.005"}
CRITERIA = {
    "KnowledgeBaseSearched",
    "AnsweredOnFirstAttempt",
    "KeywordsAfterWeb",
    "HelpedByKeywords",
    "RetriesRecovered",
    "ContextCarried",
}

ReadMetrics = Callable[[], dict[str, float]]


@pytest.fixture
def metrics() -> Metrics:
    shared = Metrics(namespace="Gleaner", service="query")
    shared.clear_metrics()
    return shared


@pytest.fixture
def client(settings: dict[str, str], metrics: Metrics) -> Client:
    """The API with prices, over metrics that a test can read."""
    logger, tracer = Logger(service="gleaner"), Tracer(service="gleaner", disabled=True)
    return Client(build_api(Settings.from_env(settings | PRICES), logger=logger, tracer=tracer, metrics=metrics))


@pytest.fixture
def read_metrics(metrics: Metrics) -> ReadMetrics:
    """Returns the metrics recorded since the last call, by name."""

    def read() -> dict[str, float]:
        values = {name: sum(metric["Value"]) for name, metric in metrics.metric_set.items()}
        metrics.clear_metrics()
        return values

    return read


def shares(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name in CRITERIA}


def web_search(query: str) -> tuple[str, Any]:
    return "perplexity_search", {"query": query}


def ask_the_web(client: Client, model: ScriptedModel, web_server: ScriptedWeb) -> Any:
    web_server.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    model.plays(
        calls(search("starlette release")),
        calls(web()),
        calls(index("Starlette release", "ASGI framework"), answer("In 2026. [web-1]", ("web-1",))),
    )
    return client.ask("When was Starlette 1.0 released?")[1]


def test_metrics_of_a_question_that_the_knowledge_base_answers(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(calls(search()), calls(answer()))
    body = client.ask()[1]
    values = read_metrics()
    assert shares(values) == {"KnowledgeBaseSearched": 1, "AnsweredOnFirstAttempt": 1}
    assert (values["InputTokens"], values["OutputTokens"], values["WebSearches"]) == (200, 20, 0)
    assert values["Latency"] >= body["latency_ms"] > 0
    assert values["Fallbacks"] == 0
    assert values["EstimatedCost"] == pytest.approx(0.0004)  # 200 tokens in, 20 out
    assert body["cost"] == {
        "input_tokens": 200,
        "cached_input_tokens": 0,
        "output_tokens": 20,
        "web_searches": 0,
        "estimated_usd": 0.0004,
    }


def test_a_question_answered_from_a_stored_web_answer_counts_as_helped(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    body = ask_the_web(client, model, web)
    values = read_metrics()
    assert shares(values) == {
        "KnowledgeBaseSearched": 1,
        "AnsweredOnFirstAttempt": 1,
        "KeywordsAfterWeb": 1,
    }
    assert body["cost"]["web_searches"] == values["WebSearches"] == 1
    assert body["cost"]["estimated_usd"] == pytest.approx(0.005 + 0.0006)
    model.plays(calls(search("release date of Starlette")), calls(answer("In 2026. [web-1]", ("web-1",))))
    client.ask("What is the release date of Starlette?")
    assert shares(read_metrics())["HelpedByKeywords"] == 1


def test_a_question_that_searches_the_web_anyway_counts_as_not_helped(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    ask_the_web(client, model, web)
    read_metrics()
    model.plays(
        calls(search("release date of Starlette")),
        calls(("perplexity_search", {"query": "Starlette release date"})),
        calls(index("Starlette release date"), answer("In 2026. [web-2]", ("web-2",))),
    )
    client.ask("What is the release date of Starlette?")
    assert shares(read_metrics())["HelpedByKeywords"] == 0


def test_a_stored_web_answer_that_was_not_needed_is_not_counted(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    ask_the_web(client, model, web)
    read_metrics()
    model.plays(calls(search("latest release of starlette"), search()), calls(answer()))
    body = client.ask("What is the release date of Starlette, and how are duplicates merged?")[1]
    assert "web-1" in str(model.requests[-1]["messages"])  # it was found
    assert [source["source_type"] for source in body["sources"]] == ["knowledge_base"]
    assert "HelpedByKeywords" not in shares(read_metrics())


def test_the_cost_that_the_web_search_reports_is_used(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    reply: Any = web.reply
    web.reply = reply | {"usage": reply["usage"] | {"cost": {"currency": "USD", "total_cost": 0.25}}}
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette"})),
        calls(index("Starlette release"), answer("In 2026. [web-1]", ("web-1",))),
    )
    assert client.ask()[1]["cost"]["estimated_usd"] == pytest.approx(0.2506)


@pytest.mark.parametrize(("text", "pages", "status"), [("Sorry.", (), "completed"), ("In 20", (PAGE,), "incomplete")])
def test_a_paid_web_search_without_a_usable_answer_is_counted(
    client: Client, model: ScriptedModel, web: ScriptedWeb, text: str, pages: tuple[Any, ...], status: str
) -> None:
    web.finds(text, *pages, status=status)
    reply: Any = web.reply
    web.reply = reply | {"usage": reply["usage"] | {"cost": {"currency": "USD", "total_cost": 0.25}}}
    model.plays(calls(search()), calls(("perplexity_search", {"query": "Starlette"})), calls(answer()))
    body = client.ask()[1]
    assert (body["status"], body["cost"]["web_searches"]) == ("fallback", 1)
    assert body["cost"]["estimated_usd"] == pytest.approx(0.2506)


def test_an_answer_on_the_second_attempt_counts_as_recovered(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(calls(search()), says("It is merged."), calls(answer()))
    assert client.ask()[0] == 200
    assert shares(read_metrics()) == {
        "KnowledgeBaseSearched": 1,
        "AnsweredOnFirstAttempt": 0,
        "RetriesRecovered": 1,
    }


@pytest.mark.parametrize(("sources", "recovered"), [(("kb-1",), 1), ((), 0)])
def test_an_answer_without_sources_counts_as_an_attempt(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics, sources: tuple[str, ...], recovered: int
) -> None:
    model.plays(calls(search()), calls(answer("Merged.", ())), calls(answer("Merged.", sources)))
    client.ask()
    values = read_metrics()
    assert shares(values) == {
        "KnowledgeBaseSearched": 1,
        "AnsweredOnFirstAttempt": 0,
        "RetriesRecovered": recovered,
    }
    assert (values["AnswersFound"], values["Fallbacks"]) == (recovered, 1 - recovered)


@pytest.mark.parametrize(
    ("after_feedback", "recovered"),
    [
        (calls(index("Starlette release", "ASGI framework")), 1),
        (calls(index("x")), 0),
        (says("I would rather not."), 0),
        (JSONResponse({"error": {"message": "no"}}, status_code=401), 0),
    ],
)
def test_keyword_feedback_counts_as_recovered_if_the_model_indexes_keywords(
    client: Client,
    model: ScriptedModel,
    web: ScriptedWeb,
    read_metrics: ReadMetrics,
    after_feedback: Any,
    recovered: int,
) -> None:
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    web_turn = calls(("perplexity_search", {"query": "Starlette release"}))
    model.plays(calls(search()), web_turn, calls(answer("In 2026. [web-1]", ("web-1",))), after_feedback)
    assert client.ask("When was Starlette 1.0 released?")[0] == 200
    assert shares(read_metrics()) == {
        "KnowledgeBaseSearched": 1,
        "AnsweredOnFirstAttempt": 1,
        "KeywordsAfterWeb": 1,  # the service indexes if the model does not
        "RetriesRecovered": recovered,
    }


def test_one_recovery_does_not_make_up_for_a_failed_one(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    web_turn = calls(("perplexity_search", {"query": "Starlette release"}))
    model.plays(says("Later."), calls(search()), web_turn, calls(answer("In 2026. [web-1]", ("web-1",))), says("No."))
    assert client.ask("When was Starlette 1.0 released?")[0] == 200
    assert shares(read_metrics())["RetriesRecovered"] == 0


def test_a_search_after_feedback_counts_as_recovered_even_if_the_question_fails(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(says("I know it."), calls(search()), JSONResponse({"error": {"message": "no"}}, status_code=401))
    assert client.ask()[0] == 503
    assert shares(read_metrics())["RetriesRecovered"] == 1


def test_a_question_without_an_answer_is_counted_too(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(says("I just know it."))
    assert client.ask()[0] == 502
    values = read_metrics()
    assert shares(values) == {"KnowledgeBaseSearched": 0, "RetriesRecovered": 0}
    assert values["InputTokens"] == 200
    assert values["Latency"] > 0  # the latency of failed questions counts, too


def test_a_refused_question_counts_for_no_criterion_but_costs(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(says(None, refusal="No."))
    assert client.ask()[0] == 422
    values = read_metrics()
    assert shares(values) == {}
    assert (values["InputTokens"], values["OutputTokens"]) == (100, 10)


def test_parts_that_cannot_be_read_are_counted(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    ask_the_web(client, model, web)
    assert read_metrics()["UnreadableParts"] == 0
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE | {"title": 7}, {"id": 2, "url": None}, None)
    model.plays(calls(search("starlette")), calls(web_search("starlette")), calls(answer("2026 [web-1]", ("web-1",))))
    client.ask("When was Starlette 1.0 released?")
    assert read_metrics()["UnreadableParts"] == 3


def test_withheld_answers_are_counted_by_kind(
    client: Client, model: ScriptedModel, web: ScriptedWeb, read_metrics: ReadMetrics
) -> None:
    web.finds("The Velm pool opens at 9. [1]", result(1, "https://velm.example", "The pool of Velm"))
    ask = ("When does the Velm pool open?", calls(answer("At 9 [web-1]", ("web-1",))))
    model.plays(calls(search(ask[0])), calls(web_search(ask[0])), calls(index("Velm pool")), ask[1])
    client.ask(ask[0])
    assert "AnswersWithheld" not in read_metrics()
    model.plays(calls(search("When does the Velm pool close?")), calls(answer()))
    client.ask("When does the Velm pool close?")
    values = read_metrics()
    assert (values["AnswersWithheld"], values["AnswersWithheldPolarity"]) == (1, 1)


def test_an_unavailable_model_counts_for_no_criterion(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(JSONResponse({"error": {"message": "no"}}, status_code=401))
    assert client.ask()[0] == 503
    assert shares(read_metrics()) == {}


def test_earlier_turns_that_reach_the_model_count_as_carried_context(
    client: Client, model: ScriptedModel, read_metrics: ReadMetrics
) -> None:
    model.plays(calls(search()), calls(answer()))
    session_id = client.ask()[1]["session_id"]
    assert "ContextCarried" not in read_metrics()
    model.plays(calls(search()), calls(answer()))
    client.ask("And pruned?", session_id=session_id)
    assert read_metrics()["ContextCarried"] == 1
    assert "How are duplicates merged?" in str(model.requests[0]["messages"])


def test_without_prices_there_is_no_estimate(settings: dict[str, str], metrics: Metrics, model: ScriptedModel) -> None:
    logger, tracer = Logger(service="gleaner"), Tracer(service="gleaner", disabled=True)
    client = Client(build_api(Settings.from_env(settings), logger=logger, tracer=tracer, metrics=metrics))
    model.plays(calls(search()), calls(answer()))
    assert client.ask()[1]["cost"]["estimated_usd"] is None
    assert "EstimatedCost" not in metrics.metric_set
    assert "InputTokens" in metrics.metric_set


def test_the_cost_is_stored_with_the_message(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    session_id = client.ask()[1]["session_id"]
    metadata = client.request("GET", f"/api/sessions/{session_id}/messages")[1]["messages"][1]["metadata"]
    assert (metadata["web_searches"], metadata["estimated_usd"]) == (0, 0.0004)
