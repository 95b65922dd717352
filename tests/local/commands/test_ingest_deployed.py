"""`gleaner ingest --env`: what it uploads, follows, deletes and prints, in ministack, with a double of the function.

The double ends documents by the leases that the function uses.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import document_id
from gleaner.errors import InvalidInput
from gleaner.stores import schema
from gleaner.stores.document_leases import DocumentLeases
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import ministack
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import ingest_deployed, program
from gleaner_local.commands.main import INTERRUPTED
from gleaner_local.ingestion import bucket_run
from tests.doubles.ingest_function import BROKEN, FAILING, IngestFunction

BUCKET, TABLE, QUEUE = "dev-documents", "dev-documents-table", "dev-documents-queue"
KB = "default_kb"
SERVICES = "cloudformation,dynamodb,s3,sns,sqs"

slow = pytest.mark.slow


def _template(outputs: dict[str, str]) -> str:
    """A stack with nothing but outputs and what CloudFormation wants."""
    return json.dumps(
        {
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {name: {"Value": value} for name, value in outputs.items()},
        }
    )


@dataclass
class Cloud:
    """An environment, and the directory that is loaded."""

    s3: Any
    sqs: Any
    objects: ObjectStore
    function: IngestFunction
    directory: Path
    data_dir: Path

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file of the directory."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def ingest(self, *options: str, paths: tuple[str, ...] | None = None) -> Result:
        """Run the command."""
        given = (str(self.directory),) if paths is None else paths
        arguments = ["ingest", *given, "--env", "dev", "--data-dir", str(self.data_dir), *options]
        return CliRunner().invoke(program.app, arguments)

    def list_keys(self) -> list[str]:
        """The keys of all objects."""
        return [facts.key for facts in self.objects.list()]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An account with the stacks of `dev`, a data stack of `staging` and one of `prod` that is older than documents."""
    path = tmp_path_factory.mktemp("emulator")
    options = {"S3_DATA_DIR": str(path / "s3")}
    server = ministack.Ministack(path / "state", path / "log", services=SERVICES, options=options)
    server.start()
    clients = _clients(server.url)
    clients["s3"].create_bucket(Bucket=BUCKET)
    clients["s3"].put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    ministack.create_tables(clients["dynamodb"], {TABLE: schema.DOCUMENTS})
    queue_url = clients["sqs"].create_queue(QueueName=QUEUE)["QueueUrl"]
    documents = {"DocumentsBucket": BUCKET, "DocumentsQueueUrl": queue_url, "BackfillArn": "arn:aws:states:x"}
    for name, outputs in (
        ("dev-data", {"DocumentsTable": TABLE}),
        ("dev-documents", documents),
        ("staging-data", {"DocumentsTable": TABLE}),
        ("prod-data", {"AccessTable": "access"}),
        ("prod-documents", documents),
    ):
        stack = f"gleaner-{name}"
        clients["cloudformation"].create_stack(StackName=stack, TemplateBody=_template(outputs))
        waiter = clients["cloudformation"].get_waiter("stack_create_complete")
        waiter.wait(StackName=stack, WaiterConfig={"Delay": 1})
    yield server.url
    server.stop()


def _clients(url: str) -> dict[str, Any]:
    session = ministack.session()
    return {name: session.client(name, endpoint_url=url) for name in ("s3", "sqs", "dynamodb", "cloudformation")}


@pytest.fixture
def account(emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in (ministack.CREDENTIALS | {"AWS_ENDPOINT_URL": emulator}).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def cloud(emulator: str, account: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setattr(ingest_deployed, "PAUSE_SECONDS", 0.02)
    clients = _clients(emulator)
    queue_url = clients["sqs"].get_queue_url(QueueName=QUEUE)["QueueUrl"]
    objects = ObjectStore(clients["s3"], BUCKET)
    leases = DocumentLeases(Table(clients["dynamodb"], TABLE))
    function = IngestFunction(objects, leases, clients["sqs"], queue_url)
    function.start()
    (tmp_path / "docs").mkdir()
    yield Cloud(clients["s3"], clients["sqs"], objects, function, tmp_path / "docs", tmp_path / "data")
    function.stop()
    for key in [facts.key for facts in objects.list()]:
        objects.delete(key)
    for item in clients["dynamodb"].scan(TableName=TABLE)["Items"]:
        key = {name: item[name] for name in ("kb_id", "document_id")}
        clients["dynamodb"].delete_item(TableName=TABLE, Key=key)
    clients["sqs"].purge_queue(QueueUrl=queue_url)


@slow
def test_files_are_uploaded_and_their_ends_are_told(cloud: Cloud) -> None:
    cloud.write("a.md", "# A\n\nText.")
    cloud.write("b/c.txt", "Text.")
    cloud.write("broken.pdf", BROKEN)
    cloud.write("picture.png", "no document")
    result = cloud.ingest()
    assert result.exit_code == 1, result.output
    lines = result.output.splitlines()
    assert sorted(lines[:-1]) == [
        "Loaded docs/a.md: 2 chunks",
        "Loaded docs/b/c.txt: 2 chunks",
        "Skipped docs/broken.pdf: is damaged",
    ]
    assert lines[-1] == f"Knowledge base {KB}: 2 loaded, 1 skipped; 4 chunks written. Left out: 1 .png."
    assert cloud.list_keys() == [f"{KB}/docs/a.md", f"{KB}/docs/b/c.txt", f"{KB}/docs/broken.pdf"]


@slow
def test_only_changed_files_are_uploaded_again(cloud: Cloud) -> None:
    cloud.write("a.md", "# A\n\nText.")
    cloud.write("b.md", "# B\n\nText.")
    assert cloud.ingest().exit_code == 0
    before = {facts.key: cloud.objects.head(facts.key) for facts in cloud.objects.list()}
    cloud.write("b.md", "# B\n\nOther text.")
    result = cloud.ingest()
    assert result.exit_code == 0, result.output
    assert {"Unchanged docs/a.md", "Replaced docs/b.md: 2 chunks"} <= set(result.output.splitlines())
    assert cloud.objects.head(f"{KB}/docs/a.md") == before[f"{KB}/docs/a.md"]
    assert cloud.objects.head(f"{KB}/docs/b.md") != before[f"{KB}/docs/b.md"]
    assert cloud.function.hinted == []


@slow
def test_a_new_address_of_the_directory_is_a_change(cloud: Cloud) -> None:
    cloud.write("guide/moor.md", "# Moor\n\nText.")
    assert cloud.ingest("--base-url", "https://example.org/docs").exit_code == 0
    facts = cloud.objects.head(f"{KB}/docs/guide/moor.md")
    assert facts is not None
    assert facts.metadata["source-url"] == "https://example.org/docs/guide/moor/"
    assert "Replaced docs/guide/moor.md" in cloud.ingest("--base-url", "https://example.org/wiki").output


@slow
def test_a_sidecar_comes_before_its_document_and_changes_it(cloud: Cloud) -> None:
    cloud.write("pay.md", "# Pay\n\nText.")
    sidecar = cloud.write("pay.md.gleaner.json", '{"groups": ["hr"]}')
    was_there: list[bool] = []
    cloud.function.before = lambda key: was_there.append(cloud.objects.head(f"{key}.gleaner.json") is not None)
    assert cloud.ingest().exit_code == 0
    assert all(was_there)
    sidecar.write_text('{"groups": ["board"]}')
    result = cloud.ingest()
    assert "Replaced docs/pay.md: 2 chunks" in result.output
    sidecar.write_text("{}")
    refused = cloud.ingest()
    assert refused.exit_code == 1
    assert "Skipped docs/pay.md: docs/pay.md.gleaner.json must have the field" in refused.output
    sidecar.unlink()
    assert cloud.ingest().exit_code == 0
    assert f"{KB}/docs/pay.md.gleaner.json" in cloud.list_keys()  # a restriction goes with --prune alone
    assert "Replaced docs/pay.md" in cloud.ingest("--prune").output
    assert f"{KB}/docs/pay.md.gleaner.json" not in cloud.list_keys()


@slow
def test_groups_of_an_upload_are_kept(cloud: Cloud) -> None:
    cloud.objects.put(f"{KB}/docs/a.md", b"# A\n\nOld text.", metadata={"groups": '["hr"]'})
    cloud.write("a.md", "# A\n\nText.")
    assert cloud.ingest().exit_code == 0
    facts = cloud.objects.head(f"{KB}/docs/a.md")
    assert facts is not None
    assert facts.metadata["groups"] == '["hr"]'


@slow
def test_failed_documents_are_tried_again(cloud: Cloud) -> None:
    cloud.write("a.md", FAILING)
    for _ in range(2):
        result = cloud.ingest()
        assert result.exit_code == 1
        assert "Failed docs/a.md: the index is gone" in result.output
        assert result.output.splitlines()[-1] == f"Knowledge base {KB}: 1 failed; 0 chunks written."
    assert cloud.function.hinted == [f"{KB}/docs/a.md"]


@slow
def test_prune_deletes_what_is_gone(cloud: Cloud) -> None:
    for name in ("a.md", "b.md"):
        cloud.write(name, f"# {name}\n\nText.")
    assert cloud.ingest().exit_code == 0
    (cloud.directory / "b.md").unlink()
    assert f"{KB}/docs/b.md" in (cloud.ingest(), cloud.list_keys())[1]
    result = cloud.ingest("--prune")
    assert result.exit_code == 0, result.output
    assert "Removed docs/b.md" in result.output
    assert cloud.list_keys() == [f"{KB}/docs/a.md"]


@slow
def test_prune_spares_the_documents_of_another_directory_of_the_same_name(cloud: Cloud, tmp_path: Path) -> None:
    for number in range(6):
        cloud.write(f"{number}.md", f"# {number}\n\nText.")
    assert cloud.ingest().exit_code == 0
    other = tmp_path / "elsewhere" / "docs"
    other.mkdir(parents=True)
    (other / "new.md").write_text("# New\n\nText.")
    refused = cloud.ingest("--prune", paths=(str(other),))
    assert refused.exit_code == 1
    assert "was loaded from" in str(refused.exception) + refused.output
    cloud.data_dir = tmp_path / "another-machine"
    unsure = cloud.ingest("--prune", paths=(str(other),))
    assert unsure.exit_code == 1
    assert "Stopped: None of the 6 documents stored earlier under docs/" in unsure.output
    assert len(cloud.list_keys()) == 7


@slow
def test_a_version_that_somebody_else_replaces_is_not_waited_for(cloud: Cloud) -> None:
    cloud.write("a.md", "# A\n\nText.")
    others: list[bytes] = [b"# A\n\nOf somebody else."]

    def replace_once(key: str) -> None:
        if others:
            cloud.objects.put(key, others.pop())

    cloud.function.before = replace_once
    assert cloud.ingest().exit_code == 0


@slow
def test_resync_names_every_object_and_every_document_that_is_known(cloud: Cloud) -> None:
    for name in ("a.md", "b.md"):
        cloud.write(name, f"# {name}\n\nText.")
    assert cloud.ingest().exit_code == 0
    cloud.function.stop()
    cloud.objects.delete(f"{KB}/docs/b.md")  # an event that was never heard of
    cloud.objects.put("other_kb/docs/c.md", b"# C")
    result = cloud.ingest("--resync", paths=())
    assert result.exit_code == 0, result.output
    assert f"Put 2 documents of {KB} into the queue of dev." in result.output
    queue = cloud.sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    messages = cloud.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    assert sorted(json.loads(message["Body"])["key"] for message in messages) == [f"{KB}/docs/a.md", f"{KB}/docs/b.md"]
    assert document_id("docs/b.md")


@slow
def test_the_wait_has_an_end_and_tells_what_is_open(cloud: Cloud) -> None:
    cloud.function.stop()
    cloud.write("a.md", "# A\n\nText.")
    result = cloud.ingest("--max-wait", "0.1")
    assert result.exit_code == 1
    assert "1 not taken from the queue yet" in result.output
    assert "Loading goes on in dev: 1 documents have not ended yet." in result.output


@slow
def test_ctrl_c_leaves_the_loading_to_the_cloud(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.function.stop()
    cloud.write("a.md", "# A\n\nText.")

    def interrupt(_seconds: float) -> None:
        signal.raise_signal(signal.SIGINT)

    # It is interrupted while it waits, once everything is uploaded.
    monkeypatch.setattr(bucket_run, "time", SimpleNamespace(monotonic=time.monotonic, sleep=interrupt))
    result = cloud.ingest()
    assert result.exit_code == INTERRUPTED
    assert "Interrupted.\nLoading goes on in dev: 1 documents have not ended yet." in result.output
    assert cloud.list_keys() == [f"{KB}/docs/a.md"]


@slow
@pytest.mark.parametrize(
    ("env", "region", "message"),
    [
        ("dev", "eu-west-1", "dev is not deployed in eu-west-1 of this account."),
        (
            "staging",
            "us-east-1",
            "staging has no stack for documents. Deploy it: make deploy ENV=staging STACK=documents",
        ),
        ("prod", "us-east-1", "gleaner-prod-data has no output DocumentsTable. Deploy it again:"),
    ],
)
def test_what_is_not_deployed_is_named(
    account: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: str, region: str, message: str
) -> None:
    monkeypatch.setenv("AWS_REGION", region)
    result = CliRunner().invoke(program.app, ["ingest", str(tmp_path), "--env", env, "--data-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "dev"], "name the files or directories"),
        (["--resync"], "give --env"),
        (["docs", "--env", "nowhere"], "there is no such environment"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(program.app, ["ingest", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert message in result.output


@pytest.fixture
def no_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def run_ingest(tmp_path: Path, *paths: Path) -> Result:
    arguments = ["ingest", *map(str, paths), "--env", "dev", "--data-dir", str(tmp_path / "data")]
    return CliRunner().invoke(program.app, arguments)


def test_what_is_wrong_with_the_paths_is_told_before_aws_is_asked(tmp_path: Path, no_account: None) -> None:
    result = run_ingest(tmp_path, tmp_path / "gone", tmp_path / "none.md")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"Skipped {tmp_path}/gone: does not exist",
        f"Skipped {tmp_path}/none.md: does not exist",
        f"Knowledge base {KB}: 2 skipped; 0 chunks written.",
    ]


def test_ambiguous_names_are_told_before_aws_is_asked(tmp_path: Path, no_account: None) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "docs").mkdir(parents=True)
        (tmp_path / parent / "docs" / "moor.md").write_text("# Moor")
    result = run_ingest(tmp_path, tmp_path / "a" / "docs", tmp_path / "b" / "docs")
    assert isinstance(result.exception, InvalidInput)
    assert "would both be named 'docs/moor.md'" in str(result.exception)


def test_a_region_or_a_profile_that_is_missing_is_named(
    tmp_path: Path, no_account: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moor.md").write_text("# Moor")
    for variables, message in (
        ({}, "No AWS region is set."),
        ({"AWS_PROFILE": "nope"}, "There is no AWS profile 'nope'"),
        ({"AWS_PROFILE": "nope", "AWS_REGION": "eu-central-1"}, "There is no AWS profile 'nope'"),
    ):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        result = run_ingest(tmp_path, tmp_path / "moor.md")
        assert isinstance(result.exception, CallFailed)
        assert str(result.exception).startswith(message)
