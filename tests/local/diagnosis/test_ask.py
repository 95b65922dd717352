"""What the doctor finds when it asks the model and the web search, and what it sends them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gleaner.runtime.settings import Settings
from gleaner_local.commands import program
from gleaner_local.diagnosis._paid_model import _find_prices, ask_model
from gleaner_local.diagnosis._paid_web import ask_web
from gleaner_local.diagnosis.finding import Finding, Origin, State
from infra.prices import MODELS
from tests.doubles.model_faults import api_error
from tests.doubles.scripted_model import Reply, ScriptedModel, answer, calls, completion, index, says, search
from tests.doubles.scripted_web import ScriptedWeb, result

KEY = "sk-secret-key"
NOWHERE = "http://127.0.0.1:9/v1"  # nothing listens there
ORIGIN = Origin(key="THE_KEY", address="THE_ADDRESS", model="THE_MODEL", api="THE_API", effort="THE_EFFORT")
OK, NOTE, PROBLEM = State.OK, State.NOTE, State.PROBLEM
PRICES = json.dumps({"input": 1, "cached_input": 0.1, "output": 2})
REQUIRED = {
    "OPENAI_API_KEY": KEY,
    "PINECONE_API_KEY": KEY,
    "PINECONE_INDEX_HOST": "http://127.0.0.1",
    "KEYWORDS_TABLE": "k",
    "CONVERSATIONS_TABLE": "c",
    "TOOL_CALLS_TABLE": "t",
    "IDEMPOTENCY_TABLE": "i",
    "ACCESS_TABLE": "a",
    "USAGE_TABLE": "u",
    "DOCUMENTS_TABLE": "d",
}
SUCCESS = (calls(search()), calls(answer()))
WANTS_RESPONSES = api_error(
    400,
    f"Function tools with reasoning_effort are not supported ({KEY}). To use function tools, use /v1/responses or set "
    "reasoning_effort to 'none'.",
    param="reasoning_effort",
)


def line(finding: Finding) -> str:
    text = f"{finding.seen} {finding.remedy}"
    assert KEY not in text
    assert "\n" not in text
    assert finding.remedy or finding.state is not PROBLEM
    return text


class Model:
    """The scripted model as the doctor asks it."""

    def __init__(self, script: ScriptedModel, address: str) -> None:
        self.script = script
        self.address = address

    def asked(self, *replies: Reply, **variables: str) -> list[Finding]:
        """The findings about a model that gives these replies."""
        self.script.plays(*replies)
        settings = Settings.from_env(REQUIRED | {"OPENAI_BASE_URL": self.address} | variables)
        found = list(ask_model(settings, KEY, ORIGIN))
        assert all(map(line, found))
        return found

    def problem(self, *replies: Reply, **variables: str) -> str:
        """The one problem with a model that gives these replies."""
        (text,) = [line(finding) for finding in self.asked(*replies, **variables) if finding.state is PROBLEM]
        return text


@pytest.fixture
def model(scripted_model_server: tuple[ScriptedModel, str]) -> Model:
    return Model(*scripted_model_server)


@pytest.mark.parametrize(("api", "name"), [("responses", "the Responses API"), ("chat", "chat completions")])
def test_a_search_and_the_answer_are_called(model: Model, api: str, name: str) -> None:
    first, second, dialect, cost = model.asked(*SUCCESS, OPENAI_API=api, OPENAI_PRICES=PRICES)
    assert {finding.state for finding in (first, second, dialect, cost)} == {OK}
    for finding, tool in ((first, "knowledge_base_search"), (second, "generate_response")):
        assert finding.seen.startswith(f"The model called {tool}. HTTP 200: first byte after 0.")
        assert finding.seen.endswith("Tokens: 100 input (0 cached), 10 output (0 reasoning).")
    assert dialect.seen == f"It was asked by {name}, and scripted answered; the first request was accepted as it was."
    assert cost.seen.startswith("Calls: 2. Tokens: 200 input (0 cached), 20 output (0 reasoning). ")
    assert cost.seen.endswith("Price: 0.00024 USD at the prices in OPENAI_PRICES.")


def test_the_result_of_the_search_is_sent_back(model: Model) -> None:
    model.asked(*SUCCESS)
    searching, answering = model.script.requests
    assert [tool["function"]["name"] for tool in searching["tools"]] == ["knowledge_base_search"]
    assert [tool["function"]["name"] for tool in answering["tools"]] == ["knowledge_base_search", "generate_response"]
    assert answering["messages"][-1]["tool_call_id"] == answering["messages"][-2]["tool_calls"][0]["id"]
    assert json.loads(answering["messages"][-1]["content"])["chunks"][0]["id"] == "kb-1"
    assert model.script.authorizations == [f"Bearer {KEY}"] * 2


def test_cached_and_reasoning_tokens_are_shown(model: Model) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 7}}
    turn = calls(answer())
    turn["usage"] |= details
    *_, cost = model.asked(calls(search()), turn)
    assert "200 input (64 cached), 20 output (7 reasoning). The price is unknown" in cost.seen


def test_a_price_list_serves_openai_without_configured_prices() -> None:
    name, listed = next(iter(MODELS.items()))
    prices, source = _find_prices(Settings.from_env(REQUIRED | {"OPENAI_MODEL": name}))
    assert prices is not None
    assert (prices.input, prices.output) == (listed.input, listed.output)
    assert "infra/prices.py" in source


def test_another_api_after_a_refusal_is_noted(model: Model) -> None:
    first, _second, step, _dialect, _cost = model.asked(WANTS_RESPONSES, *SUCCESS)
    assert "HTTP 400, type t, parameter reasoning_effort after 0." in first.seen
    assert "2 requests: HTTP 400" in first.seen
    assert "; HTTP 200: first byte" in first.seen
    assert step.state is NOTE
    assert "the Responses API in place of chat completions" in step.seen
    assert "THE_API to responses" in step.remedy


def test_another_effort_after_a_refusal_is_noted(model: Model) -> None:
    _first, _second, step, *_ = model.asked(WANTS_RESPONSES, *SUCCESS, OPENAI_API="chat")
    assert "reasoning effort none" in step.seen
    assert "THE_EFFORT to none" in step.remedy


def test_a_call_that_is_asked_for_as_json_is_noted(model: Model) -> None:
    call = says(json.dumps({"tool": "knowledge_base_search", "arguments": {"query": "spiders"}}))
    first, _second, step, *_ = model.asked(says("Eight."), call, calls(answer()), OPENAI_API="chat")
    assert first.state is OK
    assert "200 input" in first.seen
    assert "matches a schema" in step.seen
    assert "2 requests: HTTP 200 without a usable answer after 0." in first.seen


@pytest.mark.parametrize(
    ("code", "words"),
    [(429, "rate limits"), ("402", "credit"), (401, "THE_KEY"), (502, "later"), ("model_not_found", "THE_MODEL")],
)
def test_an_error_that_comes_with_http_200_keeps_its_code(model: Model, code: int | str, words: str) -> None:
    # OpenRouter sends what fails after its headers are out so: https://openrouter.ai/docs/api/reference/errors
    failed = {"error": {"code": code, "message": f"Provider returned error {KEY}"}}
    found = model.problem(*[failed] * 6, OPENAI_API="chat")
    assert f"HTTP 200, code {code}" in found
    assert words in found


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (api_error(401, KEY, code="invalid_api_key"), ("401, code invalid_api_key", "THE_KEY")),
        (api_error(403, KEY, code=KEY + " "), ("403, type t", "THE_KEY")),
        (
            api_error(404, KEY, code="model_not_found", param="model"),
            ("404, code model_not_found, parameter model", "THE_MODEL"),
        ),
        (api_error(404, KEY), ("404", "THE_ADDRESS", "THE_API")),
        (
            api_error(400, KEY, code="unsupported_value", param="reasoning.mode"),
            ("parameter reasoning.mode", "THE_EFFORT"),
        ),
        (api_error(400, KEY, param="tools[0].type"), ("parameter tools[0].type", "calls tools")),
        (api_error(400, KEY), ("400", "THE_API", "THE_EFFORT", "THE_MODEL")),
        (api_error(402, KEY), ("402", "credit")),
        (api_error(429, KEY, code="insufficient_quota"), ("429, code insufficient_quota", "credit")),
        (api_error(500, KEY), ("500", "later")),
    ],
)
def test_a_refusal_is_reported_with_its_code_and_parameter(model: Model, refusal: Any, words: tuple[str, ...]) -> None:
    text = model.problem(refusal, OPENAI_API="responses")
    assert all(word in text for word in words), text


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_plain_text_in_place_of_a_call_is_a_problem(model: Model, api: str) -> None:
    text = model.problem(says("Eight legs."), OPENAI_API=api)
    assert "plain text where a call of knowledge_base_search was due" in text
    assert "THE_MODEL" in text


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (completion({"content": "I th"}, finish_reason="length"), "OPENAI_MAX_COMPLETION_TOKENS"),
        (completion({"content": ""}, finish_reason="content_filter"), "filters"),
        (completion({"content": None, "refusal": "No."}, finish_reason="stop"), "refused"),
        (api_error(400, "secret", code="content_filter"), "content filter stopped the call"),
        (calls(index("spiders")), "another tool"),
        (calls((KEY, {})), "another tool"),
        (calls(("knowledge_base_search", {})), "arguments that are refused"),
    ],
)
def test_an_unusable_turn_is_a_problem(model: Model, turn: Reply, words: str) -> None:
    assert words in model.problem(turn)
    assert len(model.script.requests) == 1


def test_a_second_search_is_noted(model: Model) -> None:
    _first, second, *_ = model.asked(calls(search()))
    assert second.state is NOTE
    assert "searched again" in second.seen


def test_calls_slower_than_the_deadline_of_a_question_are_noted(model: Model) -> None:
    *_, late = model.asked(*SUCCESS, QUERY_DEADLINE_SECONDS="0.0001")
    assert late.state is NOTE
    assert "faster model" in late.remedy


def test_a_model_that_cannot_be_reached_is_a_problem(model: Model) -> None:
    text = model.problem(says(""), OPENAI_BASE_URL=NOWHERE)
    assert "could not be reached" in text
    assert "THE_ADDRESS" in text


class TestWeb:
    """The web search."""

    @pytest.fixture
    def web(self, scripted_web_server: tuple[ScriptedWeb, str]) -> ScriptedWeb:
        script, self.address = scripted_web_server
        script.finds("A framework. [1]", result(1, "https://a.example", "A"))
        return script

    def asked(self, **variables: str) -> Finding:
        settings = Settings.from_env(REQUIRED | {"PERPLEXITY_BASE_URL": self.address} | variables)
        finding = ask_web(settings, KEY, ORIGIN)
        assert line(finding)
        return finding

    def test_an_answer_is_described_with_the_configured_price(self, web: ScriptedWeb) -> None:
        finding = self.asked(WEB_SEARCH_PRICE="0.0065")
        assert finding.state is OK
        assert finding.seen.startswith("perplexity/sonar answered (sources: 1). HTTP 200: first byte after 0.")
        assert finding.seen.endswith("Tokens: 10 input, 20 output. Price: 0.0065 USD, as WEB_SEARCH_PRICE says.")
        assert len(web.requests) == 1

    def test_the_cost_that_the_service_states_comes_first(self, web: ScriptedWeb) -> None:
        assert isinstance(web.reply, dict)
        web.reply["usage"]["cost"] = {"total_cost": 0.007, "currency": "USD"}
        assert self.asked(WEB_SEARCH_PRICE="1").seen.endswith("0.007 USD, as the service states.")

    def test_without_any_price_it_is_unknown(self, web: ScriptedWeb) -> None:
        assert web.requests == []
        assert "The price is unknown" in self.asked().seen

    @pytest.mark.parametrize(
        ("status", "word"), [(401, "THE_KEY"), (403, "THE_KEY"), (404, "THE_ADDRESS"), (429, "credit"), (500, "later")]
    )
    def test_a_refusal_is_a_problem_with_its_code(self, web: ScriptedWeb, status: int, word: str) -> None:
        web.fails(status)
        finding = self.asked()
        assert finding.state is PROBLEM
        assert f"(HTTP {status}, code c)" in finding.seen
        assert word in finding.remedy

    def test_an_answer_without_sources_is_a_problem(self, web: ScriptedWeb) -> None:
        web.finds("I believe so.")
        assert "no sources" in self.asked().seen

    def test_a_search_that_cannot_be_reached_is_a_problem(self, web: ScriptedWeb) -> None:
        assert web.requests == []
        assert "THE_ADDRESS" in self.asked(PERPLEXITY_BASE_URL=NOWHERE).remedy


class TestCommand:
    """The option of `gleaner doctor`."""

    @pytest.fixture(autouse=True)
    def remote(
        self,
        model: Model,
        scripted_web_server: tuple[ScriptedWeb, str],
        index_host: str,
        dynamodb_url: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        web, address = scripted_web_server
        web.finds("A framework. [1]", result(1, "https://a.example", "A"))
        model.script.plays(*SUCCESS)
        for name, value in {
            "OPENAI_BASE_URL": model.address,
            "PERPLEXITY_BASE_URL": address,
            "PINECONE_INDEX_HOST": index_host,
            "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_url,
            **dict.fromkeys(("OPENAI_API_KEY", "PERPLEXITY_API_KEY", "PINECONE_API_KEY"), KEY),
            **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test"),
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)

    def doctor(self, path: Path, *options: str) -> list[str]:
        """What it saw, by lines; nothing else is printed."""
        ended = CliRunner().invoke(program.app, ["doctor", "--json", "--data-dir", str(path / "data"), *options])
        assert KEY not in ended.output
        report = json.loads(ended.output)
        assert ended.exit_code == (1 if report["problems"] else 0)
        return [finding["seen"] for finding in report["findings"]]

    def test_json_holds_the_findings_of_paid_calls(
        self, model: Model, scripted_web_server: tuple[ScriptedWeb, str], tmp_path: Path
    ) -> None:
        seen = self.doctor(tmp_path, "--ask")
        for beginning in ("The model called generate_response.", "Calls: 2.", "perplexity/sonar answered"):
            assert any(text.startswith(beginning) for text in seen), seen
        assert len(model.script.requests) == 2
        assert len(scripted_web_server[0].requests) == 2  # one was the empty request of the free check

    def test_without_the_option_nothing_is_asked(
        self, model: Model, scripted_web_server: tuple[ScriptedWeb, str], tmp_path: Path
    ) -> None:
        self.doctor(tmp_path)
        assert model.script.requests == []
        assert scripted_web_server[0].requests == [{}]

    def test_parts_that_would_be_served_here_need_a_running_service(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "PERPLEXITY_BASE_URL", "PERPLEXITY_API_KEY"):
            monkeypatch.delenv(name)
        assert self.doctor(tmp_path, "--ask").count("It was not asked, because no service runs.") == 2

    def test_an_address_alone_is_a_usage_error(self) -> None:
        ended = CliRunner().invoke(program.app, ["doctor", "--ask", "--url", "http://127.0.0.1:1"])
        assert ended.exit_code == 2
        assert "--env" in ended.output
