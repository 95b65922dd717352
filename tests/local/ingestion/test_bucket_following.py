"""What `gleaner ingest` loads and removes is followed by the objects that are in the bucket already."""

from __future__ import annotations

from pathlib import Path

import pytest

from gleaner.groups import read_header
from gleaner_documents.model import BrokenPdf, UnclearRights
from gleaner_local.ingestion.bucket_following import follow, open_bucket
from gleaner_local.ingestion.run import IngestReport
from gleaner_local.servers.s3_objects import ObjectFiles
from gleaner_local.service.documents import LocalDocuments


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory without a running service, whose bucket holds two documents."""
    documents = LocalDocuments(tmp_path / "documents", tmp_path, {"AWS_ACCESS_KEY_ID": "k"})
    for name in ("moor.md", "heath.md", "bog.md"):
        documents.connect().put(f"kb/guide/{name}", b"old")
    documents.stop()
    return tmp_path


def test_changed_and_removed_documents_are_changes_for_the_next_start(data_dir: Path, tmp_path: Path) -> None:
    guide = tmp_path / "guide"
    guide.mkdir()
    for name, text in (("moor.md", "new"), ("heath.md", "old"), ("fen.md", "never in the bucket")):
        (guide / name).write_text(text)
    objects = ObjectFiles(data_dir / "documents")
    start = objects.changes(after=0)[-1].number
    objects.close()
    report = IngestReport(
        loaded=["guide/fen.md"], replaced=["guide/moor.md"], unchanged=["guide/heath.md"], removed=["guide/bog.md"]
    )
    with open_bucket(data_dir, {}) as bucket:
        assert bucket is not None
        follow([guide], report, kb_id="kb", root=None, bucket=bucket)
        assert [one.key for one in bucket.list()] == ["kb/guide/heath.md", "kb/guide/moor.md"]
    objects = ObjectFiles(data_dir / "documents")
    changes = {one.key: one.reason for one in objects.changes(after=start)}
    objects.close()
    assert changes == {"kb/guide/bog.md": "DeleteObject", "kb/guide/moor.md": "PutObject"}


def test_groups_of_a_sidecar_are_followed_whatever_the_content_is(data_dir: Path, tmp_path: Path) -> None:
    guide = tmp_path / "guide"
    guide.mkdir()
    for name, sidecar in (("moor.md", '{"groups": ["hr"]}'), ("heath.md", "{")):
        (guide / name).write_text("old")
        (guide / f"{name}.gleaner.json").write_text(sidecar)
    unclear = UnclearRights("guide/heath.md", "guide/heath.md.gleaner.json is not JSON")
    report = IngestReport(replaced=["guide/moor.md"], skipped=[unclear, BrokenPdf("guide/bog.md", "is damaged")])
    with open_bucket(data_dir, {}) as bucket:
        assert bucket is not None
        follow([guide], report, kb_id="kb", root=None, bucket=bucket)
        assert [one.key for one in bucket.list()] == ["kb/guide/bog.md", "kb/guide/moor.md"]
        facts = bucket.head("kb/guide/moor.md")
        assert facts is not None and read_header(facts.metadata["groups"]) == ("hr",)
        report = IngestReport(unchanged=["guide/moor.md"])
        follow([guide], report, kb_id="kb", root=None, bucket=bucket)
        assert bucket.head("kb/guide/moor.md") == facts


@pytest.mark.parametrize("env", [{"PINECONE_INDEX_HOST": "https://elsewhere.example"}])
def test_another_index_leaves_the_bucket_alone(data_dir: Path, env: dict[str, str]) -> None:
    with open_bucket(data_dir, env) as bucket:
        assert bucket is None


def test_without_a_bucket_there_is_nothing_to_follow(tmp_path: Path) -> None:
    with open_bucket(tmp_path, {}) as bucket:
        assert bucket is None
    assert list(tmp_path.iterdir()) == []
