"""Streams of the model: whatever their form, a streamed turn is the turn that it would have been."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients import _failures
from gleaner.clients._dialect import Forcing, without_schema
from gleaner.clients.chat_model import Api, connect
from gleaner.errors import AnswerRefused, GleanerError, ModelUnavailable
from gleaner.model import ModelTurn, PartialCall
from tests.doubles import odd_streams
from tests.doubles.in_process_provider import (
    InProcessProvider,
    Json,
    Reply,
    ask,
    chat_call,
    chat_message,
    function_call,
    message_item,
    openai_error,
    reasoning,
    response,
)
from tests.doubles.model_faults import FAULTS, ODDITIES, REFUSALS
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.streamed_wire import as_event, chat_chunks, response_events

CALL, TEXT = chat_call(), chat_message({"content": "I would say so."})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is gained by waiting for a scripted service."""
    monkeypatch.setattr(_failures, "_PAUSE_SECONDS", 0.0)


def sse(body: bytes | list[bytes], **headers: str) -> httpx2.Response:
    """A stream in the chunks that the network makes of it."""
    content = iter(body) if isinstance(body, list) else body
    return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"} | headers)


def streamed(api: Api, body: Json, size: int = 3) -> bytes:
    if api is Api.CHAT:
        return b"".join(map(as_event, chat_chunks(body, size=size))) + odd_streams.DONE
    return b"".join(map(as_event, response_events(body, size=size)))


def whole(api: Api) -> Json:
    return (chat_call() if api is Api.CHAT else response(reasoning(), function_call()))[1]


def ask_streamed(*replies: Reply, api: Api = Api.CHAT) -> tuple[ModelTurn, list[PartialCall], InProcessProvider]:
    provider, parts = InProcessProvider(*replies), list[PartialCall]()
    turn = ask(provider.model(api), on_partial=parts.append)
    return turn, parts, provider


def require_growth(turn: ModelTurn, parts: list[PartialCall]) -> None:
    """Within an attempt, what is told of a call grows, and of the last attempt ends in the turn's arguments."""
    told: dict[tuple[int, int], str] = {}
    for part in parts:
        before = told.get((part.attempt, part.position), "")
        assert part.arguments.startswith(before) and len(part.arguments) > len(before)
        told[part.attempt, part.position] = part.arguments
    last = max((part.attempt for part in parts), default=0)
    for (attempt, position), arguments in told.items():
        if attempt == last:
            assert turn.tool_calls[position].arguments == arguments
            assert {part.tool for part in parts if (part.attempt, part.position) == (attempt, position)} == {
                turn.tool_calls[position].name
            }


@pytest.mark.parametrize(
    ("api", "name"),
    [*((Api.CHAT, name) for name in odd_streams.CHAT), *((Api.RESPONSES, name) for name in odd_streams.RESPONSES)],
)
def test_the_calls_are_read_in_every_form(api: Api, name: str) -> None:
    body = (odd_streams.CHAT if api is Api.CHAT else odd_streams.RESPONSES)[name]
    turn, parts, provider = ask_streamed(sse(body), api=api)
    assert [(call.name, call.arguments) for call in turn.tool_calls] == [odd_streams.FIRST, odd_streams.SECOND]
    assert len({call.id for call in turn.tool_calls}) == 2
    usage = (turn.usage.input_tokens, turn.usage.output_tokens)
    without = ("no last event, but [DONE]", "an error after whole calls")
    assert usage == ((0, 0) if name in without else (100, 10))
    assert turn.model == "m" and len(provider.bodies) == 1
    if name != "only the last event":
        assert {part.position for part in parts} == {0, 1}
    require_growth(turn, parts)


@pytest.mark.parametrize(
    ("api", "name"),
    [
        *((Api.CHAT, name) for name in odd_streams.BROKEN_CHAT),
        *((Api.RESPONSES, name) for name in odd_streams.BROKEN_RESPONSES),
    ],
)
def test_a_stream_that_breaks_off_is_asked_for_again(api: Api, name: str) -> None:
    body = (odd_streams.BROKEN_CHAT if api is Api.CHAT else odd_streams.BROKEN_RESPONSES)[name]
    good = (odd_streams.CHAT if api is Api.CHAT else odd_streams.RESPONSES)["openai"]
    turn, parts, provider = ask_streamed(sse(body), sse(good), api=api)
    assert [call.arguments for call in turn.tool_calls] == [odd_streams.FIRST[1], odd_streams.SECOND[1]]
    assert len(provider.bodies) == 2
    assert [part.arguments for part in parts if part.attempt == 2][-1] == odd_streams.SECOND[1]
    require_growth(turn, parts)
    with pytest.raises(ModelUnavailable) as raised:
        ask_streamed(sse(body), sse(body), api=api)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("api", Api)
def test_a_connection_that_breaks_is_tried_again(api: Api) -> None:
    def breaking() -> Any:
        yield streamed(api, whole(api))[:400]
        raise httpx2.RemoteProtocolError("peer closed connection")

    turn, parts, provider = ask_streamed(
        httpx2.Response(200, content=breaking()), sse(streamed(api, whole(api))), api=api
    )
    assert turn.tool_calls[0].arguments == '{"query": "x"}'
    assert len(provider.bodies) == 2
    require_growth(turn, parts)


def test_a_connection_that_breaks_after_the_first_of_two_calls_is_tried_again() -> None:
    def breaking() -> Any:
        yield odd_streams.stream(*odd_streams.PLAIN[:5], usage=None, done=b"")
        raise httpx2.ReadError("connection reset")

    turn, _, provider = ask_streamed(httpx2.Response(200, content=breaking()), sse(odd_streams.CHAT["openai"]))
    assert (len(turn.tool_calls), len(provider.bodies)) == (2, 2)


def test_a_connection_that_breaks_after_the_answer_costs_nothing() -> None:
    def breaking() -> Any:
        yield odd_streams.stream(*odd_streams.PLAIN, usage=None, done=b"")
        raise httpx2.ReadError("connection reset")

    turn, _, provider = ask_streamed(httpx2.Response(200, content=breaking()))
    assert (len(turn.tool_calls), len(provider.bodies)) == (2, 1)


@pytest.mark.parametrize("api", Api)
def test_a_whole_answer_in_place_of_a_stream_is_taken(api: Api) -> None:
    for reply in ((200, whole(api)), sse(json.dumps(whole(api), indent=1).encode())):
        turn, parts, provider = ask_streamed(reply, api=api)
        assert turn == ask(InProcessProvider((200, whole(api))).model(api))
        assert parts == [] and provider.bodies[0]["stream"] is True


@pytest.mark.parametrize("api", Api)
def test_what_the_listener_raises_ends_the_stream_and_is_raised(api: Api) -> None:
    class Enough(Exception):
        pass

    taken, closed, reasons = [], [], [Enough(), TimeoutError("mine"), httpx2.ReadError("mine"), KeyboardInterrupt()]

    class Stream(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for line in streamed(api, whole(api)).splitlines(keepends=True):
                taken.append(line)
                yield line

        def close(self) -> None:
            closed.append(len(taken))

    for reason in reasons:
        taken.clear()

        def stop(_: PartialCall, reason: BaseException = reason) -> None:
            raise reason

        provider = InProcessProvider(httpx2.Response(200, stream=Stream()))
        with pytest.raises(type(reason)) as raised:
            ask(provider.model(api), on_partial=stop)
        assert raised.value is reason and (reason.__context__, reason.__cause__) == (None, None)
        assert len(provider.bodies) == 1  # it is no failure that a retry would mend
        assert closed.pop() < len(streamed(api, whole(api)).splitlines())


def test_the_listener_hears_of_the_tool_that_is_meant() -> None:
    _, body = chat_call(name="functions.search")
    turn, parts, _ = ask_streamed(sse(streamed(Api.CHAT, body)))
    assert {part.tool for part in parts} == {"search"} == {turn.tool_calls[0].name}


@pytest.mark.parametrize("api", Api)
def test_a_content_filter_and_a_refusal_are_what_they_are(api: Api) -> None:
    if api is Api.CHAT:
        bodies = [
            chat_call(arguments='{"query": "x')[1] | {},
            chat_message({"content": None, "refusal": "I cannot do that."})[1],
            chat_message({"content": "Take"}, finish_reason="content_filter")[1],
        ]
        bodies[0]["choices"][0]["finish_reason"] = "content_filter"
    else:
        bodies = [
            response(message_item("I cannot.", "refusal"))[1],
            response(message_item("Take"), status="incomplete", incomplete_details={"reason": "content_filter"})[1],
        ]
    for body in bodies:
        turn, _, _ = ask_streamed(sse(streamed(api, body)), api=api)
        assert turn.is_refused
        assert turn == ask(InProcessProvider((200, body)).model(api))


@pytest.mark.parametrize("api", Api)
def test_an_error_of_a_content_filter_is_never_asked_again(api: Api) -> None:
    error = {"code": "content_filter", "message": "secret"}
    chunk = {"error": error} if api is Api.CHAT else {"type": "error"} | error
    for reply in (sse(as_event(chunk)), openai_error("secret", code="content_filter")):
        provider = InProcessProvider(reply)
        with pytest.raises(AnswerRefused):
            ask(provider.model(api), on_partial=lambda _: None)
        assert len(provider.bodies) == 1


OPENROUTER = '{"error": {"message": "Your organization must be verified to stream this model.", "param": "stream"}}'
MISTRAL = {"type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"], "msg": "Extra inputs"}


@pytest.mark.parametrize(
    "refusal",
    [
        # openai/openai-agents-python#442
        (422, {"object": "error", "message": {"detail": [MISTRAL]}, "type": "invalid_request_error", "code": None}),
        # langgenius/dify#4593
        openai_error("Unknown parameter: 'stream_options'.", param="stream_options", code="unknown_parameter"),
        # BigPizzaV3/CodexPlusPlus#234
        openai_error("litellm.BadRequestError: AzureException - Unknown parameter: 'stream_options.include_usage'."),
    ],
)
def test_a_provider_that_refuses_stream_options_streams_without(refusal: Reply) -> None:
    provider = InProcessProvider(refusal, lambda _: sse(streamed(Api.CHAT, CALL[1])))  # type: ignore[arg-type,return-value]
    model, parts = provider.model(apis=[Api.CHAT]), list[PartialCall]()
    for _ in range(2):
        assert ask(model, on_partial=parts.append).tool_calls[0].name == "search"
    assert ["stream_options" in body for body in provider.bodies] == [True, False, False]
    assert all(body["stream"] is True for body in provider.bodies) and parts


@pytest.mark.parametrize(
    "refusal",
    [
        # lobehub/lobehub#9385, and behind OpenRouter (BeehiveInnovations/pal-mcp-server#134)
        openai_error("Your organization must be verified to stream this model.", param="stream"),
        (400, {"error": {"message": "Provider returned error", "metadata": {"raw": OPENROUTER}}}),
        # groq/groq-python#27
        (400, {"error": {"message": "Tool and function calls do not currently support streaming"}}),
        # simonw/llm-llama-server#3
        (500, {"error": {"code": 500, "message": "Cannot use tools with stream", "type": "server_error"}}),
        openai_error("Streaming is not supported here.", param="stream", code="unsupported_value"),
    ],
)
@pytest.mark.parametrize("api", Api)
def test_a_provider_that_refuses_to_stream_is_asked_without(api: Api, refusal: Reply) -> None:
    provider = InProcessProvider(refusal, (200, whole(api)))
    model = provider.model(api, apis=[api])
    for _ in range(2):
        assert ask(model, on_partial=lambda _: None).tool_calls[0].name == "search"
    assert ["stream" in body for body in provider.bodies] == [True, False, False]
    assert model.dialect.forcing is not Forcing.SCHEMA


def test_a_refusal_of_something_else_does_not_end_streaming() -> None:
    refusal = openai_error("Unsupported parameter: 'max_tokens' is not supported with this model.", param="max_tokens")
    turn, parts, provider = ask_streamed(refusal, sse(streamed(Api.CHAT, CALL[1])))
    assert turn.tool_calls and parts
    assert [body["stream"] for body in provider.bodies] == [True, True]


def test_what_was_learned_is_kept_when_the_listener_ends_the_turn() -> None:
    def stop(_: PartialCall) -> None:
        raise StopAsyncIteration

    refusal = openai_error("Unsupported parameter: 'max_tokens' is not supported with this model.", param="max_tokens")
    model = InProcessProvider(refusal, sse(streamed(Api.CHAT, CALL[1]))).model()
    with pytest.raises(StopAsyncIteration):
        ask(model, on_partial=stop)
    assert model.dialect.output_limits == ("max_completion_tokens",)


def test_plain_text_leads_to_a_schema_whose_call_has_no_parts() -> None:
    constrained = chat_message({"content": '{"tool": "search", "arguments": {"query": "x"}}'})
    turn, parts, provider = ask_streamed(sse(streamed(Api.CHAT, TEXT[1])), constrained)
    assert (turn.tool_calls[0].name, parts) == ("search", [])
    assert ["stream" in body for body in provider.bodies] == [True, False]


def test_nothing_is_streamed_to_nobody() -> None:
    provider = InProcessProvider(CALL)
    ask(provider.model())
    assert not {"stream", "stream_options"} & set(provider.bodies[0])


# The pieces of reasoning that OpenRouter sends (agno-agi/agno#8794, OpenRouterTeam/ai-sdk-provider#519), and of
# DeepSeek; the signature of Gemini (noho/dayu-agent#57).
def test_opaque_fields_come_together_as_they_would_have_come() -> None:
    signed = {"google": {"thought_signature": "opaque"}}
    text = {"type": "reasoning.text", "format": "f", "index": 0}
    chunks = (
        odd_streams.delta(reasoning_content="Let ", reasoning_details=[text | {"text": "Let"}]),
        odd_streams.delta(reasoning_content="me see.", reasoning_details=[text | {"text": " me"}]),
        odd_streams.delta(reasoning_details=[text | {"signature": "s"}]),
        odd_streams.delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "d", "index": 0}]),
        odd_streams.part(0, odd_streams.FIRST[1], "search", id="a", extra_content=signed),
        odd_streams.ended(),
    )
    turn, _, _ = ask_streamed(sse(odd_streams.stream(*chunks)))
    assert turn.opaque == {
        "message": {
            "reasoning_content": "Let me see.",
            "reasoning_details": [
                text | {"text": "Let me", "signature": "s"},
                {"type": "reasoning.encrypted", "data": "d", "index": 0},
            ],
        },
        "calls": [{"extra_content": signed}],
    }


def test_a_character_in_two_halves_is_one() -> None:
    halves = (*odd_streams.PLAIN[:3], odd_streams.part(0, '": "\ud83d'), odd_streams.part(0, '\ude00"}'))
    turn, parts, _ = ask_streamed(sse(odd_streams.stream(*halves, odd_streams.ended())))
    assert turn.tool_calls[0].arguments == '{"query": "\U0001f600"}'
    require_growth(turn, parts)


JSON_TEXT = st.text(max_size=12).map(lambda text: json.dumps({"query": text}))
ARGUMENTS = (
    JSON_TEXT
    | st.text(alphabet='{}[]":,\\ aü€😀\ud83d\ude00\n', max_size=12)
    | JSON_TEXT.map(json.dumps)
    | JSON_TEXT.map(lambda text: f"[{text}]")
)
NAMES = st.sampled_from(["search", "answer", "functions.answer", "other"])
IDS = st.sampled_from(["a", "b", "c", ""])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.none() | st.text(max_size=9),
        "refusal": st.none() | st.text(max_size=9),
        "reasoning_content": st.text(max_size=9),
        "reasoning_details": st.just([{"type": "reasoning.encrypted", "data": "d", "index": 0}]),
    },
)


@st.composite
def chat_bodies(draw: st.DrawFn) -> Json:
    pairs = draw(st.lists(st.tuples(IDS, NAMES, ARGUMENTS), max_size=3))
    reason = draw(st.sampled_from(["stop", "tool_calls", "length", "content_filter"]))
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in pairs
    ]
    return chat_message(draw(FIELDS) | ({"tool_calls": made} if made else {}), finish_reason=reason)[1]


@st.composite
def response_bodies(draw: st.DrawFn) -> Json:
    items = [
        reasoning(),
        *(
            function_call(number, name, arguments=arguments)
            for number, (name, arguments) in enumerate(draw(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3)))
        ),
        *(message_item(text) for text in draw(st.lists(st.text(max_size=5), max_size=1))),
    ]
    status = draw(st.sampled_from(["completed", "incomplete"]))
    return response(*draw(st.permutations(items)), status=status)[1]


@given(st.data(), st.sampled_from(list(Api)))
def test_any_turn_in_any_pieces_is_the_turn_that_it_was(data: st.DataObject, api: Api) -> None:
    body = data.draw(chat_bodies() if api is Api.CHAT else response_bodies())
    content = streamed(api, body, size=data.draw(st.integers(1, 9)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=8)))
    chunks = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    provider, parts = InProcessProvider(sse(chunks)), list[PartialCall]()
    turn = ask(provider.model(api, schemas=False), on_partial=parts.append)
    buffered = httpx2.Response(200, content=json.dumps(body).encode())
    expected = ask(InProcessProvider(buffered).model(api, schemas=False))
    assert _comparable(turn) == _comparable(expected)
    require_growth(turn, parts)


def _comparable(turn: ModelTurn) -> Any:
    """A turn without the ids that the client made up."""
    ids = [call.id if re.fullmatch(r"[a-cx]|call_\d", call.id) else "" for call in turn.tool_calls]
    calls = [(call.name, call.arguments) for call in turn.tool_calls]
    return ids, calls, turn.content, turn.finish_reason, turn.model, turn.opaque, turn.usage, turn.is_refused


ALL_FAULTS = {
    **{f"fault: {name}": fault for name, fault in FAULTS.items()},
    **{f"oddity: {name}": oddity for name, oddity in ODDITIES.items()},
    **{f"refusal: {name}": refusal for name, refusal in REFUSALS.items()},
}


@pytest.mark.slow
@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_a_fault_has_the_same_outcome_in_a_stream(
    api: Api, fault: str, scripted_model_server: tuple[ScriptedModel, str]
) -> None:
    scripted, url = scripted_model_server
    parts: list[PartialCall] = []
    outcomes = []
    for listener in (None, parts.append):
        scripted.plays(ALL_FAULTS[fault](("search", {"query": "x"})))
        model = connect(api_key=lambda: "k", base_url=url, model="m", max_output_tokens=100, api=api)
        model._dialect = without_schema(model.dialect)
        try:
            turn = ask(model, on_partial=listener)
        except GleanerError as error:
            outcomes.append((type(error), len(scripted.requests)))
        else:
            outcomes.append((_comparable(turn), len(scripted.requests)))
            require_growth(turn, parts)
    assert outcomes[0] == outcomes[1]
