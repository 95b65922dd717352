"""Events as API Gateway really sends them, the identity of the caller, and the headers of every response."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import tracemalloc
import zlib
from typing import Any

import pytest

from tests.conftest import Client, limit_callers, make_api, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.doubles.still_clock import StillClock

CHAT = "/api/chat/query"


def chat_event(**changes: Any) -> dict[str, Any]:
    return proxy_event("POST", CHAT, "local") | {"body": json.dumps({"query": "x"})} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"isBase64Encoded": True, "body": base64.b64encode(b'{"query": "x"}').decode()},
        {"headers": None, "multiValueHeaders": None},
        {"headers": {"CONTENT-TYPE": "application/json; charset=utf-8"}, "multiValueHeaders": None},
        {"headers": {"Content-Type": "Application/JSON"}, "multiValueHeaders": None},
        {"headers": {"Content-Type": None, "Origin": None}, "multiValueHeaders": None},
        {"headers": {"Content-Type": ' APPLICATION/json ;profile="a;b"'}, "multiValueHeaders": None},
        {"path": "/test/api/chat/query"},
        {"multiValueQueryStringParameters": {}, "queryStringParameters": {}, "pathParameters": {"proxy": "x"}},
        {"path": "/v1/gleaner/api/chat/query", "pathParameters": {"proxy": "api/chat/query"}},
        {"path": "/v1/api/chat/query/", "pathParameters": {"proxy": "api/chat/query"}},
        {"path": "/a/b/api/chat/query", "resource": "/api/{proxy+}", "pathParameters": {"proxy": "chat/query"}},
        {"path": "/a/b/api/chat/query", "resource": "/api/chat/query"},
        {"body": '\ufeff{"query": "x"}'},
        {"isBase64Encoded": True, "body": base64.b64encode(b'\xef\xbb\xbf{"query": "x"}').decode()},
        {"body": '{"query": "x", "mode": null, "grounding": null}'},
    ],
)
def test_all_forms_of_gateway_events_are_accepted(
    client: Client, model: ScriptedModel, changes: dict[str, Any]
) -> None:
    model.plays(calls(search()), calls(answer()))
    assert client.send(chat_event(**changes))["statusCode"] == 200


QUESTION = b'{"query": "x"}'


def encoded_event(data: bytes, encoding: str = "gzip") -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    return chat_event(headers=headers, isBase64Encoded=True, body=base64.b64encode(data).decode())


@pytest.mark.parametrize(
    "event",
    [
        encoded_event(gzip.compress(QUESTION)),
        encoded_event(gzip.compress(QUESTION), "X-Gzip"),
        encoded_event(gzip.compress(QUESTION[:5]) + gzip.compress(QUESTION[5:])),  # RFC 1952: members follow another
        encoded_event(gzip.compress(b"\xef\xbb\xbf" + QUESTION)),
        encoded_event(QUESTION, "identity"),
        encoded_event(b"") | {"isBase64Encoded": False, "body": QUESTION.decode()},  # decompressed by the gateway
    ],
)
def test_compressed_bodies_are_read(client: Client, model: ScriptedModel, event: dict[str, Any]) -> None:
    model.plays(calls(search()), calls(answer()))
    assert client.send(event)["statusCode"] == 200


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "deflate", "zstd"])
def test_other_encodings_are_refused(client: Client, encoding: str) -> None:
    response = client.send(encoded_event(QUESTION, encoding))
    problem = json.loads(response["body"])
    assert (response["statusCode"], problem["type"]) == (415, "urn:gleaner:problem:unsupported-media-type")
    assert "gzip" in problem["detail"]


@pytest.mark.parametrize(
    "event",
    [
        encoded_event(QUESTION),
        encoded_event(b"\x1f\x8b"),
        encoded_event(zlib.compress(QUESTION)),
        encoded_event(gzip.compress(QUESTION)[:-9]),
        encoded_event(gzip.compress(QUESTION)[:-4] + b"\0\0\0\0"),
        encoded_event(gzip.compress(QUESTION) + b"more"),
        encoded_event(b"")
        | {"isBase64Encoded": False, "body": gzip.compress(QUESTION).decode(errors="replace")},  # a gateway for text
    ],
)
def test_a_body_that_is_no_valid_gzip_is_reported_as_that(client: Client, event: dict[str, Any]) -> None:
    response = client.send(event)
    problem = json.loads(response["body"])
    assert (response["statusCode"], problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert "must be valid gzip" in problem["detail"]
    assert [error["field"] for error in problem["errors"]] == ["body"]


@pytest.mark.parametrize(
    "text", [b" " * 500_000_000, "\U0001f600".encode() * 20_000_000], ids=["zeros", "cut inside a character"]
)
def test_decompression_ends_at_the_limit_of_a_body(client: Client, text: bytes) -> None:
    event = encoded_event(gzip.compress(text, 1))
    del text
    tracemalloc.start()
    response = client.send(event)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert response["statusCode"] == 413
    assert peak < 100_000_000  # bytes


def test_head_is_answered_as_get_without_a_body(client: Client) -> None:
    for path, status in (
        ("/api/health", 200),
        ("/api/sessions", 200),
        ("/nothing", 404),
        (CHAT, 405),
        ("/swagger", 200),
    ):
        got, head = (client.send(proxy_event(method, path, "local")) for method in ("GET", "HEAD"))
        assert (got["statusCode"], head["statusCode"]) == (status, status)
        assert got["body"]
        assert head["body"] == ""
        assert set(head["multiValueHeaders"]) == set(got["multiValueHeaders"])


def test_answers_are_not_stored_and_pages_are_not_framed(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    for event in (chat_event(), chat_event(body="no"), proxy_event("GET", "/api/sessions", "local")):
        assert client.send(event)["multiValueHeaders"]["Cache-Control"] == ["no-store"]
    headers = client.send(proxy_event("GET", "/swagger", "local"))["multiValueHeaders"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"][0]


@pytest.mark.parametrize("base", ["", "/v1", "/v1/gleaner"])
def test_the_parameters_of_a_resource_are_part_of_the_path(client: Client, base: str) -> None:
    session_id = "0" * 26
    event = proxy_event("GET", f"{base}/api/sessions/{session_id}", "local")
    event |= {"resource": "/api/sessions/{session_id}", "pathParameters": {"session_id": session_id}}
    problem = json.loads(client.send(event)["body"])
    assert problem["type"] == "urn:gleaner:problem:unknown-session"


@pytest.mark.parametrize(
    ("full_path", "proxy", "base"),
    [
        ("/test/openapi.json", None, "/test"),  # without a custom domain the event's path lacks the stage
        ("/openapi.json", "openapi.json", "/"),
        ("/v1/gleaner/openapi.json", "openapi.json", "/v1/gleaner"),
    ],
)
def test_the_description_names_the_base_path_of_the_url(
    client: Client, full_path: str, proxy: str | None, base: str
) -> None:
    event = proxy_event("GET", full_path if proxy else "/openapi.json", "local")
    event["pathParameters"] = proxy and {"proxy": proxy}
    event["requestContext"]["path"] = full_path
    assert json.loads(client.send(event)["body"])["servers"] == [{"url": base}]


# What API Gateway sends for the root: the path has the base path of a custom domain, and the stage as well if its
# mapping names none, but without a custom domain it has neither (localstack/localstack#12296 lists the cases).
@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(
    ("path", "full_path", "base"),
    [
        ("/", "/test", "/test"),
        ("/", "/", ""),
        ("/test", "/test", "/test"),
        ("/tools", "/tools", "/tools"),
        ("/tools/gleaner", "/tools/gleaner", "/tools/gleaner"),
        ("/tools/test", "/tools/test", "/tools/test"),
    ],
)
def test_the_root_is_found_with_and_without_a_final_slash(
    client: Client, path: str, full_path: str, base: str, slash: str
) -> None:
    event = proxy_event("GET", path.rstrip("/") + slash, "local") | {"resource": "/"}
    event["requestContext"]["path"] = full_path.rstrip("/") + slash
    response = client._handle(event)  # unchecked: the description does not know these paths
    assert response["statusCode"] == 200
    assert f'<body data-base="{base}"' in response["body"]
    assert f' src="{base}/page/start.js"' in response["body"]


@pytest.mark.parametrize(
    "changes",
    [
        {"isBase64Encoded": True, "body": "%%%"},
        {"isBase64Encoded": True, "body": base64.b64encode(b"\xff\xfe").decode()},
        {"isBase64Encoded": True, "body": None},
        {"body": None, "headers": None, "multiValueHeaders": None},
    ],
)
def test_an_unreadable_body_is_refused(client: Client, changes: dict[str, Any]) -> None:
    response = client.send(chat_event(**changes))
    assert response["statusCode"] == 400
    assert json.loads(response["body"])["type"] == "urn:gleaner:problem:validation-failed"


def test_every_response_carries_its_ids(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    for event in (chat_event(), chat_event(body="no"), proxy_event("GET", "/nothing", "local")):
        response = client.send(event)
        headers = response["multiValueHeaders"]
        assert headers["X-Request-Id"] == ["r"]
        body = json.loads(response["body"])
        assert headers["X-Query-Id"] == [body["query_id"]]


def test_configured_origins_are_allowed_even_on_errors(settings: dict[str, str]) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://a.example https://b.example"}))
    for event in (chat_event(body="no"), proxy_event("GET", "/nothing", "x"), proxy_event("OPTIONS", CHAT, "x")):
        for origin, allowed in (("https://b.example", ["https://b.example"]), ("https://evil.example", None)):
            headers = {"origin": origin, "content-type": "application/json"}
            multi_value = {name: [value] for name, value in headers.items()}
            response = client.send(event | {"headers": headers, "multiValueHeaders": multi_value})
            assert response["multiValueHeaders"].get("Access-Control-Allow-Origin") == allowed
            assert response["multiValueHeaders"]["Vary"] == ["Origin"]
    preflight = client.send(proxy_event("OPTIONS", CHAT, "x"))
    assert preflight["statusCode"] == 204
    # A cache must not serve a response without an origin to the pages of an origin.
    assert preflight["multiValueHeaders"]["Vary"] == ["Origin"]


def test_without_configured_origins_none_is_allowed(client: Client) -> None:
    headers = {"origin": "https://a.example", "content-type": "application/json"}
    multi_value = {name: [value] for name, value in headers.items()}
    response = client.send(chat_event(body="no", headers=headers, multiValueHeaders=multi_value))
    assert not {"Access-Control-Allow-Origin", "Vary"} & set(response["multiValueHeaders"])


def admin_event() -> dict[str, Any]:
    """A call of a route that only admins may use: 404 for an admin, 403 for others."""
    return proxy_event("DELETE", f"/api/keywords/answers/{'0' * 26}", "x")


@pytest.mark.parametrize(
    ("context", "admin"),
    [
        ({"identity": {"apiKeyId": "admin"}}, True),
        ({"identity": {"apiKeyId": "other"}}, False),
        ({"authorizer": {"claims": {"sub": "admin"}}}, False),
        ({"identity": {"userArn": "arn:aws:iam::1:user/x"}}, False),
        ({"authorizer": None, "identity": None}, False),
        (None, False),
    ],
)
def test_roles_come_from_the_authorizer(client: Client, context: Any, admin: bool) -> None:
    event = admin_event() | {"requestContext": context}
    event["headers"] = {"x-api-key": "admin"}
    assert client.send(event)["statusCode"] == (404 if admin else 403)


def token_of(groups: Any) -> str:
    """A token as Cognito issues it; API Gateway checks the signature."""
    header, payload = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, groups)
    )
    return f"Bearer {header}.{payload}.c2lnbmF0dXJl"


def as_member(claim: Any, *tokens: str) -> dict[str, Any]:
    """The parts of the event of a Cognito user whose groups claim is `claim`."""
    return {
        "requestContext": {"authorizer": {"claims": {"sub": "u1", "cognito:groups": claim}}},
        "headers": {"Authorization": tokens[-1]} if tokens else None,
        "multiValueHeaders": {"Authorization": list(tokens)} if tokens else None,
    }


@pytest.mark.parametrize(
    ("groups", "admin"),
    [
        (["admin"], True),
        (["users", "admin"], True),
        (["admin", "users"], True),
        (["administrators"], False),
        (["x,admin"], False),
        (["x", "admin,x"], False),
        (["[admin]"], False),
        (["[users", "admin]"], False),
        (["Admin"], False),
        ([], False),
    ],
)
def test_only_the_exact_group_name_makes_an_admin(client: Client, groups: list[str], admin: bool) -> None:
    event = admin_event()
    member = as_member(",".join(groups), token_of({"cognito:groups": groups}))  # joined as API Gateway does
    for changes in (member, member | {"multiValueHeaders": None}):
        assert client.send(event | changes)["statusCode"] == (404 if admin else 403)


@pytest.mark.parametrize("groups", [["admin"], ["users", "admin"]])
def test_groups_may_be_given_in_brackets(client: Client, groups: list[str]) -> None:
    event = admin_event()
    member = as_member(f"[{' '.join(groups)}]", token_of({"cognito:groups": groups}))
    assert client.send(event | member)["statusCode"] == 404


def test_the_user_of_an_access_token_is_the_user_of_an_id_token(client: Client) -> None:
    """As MCP clients send it: without an audience that API Gateway would check, and with the scope that it checks."""
    groups = ["users", "admin"]
    claims = {
        "sub": "u1",
        "cognito:groups": groups,
        "iss": "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc",
        "client_id": "2a3b",
        "aud": "https://api.example/dev/mcp",
        "token_use": "access",
        "scope": "https://api.example/dev/mcp/ask",
        "username": "u1",
    }
    member = as_member(",".join(groups), token_of(claims))
    member["requestContext"]["authorizer"]["claims"] |= claims | {"cognito:groups": ",".join(groups)}
    assert client.send(admin_event() | member)["statusCode"] == 404  # allowed
    session = client.post("/api/sessions", {}, **as_member("users", token_of({"cognito:groups": ["users"]})))[1]
    path = f"/api/sessions/{session['session_id']}"
    assert client.request("GET", path, **member)[0] == 200  # one user, whichever token


ADMIN_TOKEN = token_of({"cognito:groups": ["x", "admin"]})


@pytest.mark.parametrize(
    ("claim", "tokens"),
    [
        ("x", [ADMIN_TOKEN]),
        ("users,x", [ADMIN_TOKEN]),
        (None, [ADMIN_TOKEN]),
        ("x,admin", []),
        ("x,admin", [ADMIN_TOKEN, ADMIN_TOKEN]),
        ("x,admin", [token_of({"cognito:groups": "x,admin"})]),
        ("x,admin", [token_of({})]),
        ("x,admin", [token_of("[" * 10)]),
        ("x,admin", ["Bearer"]),
        ("x,admin", ["a.%.c"]),
        ("x,admin", ["a.\u00e4.c"]),
        ("x,admin", [f"a.{base64.urlsafe_b64encode(b'[' * 200_000).decode()}.c"]),
    ],
)
def test_a_token_that_differs_from_the_verified_claim_makes_no_admin(
    client: Client, claim: str | None, tokens: list[str]
) -> None:
    event = admin_event()
    assert client.send(event | as_member(claim, *tokens))["statusCode"] == 403


def test_callers_of_different_kinds_do_not_share_sessions(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    response = client.send(chat_event(requestContext={"identity": {"apiKeyId": "u1"}}))
    session_id = json.loads(response["body"])["session_id"]
    path = f"/api/sessions/{session_id}"
    as_user = {"authorizer": {"claims": {"sub": "u1"}}}
    assert client.send(proxy_event("GET", path, "u1"))["statusCode"] == 200
    assert client.send(proxy_event("GET", path, "x") | {"requestContext": as_user})["statusCode"] == 404


def test_a_knowledge_base_outside_the_callers_list_is_refused(settings: dict[str, str], model: ScriptedModel) -> None:
    limit_callers(settings, {"key:limited": ["other_kb"]})
    client = Client(make_api(settings))
    status, problem = client.post(CHAT, {"query": "x"}, caller="limited")
    assert (status, problem["type"]) == (403, "urn:gleaner:problem:not-allowed")
    model.plays(calls(search()), calls(answer()))
    assert client.post(CHAT, {"query": "x"}, caller="anybody")[0] == 200


def test_a_hanging_model_ends_in_a_504_from_the_function(settings: dict[str, str], model: ScriptedModel) -> None:
    is_over, waits = threading.Event(), []

    def hang(_request: dict[str, Any]) -> dict[str, Any]:
        waits.append(is_over.wait(60))
        return calls(search())

    model.plays(hang)
    client = Client(make_api(settings | {"QUERY_DEADLINE_SECONDS": "0.7"}))
    status, problem = client.ask()
    assert waits == []  # the function did not wait for the model
    is_over.set()
    assert (status, problem["type"]) == (504, "urn:gleaner:problem:deadline-exceeded")


def test_the_answer_is_forced_when_little_time_is_left(
    settings: dict[str, str], model: ScriptedModel, still_clock: StillClock
) -> None:
    def slow_search(_request: dict[str, Any]) -> dict[str, Any]:
        still_clock.move(18)
        return calls(search())

    model.plays(slow_search, calls(answer()))
    client = Client(make_api(settings | {"QUERY_DEADLINE_SECONDS": "25"}))
    status, body = client.ask()
    assert (status, body["status"]) == (200, "fallback")
    assert [tool["function"]["name"] for tool in model.requests[1]["tools"]] == ["generate_response"]
