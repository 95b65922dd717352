"""The Model Context Protocol over the function's handler."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from starlette.responses import Response

from gleaner.model import Record
from tests.api.test_passages import QUESTION, learn, put
from tests.conftest import MERGING, PRUNING, Client, make_api, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.doubles.scripted_web import ScriptedWeb

NOW = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
META = {
    VERSION_KEY: NOW,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


def post(
    client: Client, message: Any, headers: dict[str, Any] | None = None, *, caller: str = "local", **event: Any
) -> tuple[int, Any]:
    """Status and decoded body; a header that is a list is sent several times."""
    sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"} | (headers or {})
    many = {name: value if isinstance(value, list) else [value] for name, value in sent.items() if value is not None}
    body = message if isinstance(message, str) else json.dumps(message)
    single = {name: values[-1] for name, values in many.items()}
    request = {"headers": single, "multiValueHeaders": many, "body": body} | event
    response = client.send(proxy_event("POST", "/mcp", caller) | request)
    return response["statusCode"], json.loads(response["body"]) if response["body"] else None


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def send(client: Client, method: str, *, headers: dict[str, Any] | None = None, **params: Any) -> tuple[int, Any]:
    """A request of the current version, with the headers that it needs."""
    repeated = {"MCP-Protocol-Version": NOW, "Mcp-Method": method}
    if "name" in params:
        repeated["Mcp-Name"] = params["name"]
    return post(client, request(method, _meta=META, **params), repeated | (headers or {}))


def call(client: Client, name: str, *, caller: str = "local", **arguments: Any) -> dict[str, Any]:
    """The result of a tool call."""
    headers = {"MCP-Protocol-Version": NOW, "Mcp-Method": "tools/call", "Mcp-Name": name}
    message = request("tools/call", _meta=META, name=name, arguments=arguments)
    status, body = post(client, message, headers, caller=caller)
    assert status == 200, body
    [text] = body["result"]["content"]
    if not body["result"].get("isError"):
        assert json.loads(text["text"]) == body["result"]["structuredContent"]
    return dict(body["result"])


def structured(client: Client, name: str, *, caller: str = "local", **arguments: Any) -> Any:
    result = call(client, name, caller=caller, **arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def record(document: str, number: int, source_url: str | None = None) -> Record:
    return Record(
        id=f"{document}#{number}",
        text=f"Words {number}.",
        title=document.title(),
        source_file_path=f"{document}.md",
        chunk_index=number,
        content_hash="h",
        source_url=source_url,
    )


def test_the_current_version_needs_no_handshake(client: Client) -> None:
    status, body = send(client, "server/discover")
    result = body["result"]
    assert (status, result["resultType"], result["supportedVersions"][0]) == (200, "complete", NOW)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "gleaner"
    assert (result["capabilities"], result["cacheScope"]) == ({"tools": {}}, "public")
    tools = send(client, "tools/list")[1]["result"]["tools"]
    assert {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools} == {
        "search": True,
        "fetch": True,
        "ask": False,
        "list_keywords": True,
    }
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize("version", LEGACY)
def test_earlier_versions_agree_on_theirs_by_a_handshake_without_a_session(client: Client, version: str) -> None:
    status, body = post(client, request("initialize", protocolVersion=version, capabilities={}, clientInfo={}))
    assert (status, body["result"]["protocolVersion"]) == (200, version)
    headers = {"MCP-Protocol-Version": version}
    assert post(client, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers) == (202, None)
    assert post(client, request("ping", "a"), headers) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})
    assert len(post(client, request("tools/list"), headers)[1]["result"]["tools"]) == 4


def test_a_handshake_of_an_unknown_version_is_offered_the_newest_that_has_one(client: Client) -> None:
    assert (
        post(client, request("initialize", protocolVersion="2999-01-01"))[1]["result"]["protocolVersion"] == LEGACY[0]
    )


def test_search_and_fetch_keep_the_contract_of_chatgpt(client: Client) -> None:
    results = structured(client, "search", query="How are duplicates merged?")["results"]
    assert results[0]["title"] == "Handbook: Keywords"
    read = structured(client, "fetch", id=results[0]["id"])
    assert read.keys() == {"id", "title", "text", "url", "metadata"}
    assert (read["text"], read["url"]) == (f"{MERGING}\n\n{PRUNING}", results[0]["url"])
    document = structured(client, "fetch", id=read["metadata"]["document"])
    assert (document["title"], document["text"]) == ("Handbook", f"{MERGING}\n\n{PRUNING}")


def test_a_document_is_read_in_parts(client: Client, settings: dict[str, str]) -> None:
    put(settings, "long_kb", *(record("long", number) for number in range(150)))
    first = structured(client, "fetch", id="document/long_kb/long")
    assert first["text"].split("\n\n") == [f"Words {number}." for number in range(100)]
    second = structured(client, "fetch", id=first["metadata"]["next"])
    assert second["text"].startswith("Words 100.")
    assert "next" not in second["metadata"]
    assert second["title"] == "Long"


def test_addresses_are_those_of_pages_or_absolute_ones_of_passages(client: Client, settings: dict[str, str]) -> None:
    put(settings, "linked", record("page", 0, source_url="https://example.org/page"), record("file", 0))
    headers = {"Host": "api.example.org", "X-Forwarded-Proto": "https"}
    arguments = {"query": "Words 0.", "kb_id": "linked"}
    _, body = send(client, "tools/call", name="search", arguments=arguments, headers=headers)
    urls = {result["title"]: result["url"] for result in body["result"]["structuredContent"]["results"]}
    assert urls["Page"] == "https://example.org/page"
    assert urls["File"].startswith("https://api.example.org/api/passages/linked.")


def test_stored_web_answers_are_found_and_read_and_count_as_used(
    client: Client, model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    learn(client, model, web)
    [before] = [item["usage_count"] for item in items("KEYWORDS_TABLE") if "usage_count" in item]
    found = [one for one in structured(client, "search", query=QUESTION)["results"] if ".answers." in one["id"]]
    assert found[0]["url"] == "https://q.example/a"
    read = structured(client, "fetch", id=found[0]["id"])
    assert read["text"] == "Quantum computing is used for chemistry."
    assert read["metadata"]["pages"] == "https://q.example/a https://r.example/b"
    assert read["metadata"]["answers"]
    [after] = [item["usage_count"] for item in items("KEYWORDS_TABLE") if "usage_count" in item]
    assert after == before + 1
    listed = structured(client, "list_keywords", query="quantum")
    assert [keyword["keyword_text"] for keyword in listed["keywords"]] == ["quantum computing"]


def test_what_a_caller_learned_alone_is_found_and_read_by_nobody_else(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    learn(client, model, web)

    def ids(caller: str) -> list[str]:
        results = structured(client, "search", caller=caller, query=QUESTION)["results"]
        return [one["id"] for one in results if ".answers." in one["id"]]

    [own] = ids("local")
    assert ids("other") == []
    assert call(client, "fetch", caller="other", id=own)["isError"]
    assert structured(client, "fetch", id=own)["id"] == own


def test_a_caller_reads_only_its_knowledge_bases(settings: dict[str, str]) -> None:
    access = json.dumps({"key:guest": ["other_kb"]})
    client = Client(make_api(settings | {"KNOWLEDGE_BASE_ACCESS": access}))
    [passage, *_] = structured(client, "search", query="merged")["results"]
    calls_of_guest = [
        call(client, "search", caller="guest", query="merged"),
        call(client, "fetch", caller="guest", id=passage["id"]),
        call(client, "fetch", caller="guest", id="document/default_kb/book"),
        call(client, "ask", caller="guest", question="How are duplicates merged?"),
        call(client, "list_keywords", caller="guest", kb_id="default_kb"),
    ]
    assert all("You may not use" in result["content"][0]["text"] for result in calls_of_guest)


def test_a_question_is_a_turn_of_a_session(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Duplicates are merged. [kb-1]", ("kb-1",))))
    asked = structured(client, "ask", question="How are duplicates merged?", grounding="strict")
    assert (asked["answer"], asked["answered"], asked["status"]) == (
        "Duplicates are merged. [kb-1]",
        "found",
        "success",
    )
    [source] = asked["sources"]
    assert source["mark"] == "kb-1"
    assert MERGING in structured(client, "fetch", id=source["id"])["text"]
    model.plays(calls(search()), calls(answer("By a write. [kb-1]", ("kb-1",))))
    again = structured(client, "ask", question="By what?", session_id=asked["session_id"])
    assert again["session_id"] == asked["session_id"]
    path = f"/api/sessions/{asked['session_id']}/messages"
    assert len(client.request("GET", path)[1]["messages"]) == 4
    _, recorded = client.request("GET", f"/api/queries/{asked['query_id']}/tool-calls")
    assert [one["tool_name"] for one in recorded["tool_calls"]] == ["knowledge_base_search", "generate_response"]


def test_a_question_with_the_same_key_is_answered_once(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Duplicates are merged. [kb-1]", ("kb-1",))))
    arguments = {"question": "How are duplicates merged?"}
    headers = {"Idempotency-Key": "one"}
    first, second = (
        send(client, "tools/call", name="ask", arguments=arguments, headers=headers)[1]["result"] for _ in range(2)
    )
    assert first["structuredContent"]["query_id"] == second["structuredContent"]["query_id"]
    _, body = send(client, "tools/call", name="ask", arguments=arguments, headers={"Idempotency-Key": ["a", "b"]})
    assert body["result"]["isError"]


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("search", {}, "query: is missing"),
        ("search", {"query": "x", "top_k": 3}, "top_k: is not a field"),
        ("search", {"query": "x", "kb_id": "nowhere"}, "There is no knowledge base"),
        ("fetch", {"id": "nothing"}, "no id of a passage"),
        ("fetch", {"id": "document/default_kb"}, "no id of a document"),
        ("fetch", {"id": "document/default_kb/gone"}, "no such document"),
        ("ask", {"question": "x", "session_id": "s"}, "session_id: must be an id"),
        ("ask", {"question": "x", "session_id": "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"}, "session"),
        ("ask", {"question": "x", "grounding": "loose"}, "grounding: must be open or strict"),
        ("list_keywords", {"cursor": "?"}, "cursor"),
    ],
)
def test_a_failed_call_says_what_to_do(client: Client, name: str, arguments: dict[str, Any], part: str) -> None:
    result = call(client, name, **arguments)
    assert result["isError"]
    assert "structuredContent" not in result
    assert part in result["content"][0]["text"]


def test_a_failed_service_is_a_failed_call(client: Client, model: ScriptedModel) -> None:
    model.plays(Response(status_code=500))
    assert "language model" in call(client, "ask", question="Anything?")["content"][0]["text"]


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("ping", {}, 404, -32601),
        ("initialize", {"protocolVersion": NOW}, 404, -32601),
        ("resources/list", {}, 404, -32601),
        ("tools/list", {"cursor": "x"}, 400, -32602),
        ("tools/call", {"name": "drop"}, 400, -32602),
        ("tools/call", {"name": "search", "arguments": [1]}, 400, -32602),
        ("tools/call", {}, 400, -32602),
    ],
)
def test_errors_of_the_current_version(
    client: Client, method: str, params: dict[str, Any], status: int, code: int
) -> None:
    answered, body = send(client, method, **params)
    assert (answered, body["error"]["code"], body["id"]) == (status, code, 1)


@pytest.mark.parametrize("method", ["server/discover", "resources/list", "tools/call"])
def test_errors_of_methods_of_earlier_versions_are_answers_like_any_other(client: Client, method: str) -> None:
    status, body = post(client, request(method), {"MCP-Protocol-Version": "2025-06-18"})
    assert (status, body["error"]["code"]) == (200, -32602 if method == "tools/call" else -32601)


@pytest.mark.parametrize(
    ("headers", "meta", "code"),
    [
        ({}, None, -32602),
        ({}, {}, -32602),
        ({}, {name: META[name] for name in list(META)[:2]}, -32602),
        ({"MCP-Protocol-Version": None}, META, -32020),
        ({"MCP-Protocol-Version": "2025-11-25"}, META, -32020),
        ({"MCP-Protocol-Version": [NOW, NOW]}, META, -32020),
        ({"Mcp-Method": "tools/list"}, META, -32020),
        ({"Mcp-Method": None}, META, -32020),
        ({"Mcp-Name": "fetch"}, META, -32020),
        ({"Mcp-Name": None}, META, -32020),
        ({"Mcp-Name": "=?base64?!?="}, META, -32020),
        ({"MCP-Protocol-Version": "2999-01-01"}, None, -32022),
        ({"MCP-Protocol-Version": "2999-01-01"}, META | {VERSION_KEY: "2999-01-01"}, -32022),
        ({"MCP-Protocol-Version": "2025-11-25"}, META | {VERSION_KEY: "2025-11-25"}, -32022),
    ],
)
def test_what_a_request_says_twice_must_agree(
    client: Client, headers: dict[str, Any], meta: dict[str, Any] | None, code: int
) -> None:
    message = request(
        "tools/call", name="search", arguments={"query": "x"}, **({} if meta is None else {"_meta": meta})
    )
    required = {"MCP-Protocol-Version": NOW, "Mcp-Method": "tools/call", "Mcp-Name": "search"}
    status, body = post(client, message, required | headers)
    assert (status, body["error"]["code"], body["id"]) == (400, code, 1)
    if code == -32022:
        assert body["error"]["data"]["supported"] == [NOW, *LEGACY]


def test_a_name_in_base64_is_decoded(client: Client) -> None:
    encoded = f"=?base64?{base64.b64encode(b'search').decode()}?="
    headers = {"Mcp-Name": f" {encoded} "}
    assert send(client, "tools/call", name="search", arguments={"query": "x"}, headers=headers)[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example", "Host": "api.example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://api.example.org", "Host": "api.example.org"}, 200),
        ({"Origin": "https://app.example.org"}, 200),
        ({"Accept": None}, 200),
        ({"Accept": "*/*"}, 200),
        ({"Accept": "text/event-stream"}, 406),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_requests_are_refused_for_their_headers(settings: dict[str, str], headers: dict[str, Any], status: int) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://app.example.org"}))
    lower = {"accept": "application/json"} | {name.lower(): value for name, value in headers.items()}
    assert post(client, request("ping"), lower)[0] == status


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_served(client: Client, method: str) -> None:
    response = client.send(proxy_event(method, "/mcp", "local"))
    assert (response["statusCode"], response["multiValueHeaders"]["Allow"]) == (405, ["POST"])


def test_pages_of_allowed_origins_may_send_the_headers_of_the_protocol(settings: dict[str, str]) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://app.example.org"}))
    origin = {"origin": "https://app.example.org"}
    response = client.send(proxy_event("OPTIONS", "/mcp", "local") | {"headers": origin, "multiValueHeaders": None})
    [allowed] = response["multiValueHeaders"]["Access-Control-Allow-Headers"]
    assert {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= set(allowed.split(","))


def test_batches_are_served_where_the_version_has_them(client: Client) -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    batch = [request("ping", 1), notification, {"jsonrpc": "2.0", "id": "x", "result": {}}, request("no", 2), 7]
    for headers in ({}, {"MCP-Protocol-Version": "2024-11-05"}):
        status, body = post(client, batch, headers)
        assert status == 200
        assert [(one["id"], one.get("error", {}).get("code")) for one in body] == [
            (1, None),
            (2, -32601),
            (None, -32600),
        ]
    assert post(client, [notification]) == (202, None)
    for version in ("2025-06-18", "2025-11-25", NOW):
        assert post(client, batch, {"MCP-Protocol-Version": version})[0] == 400
    assert post(client, [])[0] == post(client, [request("ping")] * 21)[0] == 400


def test_a_batch_asks_one_question(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Merged. [kb-1]", ("kb-1",))))
    question = {"name": "ask", "arguments": {"question": "How are duplicates merged?"}}
    first, second = post(client, [request("tools/call", 1, **question), request("tools/call", 2, **question)])[1]
    assert first["result"]["structuredContent"]["answer"] == "Merged. [kb-1]"
    assert second["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", -32700),
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("1" * 5_000, -32700),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}', -32700),
        ("null", -32600),
        ('"text"', -32600),
        ("{}", -32600),
        ('{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
    ],
)
def test_what_is_no_message_is_refused(client: Client, body: str, code: int) -> None:
    status, refused = post(client, body)
    assert (status, refused["error"]["code"]) == (400, code)


def test_a_body_that_is_too_long_or_no_gzip_is_refused(client: Client) -> None:
    assert post(client, " " * 2_000_001)[0] == 413
    damaged = {"content-encoding": "gzip"}
    assert post(client, base64.b64encode(b"x").decode(), damaged, isBase64Encoded=True)[0] == 400


def test_messages_that_need_no_response_are_accepted(client: Client) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    for version in (NOW, *LEGACY):
        assert post(client, cancelled, {"MCP-Protocol-Version": version}) == (202, None)
    assert post(client, cancelled, {"MCP-Protocol-Version": "x"})[0] == 400
    assert post(client, reply)[0] == 202
    assert post(client, reply, {"MCP-Protocol-Version": NOW})[0] == 400
