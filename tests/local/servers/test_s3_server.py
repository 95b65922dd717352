"""boto3 and the forms of browsers find in the local S3 what S3's API reference says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.s3_objects import ObjectChange, ObjectFiles, StoredObject
from gleaner_local.servers.s3_server import S3Server
from tests.examples import examples

BUCKET = "documents"
SECRET = "s3cret"  # pragma: allowlist secret


class Bucket:
    """A running server over a directory, a client of it, and what it told."""

    def __init__(self, directory: Path) -> None:
        self.changes: list[ObjectChange] = []  # that were told, in the order
        self._objects = ObjectFiles(directory)
        s3 = S3Server(self._objects, bucket=BUCKET, secret_of={"local": SECRET}.get, notify=self._note)
        self._server = AsgiServer(s3.app)
        self._server.start()
        self.url = self._server.url
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key=SECRET,
            config=Config(
                signature_version="s3v4", retries={"total_max_attempts": 1}
            ),  # forms are signed by version 2 if not
        )

    def _note(self) -> None:
        self.changes += self._objects.changes(after=self.changes[-1].number if self.changes else 0)

    def stop(self) -> None:
        self._server.stop()
        self._objects.close()

    def keys(self, **query: Any) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, **query)
        return [stored["Key"] for page in pages for stored in page.get("Contents", ())]

    def read(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: bytes, **more: Any) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content, **more)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    running = Bucket(tmp_path / "documents")
    yield running
    running.stop()


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    code: str = error.value.response["Error"]["Code"]
    return code


@pytest.mark.parametrize(
    "key",
    ["default_kb/docs/moor.md", "kb/ä ö/100 %.md", "kb/../../etc/passwd", "kb//a", "kb/a+b?c#d&e=%2F", "kb/\u200b\n"],
)
def test_an_object_is_kept_under_any_key(bucket: Bucket, key: str) -> None:
    bucket.put(key, b"# Moor\n", ContentType="text/markdown", Metadata={"groups": "%5B%22staff%22%5D"})
    found = bucket.client.get_object(Bucket=BUCKET, Key=key)
    assert found["Body"].read() == b"# Moor\n"
    assert (found["ContentType"], found["Metadata"]) == ("text/markdown", {"groups": "%5B%22staff%22%5D"})
    etag = hashlib.md5(b"# Moor\n", usedforsecurity=False).hexdigest()
    assert found["ETag"] == bucket.client.head_object(Bucket=BUCKET, Key=key)["ETag"] == f'"{etag}"'
    assert bucket.keys() == [key]
    bucket.client.delete_object(Bucket=BUCKET, Key=key)
    assert bucket.keys() == []
    assert [(one.key, one.reason, one.size) for one in bucket.changes] == [
        (key, "PutObject", 7),
        (key, "DeleteObject", None),
    ]


def test_what_is_not_there_is_named_as_s3_names_it(bucket: Bucket) -> None:
    with pytest.raises(ClientError) as missing:
        bucket.read("kb/none.md")
    assert code_of(missing) == "NoSuchKey"
    with pytest.raises(ClientError) as head:
        bucket.client.head_object(Bucket=BUCKET, Key="kb/none.md")
    assert head.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    with pytest.raises(ClientError) as other:
        bucket.client.list_objects_v2(Bucket="other-bucket")
    assert code_of(other) == "NoSuchBucket"
    bucket.client.delete_object(Bucket=BUCKET, Key="kb/none.md")  # S3 answers 204
    assert bucket.changes == []


def test_an_object_that_changed_is_not_read_as_the_old_one(bucket: Bucket) -> None:
    bucket.put("kb/a.md", b"old")
    etag = bucket.client.head_object(Bucket=BUCKET, Key="kb/a.md")["ETag"]
    body = bucket.client.get_object(Bucket=BUCKET, Key="kb/a.md", IfMatch=etag)["Body"]
    bucket.put("kb/a.md", b"new")
    assert body.read() == b"old"
    with pytest.raises(ClientError) as changed:
        bucket.client.get_object(Bucket=BUCKET, Key="kb/a.md", IfMatch=etag)
    assert code_of(changed) == "PreconditionFailed"


@given(
    keys=st.sets(st.text(st.sampled_from("ab/0.é𐀀\uffee"), min_size=1, max_size=5), max_size=8),
    prefix=st.text(st.sampled_from("ab/"), max_size=2),
    page=st.integers(1, 3),
    start=st.none() | st.text(st.sampled_from("ab/é"), min_size=1, max_size=3),
)
@settings(max_examples=examples(5, 60), deadline=None)
def test_pages_hold_each_key_once_and_in_the_order_of_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, keys: set[str], prefix: str, page: int, start: str | None
) -> None:
    bucket = Bucket(tmp_path_factory.mktemp("documents"))
    try:
        for key in keys:
            bucket.put(key, b"x")
        more = {"StartAfter": start} if start else {}
        expected = sorted(
            (key for key in keys if key.startswith(prefix) and (not start or key.encode() > start.encode())),
            key=str.encode,
        )
        size = {"PaginationConfig": {"PageSize": page}}
        assert bucket.keys(Prefix=prefix, **more, **size) == expected
        pages = bucket.client.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=prefix, Delimiter="/", **size
        )
        folders = [one["Prefix"] for found in pages for one in found.get("CommonPrefixes", ())]
        below = {key[len(prefix) :] for key in keys if key.startswith(prefix)}
        assert folders == sorted({prefix + rest.split("/")[0] + "/" for rest in below if "/" in rest}, key=str.encode)
    finally:
        bucket.stop()


def test_what_is_stored_outlives_the_server_and_nothing_else_stays(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    bucket.put("kb/a.md", b"one")
    bucket.put("kb/a.md", b"two")
    bucket.stop()
    (tmp_path / "contents" / "half").write_bytes(b"of an upload that a kill cut off")
    again = Bucket(tmp_path)
    assert again.read("kb/a.md") == b"two"
    again.stop()
    assert len(list((tmp_path / "contents").iterdir())) == 1


def post(bucket: Bucket, content: bytes, *, change: dict[str, str] | None = None, **policy: Any) -> httpx.Response:
    """Send the form that boto3 presigned, with `change`d fields, as a browser does: the file comes last."""
    offer = bucket.client.generate_presigned_post(
        BUCKET,
        "kb/uploads/moor.md",
        Fields={"Content-Type": "text/markdown", "x-amz-meta-by": "key:anna"},
        Conditions=[
            ["content-length-range", 1, policy.pop("most", 1000)],
            {"Content-Type": "text/markdown"},
            ["starts-with", "$x-amz-meta-by", "key:"],
        ],
        ExpiresIn=policy.pop("seconds", 60),
    )
    fields = offer["fields"] | (change or {})
    return httpx.post(offer["url"], data=fields, files={"file": ("mo%22or.md", content, "text/plain")})


def test_a_form_is_taken_as_its_policy_says(bucket: Bucket) -> None:
    content = b"# Moor\r\n--not the end\r\n" + bytes(range(256)) * 3
    answer = post(bucket, content)
    assert (answer.status_code, answer.content) == (204, b"")
    found = bucket.client.get_object(Bucket=BUCKET, Key="kb/uploads/moor.md")
    assert found["Body"].read() == content
    assert (found["ContentType"], found["Metadata"]) == ("text/markdown", {"by": "key:anna"})
    assert [(one.key, one.reason) for one in bucket.changes] == [("kb/uploads/moor.md", "POST Object")]


@pytest.mark.parametrize(
    ("case", "status", "code", "said"),
    [
        ({"seconds": -1}, 403, "AccessDenied", "Policy expired."),
        ({"most": 3}, 400, "EntityTooLarge", "<MaxSizeAllowed>3</MaxSizeAllowed>"),
        ({"change": {"key": "kb/uploads/other.md"}}, 403, "AccessDenied", "Policy Condition failed"),
        ({"change": {"Content-Type": "text/html"}}, 403, "AccessDenied", "Policy Condition failed"),
        ({"change": {"x-amz-meta-by": "admin"}}, 403, "AccessDenied", "Policy Condition failed"),
        ({"change": {"x-amz-meta-groups": "[]"}}, 403, "AccessDenied", "Extra input fields: x-amz-meta-groups"),
        ({"change": {"x-amz-signature": "0" * 64}}, 403, "SignatureDoesNotMatch", ""),
        ({"change": {"x-amz-credential": "x/20260101/us-east-1/s3/aws4_request"}}, 403, "InvalidAccessKeyId", ""),
        ({"change": {"policy": "e30="}}, 403, "SignatureDoesNotMatch", ""),
        ({"change": {"policy": ""}}, 400, "InvalidArgument", "policy"),
        ({"change": {"x-ignore-note": "x" * 30_000}}, 400, "MaxPostPreDataLengthExceeded", ""),
    ],
)
def test_a_form_that_its_policy_does_not_allow_is_refused(
    bucket: Bucket, case: dict[str, Any], status: int, code: str, said: str
) -> None:
    answer = post(bucket, b"# Moor", **case)
    assert answer.status_code == status
    assert f"<Code>{code}</Code>" in answer.text and said in answer.text
    assert bucket.keys() == [] and bucket.changes == []


def test_an_empty_file_is_too_small(bucket: Bucket) -> None:
    assert "<Code>EntityTooSmall</Code>" in post(bucket, b"").text


def test_an_upload_without_a_signature_is_refused(bucket: Bucket) -> None:
    answer = httpx.post(f"{bucket.url}/{BUCKET}", data={"key": "kb/a.md"}, files={"file": b"x"})
    assert (answer.status_code, "<Code>AccessDenied</Code>" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "body",
    [b"", b"--b", b"--b\r\n", b"--b\r\n\r\n", b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nk', b"--b--"],
)
def test_half_a_form_is_malformed(bucket: Bucket, body: bytes) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = httpx.post(f"{bucket.url}/{BUCKET}", content=body, headers=headers)
    assert (answer.status_code, "<Code>MalformedPOSTRequest</Code>" in answer.text) == (400, True)


def test_a_form_that_breaks_off_in_its_file_leaves_nothing(bucket: Bucket, tmp_path: Path) -> None:
    offer = bucket.client.generate_presigned_post(BUCKET, "kb/a.md")
    request = httpx.Request("POST", offer["url"], data=offer["fields"], files={"file": b"x" * 1000})
    content = request.read()[:-200]
    answer = httpx.post(offer["url"], content=content, headers={"content-type": request.headers["content-type"]})
    assert "<Code>MalformedPOSTRequest</Code>" in answer.text
    assert list((tmp_path / "documents" / "contents").iterdir()) == []


def test_a_checksum_that_does_not_match_is_refused(bucket: Bucket) -> None:
    with pytest.raises(ClientError) as bad:
        bucket.put("kb/a.md", b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    assert code_of(bad) == "BadDigest"
    assert bucket.keys() == []


def test_a_change_stays_until_it_is_settled(tmp_path: Path) -> None:
    objects = ObjectFiles(tmp_path)

    def put(key: str, content: bytes) -> int:
        file = objects.new_file()
        file.write_bytes(content)
        stored = StoredObject(key=key, etag="e", size=len(content), modified=0, content_type="", file=file)
        objects.put(stored, reason="PutObject")
        return objects.changes(after=0)[-1].number

    first = put("kb/a.md", b"one")
    other = put("kb/b.md", b"x")
    second = put("kb/a.md", b"two")
    objects.settle("kb/a.md", number=first)  # of the version before
    assert [(one.key, one.number, one.size) for one in objects.changes(after=0)] == [
        ("kb/b.md", other, 1),
        ("kb/a.md", second, 3),
    ]
    objects.close()
    again = ObjectFiles(tmp_path)
    again.settle("kb/a.md", number=second)
    again.delete("kb/b.md", reason="DeleteObject")
    [gone] = again.changes(after=other)
    assert (gone.key, gone.reason, gone.etag) == ("kb/b.md", "DeleteObject", None) and gone.number > second
    again.close()
