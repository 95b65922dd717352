"""`gleaner keys put` against a Secrets Manager whose secrets may lack a value: moto's, which was compared with AWS."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from gleaner.clients.secrets import ApiKeysSecret
from gleaner.errors import ApiKeysUnavailable
from gleaner_local.aws import ministack
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.clients.keys_secret import keys_of, read_fields
from gleaner_local.commands import program
from gleaner_local.diagnosis._secret import check_fields
from gleaner_local.diagnosis.finding import State

OPENAI, PINECONE, PERPLEXITY = "sk-proj-a1b2c3", "pcsk_d4e5f6", "pplx-g7h8i9"
KEYS = {"openai": OPENAI, "pinecone": PINECONE, "perplexity": PERPLEXITY}
# The command on a terminal of its own, in an account whose secret has no value.
ON_A_TERMINAL = """
import json, os, sys
from pathlib import Path
import boto3
from moto import mock_aws
os.close(os.open(TERMINAL, os.O_RDWR))  # becomes that of this session
with mock_aws():
    secrets = boto3.client("secretsmanager")
    secrets.create_secret(Name="dev-keys")
    from gleaner_local.commands import program
    sys.argv = ["gleaner", "keys", "put", "--env", "dev"]
    try:
        program.run()
    finally:
        has_value = "VersionIdsToStages" in secrets.describe_secret(SecretId="dev-keys")
        value = secrets.get_secret_value(SecretId="dev-keys")["SecretString"] if has_value else "null"
        Path(RESULT).write_text(value)
"""


@dataclass(slots=True)
class Deployed:
    """The secret of the environment `dev`."""

    arn: str
    client: Any

    def put(self, *options: str, text: str | None = None) -> Result:
        return CliRunner().invoke(program.app, ["keys", "put", "--env", "dev", *options], input=text)

    def holds(self, value: str) -> None:
        self.client.put_secret_value(SecretId=self.arn, SecretString=value)

    def value(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.client.get_secret_value(SecretId=self.arn)["SecretString"])
        return fields

    def versions(self) -> int:
        return len(self.client.describe_secret(SecretId=self.arn).get("VersionIdsToStages", {}))


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a CloudFormation with the data stack of `dev`."""
    path = tmp_path_factory.mktemp("stacks")
    server = ministack.Ministack(path / "state", path / "log", services="cloudformation,sns")
    server.start()
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"ApiKeysSecretArn": {"Value": "dev-keys"}},
    }
    client = boto3.client(
        "cloudformation",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    client.create_stack(StackName="gleaner-dev-data", TemplateBody=json.dumps(template))
    client.get_waiter("stack_create_complete").wait(StackName="gleaner-dev-data", WaiterConfig={"Delay": 1})
    yield server.url
    server.stop()


@pytest.fixture(autouse=True)
def account(stacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _enter_account(monkeypatch, stacks)


def _enter_account(environment: pytest.MonkeyPatch, stacks: str) -> None:
    for name, value in (ministack.CREDENTIALS | {"AWS_ENDPOINT_URL_CLOUDFORMATION": stacks}).items():
        environment.setenv(name, value)
    environment.delenv("AWS_REGION", raising=False)


@pytest.fixture(scope="module")
def secrets_manager(stacks: str) -> Iterator[Any]:
    """A client of moto, which takes a second to start."""
    with pytest.MonkeyPatch.context() as environment:
        _enter_account(environment, stacks)
        with mock_aws():
            yield boto3.client("secretsmanager")


@pytest.fixture
def deployed(account: None, secrets_manager: Any) -> Iterator[Deployed]:
    arn = secrets_manager.create_secret(Name="dev-keys")["ARN"]
    yield Deployed(arn, secrets_manager)
    secrets_manager.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def shown(result: Result) -> str:
    """What the command said, without any of the keys."""
    said = f"{result.output}{result.stderr}{result.exception or ''}"
    assert not [key for key in KEYS.values() if key in said]
    return said


def test_keys_of_a_file_become_the_value(deployed: Deployed, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(KEYS))
    result = deployed.put("--file", str(file))
    assert result.exit_code == 0, result.output
    assert deployed.value() == KEYS
    said = shown(result)
    assert "Wrote openai, pinecone, perplexity" in said
    assert "within 5 minutes" in said
    assert "missing" not in said


def test_keys_that_are_not_given_are_kept(deployed: Deployed) -> None:
    deployed.holds(json.dumps({"openai": "old", "pinecone": PINECONE, "note": {"of": "the operator"}}))
    result = deployed.put("--file", "-", text=json.dumps({"openai": OPENAI}))
    assert result.exit_code == 0, result.output
    assert deployed.value() == {"openai": OPENAI, "pinecone": PINECONE, "note": {"of": "the operator"}}
    assert "Wrote openai in" in shown(result)


def test_an_empty_string_removes_a_key_and_the_same_keys_write_nothing(deployed: Deployed) -> None:
    deployed.holds(json.dumps(KEYS))
    assert "Removed perplexity" in shown(deployed.put("--file", "-", text='{"perplexity": ""}'))
    assert deployed.value()["perplexity"] == ""
    versions = deployed.versions()
    assert "Nothing was changed" in shown(deployed.put("--file", "-", text=json.dumps(KEYS | {"perplexity": ""})))
    assert deployed.versions() == versions


def test_a_key_that_is_not_there_is_not_removed(deployed: Deployed) -> None:
    deployed.holds(json.dumps({"openai": OPENAI, "pinecone": PINECONE}))
    assert "Nothing was changed" in shown(deployed.put("--file", "-", text='{"perplexity": ""}'))
    assert deployed.versions() == 1


def test_old_keys_are_to_be_revoked_where_there_were_some(deployed: Deployed) -> None:
    assert "Revoke" not in shown(deployed.put("--file", "-", text=json.dumps(KEYS)))
    result = deployed.put("--file", "-", text=json.dumps({"openai": "another"}))
    assert "Revoke an old key" in shown(result) and "unusable" not in shown(result)


def test_a_file_is_read_before_aws_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("AWS_DEFAULT_REGION", ""), ("AWS_CONFIG_FILE", "/nonexistent")):
        monkeypatch.setenv(name, value)
    path = tmp_path / "none.json"
    result = CliRunner().invoke(program.app, ["keys", "put", "--env", "dev", "--file", str(path)])
    assert f"{path} cannot be read" in str(result.exception)


def test_required_keys_that_are_still_missing_are_named(deployed: Deployed) -> None:
    result = deployed.put("--file", "-", text=json.dumps({"perplexity": PERPLEXITY}))
    assert "Still missing: openai, pinecone" in shown(result)
    assert result.exit_code == 0


@pytest.mark.parametrize("value", ["not JSON", '["a"]', '"text"', "null"])
def test_a_value_of_another_shape_is_replaced(deployed: Deployed, value: str) -> None:
    deployed.holds(value)
    result = deployed.put("--file", "-", text=json.dumps(KEYS))
    assert result.exit_code == 0
    assert "unusable" in shown(result) and "AWSPREVIOUS" in shown(result) and "Revoke" not in shown(result)
    assert deployed.value() == KEYS
    previous = deployed.client.get_secret_value(SecretId=deployed.arn, VersionStage="AWSPREVIOUS")
    assert previous["SecretString"] == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OPENAI, "not JSON"),
        (f'{{"openai": "{OPENAI}"', "not JSON"),
        ("[]", "JSON object"),
        ("{}", "JSON object"),
        (f'"{OPENAI}"', "JSON object"),
        (json.dumps({OPENAI: "openai"}), "none of openai, pinecone, perplexity"),
        (json.dumps({"openai": [OPENAI]}), "openai must be a string"),
        (json.dumps({"openai": None}), "openai must be a string"),
        (json.dumps({"pinecone": f"{PINECONE} {PINECONE}"}), "key of pinecone"),
        (json.dumps({"pinecone": f"{PINECONE}\n{PINECONE}"}), "key of pinecone"),
        (json.dumps({"pinecone": f"{PINECONE}ü"}), "key of pinecone"),
        (json.dumps({"pinecone": PINECONE + "a" * (1001 - len(PINECONE))}), "pinecone has 1,001 characters"),
        ("[" * 200_000, "not JSON"),
    ],
)
def test_another_shape_is_refused_without_showing_it(deployed: Deployed, text: str, reason: str) -> None:
    result = deployed.put("--file", "-", text=text)
    assert isinstance(result.exception, CallFailed)
    assert reason in shown(result)
    assert "\n" not in str(result.exception)
    assert deployed.versions() == 0


def test_white_space_around_a_key_and_a_mark_of_the_editor_are_not_part_of_it(
    deployed: Deployed, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"openai": f" {OPENAI}\n"}), encoding="utf-8-sig")
    assert deployed.put("--file", str(file)).exit_code == 0
    assert deployed.value() == {"openai": OPENAI}


def test_a_file_that_cannot_be_read_is_named(deployed: Deployed, tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        result = deployed.put("--file", str(path))
        assert isinstance(result.exception, CallFailed)
        assert f"{path} cannot be read" in str(result.exception)


def test_without_a_terminal_and_a_file_nothing_is_asked(deployed: Deployed) -> None:
    result = deployed.put(text=f"{OPENAI}\n{PINECONE}\n\n")
    assert "--file" in shown(result)
    assert isinstance(result.exception, CallFailed)
    assert deployed.versions() == 0


@pytest.mark.parametrize(
    ("env", "variables", "reason"),
    [
        ("staging", {}, "make deploy ENV=staging STACK=data"),
        ("dev", {"AWS_DEFAULT_REGION": ""}, "AWS_REGION"),
        ("dev", {"AWS_REGION": "eu-west-1"}, "make deploy ENV=dev STACK=data"),  # as the AWS CLI reads it
    ],
)
def test_an_environment_that_is_not_there_is_named(
    deployed: Deployed, env: str, variables: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ({"AWS_CONFIG_FILE": "/nonexistent"} | variables).items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(program.app, ["keys", "put", "--env", env, "--file", "-"], input=json.dumps(KEYS))
    assert reason in shown(result)
    assert isinstance(result.exception, CallFailed)


def test_an_unknown_environment_is_a_wrong_option() -> None:
    result = CliRunner().invoke(program.app, ["keys", "put", "--env", "nowhere", "--file", "-"], input="{}")
    assert result.exit_code == 2
    assert "dev, staging, prod" in " ".join(result.stderr.replace("│", "").split())


@pytest.mark.parametrize(
    ("entered", "stored", "missing"),
    [
        pytest.param([OPENAI, PINECONE, ""], {"openai": OPENAI, "pinecone": PINECONE}, "", id="without web"),
        pytest.param([OPENAI, PINECONE, PERPLEXITY], KEYS, "", id="all", marks=pytest.mark.slow),
        pytest.param(["", f"  {PINECONE} ", ""], {"pinecone": PINECONE}, "openai", id="one", marks=pytest.mark.slow),
        pytest.param(["", "", ""], None, "openai, pinecone", id="none", marks=pytest.mark.slow),
    ],
)
def test_a_terminal_asks_for_each_key_and_does_not_show_it(
    tmp_path: Path, entered: list[str], stored: dict[str, str] | None, missing: str
) -> None:
    status, screen, value = _type(tmp_path, [f"{key}\n" for key in entered])
    assert status == 0, screen
    assert value == stored
    for name in KEYS:
        assert f"API key of {name}" in screen
    assert (f"Still missing: {missing}." in screen) == bool(missing)


@pytest.mark.slow
def test_control_c_at_the_prompt_writes_nothing(tmp_path: Path) -> None:
    status, screen, value = _type(tmp_path, [f"{OPENAI}\n", "\x03"])
    assert status != 0
    assert "Traceback" not in screen
    assert value is None


def test_a_secret_without_a_value_is_told_from_one_that_is_gone(deployed: Deployed) -> None:
    assert read_fields(deployed.client, deployed.arn) is None
    finding = check_fields(None, "dev")
    assert (finding.state, finding.seen) == (State.PROBLEM, "It has no value yet.")
    assert "gleaner keys put --env dev" in finding.remedy
    with pytest.raises(deployed.client.exceptions.ResourceNotFoundException):
        read_fields(deployed.client, f"{deployed.arn}-not")
    assert keys_of(read_fields(deployed.client, deployed.arn)) == {}


def test_the_function_says_that_there_is_no_value_yet_and_reads_the_first_one_at_once(deployed: Deployed) -> None:
    keys = ApiKeysSecret(deployed.arn)
    with pytest.raises(ApiKeysUnavailable, match="no value yet: `gleaner keys put`"):
        keys.read()
    assert deployed.put("--file", "-", text=json.dumps(KEYS)).exit_code == 0
    assert keys.read().openai == OPENAI


def _type(path: Path, lines: list[str]) -> tuple[int, str, Any]:
    """Run the command on a terminal and type the lines at its prompts.

    Returns the exit status, all that the terminal showed, and the secret's value, or None if it has none.
    """
    result = path / "result.json"
    ours, theirs = pty.openpty()
    script = f"RESULT, TERMINAL = {str(result)!r}, {os.ttyname(theirs)!r}\n{ON_A_TERMINAL}"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen, waiting = "", list(lines)
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        ready, _, _ = select.select([ours], [], [], 0.5)
        if ready:
            try:
                received = os.read(ours, 4096)
            except OSError:  # Linux says so when the other side is closed
                break
            if not received:
                break
            screen += received.decode()
        if waiting and screen.count("API key of") > len(lines) - len(waiting) and screen.endswith(": "):
            os.write(ours, waiting.pop(0).encode())
    os.close(ours)
    assert not [key for key in KEYS.values() if key in screen]
    return process.wait(30), screen, json.loads(result.read_text())
