"""The bucket that documents are put into: an S3 client, behind what loading and uploading need of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from gleaner.errors import ObjectStoreUnavailable

# The SDK repeats a request that failed on the way, but not the reading of a body.
_CLIENT = Config(
    signature_version="s3v4",  # forms would be signed in the old way, which newer regions refuse
    connect_timeout=2,
    read_timeout=20,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=10,
)
# Forms name the host of the bucket's own region: others answer with a redirection, which no page may follow.
_AT_AWS = Config(s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
_AT_AN_ADDRESS = Config(s3={"addressing_style": "path"})
_BODY_ATTEMPTS = 3
# HeadObject has no body, so its error has the status in the place of a code.
_MISSING = ("NoSuchKey", "NotFound", "404")
_ARCHIVED = "InvalidObjectState"  # in a storage class that has to be restored first


class ObjectArchived(ObjectStoreUnavailable):
    """The object is in a storage class of which it has to be restored before it can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectFacts:
    """An object, without its content. `metadata` is the user's, whose names are in lower case.

    Of `hidden_metadata` entries S3 tells no more than how many there are: values that no HTTP header can have
    (`x-amz-missing-meta` of GetObject in its API reference).
    """

    key: str
    size_bytes: int
    version: str  # the id of its version, or its ETag in a bucket without versions
    modified_at: float  # seconds since the epoch, whole ones
    metadata: Mapping[str, str]
    hidden_metadata: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object as one request read it. `body` is None if it is larger than was asked for."""

    facts: ObjectFacts
    body: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadForm:
    """A form that puts one object: where it is sent, and the fields that precede the file."""

    url: str
    fields: Mapping[str, str]


class ObjectStore:
    """The objects of one bucket. Methods raise ObjectStoreUnavailable."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self.bucket = bucket

    def head(self, key: str) -> ObjectFacts | None:
        """What an object is like; None if there is none."""
        try:
            return _to_facts(key, self._client.head_object(Bucket=self.bucket, Key=key))
        except (BotoCoreError, ClientError) as error:
            if _is_missing(error):
                return None
            raise _translate(error) from error

    def read(self, key: str, *, max_bytes: int) -> StoredObject | None:
        """An object as it is now, content and facts of one version; None if there is none.

        Of a larger one than `max_bytes` no content is read.
        """
        for attempt in range(_BODY_ATTEMPTS):
            try:
                response = self._client.get_object(Bucket=self.bucket, Key=key)
                facts = _to_facts(key, response)
                with closing(response["Body"]) as body:
                    return StoredObject(facts=facts, body=body.read() if facts.size_bytes <= max_bytes else None)
            except (BotoCoreError, ClientError, HTTPError, OSError) as error:
                if _is_missing(error):
                    return None
                if attempt == _BODY_ATTEMPTS - 1 or not _was_cut(error):
                    raise _translate(error) from error
        raise AssertionError("the last attempt returns or raises")

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectFacts]:
        """The objects whose keys begin with `prefix`, after the key `after`, in the byte order of keys.

        A listing tells their ETags and no metadata.
        """
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix, **({"StartAfter": after} if after else {})
        )
        try:
            for page in pages:
                for item in page.get("Contents", ()):
                    yield ObjectFacts(
                        key=item["Key"],
                        size_bytes=item["Size"],
                        version=item["ETag"].strip('"'),
                        modified_at=item["LastModified"].timestamp(),
                        metadata={},
                    )
        except (BotoCoreError, ClientError) as error:
            raise _translate(error) from error

    def put(self, key: str, body: bytes, *, metadata: Mapping[str, str] | None = None) -> str:
        """Write an object, and return its version as `ObjectFacts` has it. Metadata has to be ASCII."""
        try:
            response = self._client.put_object(Bucket=self.bucket, Key=key, Body=body, Metadata=dict(metadata or {}))
        except (BotoCoreError, ClientError) as error:
            raise _translate(error) from error
        return _version_of(response)

    def delete(self, key: str) -> None:
        """Delete an object; in a bucket with versions, hide it. One that is not there is ignored."""
        try:
            self._client.delete_object(Bucket=self.bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            raise _translate(error) from error

    def presign_post(
        self, key: str, *, content_type: str, metadata: Mapping[str, str], sizes: tuple[int, int], seconds: int
    ) -> UploadForm:
        """A form with which anybody may put this object, and no other, within `seconds`; sends nothing.

        The type and the metadata, which has to be ASCII, are as given here; `sizes` are the least and the most bytes.
        """
        fields = {"Content-Type": content_type} | {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        conditions: list[Any] = [{name: value} for name, value in fields.items()]
        conditions.append(["content-length-range", *sizes])
        try:
            form = self._client.generate_presigned_post(
                Bucket=self.bucket, Key=key, Fields=fields, Conditions=conditions, ExpiresIn=seconds
            )
        except (BotoCoreError, ClientError) as error:
            raise _translate(error) from error
        return UploadForm(url=form["url"], fields=form["fields"])


def connect(*, bucket: str, endpoint_url: str | None = None) -> ObjectStore:
    """The objects of a bucket; sends nothing yet. An address of its own names the bucket in the path."""
    config = _CLIENT.merge(_AT_AN_ADDRESS if endpoint_url else _AT_AWS)
    return ObjectStore(boto3.client("s3", endpoint_url=endpoint_url, config=config), bucket)


def _to_facts(key: str, response: Mapping[str, Any]) -> ObjectFacts:
    return ObjectFacts(
        key=key,
        size_bytes=response["ContentLength"],
        version=_version_of(response),
        modified_at=response["LastModified"].timestamp(),
        metadata=response.get("Metadata", {}),
        hidden_metadata=response.get("MissingMeta", 0),
    )


def _version_of(response: Mapping[str, Any]) -> str:
    version: str | None = response.get("VersionId")
    # "null" is the version of an object that was put before the bucket had versions.
    return version if version and version != "null" else str(response["ETag"]).strip('"')


def _code(error: Exception) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _is_missing(error: Exception) -> bool:
    return _code(error) in _MISSING


def _was_cut(error: Exception) -> bool:
    """Whether the body ended too early. The SDK has already repeated what failed before."""
    return not isinstance(error, ClientError)


def _translate(error: Exception) -> ObjectStoreUnavailable:
    code = _code(error)
    if code == _ARCHIVED:
        return ObjectArchived("The object is archived and has to be restored before it can be read.")
    return ObjectStoreUnavailable(f"The object store failed ({code or type(error).__name__}).")
