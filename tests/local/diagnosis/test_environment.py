"""The doctor's findings about the parts of a deployed environment, in an emulator of AWS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
)
from botocore.stub import Stubber
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gleaner.runtime.settings import Settings
from gleaner.stores import schema
from gleaner_local.aws import ministack
from gleaner_local.aws.ministack import Ministack
from gleaner_local.clients.keys_secret import read_fields
from gleaner_local.diagnosis._functions import LiveFunction, read_live
from gleaner_local.diagnosis._secret import check_fields
from gleaner_local.diagnosis._table_upkeep import check_upkeep
from gleaner_local.diagnosis._tables import check_tables
from gleaner_local.diagnosis._watch import check_alarms, check_schedule, check_watched
from gleaner_local.diagnosis.aws import Account, aws_findings
from gleaner_local.diagnosis.environment import EnvironmentCheck
from gleaner_local.diagnosis.finding import Finding, State
from gleaner_local.servers.asgi import AsgiServer
from infra.environments import DEV

Connect = Callable[[str], Any]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("aws")
    services = "cloudformation,cloudwatch,dynamodb,scheduler,secretsmanager,sns,sts"
    server = Ministack(path / "state", path / "log", services=services)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def connect(emulator: str, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Clients of the emulator, whose address is in the environment from now on."""
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", emulator)
    return Account().client


def environment(name: str, path: Path, url: str | None = None) -> list[Finding]:
    outputs = path / "outputs.json"
    return list(EnvironmentCheck(name, Account(), outputs_file=outputs, url=url, control_host=None).findings())


def problems(findings: list[Finding]) -> list[str]:
    return [f"{finding.seen} {finding.remedy}" for finding in findings if finding.state is State.PROBLEM]


def test_missing_stacks_are_problems(connect: Connect, tmp_path: Path) -> None:
    data, documents, service, watch = problems(environment("none", tmp_path))
    assert "gleaner-none-data" in data
    assert "make deploy ENV=none STACK=data" in data
    assert "make deploy ENV=none STACK=documents" in documents
    assert "make deploy ENV=none STACK=service" in service
    assert "make deploy ENV=none STACK=watch" in watch


def test_a_stack_without_its_outputs_is_a_problem(connect: Connect, tmp_path: Path) -> None:
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    connect("cloudformation").create_stack(StackName="gleaner-half-data", TemplateBody=json.dumps(template))
    connect("cloudformation").get_waiter("stack_create_complete").wait(
        StackName="gleaner-half-data", WaiterConfig={"Delay": 1}
    )
    data, *_others = problems(environment("half", tmp_path))
    assert "KeywordsTable" in data
    assert "ApiKeysSecretArn" in data


@pytest.mark.parametrize(("protected", "keeps_data", "noted"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_a_stack_of_kept_data_that_is_not_protected_is_noted(
    connect: Connect, tmp_path: Path, protected: bool, keeps_data: bool, noted: int
) -> None:
    name = f"kept{protected}{keeps_data}".lower()
    template = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    for kind, is_protected in (("data", protected), ("watch", False)):  # which holds nothing, and is never protected
        connect("cloudformation").create_stack(
            StackName=f"gleaner-{name}-{kind}", TemplateBody=template, EnableTerminationProtection=is_protected
        )
    record = replace(DEV, keep_data=keeps_data)
    check = EnvironmentCheck(
        name, Account(), outputs_file=tmp_path / "none", url=None, control_host=None, record=record
    )
    notes = [one for one in check.findings() if one.state is State.NOTE and "not protected" in one.seen]
    assert len(notes) == noted


@pytest.fixture
def healthy() -> Iterator[str]:
    """An API that is up and requires keys."""

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def refuse(_request: Request) -> Response:
        return JSONResponse({}, status_code=403)

    server = AsgiServer(Starlette(routes=[Route("/api/health", health), Route("/{path:path}", refuse)]))
    server.start()
    yield server.url
    server.stop()


def test_without_credentials_the_stored_address_is_still_checked(
    healthy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "outputs.json").write_text(json.dumps({"gleaner-dev-service": {"ApiUrl": healthy}}))
    account, *api = environment("dev", tmp_path)
    assert problems([account]) == problems([account, *api])
    assert "aws configure" in account.remedy
    assert next(finding.state for finding in api) is State.OK


def test_a_missing_region_is_named_beside_missing_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "REGION", "DEFAULT_REGION", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    region, credentials = problems(environment("dev", tmp_path))
    assert "AWS_REGION" in region and "aws configure" in credentials


def _client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "token secret-token"}}, "DescribeTable")


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (NoCredentialsError(), "aws sso login"),
        (ProfileNotFound(profile="nope"), "There is no AWS profile 'nope'"),
        (NoRegionError(), "AWS_REGION"),
        (EndpointConnectionError(endpoint_url="http://secret-token@x"), "network"),
        (_client_error("ExpiredToken"), "aws sso login"),
        (_client_error("AccessDeniedException"), "DescribeTable"),
        (_client_error("ThrottlingException"), "ThrottlingException"),
    ],
)
def test_an_aws_error_becomes_a_finding_with_a_remedy(error: ClientError | BotoCoreError, word: str) -> None:
    def findings() -> Iterator[Finding]:
        yield from ()
        raise error

    (finding,) = aws_findings("tables", findings())
    (line,) = problems([finding])
    assert word in line
    assert finding.remedy
    assert "secret-token" not in line


@pytest.mark.parametrize(
    ("value", "state", "word"),
    [
        ('{"openai": "a-key", "pinecone": "b-key", "perplexity": "c-key"}', State.OK, "perplexity"),
        ('{"openai": "a-key", "pinecone": "b-key", "perplexity": ""}', State.NOTE, "web is not searched"),
        ('{"openai": "", "pinecone": "b-key"}', State.PROBLEM, "gleaner keys put --env dev"),
        ('{"openai": "a-key", "pinecone": 7}', State.PROBLEM, "no key in pinecone"),
        ('["a-key"]', State.PROBLEM, "no key in openai, pinecone"),
        ("a-key", State.PROBLEM, "no key in openai, pinecone"),
    ],
)
def test_the_secret_is_checked_and_not_shown(connect: Connect, value: str, state: State, word: str) -> None:
    client = connect("secretsmanager")
    arn = client.create_secret(Name=f"keys-{abs(hash(value))}", SecretString=value)["ARN"]
    finding = check_fields(read_fields(client, arn), "dev")
    line = f"{finding.seen} {finding.remedy}"
    assert finding.state is state
    assert word in line
    assert "-key" not in line.replace(arn, "")


@pytest.mark.parametrize("state", ["ENABLED", "DISABLED"])
def test_a_schedule_must_be_enabled(connect: Connect, state: str) -> None:
    client = connect("scheduler")
    client.create_schedule(
        Name=f"prune-{state}",
        Description="Prunes keywords",
        State=state,
        ScheduleExpression="rate(24 hours)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": "arn:aws:lambda:us-east-1:000000000000:function:f",
            "RoleArn": "arn:aws:iam::000000000000:role/r",
        },
    )
    (finding,) = check_schedule(client, [f"prune-{state}"], fix="DEPLOY")
    assert (finding.state is State.OK) == (state == "ENABLED")
    assert "Prunes keywords: rate(24 hours)" in finding.seen


def test_a_missing_schedule_is_a_problem(connect: Connect) -> None:
    (line,) = problems(list(check_schedule(connect("scheduler"), [], fix="DEPLOY")))
    assert "DEPLOY" in line


def test_an_alarm_that_fires_is_reported_with_its_description(connect: Connect) -> None:
    client = connect("cloudwatch")
    for name in ("quiet", "loud"):
        client.put_metric_alarm(
            AlarmName=name,
            AlarmDescription=f"The {name} one",
            Namespace="Gleaner",
            MetricName="x",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanThreshold",
        )

    def findings(names: list[str]) -> list[Finding]:
        return list(check_alarms(client, names, dashboard="https://board", fix="DEPLOY"))

    client.set_alarm_state(AlarmName="quiet", StateValue="OK", StateReason="test")
    client.set_alarm_state(AlarmName="loud", StateValue="ALARM", StateReason="test")
    assert problems(findings(["quiet"])) == []
    (line,) = problems(findings(["quiet", "loud"]))
    assert "The loud one" in line
    assert "https://board" in line
    (line,) = problems(findings(["quiet", "gone"]))
    assert "1 of 2" in line


def test_alarms_of_a_service_that_was_removed_are_a_problem() -> None:
    watched = {"QueryFunction": "q-1", "PruneFunction": "p-1", "QueryLog": "l-1"}
    outputs = {"QueryFunctionName": "q-1", "PruneFunctionName": "p-1"}
    assert list(check_watched(watched, outputs, fix="DEPLOY")) == []
    (line,) = problems(list(check_watched(watched, outputs | {"QueryFunctionName": "q-2"}, fix="DEPLOY")))
    assert "QueryFunction" in line and "PruneFunction" not in line
    assert "DEPLOY" in line


def _live(**values: Any) -> LiveFunction:
    defaults = {"state": "Active", "last_update": "Successful", "snapshot": "On", "variables": {}}
    return LiveFunction(name="query", version="7", **(defaults | values))


@pytest.mark.parametrize(
    ("live", "state"),
    [
        (_live(), State.OK),
        (_live(snapshot=None), State.OK),
        (_live(state="Inactive"), State.PROBLEM),  # its first callers get errors
        (_live(state="Inactive", snapshot=None), State.OK),  # it starts with the next request
        (_live(state="Pending"), State.PROBLEM),
        (_live(state="Failed"), State.PROBLEM),
        (_live(last_update="Failed"), State.PROBLEM),
        (_live(snapshot="Off"), State.PROBLEM),
    ],
)
def test_the_live_version_must_be_ready(live: LiveFunction, state: State) -> None:
    assert live.check(fix="DEPLOY").state is state


def _read_live(alias: dict[str, Any], **configuration: Any) -> LiveFunction:
    """The version that Lambda describes so; botocore checks the form of its answers."""
    client = boto3.client("lambda", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    variables = {"FunctionName": "query", "Environment": {"Variables": {"API_KEYS_SECRET_ARN": "arn"}}}
    with Stubber(client) as stub:
        stub.add_response("get_function_configuration", variables, {"FunctionName": "query"})
        stub.add_response(
            "get_function_configuration",
            variables | {"Version": "7", "LastUpdateStatus": "Successful"} | configuration,
            {"FunctionName": "query", "Qualifier": "live"},
        )
        stub.add_response("get_alias", alias, {"FunctionName": "query", "Name": "live"})
        live = read_live(client, ["query"])
        stub.assert_no_pending_responses()
    assert live is not None
    return live


def test_a_version_that_sleeps_is_reported_with_lambdas_reason() -> None:
    # "Lambda function states" of Lambda's developer guide: an idle function is inactive, with this code and a reason.
    live = _read_live(
        {"FunctionVersion": "7"},
        State="Inactive",
        StateReasonCode="Idle",
        StateReason="The function is idle.",
        SnapStart={"ApplyOn": "PublishedVersions", "OptimizationStatus": "Off"},
    )
    finding = live.check(fix="DEPLOY")
    assert finding.state is State.PROBLEM
    assert "version 7" in finding.seen and "Inactive (The function is idle)" in finding.seen
    assert "/api/health" in finding.remedy
    assert list(live.check_shares()) == []


def test_a_canary_in_flight_is_worth_a_note() -> None:
    live = _read_live(
        {"FunctionVersion": "7", "RoutingConfig": {"AdditionalVersionWeights": {"8": 0.1}}},
        State="Active",
        SnapStart={"ApplyOn": "PublishedVersions", "OptimizationStatus": "On"},
    )
    assert live.check(fix="DEPLOY").state is State.OK
    [finding] = live.check_shares()
    assert (finding.state, "Version 8 gets 10 %" in finding.seen) == (State.NOTE, True)


def test_the_variables_are_read_as_the_function_sees_them() -> None:
    deployed = dict.fromkeys((*ministack.TABLES, "API_KEYS_SECRET_ARN"), "x")
    deployed |= {"PINECONE_INDEX_HOST": "index.example", "DOCUMENTS_BUCKET": "documents"}
    live = _read_live({"FunctionVersion": "7"}, Environment={"Variables": deployed})
    # Forms are signed for the region, which Lambda adds and no stack may set.
    assert Settings.from_env(live.variables).documents.region == "us-east-1"


class TestTables:
    """Tables against their schema."""

    @pytest.fixture
    def dynamodb(self, connect: Connect) -> Any:
        return connect("dynamodb")

    def _create(self, client: Any, name: str, table: schema.TableSchema) -> None:
        ministack.create_tables(client, {name: table})

    def test_a_table_with_the_expected_schema_has_no_problems(self, dynamodb: Any) -> None:
        for name, table in (("calls", schema.TOOL_CALLS), ("once", schema.IDEMPOTENCY)):
            self._create(dynamodb, name, table)
            assert problems(list(check_tables(dynamodb, {name: table}, fix="DEPLOY"))) == []

    @pytest.mark.parametrize(
        ("name", "actual", "word"),
        [
            ("absent", None, "does not exist"),
            ("bare", schema.TableSchema(), "no index by_last_use"),
            ("keyed", schema.TableSchema(partition_key="id", indexes=schema.KEYWORDS.indexes), "keys id, sk"),
            ("other", schema.TableSchema(indexes=(schema.Index("by_last_use", "queue", "x"),)), "over queue, x"),
        ],
    )
    def test_a_table_with_another_schema_is_a_problem(
        self, dynamodb: Any, name: str, actual: schema.TableSchema | None, word: str
    ) -> None:
        if actual is not None:
            self._create(dynamodb, name, actual)
        (line,) = problems(list(check_tables(dynamodb, {name: schema.KEYWORDS}, fix="DEPLOY")))
        assert word in line
        assert "DEPLOY" in line

    def test_missing_recovery_protection_and_expiry_are_problems(self, dynamodb: Any) -> None:
        self._create(dynamodb, "kept", schema.IDEMPOTENCY)
        dynamodb.update_time_to_live(
            TableName="kept", TimeToLiveSpecification={"Enabled": False, "AttributeName": "expiration"}
        )

        def find_problems(*, protected: bool) -> list[str]:
            return problems(list(check_upkeep(dynamodb, {"kept": schema.IDEMPOTENCY}, protected=protected, fix="D")))

        assert len(find_problems(protected=True)) == 3
        assert len(find_problems(protected=False)) == 2
        dynamodb.update_continuous_backups(
            TableName="kept", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        dynamodb.update_time_to_live(
            TableName="kept", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expiration"}
        )
        dynamodb.update_table(TableName="kept", DeletionProtectionEnabled=True)
        assert find_problems(protected=True) == []
