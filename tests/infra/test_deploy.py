"""Stacks that keep data are created without protection, so that a failed creation can be repeated, and then get it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from gleaner_local.aws import ministack
from infra import cdk, deploy
from infra.created_stacks import CREATED_STACKS, ProtectedRemains, find_created
from infra.deploy import Deployment, deploy_kept
from infra.environments import DEV

DATA, SERVICE = "gleaner-prod-data", "gleaner-prod-service"
GOOD = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
BAD = {"Resources": {"Kept": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "SecureString", "Value": "x"}}}}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("deploy")
    server = ministack.Ministack(path / "state", path / "log", services="cloudformation,sns,ssm,sts")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def cloudformation(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in (ministack.CREDENTIALS | {"AWS_ENDPOINT_URL": url}).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("cloudformation")
    yield client
    for stack in client.describe_stacks()["Stacks"]:
        _protect(client, stack["StackName"], protected=False)
        client.delete_stack(StackName=stack["StackName"])
        client.get_waiter("stack_delete_complete").wait(StackName=stack["StackId"], WaiterConfig={"Delay": 1})


@dataclass
class Cdk:
    """What the CDK's command line does with stacks.

    By aws-cdk 2.1146.1: it deletes a stack whose creation was rolled back, and sets the termination protection of the
    assembly before it creates or changes a stack.
    """

    client: Any
    templates: dict[str, Any]  # what a run deploys that names no stacks exclusively, in this order
    status: int = 7  # after a failure
    runs: list[list[str]] = field(default_factory=list)

    def __call__(self, arguments: list[str]) -> int:
        self.runs.append(arguments)
        assert arguments[:2] == ["deploy", "--context"]
        name, _, created = arguments[2].partition("=")
        assert name == CREATED_STACKS
        named = [argument.replace("/", "-") for argument in arguments if argument.startswith("gleaner-prod/")]
        stacks = named if "--exclusively" in arguments else list(self.templates)
        return 0 if all(self._deploy(stack, stack in created.split(",")) for stack in stacks) else self.status

    def _deploy(self, stack: str, protected: bool) -> bool:
        status = {one["StackName"]: one["StackStatus"] for one in self.client.describe_stacks()["Stacks"]}.get(stack)
        if status == "ROLLBACK_COMPLETE":
            self.client.delete_stack(StackName=stack)
            self.client.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
            status = None
        if status is None:
            body = json.dumps(self.templates[stack])
            self.client.create_stack(StackName=stack, TemplateBody=body, EnableTerminationProtection=protected)
            status = _settle(self.client, stack)
        else:
            _protect(self.client, stack, protected=protected)
        return status == "CREATE_COMPLETE"


def test_a_first_deployment_that_fails_can_be_repeated(cloudformation: Any) -> None:
    broken = Cdk(cloudformation, {DATA: GOOD, SERVICE: BAD})
    assert _deploy(broken) == 7
    assert _protection(cloudformation) == {DATA: True, SERVICE: False}  # what was created has data to lose
    assert broken.runs[1][3:] == ["gleaner-prod/data", "--exclusively"]
    repaired = Cdk(cloudformation, {DATA: GOOD, SERVICE: GOOD})
    assert _deploy(repaired, "--force") == 0
    assert _protection(cloudformation) == {DATA: True, SERVICE: True}
    assert repaired.runs[0][3:6] == ["gleaner-prod/data", "gleaner-prod/documents", "gleaner-prod/service"]
    assert repaired.runs[1][3:] == ["gleaner-prod/service", "--exclusively", "--force"]
    assert _deploy(again := Cdk(cloudformation, {DATA: GOOD, SERVICE: GOOD})) == 0
    assert len(again.runs) == 1  # and it stays so in each later deployment
    assert _protection(cloudformation) == {DATA: True, SERVICE: True}


def test_a_first_deployment_protects_all_that_it_created(cloudformation: Any) -> None:
    assert _deploy(run := Cdk(cloudformation, {DATA: GOOD, SERVICE: GOOD})) == 0
    assert _protection(cloudformation) == {DATA: True, SERVICE: True}
    # Nor is the file of outputs written again, with those of fewer stacks.
    assert run.runs[1][3:] == ["gleaner-prod/data", "gleaner-prod/service", "--exclusively"]


def test_an_interrupted_deployment_starts_nothing_more(cloudformation: Any) -> None:
    assert _deploy(run := Cdk(cloudformation, {DATA: GOOD, SERVICE: BAD}, status=cdk.INTERRUPTED)) == 130
    assert len(run.runs) == 1
    assert _deploy(Cdk(cloudformation, {DATA: GOOD, SERVICE: GOOD})) == 0
    assert _protection(cloudformation) == {DATA: True, SERVICE: True}


def test_credentials_that_may_not_release_what_is_left_are_told_how(cloudformation: Any) -> None:
    cloudformation.create_stack(StackName=DATA, TemplateBody=json.dumps(BAD), EnableTerminationProtection=True)
    _settle(cloudformation, DATA)
    denying = boto3.client("cloudformation")

    def deny(**_: object) -> None:
        message = "User is not authorized to perform: cloudformation:UpdateTerminationProtection"
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": message}}, "UpdateTerminationProtection")

    denying.meta.events.register("before-call.cloudformation.UpdateTerminationProtection", deny)
    with pytest.raises(ProtectedRemains) as raised:
        _deploy(Cdk(denying, {DATA: GOOD}))
    assert f"--no-enable-termination-protection --stack-name {DATA}" in str(raised.value)


def test_the_data_stack_is_protected_before_there_is_a_service(cloudformation: Any) -> None:
    assert _deploy(Cdk(cloudformation, {DATA: GOOD})) == 0
    assert _protection(cloudformation) == {DATA: True}
    assert _deploy(Cdk(cloudformation, {DATA: GOOD, SERVICE: BAD})) == 7
    assert _protection(cloudformation) == {DATA: True, SERVICE: False}


def test_a_stack_that_failed_under_protection_can_be_created_again(cloudformation: Any) -> None:
    cloudformation.create_stack(StackName=DATA, TemplateBody=json.dumps(BAD), EnableTerminationProtection=True)
    assert _settle(cloudformation, DATA) == "ROLLBACK_COMPLETE"
    assert _deploy(Cdk(cloudformation, {DATA: GOOD})) == 0
    assert _protection(cloudformation) == {DATA: True}


def test_other_environments_are_left_alone(cloudformation: Any) -> None:
    others = ("gleaner-prod-eu-data", "gleaner-prod2-data", "other-gleaner-prod-data")
    for name in others:
        cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(BAD), EnableTerminationProtection=True)
        _settle(cloudformation, name)
    assert find_created("prod", cloudformation) == set()
    assert _protection(cloudformation) == dict.fromkeys(others, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "*"], "dev, staging, prod"),
        (["prod", "*", "--profile", "p"], "AWS_PROFILE"),
        (["dev", "*", "--profile=p"], "AWS_PROFILE"),
        (["dev", "watch", "--index-host", "x"], "STACK=data"),
        (["dev", "service", "--index-host", "x", "--exclusively"], "STACK=data"),
        (["prod", "*"], "AWS gives no"),
    ],
    ids=["unknown", "profile", "profile of dev", "host for alarms", "host for the service", "no account"],
)
def test_what_cannot_be_deployed_is_refused_in_one_line(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cdk, "main", _never)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    assert deploy.main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        (
            "*",
            [
                "gleaner-dev/data gleaner-dev/documents gleaner-dev/service",
                "report",
                "gleaner-dev/watch --exclusively --app cdk.out",
            ],
        ),
        ("data", ["gleaner-dev/data"]),
        ("documents", ["gleaner-dev/documents"]),
        ("service", ["gleaner-dev/service", "report"]),
        ("watch", ["gleaner-dev/watch --exclusively"]),
    ],
)
def test_the_alarms_are_deployed_last_and_by_themselves(stack: str, told: list[str]) -> None:
    status, runs = _run(_deployment(stack))
    assert status == 0
    assert [run.partition(" --outputs-file")[0].removesuffix(" --force") for run in runs] == told


def test_an_environment_without_documents_has_no_stack_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deploy, "ENVIRONMENTS", (replace(DEV, documents=None),))
    assert "gleaner-dev/documents" not in _main(monkeypatch, "dev", "*")[0]
    assert deploy.main(["dev", "documents"]) == 1
    assert "documents=None" in capsys.readouterr().err


def test_documents_come_with_the_host_of_the_index_unless_they_come_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "gleaner-dev-data:PineconeIndexHost=https://x.io"
    assert given in _main(monkeypatch, "dev", "documents", "--index-host", "x.io")[0]
    assert deploy.main(["dev", "documents", "--index-host", "x.io", "--exclusively"]) == 1


def test_a_deployment_says_that_the_alarms_are_missing_if_only_they_failed(capsys: pytest.CaptureFixture[str]) -> None:
    status, runs = _run(_deployment("*"), fails="gleaner-dev/watch")
    assert (status, len(runs)) == (1, 3)
    error = capsys.readouterr().err
    assert "gleaner-dev-watch is not deployed" in error
    assert "make deploy ENV=dev STACK=watch" in error


def test_a_failed_service_is_reported_and_not_followed_by_its_alarms(capsys: pytest.CaptureFixture[str]) -> None:
    status, runs = _run(_deployment("*"), fails="gleaner-dev/service")
    assert (status, runs[1:]) == (3, ["report"])
    assert "is not deployed" not in capsys.readouterr().err


@pytest.mark.parametrize("host", ["gleaner-x.svc.pinecone.io", "https://gleaner-x.svc.pinecone.io"])
def test_the_host_of_the_index_may_lack_its_scheme(host: str) -> None:
    _, (served, *_) = _run(_deployment("*", index_host=host))
    assert "--parameters gleaner-dev-data:PineconeIndexHost=https://gleaner-x.svc.pinecone.io" in served


def test_without_a_host_the_deployed_one_is_kept() -> None:
    _, runs = _run(_deployment("*"))
    assert "PineconeIndexHost" not in "".join(runs)


def test_the_host_of_the_record_is_given_unless_another_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its default is of no use after the first deployment: the CDK then has CloudFormation use the previous value.
    record = replace(DEV, pinecone_index_host="https://of-record.pinecone.io")
    monkeypatch.setattr(deploy, "ENVIRONMENTS", (record,))
    given = "gleaner-dev-data:PineconeIndexHost="
    assert f"{given}https://of-record.pinecone.io" in _main(monkeypatch, "dev", "data")[0]
    assert f"{given}https://x.io" in _main(monkeypatch, "dev", "data", "--index-host", "x.io")[0]
    assert given not in "".join(_main(monkeypatch, "dev", "watch")[0])
    assert given not in "".join(_main(monkeypatch, "dev", "service", "--exclusively")[0])


def test_the_service_can_go_back_without_its_data(cloudformation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # An earlier DataStack lacks exports that the running service imports.
    _deploy(Cdk(cloudformation, {DATA: GOOD, SERVICE: GOOD}))
    runs = _main(monkeypatch, "prod", "service", "--exclusively", "--context", "canary=off")
    created = ["--context", f"{CREATED_STACKS}={DATA},{SERVICE}"]
    outputs = ["--outputs-file", "cdk.out/outputs-prod.json"]
    flags = ["--exclusively", "--context", "canary=off"]
    assert runs == [["deploy", *created, "gleaner-prod/service", *outputs, *flags]]


@pytest.mark.parametrize("stack", ["*", "service", "watch"])
def test_an_interrupted_deployment_says_and_starts_nothing_more(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, runs = _run(_deployment(stack), fails=f"gleaner-dev/{stack.replace('*', 'service')}", status=130)
    assert (status, len(runs)) == (130, 1)
    assert not capsys.readouterr().err


def test_flags_reach_the_cdk() -> None:
    _, (served, _, watch) = _run(_deployment("*"))
    assert served.endswith("--force") and watch.endswith("--force")


def _deployment(stack: str, index_host: str | None = None) -> Deployment:
    return Deployment(environment="dev", stack=stack, index_host=index_host, arguments=["--force"])


def _run(deployment: Deployment, fails: str = "nothing", status: int = 3) -> tuple[int, list[str]]:
    """The status, and what was run; the CDK ends with `status` for the stack `fails`."""
    runs: list[str] = []

    def run(arguments: list[str]) -> int:
        runs.append(" ".join(arguments).removeprefix("deploy "))
        return status if fails in arguments else 0

    def serve() -> int:
        return run(deployment.served())

    return deploy.deploy(deployment, run_cdk=run, serve=serve, report=lambda: runs.append("report")), runs


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[list[str]]:
    """What the CDK is told to do by a deployment that succeeds."""
    runs: list[list[str]] = []

    def run(told: list[str]) -> int:
        runs.append(told)
        return 0

    monkeypatch.setattr(cdk, "main", run)
    monkeypatch.setattr(deploy, "_report", lambda _: 0)
    assert deploy.main(list(arguments)) == 0
    return runs


def _deploy(run: Cdk, *arguments: str) -> int:
    deployment = Deployment(environment="prod", stack="*", index_host=None, arguments=arguments)
    return deploy_kept(deployment, cloudformation=run.client, run_cdk=run)


def _never(arguments: list[str]) -> int:
    raise AssertionError(arguments)


def _settle(client: Any, stack: str) -> str:
    """The status of the stack once nothing is in progress."""
    while (status := client.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]).endswith("_IN_PROGRESS"):
        pass
    return str(status)


def _protect(client: Any, stack: str, *, protected: bool) -> None:
    client.update_termination_protection(StackName=stack, EnableTerminationProtection=protected)


def _protection(client: Any) -> dict[str, bool]:
    return {one["StackName"]: one["EnableTerminationProtection"] for one in client.describe_stacks()["Stacks"]}
