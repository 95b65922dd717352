"""The deployed environment: answers, refusals, throttling, the alias, scheduled pruning, and removal."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import unescape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from gleaner_local.aws import ministack
from gleaner_local.diagnosis import checklist
from infra.callbacks import MCP_CALLBACK_URLS
from infra.environment import Authorizer
from infra.environments import DEV
from tests.e2e.commands import ENVIRONMENT, GLEANER
from tests.e2e_cloud.conftest import Cloud
from tests.e2e_cloud.deployment import REGION

pytestmark = pytest.mark.slow

QUESTION = "/api/chat/query"
PROBLEM = "application/problem+json"
PASSWORD = "Correct-horse-9"
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def test_health_and_the_openapi_document_need_no_key(cloud: Cloud) -> None:
    assert cloud.http.get("/api/health").json() == {"status": "ok"}
    assert QUESTION in cloud.http.get("/openapi.json").json()["paths"]


def test_the_page_needs_no_key(cloud: Cloud) -> None:
    page = cloud.http.get("/")
    assert (page.status_code, page.headers["content-type"]) == (HTTPStatus.OK, "text/html; charset=utf-8")
    assert _described_sign_in(cloud)["kind"] == "api_key"
    for name, kind in (("start.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")):
        file = cloud.http.get(f"/page/{name}")
        assert file.status_code == HTTPStatus.OK
        assert file.headers["content-type"].partition(";")[0] == kind
    assert cloud.http.post("/page/start.js").status_code == HTTPStatus.UNAUTHORIZED
    for path in ("/api/documents", "/api/sessions", "/page"):
        assert cloud.http.get(path).status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": "wrong"}, {"x-api-key": "w" * 40}, {"authorization": "Bearer " + "w" * 40}],
    ids=["none", "no key", "unknown key", "bearer token"],
)
@pytest.mark.parametrize(("method", "path"), [("POST", QUESTION), ("GET", "/v1/models"), ("POST", "/mcp")])
def test_requests_without_a_valid_key_are_refused(
    cloud: Cloud, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = cloud.http.request(method, path, json={"query": "How are duplicates merged?"}, headers=headers)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["type"] == "urn:gleaner:problem:unauthorized"
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_the_doors_want_the_key_as_bearer_token(cloud: Cloud) -> None:
    key = cloud.key("ApiKeyId")
    # The emulator invokes the authorizer, but reads the key from x-api-key, whatever the authorizer returns.
    bearer = key | {"authorization": f"Bearer {key['x-api-key']}"}
    assert cloud.http.get("/v1/models", headers=bearer).json()["data"]
    assert cloud.http.post("/mcp", json=LIST_TOOLS, headers=bearer).json()["result"]["tools"]
    for method, path in (("GET", "/v1/models"), ("POST", "/mcp")):
        assert cloud.http.request(method, path, json={}, headers=key).status_code == HTTPStatus.UNAUTHORIZED
    [function] = [
        one["FunctionName"]
        for one in cloud.deployment.client("lambda").list_functions()["Functions"]
        if "hands API keys on" in one["Description"]
    ]
    event = {"type": "TOKEN", "authorizationToken": bearer["authorization"], "methodArn": "arn:x/dev/GET/v1/models"}
    invoked = cloud.deployment.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event))
    assert json.load(invoked["Payload"])["usageIdentifierKey"] == key["x-api-key"]


def test_error_responses_of_the_gateway_match_those_of_the_function(cloud: Cloud) -> None:
    caller = cloud.key("ApiKeyId")
    for method, path, body, status, slug in (
        ("POST", QUESTION, "{", HTTPStatus.BAD_REQUEST, "validation-failed"),
        ("POST", QUESTION, '{"querry": "How?"}', HTTPStatus.BAD_REQUEST, "validation-failed"),
        ("GET", "/api/nothing", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/nothing", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/api/chat", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/page", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("DELETE", QUESTION, None, HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed"),
        ("POST", "/api/health", "{}", HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed"),
    ):
        headers = caller | {"content-type": "application/json"}
        answer = cloud.http.request(method, path, content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), (method, path, answer.text)
        assert answer.json()["type"] == f"urn:gleaner:problem:{slug}"
        assert answer.json()["query_id"] == answer.headers["x-query-id"]
        assert answer.headers["x-request-id"]


def test_a_question_is_answered_from_the_knowledge_base(cloud: Cloud) -> None:
    answer = _ask(cloud, "How are duplicate keywords merged?")
    assert answer["status"] == "success"
    assert answer["sources"][0]["source_file_path"] == "docs/keywords.md"


def test_a_question_is_answered_from_the_web_and_learned(cloud: Cloud) -> None:
    answer = _ask(cloud, "What is Starlette?")
    assert answer["used_tools"].count("perplexity_search") == 1
    assert answer["keyword_count"] >= 3
    assert len(_keywords(cloud)) >= 3


def test_the_role_allows_everything_that_the_routes_do(cloud: Cloud) -> None:
    caller = cloud.key("ApiKeyId")
    session = cloud.http.post("/api/sessions", json={}, headers=caller)
    assert session.status_code == HTTPStatus.CREATED, session.text
    path = f"/api/sessions/{session.json()['session_id']}"
    body, headers = {"query": "How are duplicate keywords merged?"}, caller | {"idempotency-key": "once"}
    turn, retry = [cloud.http.post(f"{path}/chat", json=body, headers=headers) for _ in range(2)]
    assert turn.status_code == HTTPStatus.OK, turn.text
    assert retry.json() == turn.json()
    assert len(cloud.http.get(f"{path}/messages", headers=caller).json()["messages"]) == 2
    query_id = turn.headers["x-query-id"]
    calls = cloud.http.get(f"/api/queries/{query_id}/tool-calls", headers=caller).json()["tool_calls"]
    assert calls[-1]["tool_name"] == "generate_response"
    feedback = cloud.http.post(f"/api/queries/{query_id}/feedback", json={"rating": 5}, headers=caller)
    assert feedback.status_code == HTTPStatus.OK, feedback.text
    cloud.http.delete(path, headers=caller)  # the emulator cannot relay a response without a body
    assert cloud.http.get(path, headers=caller).status_code == HTTPStatus.NOT_FOUND


def test_the_doctor_finds_only_what_the_emulator_left_out(cloud: Cloud) -> None:
    _live_version(cloud, ready=True)
    problems = [one for one in _doctor(cloud)["findings"] if one["state"] == "PROBLEM"]
    # The emulator's CloudFormation ignores the recovery of the seven tables, and the expiry of four.
    assert [one["subject"] for one in problems] == ["table upkeep"] * 11, [one["seen"] for one in problems]
    dynamodb = cloud.deployment.client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        dynamodb.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
    expiring = dict.fromkeys(("KeywordsTable", "UsageTable", "DocumentsTable"), "expires_at")
    for output, attribute in (expiring | {"IdempotencyTable": "expiration"}).items():
        dynamodb.update_time_to_live(
            TableName=cloud.outputs[output],
            TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute},
        )
    report = _doctor(cloud)
    assert report["problems"] == 0
    looks = [one["seen"] for one in report["findings"] if one["subject"].startswith(checklist.SUBJECT)]
    assert len(looks) == sum(item.is_of(DEV) for item in checklist.ITEMS)
    assert any(look.startswith("Look: ") for look in looks)
    assert {one["subject"] for one in report["findings"] if one["state"] == "ok"} >= {
        *("AWS account", "stacks", "tables", "table upkeep", "secret", "query function", "configuration"),
        *("language model", "vector index", "web search", "schedule", "alarms", "API", "stream", "doors"),
        "documents",
    }


def test_an_operator_limits_a_caller(cloud: Cloud) -> None:
    """The table alone: the emulator does not tell the function whose key a request has, so all are one caller."""
    caller = f"key:{cloud.outputs['ApiKeyId']}"
    allowed = _run_gleaner(cloud, "callers", "allow", caller, "other_kb", "--env", "dev")
    assert allowed.stdout.startswith(f"{caller} may use other_kb."), allowed.stderr
    listed = json.loads(_run_gleaner(cloud, "callers", "list", "--json", "--env", "dev").stdout)["callers"]
    assert [(one["caller"], one["kb_ids"]) for one in listed] == [(caller, ["other_kb"])]
    assert _run_gleaner(cloud, "callers", "unlist", caller, "--env", "dev").returncode == 0


def test_the_usage_plan_throttles(cloud: Cloud) -> None:
    headers = cloud.key("ApiKeyId")
    # The gateway counts requests before it looks at their bodies, and refuses these itself: a busy machine might not
    # invoke the function often enough to be throttled.
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: cloud.http.post(QUESTION, json={}, headers=headers), range(60)))
    throttled = [answer for answer in answers if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS]
    assert throttled
    assert {answer.json()["type"] for answer in throttled} == {"urn:gleaner:problem:throttled"}
    assert {answer.status_code for answer in answers} == {HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS}
    _wait_until(lambda: cloud.http.get("/api/sessions", headers=headers).status_code == HTTPStatus.OK)


def test_the_schedule_prunes(cloud: Cloud) -> None:
    assert _keywords(cloud)
    scheduler = cloud.deployment.client("scheduler")
    summary, schedule = _schedule(cloud, "Prunes keywords")
    assert schedule["ScheduleExpression"] == f"rate({cloud.environment.pruning.every_hours} hours)"
    # Keep the target and the role, but use a rate that a test can wait for.
    scheduler.update_schedule(
        Name=summary["Name"],
        ScheduleExpression="rate(1 minutes)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target=schedule["Target"],
    )
    _wait_until(lambda: _keywords(cloud) == [], seconds=300)


def test_the_weekly_invocation_is_a_health_check_of_the_version_in_use(cloud: Cloud) -> None:
    client, function = cloud.deployment.client("lambda"), cloud.outputs["QueryFunctionName"]
    _, schedule = _schedule(cloud, "Keeps the snapshot of the query function")
    target = schedule["Target"]
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("rate(7 days)", "ENABLED")
    assert target["Arn"].endswith(f":function:{function}:live")
    answer = client.invoke(FunctionName=target["Arn"], Payload=target["Input"])
    assert "FunctionError" not in answer
    assert json.loads(json.load(answer["Payload"])["body"]) == {"status": "ok"}
    config = client.get_function_event_invoke_config(FunctionName=function, Qualifier="live")
    assert (config["MaximumRetryAttempts"], bool(config["DestinationConfig"]["OnFailure"])) == (1, True)


def test_a_pruning_run_that_fails_for_good_goes_to_the_dead_letter_queue(cloud: Cloud) -> None:
    client = cloud.deployment.client
    prune, sqs = cloud.outputs["PruneFunctionName"], client("sqs")
    variables = client("lambda").get_function_configuration(FunctionName=prune)["Environment"]["Variables"]
    broken = {"Variables": variables | {"MIN_USAGE": "no number"}}
    client("lambda").update_function_configuration(FunctionName=prune, Environment=broken)
    client("lambda").invoke(FunctionName=prune, InvocationType="Event", Payload=b'{"from": "a test"}')
    queue = cloud.outputs["DeadLettersUrl"]
    messages: list[dict[str, Any]] = []

    def has_arrived() -> bool:
        messages.extend(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", ()))
        return any("a test" in message["Body"] for message in messages)

    _wait_until(has_arrived, seconds=180)  # the emulator waits between the retries, and a busy machine starts slowly


def test_the_alarms_watch_the_service_that_is_deployed(cloud: Cloud) -> None:
    alarms = {alarm["MetricName"]: alarm for alarm in _alarms(cloud)}
    for metric, output in (("Throttles", "QueryFunctionName"), ("Errors", "PruneFunctionName")):
        assert alarms[metric]["Dimensions"] == [{"Name": "FunctionName", "Value": cloud.outputs[output]}]
    assert {"EstimatedCost", "StoreThrottles", "ApproximateNumberOfMessagesVisible"} <= alarms.keys()
    [log] = {one["logGroupName"] for one in _metric_filters(cloud) if "resourcePath" in one["filterPattern"]}
    assert "AccessLog" in log


def test_a_deployment_moves_the_alias_to_a_new_version(cloud: Cloud) -> None:
    first = _live_version(cloud)
    cloud.deploy_service(replace(cloud.environment, web_answer_max_age_days=31))
    assert int(_live_version(cloud)) == int(first) + 1
    assert _ask(cloud, "How are duplicate keywords merged?")["status"] == "success"


def test_a_changed_index_host_reaches_the_live_version(cloud: Cloud) -> None:
    first, host = _live_version(cloud), cloud.index_host
    for index_host in (f"{host}/", host):
        cloud.deploy_service(cloud.environment, index_host=index_host)
        assert _live_variables(cloud)["PINECONE_INDEX_HOST"] == index_host
    assert int(_live_version(cloud)) > int(first)
    assert _ask(cloud, "How are duplicate keywords merged?")["status"] == "success"


def test_a_new_service_finds_the_index_and_the_keys(cloud: Cloud) -> None:
    key = cloud.key("ApiKeyId")
    cloud.deployment.destroy(cloud.service_stack)
    cloud.deploy_service(cloud.environment)
    assert _live_variables(cloud)["PINECONE_INDEX_HOST"] == cloud.index_host
    assert cloud.key("ApiKeyId") == key  # callers keep their keys
    assert _ask(cloud, "How are duplicate keywords merged?")["status"] == "success"


def test_a_user_of_the_pool_can_sign_in_and_ask(cloud: Cloud) -> None:
    """Follow the steps of docs/15 with the API calls of its commands."""
    throttle = replace(cloud.environment.throttle, quota_per_day=None)  # it limits API keys
    environment = replace(cloud.environment, name="users", authorizer=Authorizer.COGNITO, throttle=throttle)
    question = {"query": "How are duplicate keywords merged?"}
    with cloud.deploy_another(environment) as users:
        refusal = users.http.post(QUESTION, json=question)
        assert (refusal.status_code, refusal.headers["content-type"]) == (HTTPStatus.UNAUTHORIZED, PROBLEM)
        resource = users.http.get("/.well-known/oauth-protected-resource").json()
        metadata = f"{users.outputs['ApiUrl']}/.well-known/oauth-protected-resource"
        challenge = f'Bearer resource_metadata="{metadata}", scope="{resource["scopes_supported"][0]}"'
        assert refusal.headers["www-authenticate"] == challenge
        assert resource["resource"] == f"{users.outputs['ApiUrl']}/mcp"
        for email, groups, may_prune in (
            ("user@example.com", (), HTTPStatus.FORBIDDEN),
            ("admin@example.com", ("admin",), HTTPStatus.OK),
        ):
            bearer = {"authorization": f"Bearer {_sign_in(users, email, groups)}"}
            answer = users.http.post(QUESTION, json=question, headers=bearer)
            assert answer.status_code == HTTPStatus.OK, answer.text
            assert users.http.post("/api/keywords/prune", json={}, headers=bearer).status_code == may_prune
        bearer = {"authorization": f"Bearer {_sign_in_on_the_page(users, 'user@example.com')}"}
        assert users.http.get("/api/documents", headers=bearer).status_code == HTTPStatus.OK
        assert users.http.get("/v1/models", headers=bearer).status_code == HTTPStatus.OK
        assert users.http.post("/mcp", json=LIST_TOOLS, headers=bearer).status_code == HTTPStatus.UNAUTHORIZED
        access = {"authorization": f"Bearer {_sign_in_to_mcp(users, resource, 'user@example.com')}"}
        # The other routes refuse it on AWS only: the emulator takes either kind of token for a method without scopes.
        assert users.http.post("/mcp", json=LIST_TOOLS, headers=access).json()["result"]["tools"]


def test_the_alarms_keep_the_service_from_nothing(cloud: Cloud) -> None:
    cloud.deployment.destroy(cloud.service_stack)
    cloud.deploy_service(cloud.environment)
    _live_version(cloud, ready=True)
    ssm, name = cloud.deployment.client("ssm"), f"/gleaner/{cloud.environment.name}/watched/QueryFunction"
    assert ssm.get_parameter(Name=name)["Parameter"]["Value"] == cloud.outputs["QueryFunctionName"]
    # On AWS the function has another name now. In the emulator it has the same.
    for value, problems in (("gone", ["alarms"]), (cloud.outputs["QueryFunctionName"], [])):
        ssm.put_parameter(Name=name, Value=value, Overwrite=True)
        cloud.deploy_watch()
        faults = [one for one in _doctor(cloud)["findings"] if one["state"] == "PROBLEM"]
        found = [one for one in faults if one["subject"] == "alarms"]
        assert [one["subject"] for one in found] == problems, found
        assert all("STACK=watch" in one["remedy"] for one in found)


def test_the_stacks_leave_nothing_behind(cloud: Cloud) -> None:
    client = cloud.deployment.client
    key = cloud.key("ApiKeyId")
    cloud.deployment.destroy(cloud.service_stack)
    cloud.deployment.destroy(cloud.watch_stack)
    assert _alarms(cloud) == []
    assert client("dynamodb").list_tables()["TableNames"]
    assert cloud.key("ApiKeyId") == key  # callers keep their keys
    cloud.deployment.destroy(cloud.documents_stack)
    cloud.deployment.destroy(cloud.data_stack)
    assert client("apigateway").get_api_keys()["items"] == []
    assert cloud.deployment.stacks() == set()
    assert client("dynamodb").list_tables()["TableNames"] == []
    assert client("lambda").list_functions()["Functions"] == []
    assert client("apigateway").get_rest_apis()["items"] == []
    assert client("scheduler").list_schedules()["Schedules"] == []
    assert client("sqs").list_queues().get("QueueUrls", []) == []
    assert client("events").list_rules()["Rules"] == []
    assert client("stepfunctions").list_state_machines()["stateMachines"] == []
    assert [one["Name"] for one in client("s3").list_buckets()["Buckets"] if not one["Name"].startswith("cdk-")] == []


def _sign_in(cloud: Cloud, email: str, groups: Sequence[str]) -> str:
    """Create a user and sign in; returns the ID token."""
    client, pool, password = cloud.deployment.client("cognito-idp"), cloud.outputs["UserPoolId"], PASSWORD
    attributes = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
    client.admin_create_user(UserPoolId=pool, Username=email, UserAttributes=attributes, MessageAction="SUPPRESS")
    client.admin_set_user_password(UserPoolId=pool, Username=email, Password=password, Permanent=True)
    for group in groups:
        client.admin_add_user_to_group(UserPoolId=pool, Username=email, GroupName=group)
    response = client.admin_initiate_auth(
        UserPoolId=pool,
        ClientId=cloud.outputs["UserPoolClientId"],
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": password},
    )
    token: str = response["AuthenticationResult"]["IdToken"]
    return token


def _sign_in_on_the_page(cloud: Cloud, email: str) -> str:
    """Sign in at the pool's pages as the page of the service does; returns the ID token."""
    described, page_url = _described_sign_in(cloud), f"{cloud.outputs['ApiUrl']}/"
    assert described["poolUrl"].startswith("https://gleaner-users-")
    client = {"client_id": described["clientId"], "redirect_uri": page_url}
    return _redeem(cloud, email, client, {"scope": "openid email", "nonce": "n"})["id_token"]


def _sign_in_to_mcp(cloud: Cloud, resource: dict[str, Any], email: str) -> str:
    """Sign in at the pool's pages as an MCP client does; returns the access token."""
    client = {"client_id": cloud.outputs["McpClientId"], "redirect_uri": MCP_CALLBACK_URLS[0]}
    [scope] = resource["scopes_supported"]
    tokens = _redeem(cloud, email, client, {"scope": scope, "resource": resource["resource"]})
    assert "id_token" not in tokens
    return tokens["access_token"]


def _redeem(cloud: Cloud, email: str, client: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
    """The tokens of a user who signs in through this client."""
    verifier = "v" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = client | wanted | {"response_type": "code", "state": "s"}
    asked |= {"code_challenge": challenge, "code_challenge_method": "S256"}
    with httpx.Client(base_url=cloud.deployment.endpoint_url) as pool:
        assert pool.get("/oauth2/authorize", params=asked).status_code == HTTPStatus.OK
        other = pool.get("/oauth2/authorize", params=asked | {"redirect_uri": "https://evil.example/"})
        assert other.status_code == HTTPStatus.BAD_REQUEST
        back = pool.post("/login", data=asked | {"username": email, "password": PASSWORD}).headers["location"]
        assert back.startswith(f"{client['redirect_uri']}?")
        code = parse_qs(urlsplit(back).query)["code"][0]
        fields = client | {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        tokens: dict[str, str] = pool.post("/oauth2/token", data=fields).json()
    return tokens


def _described_sign_in(cloud: Cloud) -> dict[str, Any]:
    """What the page says about signing in."""
    match = re.search(r'data-sign-in="([^"]*)"', cloud.http.get("/").text)
    assert match is not None
    described: dict[str, Any] = json.loads(unescape(match[1]))
    return described


def _alarms(cloud: Cloud) -> list[dict[str, Any]]:
    alarms: list[dict[str, Any]] = cloud.deployment.client("cloudwatch").describe_alarms()["MetricAlarms"]
    return alarms


def _metric_filters(cloud: Cloud) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = cloud.deployment.client("logs").describe_metric_filters()["metricFilters"]
    return filters


def _ask(cloud: Cloud, query: str) -> dict[str, Any]:
    response = cloud.http.post(QUESTION, json={"query": query}, headers=cloud.key("ApiKeyId"))
    assert response.status_code == HTTPStatus.OK, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _doctor(cloud: Cloud) -> dict[str, Any]:
    """The report of `gleaner doctor` about the environment."""
    process = _run_gleaner(cloud, "doctor", "--env", "dev", "--url", str(cloud.http.base_url), "--json")
    report: dict[str, Any] = json.loads(process.stdout)
    assert process.returncode == (1 if report["problems"] else 0)
    return report


def _run_gleaner(cloud: Cloud, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of an operator, with credentials of the account."""
    emulator = {"AWS_ENDPOINT_URL": cloud.deployment.endpoint_url, "AWS_REGION": REGION} | ministack.CREDENTIALS
    return subprocess.run(
        [GLEANER, *arguments], env=ENVIRONMENT | emulator, capture_output=True, text=True, timeout=120, check=False
    )


def _schedule(cloud: Cloud, description: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary and the whole of the schedule with this description."""
    scheduler = cloud.deployment.client("scheduler")
    summaries = scheduler.list_schedules()["Schedules"]
    schedules = [(one, scheduler.get_schedule(Name=one["Name"])) for one in summaries]
    [found] = [(one, schedule) for one, schedule in schedules if schedule.get("Description") == description]
    return found


def _keywords(cloud: Cloud) -> list[Any]:
    keywords: list[Any] = cloud.http.get("/api/keywords", headers=cloud.key("ApiKeyId")).json()["keywords"]
    return keywords


def _live_version(cloud: Cloud, *, ready: bool = False) -> str:
    """The version that the API invokes; with `ready`, wait until it is active."""
    client, function = cloud.deployment.client("lambda"), cloud.outputs["QueryFunctionName"]
    if ready:
        client.get_waiter("function_active_v2").wait(FunctionName=function, Qualifier="live")
    version: str = client.get_alias(FunctionName=function, Name="live")["FunctionVersion"]
    return version


def _live_variables(cloud: Cloud) -> dict[str, str]:
    """The variables of the version that the API invokes."""
    client, function = cloud.deployment.client("lambda"), cloud.outputs["QueryFunctionName"]
    configuration = client.get_function_configuration(FunctionName=function, Qualifier="live")
    variables: dict[str, str] = configuration["Environment"]["Variables"]
    return variables


def _wait_until(condition: Callable[[], bool], *, seconds: float = 240) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.5)
