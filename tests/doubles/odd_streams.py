"""Streams of chat completions and responses as providers really send them, each with its source.

All of them make the same two calls: `FIRST` and `SECOND`.
"""

from __future__ import annotations

import json
from typing import Any

from tests.doubles.streamed_wire import as_event

Json = dict[str, Any]

FIRST, SECOND = ("search", '{"query": "x y"}'), ("search", '{"query": "z"}')
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
RESPONSE_USAGE = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
DONE = b"data: [DONE]\n\n"


def delta(**fields: Any) -> Json:
    """A chunk with one delta."""
    return {"model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def part(index: int | str | None, arguments: Any, name: str | None = None, **fields: Any) -> Json:
    """A chunk with a part of one call."""
    function = {"arguments": arguments} | ({"name": name} if name is not None else {})
    place = {} if index is None else {"index": index}
    return delta(tool_calls=[place | fields | {"function": function}])


def ended(reason: str | None = "tool_calls", **fields: Any) -> Json:
    """The last chunk of a choice."""
    return {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]} | fields


def stream(*chunks: Any, usage: Any = USAGE, done: bytes = DONE) -> bytes:
    """The body of a stream."""
    last = [{"model": "m", "choices": [], "usage": usage}] if usage else []
    return b"".join(map(as_event, (*chunks, *last))) + done


NULLS = dict.fromkeys(("content", "function_call", "refusal", "role", "tool_calls"))
HEAD = delta(role="assistant", content=None)
# As OpenAI streams (openai-python tests/lib/chat/test_completions_streaming.py).
PLAIN = (
    HEAD,
    part(0, "", "search", id="call_1", type="function"),
    part(0, '{"query'),
    part(0, '": "x'),
    part(0, ' y"}'),
    part(1, "", "search", id="call_2", type="function"),
    part(1, '{"query": "z"}'),
    ended(),
)
WHOLE = (part(0, FIRST[1], "search", id="a"), part(1, SECOND[1], "search", id="b"), ended())

CHAT: dict[str, bytes] = {
    "openai": stream(*PLAIN),
    # BerriAI/litellm#20480
    "the id in every chunk, and a whole call again at the end": stream(
        part(0, "", "search", id="a", type="function"),
        part(0, '{"query": "x', id="a"),
        part(0, ' y"}', id="a"),
        part(0, json.dumps(FIRST[1]), "search", id="a", type="function"),
        part(1, SECOND[1], "search", id="b"),
        ended(),
    ),
    "id and name in every chunk": stream(
        part(0, '{"query": "x', "search", id="a"),
        part(0, ' y"}', "search", id="a"),
        part(1, SECOND[1], "search", id="b"),
        ended(),
    ),
    # huggingface/huggingface.js#1512; Groq and many others
    "empty ids and names in later chunks": stream(
        part(0, "", "search", id="a"),
        part(0, '{"query": "x', "", id="", type=""),
        part(0, ' y"}', None, id=None, type=None),
        part(1, SECOND[1], "search", id="b"),
        ended(),
    ),
    # vllm-project/vllm#18412
    "no ids": stream(part(0, '{"query": "x', "search"), part(0, ' y"}'), part(1, SECOND[1], "search"), ended()),
    # ollama/ollama#7881, SamSaffron/term-llm#314
    "neither ids nor indexes": stream(
        part(None, '{"query": "x', "search"), part(None, ' y"}'), part(None, SECOND[1], "search"), ended()
    ),
    # noho/dayu-agent#57: whole calls of Gemini in chunks of their own, without an index
    "gemini: no index, chunks of their own": stream(
        part(None, FIRST[1], "search", id="a", type="function"),
        part(None, SECOND[1], "search", id="b", type="function"),
        ended(),
    ),
    "gemini: no index, in one chunk": stream(
        delta(
            tool_calls=[
                {"id": "a", "function": {"name": "search", "arguments": FIRST[1]}},
                {"id": "b", "function": {"name": "search", "arguments": SECOND[1]}},
            ]
        ),
        ended("stop"),
    ),
    # vercel/ai#14277, ollama/ollama#15457
    "ollama: index 0 for every call": stream(
        part(0, FIRST[1], "search", id="call_1"), part(0, SECOND[1], "search", id="call_2"), ended()
    ),
    "index 0 for every call, without ids": stream(part(0, FIRST[1], "search"), part(0, SECOND[1], "search"), ended()),
    "index 0 for every call, in pieces": stream(
        part(0, '{"query": "x', "search", id="a"),
        part(0, ' y"}'),
        part(0, "", "search", id="b"),
        part(0, SECOND[1]),
        ended(),
    ),
    # poolsideai/pool#9
    "poolside: another id in later chunks": stream(
        part(0, "", "search", id="a"),
        part(0, '{"query": "x', id="other"),
        part(0, ' y"}', id="other"),
        part(1, SECOND[1], "search", id="b"),
        ended(),
    ),
    "two calls that take turns": stream(
        part(0, '{"query": "x', "search", id="a"),
        part(1, '{"que', "search", id="b"),
        part(0, ' y"}'),
        part(1, 'ry": "z"}'),
        ended(),
    ),
    "a name in pieces": stream(
        part(0, "", "sea", id="a"), part(0, "", "rch"), part(0, FIRST[1]), part(1, SECOND[1], "search"), ended()
    ),
    # BerriAI/litellm#37792
    "arguments as objects": stream(
        part(0, json.loads(FIRST[1]), "search"), part(1, json.loads(SECOND[1]), "search"), ended("stop")
    ),
    # A named function ends in `stop` at OpenAI, a call of Gemini in `STOP` behind some gateways.
    "finish_reason stop": stream(*WHOLE[:-1], ended("stop")),
    "no finish_reason": stream(*WHOLE[:-1]),
    # openclaw and others: the stream just ends
    "no [DONE]": stream(*PLAIN, done=b""),
    "neither finish_reason nor [DONE], whole calls": stream(*WHOLE[:-1], done=b""),
    # openrouter.ai/docs/api/reference/streaming
    "openrouter: comments": b": OPENROUTER PROCESSING\n\n" * 3 + stream(*PLAIN),
    "CRLF": stream(*PLAIN).replace(b"\n", b"\r\n"),
    "CR": stream(*PLAIN).replace(b"\n", b"\r"),
    "no space after data:": stream(*PLAIN).replace(b"data: ", b"data:"),
    "no blank lines": stream(*PLAIN).replace(b"\n\n", b"\n"),
    "no blank lines, and signs of life": b"data:\n" + stream(*PLAIN).replace(b"\n\n", b"\n"),
    "no last line end": stream(*PLAIN, done=b"data: [DONE]"),
    "a byte order mark": b"\xef\xbb\xbf\n" + stream(*PLAIN),
    "data over several lines": stream(*PLAIN).replace(b'{"model": "m", ', b'{"model": "m",\ndata: '),
    "ids, retries and pings": b"retry: 3000\n\nid: 1\nevent: ping\ndata: {}\n\ndata:\n\n" + stream(*PLAIN),
    # microsoft/semantic-kernel#3650, microsoft/autogen#6465
    "azure: no choices at first, no delta at last": stream(
        {"choices": [], "model": "", "object": "", "prompt_filter_results": [{"prompt_index": 0}]},
        *PLAIN,
        {"choices": [{"finish_reason": None, "index": 0, "content_filter_offsets": {}}], "model": "", "object": ""},
    ),
    # vLLM's continuous_usage_stats; the last one counts
    "usage in every chunk": stream(
        *(chunk | {"usage": USAGE | {"completion_tokens": number}} for number, chunk in enumerate(PLAIN)),
        HEAD | {"usage": USAGE},
        usage=None,
    ),
    # DeepSeek, Mistral
    "usage in the last chunk of the choice": stream(*PLAIN[:-1], ended(usage=USAGE), usage=None),
    # console.groq.com/docs/api-reference
    "groq: usage in x_groq": stream(
        HEAD | {"x_groq": {"id": "req_1"}}, *PLAIN[1:-1], ended(x_groq={"usage": USAGE}), usage=None
    ),
    "a usage of null after the last": stream(*PLAIN, ended(usage=USAGE), HEAD | {"usage": None}, usage=None),
    # BerriAI/litellm#4537: the empty input of Anthropic before the real one
    "empty arguments before the real ones": stream(
        part(0, "{}", "search", id="a", type="function"),
        part(0, '{"query": "x'),
        part(0, ' y"}'),
        part(1, "{}", "search", id="b", type="function"),
        part(1, SECOND[1]),
        ended(),
    ),
    "a whole call again at the end, without its id": stream(
        *PLAIN[:-1], part(0, FIRST[1], "search"), part(1, SECOND[1], "search"), ended()
    ),
    # sgl-project/sglang#8417
    "sglang: a finish_reason in two chunks": stream(*PLAIN, ended()),
    # 1jehuang/jcode#1326
    "open webui: a finish_reason after every chunk": stream(
        *(chunk for one in PLAIN[:-1] for chunk in (one, ended("stop"))), ended()
    ),
    # vllm-project/vllm-ascend#8862, jeremychone/rust-genai#199
    "glm: the last arguments with the finish_reason": stream(
        *PLAIN[:-2], {"model": "m", "choices": [PLAIN[-2]["choices"][0] | {"finish_reason": "tool_calls"}]}
    ),
    # farion1231/cc-switch#5093
    "an empty finish_reason in every chunk": stream(
        *(chunk | {"choices": [chunk["choices"][0] | {"finish_reason": ""}]} for chunk in PLAIN[:-1]), ended()
    ),
    # alexbrowng/aiomodels, recorded chunks of gpt-4.1-nano as the SDK dumps them
    "every field of a delta, as null": stream(
        *(
            chunk | {"choices": [chunk["choices"][0] | {"delta": NULLS | chunk["choices"][0]["delta"]}]}
            for chunk in PLAIN
        )
    ),
    "indexes with gaps": stream(part(3, FIRST[1], "search", id="a"), part(7, SECOND[1], "search", id="b"), ended()),
    "indexes in strings": stream(
        part("0", '{"query": "x', "search", id="a"), part("0", ' y"}'), part("1", SECOND[1], "search", id="b"), ended()
    ),
    "reasoning and thoughts in the text before the calls": stream(
        HEAD, delta(reasoning="Hm."), delta(reasoning_content="Hm."), delta(content="<think></think>"), *PLAIN[1:]
    ),
    "usage before the first chunk": stream({"model": "m", "choices": [], "usage": USAGE}, *PLAIN, usage=None),
    "choices of null": stream(*PLAIN, {"model": "m", "choices": None, "usage": USAGE}, usage=None),
    "an end that is no JSON": stream(*PLAIN, done=b"data: DONE\n\n"),
    "an end as an event": stream(*PLAIN, done=b"event: done\ndata: {}\n\n"),
    "a name for every event, and CRLF": stream(*PLAIN)
    .replace(b"data:", b"event: message\ndata:")
    .replace(b"\n", b"\r\n"),
    # microsoft/foundry-local#144
    "foundry local: the index of the choice counts up": stream(
        *(
            chunk | {"choices": [chunk["choices"][0] | {"index": number}]}
            for number, chunk in enumerate(json.loads(json.dumps(PLAIN)))
        )
    ),
    "an error after whole calls": stream(*WHOLE[:-1], {"error": {"message": "secret", "code": 502}}),
}


def event(kind: str, place: int | None = 0, **fields: Any) -> Json:
    """An event of the Responses API."""
    return {"type": f"response.{kind}"} | fields | ({} if place is None else {"output_index": place})


def call_item(number: int, arguments: str, **fields: Any) -> Json:
    """An item with a call."""
    item = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}"}
    return item | {"name": "search", "arguments": arguments} | fields


def begun(number: int) -> Json:
    """A call that has no arguments yet."""
    return call_item(number, "", status="in_progress")


def final(*items: Json, status: str = "completed", **fields: Any) -> Json:
    """The last event."""
    whole = {"model": "m", "status": status, "output": list(items), "usage": RESPONSE_USAGE}
    return {"type": f"response.{status}", "response": whole | fields}


def events(*data: Json, done: bytes = b"") -> bytes:
    """The body of a stream of the Responses API."""
    return b"".join(map(as_event, data)) + done


ITEMS = (call_item(1, FIRST[1]), call_item(2, SECOND[1]))
CREATED = {"type": "response.created", "response": {"model": "m", "status": "in_progress", "output": []}}
# As the API reference has it.
STREAMED = (
    CREATED,
    event("output_item.added", 0, item=begun(1)),
    event("function_call_arguments.delta", 0, item_id="fc_1", delta='{"query": "x'),
    event("function_call_arguments.delta", 0, item_id="fc_1", delta=' y"}'),
    event("function_call_arguments.done", 0, item_id="fc_1", arguments=FIRST[1], name="search"),
    event("output_item.done", 0, item=ITEMS[0]),
    event("output_item.added", 1, item=begun(2)),
    event("function_call_arguments.delta", 1, item_id="fc_2", delta=SECOND[1]),
    event("output_item.done", 1, item=ITEMS[1]),
)

RESPONSES: dict[str, bytes] = {
    "openai": events(*STREAMED, final(*ITEMS)),
    "[DONE] after the last event": events(*STREAMED, final(*ITEMS), done=DONE),
    # QuantumNous/new-api#4362, BerriAI/litellm#32724
    "completed without output": events(*STREAMED, final()),
    "completed without output, arguments only in deltas": events(
        *(item for item in STREAMED if not item["type"].endswith("done")), final()
    ),
    # lidge-jun/opencodex#4652
    "arguments only in the end of an item": events(
        CREATED, event("output_item.done", 0, item=ITEMS[0]), event("output_item.done", 1, item=ITEMS[1]), final()
    ),
    "only the last event": events(final(*ITEMS)),
    # BerriAI/litellm#30071: GitHub Copilot
    "another item id in every event": events(
        *(item | {"item_id": f"rotated_{number}"} for number, item in enumerate(STREAMED)), final(*ITEMS)
    ),
    "no output_index": events(
        *({name: value for name, value in item.items() if name != "output_index"} for item in STREAMED), final()
    ),
    "neither output_index nor item_id": events(
        *(
            {name: value for name, value in item.items() if name not in ("output_index", "item_id")}
            for item in STREAMED
        ),
        final(*ITEMS),
    ),
    "no last event, but [DONE]": events(*STREAMED, done=DONE),
    "CRLF, no space, comments": b": ping\r\n\r\n"
    + events(*STREAMED, final(*ITEMS)).replace(b"\n", b"\r\n").replace(b"data: ", b"data:"),
    "no event names": events(*STREAMED, final(*ITEMS)).replace(b"event: ", b"id: "),
    "incomplete after whole calls": events(
        *STREAMED, final(*ITEMS, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    ),
}

# Streams that fail on the way, which are asked for again.
BROKEN_CHAT: dict[str, bytes] = {
    # openrouter.ai/docs/api/reference/streaming, "Mid-stream errors"
    "openrouter: an error in the middle": stream(
        *PLAIN[:3],
        {"error": {"code": "server_error", "message": "secret"}}
        | {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
    ),
    # block/goose#8031
    "vllm: an error object": stream(*PLAIN[:3], {"object": "error", "message": "secret", "code": 400}),
    "an error event": stream(*PLAIN[:3])[:-200] + b'\n\nevent: error\ndata: {"message": "secret"}\n\n',
    # tools/server/utils.hpp of llama.cpp, server_sent_event(sink, "error", ...)
    "llama.cpp: a field named error": stream(*PLAIN[:3], usage=None, done=b"")
    + b'error: {"code": 500, "message": "secret"}\n\n',
    # anomalyco/opencode#40061
    "an end without a reason": stream(*PLAIN[:4], usage=None, done=b""),
    "an end within an event": stream(*PLAIN)[:300],
    "an event that is no JSON": stream(*PLAIN[:3]).replace(b'"delta"', b'"del'),
    "nothing": b"",
    "only comments": b": ping\n\n" * 5,
    "only [DONE]": DONE,
    "HTML": b"<html>\nsecret</html>",
}
BROKEN_RESPONSES: dict[str, bytes] = {
    "an error event": events(*STREAMED[:3], {"type": "error", "code": "server_error", "message": "secret"}),
    "an error within an event": events(*STREAMED[:3], {"type": "error", "error": {"code": "server_error"}}),
    "an error object": events(*STREAMED[:3], {"error": {"message": "secret"}}),
    "failed": events(*STREAMED[:3], final(status="failed", error={"code": "server_error", "message": "secret"})),
    "an end without a last event": events(*STREAMED[:3]),
    "[DONE] in the middle": events(*STREAMED[:3], done=DONE),
    "nothing": b"",
}
