"""`gleaner callers allow`, `list`, `revoke` and `unlist`, on this machine and in a deployed environment."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gleaner.errors import InvalidInput
from gleaner.stores import schema
from gleaner_local.aws import ministack
from gleaner_local.aws.ministack import Ministack
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import caller_access, program
from gleaner_local.errors import CannotStart
from gleaner_local.service import running
from gleaner_local.service.parts import Part

MARY = "key:mary"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program.app, ["callers", *arguments])


def lines(*arguments: str) -> list[str]:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.fixture
def here(settings: dict[str, str], tmp_path: Path) -> Iterator[list[str]]:
    """The options that name a service that runs on this machine."""
    with running.acquire_lock(tmp_path):
        local = {Part.TABLES.value: settings["AWS_ENDPOINT_URL_DYNAMODB"]}
        running.announce(tmp_path, {"local": local, "access_table": settings["ACCESS_TABLE"]})
        yield ["--data-dir", str(tmp_path)]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("aws")
    server = Ministack(path / "state", path / "log", services="cloudformation,dynamodb")
    server.start()
    client = ministack.session().client("cloudformation", endpoint_url=server.url)
    table = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": "deployed-access",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": schema.ACCESS.partition_key, "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": schema.ACCESS.partition_key, "AttributeType": "S"}],
        },
    }
    template = {"Resources": {"Table": table}, "Outputs": {"AccessTable": {"Value": {"Ref": "Table"}}}}
    older = {"Resources": {"Table": table | {"Properties": table["Properties"] | {"TableName": "other"}}}}
    for name, body in (("dev", template), ("staging", older)):
        client.create_stack(StackName=f"gleaner-{name}-data", TemplateBody=json.dumps(body))
        client.get_waiter("stack_create_complete").wait(
            StackName=f"gleaner-{name}-data", WaiterConfig={"Delay": 1, "MaxAttempts": 20}
        )
    yield server.url
    server.stop()


@pytest.fixture
def signed_in(account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", account)


def test_a_caller_is_limited_and_freed_again(here: list[str]) -> None:
    first, second = lines("allow", MARY, "biology", "physics", *here)
    assert first == "key:mary may use biology, physics."
    assert second.startswith("It was not listed before.") and "within a minute" in second
    assert lines("revoke", MARY, "biology", *here)[0] == "key:mary may use physics."
    assert lines("allow", MARY, "art", *here)[0] == "key:mary may use art, physics."
    assert lines("list", *here)[0] == "key:mary may use art, physics."
    assert lines("revoke", MARY, "--all", *here)[0] == "key:mary may use no knowledge base."
    assert "not listed any more" in lines("unlist", MARY, *here)[0]
    assert lines("list", *here)[0].startswith("No caller is listed.")


def test_an_editor_is_made_and_unmade(here: list[str]) -> None:
    assert lines("allow", MARY, "biology", "--editor", *here)[0] == "key:mary may use biology, and edit biology."
    assert lines("allow", MARY, "art", *here)[0] == "key:mary may use art, biology, and edit biology."
    [caller] = json.loads("\n".join(lines("list", "--json", *here)))["callers"]
    assert (caller["kb_ids"], caller["edited_kb_ids"]) == (["art", "biology"], ["biology"])
    assert lines("revoke", MARY, "biology", "--editor", *here)[0] == "key:mary may use art, biology."
    lines("allow", MARY, "art", "--editor", *here)
    assert lines("revoke", MARY, "art", *here)[0] == "key:mary may use biology."
    assert run("revoke", MARY, "--editor", "--all", *here).exit_code == 2


def test_the_list_is_json_for_programs(here: list[str]) -> None:
    lines("allow", "group:readers", "b", "a", *here)
    [caller] = json.loads("\n".join(lines("list", "--json", *here)))["callers"]
    assert (caller["caller"], caller["kb_ids"]) == ("group:readers", ["a", "b"])


def test_groups_are_given_and_taken_beside_knowledge_bases(here: list[str]) -> None:
    assert lines("allow", MARY, "b", "--group", "hr", "--group", "board", *here)[0] == (
        "key:mary may use b. Its groups: board, hr."
    )
    lines("allow", MARY, "a", *here)
    assert lines("revoke", MARY, "--group", "hr", *here)[0] == "key:mary may use a, b. Its groups: board."
    [caller] = json.loads("\n".join(lines("list", "--json", *here)))["callers"]
    assert caller["groups"] == ["board"]
    assert lines("revoke", MARY, "--all", *here)[0] == "key:mary may use no knowledge base."


def test_groups_are_neither_given_nor_taken_by_a_slip(here: list[str]) -> None:
    assert run("allow", MARY, "b", "--group", "h r", *here).exit_code == 2
    assert run("revoke", MARY, "--group", "hr", *here).exit_code == 1
    lines("allow", MARY, "b", *here)
    assert run("revoke", MARY, "b", "--group", "hr", *here).exit_code == 2
    many = [word for number in range(101) for word in ("--group", f"g{number}")]
    with pytest.raises(InvalidInput, match="more than 100 groups"):
        CliRunner().invoke(program.app, ["callers", "allow", MARY, "b", *many, *here], catch_exceptions=False)
    assert lines("list", *here)[0] == "key:mary may use b."


def test_who_is_not_listed_loses_nothing_by_name(here: list[str]) -> None:
    done = run("revoke", MARY, "biology", *here)
    assert (done.exit_code, lines("list", *here)[0][:19]) == (1, "No caller is listed")
    assert "gleaner callers revoke key:mary --all" in done.output
    assert run("unlist", MARY, *here).exit_code == 1


@pytest.mark.parametrize("caller", ["mary", "key:", "group:", "group:a b", "key:a b", "GROUP:a", "", "anonymous "])
def test_what_is_no_caller_is_refused(here: list[str], caller: str) -> None:
    done = run("allow", caller, "biology", *here)
    assert done.exit_code == 2 and "key:ID" in done.output


@pytest.mark.parametrize("arguments", [(), ("biology", "--all")])
def test_nobody_loses_everything_for_a_forgotten_word(here: list[str], arguments: tuple[str, ...]) -> None:
    lines("allow", MARY, "biology", *here)
    done = run("revoke", MARY, *arguments, *here)
    assert done.exit_code == 2 and "--all" in done.output
    assert lines("list", *here)[0] == "key:mary may use biology."


@pytest.mark.parametrize(("typed", "left"), [("y\n", "no knowledge base"), ("\n", "biology")])
def test_a_terminal_asks_before_all_is_taken(
    here: list[str], monkeypatch: pytest.MonkeyPatch, typed: str, left: str
) -> None:
    lines("allow", MARY, "biology", *here)
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _stream: True, raising=False)
    CliRunner().invoke(program.app, ["callers", "revoke", MARY, *here], input=typed)
    assert lines("list", *here)[0] == f"key:mary may use {left}."


def test_a_caller_that_was_not_there_is_barred_with_a_word(here: list[str]) -> None:
    assert "It was not listed before." in lines("revoke", "key:typo", "--all", *here)[1]
    assert "It was not listed before." not in lines("revoke", "key:typo", "--all", *here)[1]


@pytest.mark.parametrize(
    ("rule", "said"),
    [(None, "where UNLISTED_CALLERS is none"), (True, "all knowledge bases."), (False, "no knowledge")],
)
def test_the_service_says_what_unlisted_callers_may_use(
    settings: dict[str, str], tmp_path: Path, rule: bool | None, said: str
) -> None:
    with running.acquire_lock(tmp_path):
        local = {Part.TABLES.value: settings["AWS_ENDPOINT_URL_DYNAMODB"]}
        known = {} if rule is None else {"unlisted_may_use_all": rule}
        running.announce(tmp_path, {"local": local, "access_table": settings["ACCESS_TABLE"]} | known)
        [line] = lines("list", "--data-dir", str(tmp_path))
    assert said in line


def test_an_id_that_no_table_can_hold_is_refused(here: list[str]) -> None:
    for caller in (f"key:{'a' * 3000}", f"key:{'ü' * 1100}"):
        done = run("allow", caller, "biology", *here)
        assert done.exit_code == 2 and "2,000 bytes" in " ".join(done.output.split())


def test_a_table_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_access, "_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as hanging, running.acquire_lock(tmp_path):
        local = {Part.TABLES.value: f"http://127.0.0.1:{hanging.getsockname()[1]}"}
        running.announce(tmp_path, {"local": local, "access_table": "access"})
        done = run("list", "--data-dir", str(tmp_path))
    assert isinstance(done.exception, CallFailed)
    assert "The table of callers gives no usable answer" in str(done.exception)


def test_a_missing_region_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    done = run("list", "--env", "dev")
    assert isinstance(done.exception, CannotStart) and "AWS_REGION" in str(done.exception)


@pytest.mark.usefixtures("signed_in")
def test_the_region_is_read_as_the_aws_cli_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    assert lines("list", "--env", "dev")


@pytest.mark.parametrize("command", ["allow", "revoke"])
def test_what_is_no_knowledge_base_is_refused(here: list[str], command: str) -> None:
    assert run(command, MARY, "My books", *here).exit_code == 2
    assert run("allow", MARY, *here).exit_code == 2


@pytest.mark.usefixtures("signed_in")
def test_an_environment_has_a_list_of_its_own() -> None:
    lines("allow", MARY, "biology", "--env", "dev")
    assert lines("list", "--env", "dev")[0] == "key:mary may use biology."


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    ("environment", "words"), [("staging", "make deploy ENV=staging STACK=data"), ("prod", "gleaner doctor --env prod")]
)
def test_an_environment_without_the_table_is_explained(environment: str, words: str) -> None:
    done = run("list", "--env", environment)
    assert isinstance(done.exception, CannotStart)
    assert words in str(done.exception)


def test_without_a_service_the_command_says_how_to_start_one(tmp_path: Path) -> None:
    done = run("list", "--data-dir", str(tmp_path))
    assert isinstance(done.exception, CannotStart)
    assert "gleaner serve" in str(done.exception) and "--env" in str(done.exception)


def test_a_directory_belongs_to_no_environment(here: list[str]) -> None:
    assert run("list", "--env", "dev", *here).exit_code == 2
