"""The object store's client, on ministack's S3 and on servers that cut bodies."""

from __future__ import annotations

import base64
import json
import time
from uuid import uuid4

import boto3
import pytest

from gleaner.clients import object_store
from gleaner.clients.object_store import ObjectStore
from gleaner.errors import ObjectStoreUnavailable
from gleaner_local.aws import ministack

NAMES = ["handbook/a.md", "handbook/ä ö+%2B&?#.md", "handbook/日本語/b.md", "handbook/x'\"<>.md"]


@pytest.fixture
def objects(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    bucket = f"b-{uuid4().hex[:12]}"
    client = ministack.session().client("s3", endpoint_url=s3_url)
    client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return object_store.connect(bucket=bucket, endpoint_url=s3_url)


@pytest.mark.parametrize("key", NAMES)
def test_an_object_is_read_with_its_version_and_metadata(objects: ObjectStore, key: str) -> None:
    versions = []
    for body in (b"one", b"two!"):
        objects.put(key, body, metadata={"groups": '["staff"]'})
        found = objects.read(key, max_bytes=10)
        assert found is not None
        assert (found.body, found.facts.size_bytes, found.facts.key) == (body, len(body), key)
        assert found.facts.metadata == {"groups": '["staff"]'}
        assert abs(found.facts.modified_at - time.time()) < 60
        assert objects.head(key) == found.facts
        versions.append(found.facts.version)
    assert versions[0] != versions[1]
    assert [facts.key for facts in objects.list("handbook/")] == [key]


def test_what_is_gone_is_none(objects: ObjectStore) -> None:
    objects.put("handbook/a.md", b"text")
    objects.delete("handbook/a.md")
    objects.delete("handbook/never.md")
    assert objects.read("handbook/a.md", max_bytes=10) is None
    assert objects.head("handbook/a.md") is None
    assert list(objects.list()) == []


def test_of_a_large_object_no_content_is_read(objects: ObjectStore) -> None:
    objects.put("handbook/a.md", b"x" * 11)
    found = objects.read("handbook/a.md", max_bytes=10)
    assert found is not None
    assert (found.body, found.facts.size_bytes) == (None, 11)


def test_objects_are_listed_in_order_from_a_key_on(objects: ObjectStore) -> None:
    for key in (*NAMES, "other/a.md"):
        objects.put(key, b"text")
    ordered = sorted(NAMES, key=str.encode)
    assert [facts.key for facts in objects.list("handbook/")] == ordered
    assert [facts.key for facts in objects.list("handbook/", after=ordered[1])] == ordered[2:]


def test_a_form_has_the_token_of_the_role_that_signs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function has temporary credentials, and S3 refuses what they sign without their token."""
    for name, value in (ministack.CREDENTIALS | {"AWS_SESSION_TOKEN": "token"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # which keeps the credentials that it found first
    store = object_store.connect(bucket="documents")
    form = store.presign_post("kb/a.md", content_type="text/markdown", metadata={}, sizes=(1, 2), seconds=9)
    assert form.fields["x-amz-security-token"] == "token"
    assert {"x-amz-security-token": "token"} in json.loads(base64.b64decode(form.fields["policy"]))["conditions"]


def test_a_bucket_that_is_missing_is_a_failure(objects: ObjectStore, s3_url: str) -> None:
    nowhere = object_store.connect(bucket="b-nowhere", endpoint_url=s3_url)
    for call in (
        lambda: nowhere.read("a/b", max_bytes=1),
        lambda: list(nowhere.list()),
        lambda: nowhere.put("a/b", b""),
    ):
        with pytest.raises(ObjectStoreUnavailable, match="NoSuchBucket"):
            call()
