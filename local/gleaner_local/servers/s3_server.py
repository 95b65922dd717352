"""S3 on this machine: one bucket, with the operations that Gleaner uses.

docs.aws.amazon.com/AmazonS3/latest/API: GetObject, HeadObject, PutObject, DeleteObject, ListObjectsV2, HeadBucket, and
RESTObjectPOST for the forms of browsers. Like the other local servers it takes any credentials from programs of this
machine, but it checks the signature and the policy of a form, because forms come from pages.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from email.header import Header
from email.utils import formatdate
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Router, request_response

from gleaner_local.servers._s3_errors import S3Error
from gleaner_local.servers._s3_forms import Form, Policy, SecretOf
from gleaner_local.servers._s3_listing import list_objects
from gleaner_local.servers.s3_objects import ObjectFiles, StoredObject

MAX_OBJECT_BYTES = 5 * 1024**3  # of one PUT or POST
_MAX_KEY_BYTES = 1024
_MAX_METADATA_BYTES = 2 * 1024
_READ_BYTES = 256 * 1024
_METADATA = "x-amz-meta-"
_DEFAULT_TYPE = "binary/octet-stream"
_UNSUPPORTED = ("uploads", "uploadId", "versionId", "acl", "tagging", "versioning", "delete")

logger = logging.getLogger(__name__)


Notify = Callable[[], None]


class S3Server:
    """Serves `objects` as one bucket, and calls `notify` after each change; `objects` tells the changes."""

    def __init__(self, objects: ObjectFiles, *, bucket: str, secret_of: SecretOf, notify: Notify) -> None:
        """`secret_of` tells the secret of an access key id that may sign forms."""
        self._objects = objects
        self._bucket = bucket
        self._secret_of = secret_of
        self._notify = notify
        self.app = Router(default=request_response(self.answer))

    async def answer_form(self, request: Request) -> Response:
        """Answer the form of a browser, whatever its address, and nothing else."""
        return await self._or_error(self._take_form(request, ""))

    async def answer(self, request: Request) -> Response:
        """Answer a request of a client of S3."""
        return await self._or_error(self._answer(request))

    async def _or_error(self, answer: Awaitable[Response]) -> Response:
        try:
            return await answer
        except S3Error as error:
            return error.to_response()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except (OSError, sqlite3.Error) as error:
            logger.error("The documents cannot be kept: %s", error)  # noqa: TRY400 - the message says it all
            return S3Error("InternalError", f"We encountered an internal error: {error}").to_response()

    async def _answer(self, request: Request) -> Response:
        bucket, key = _read_address(request)
        if bucket != self._bucket:
            raise S3Error("NoSuchBucket", "The specified bucket does not exist", BucketName=bucket)
        if used := [name for name in _UNSUPPORTED if name in request.query_params]:
            raise S3Error("NotImplemented", f"This server does not know the parameter {used[0]}.")
        operations: Mapping[tuple[str, bool], Callable[[Request, str], Awaitable[Response]]] = {
            ("GET", True): self._get,
            ("HEAD", True): self._get,
            ("PUT", True): self._put,
            ("DELETE", True): self._delete,
            ("GET", False): self._list,
            ("HEAD", False): self._head_bucket,
            ("POST", False): self._take_form,
        }
        if (operation := operations.get((request.method, bool(key)))) is None:
            raise S3Error("MethodNotAllowed", "The specified method is not allowed against this resource.")
        return await operation(request, key)

    async def _get(self, request: Request, key: str) -> Response:
        stored, content = self._open(key)
        if not _matches(request.headers.get("if-match"), stored.etag):
            content.close()
            raise S3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        headers = _describe(stored) | {"content-length": str(stored.size), "content-type": stored.content_type}
        if request.method == "HEAD":
            content.close()
            return Response(headers=headers)
        return StreamingResponse(_read(content), headers=headers)

    def _open(self, key: str) -> tuple[StoredObject, BinaryIO]:
        """An object and its content, which stays readable when the object is replaced."""
        while (stored := self._objects.find(key)) is not None:
            try:
                content = stored.file.open("rb")
            except FileNotFoundError:
                if self._objects.find(key) == stored:
                    raise
                continue  # replaced in between
            return stored, content
        raise S3Error("NoSuchKey", "The specified key does not exist.", Key=key)

    async def _list(self, request: Request, _key: str) -> Response:
        page = list_objects(self._objects, self._bucket, request.query_params)
        return Response(page, media_type="application/xml")

    async def _head_bucket(self, _request: Request, _key: str) -> Response:
        return Response()

    async def _put(self, request: Request, key: str) -> Response:
        headers = request.headers
        if "aws-chunked" in headers.get("content-encoding", "") or "x-amz-copy-source" in headers:
            raise S3Error("NotImplemented", "This server takes objects in one piece.")
        metadata = _read_metadata(headers)
        content_type = headers.get("content-type", _DEFAULT_TYPE)
        stored = await self._receive(
            key, request.stream(), metadata, content_type, md5=headers.get("content-md5"), sizes=(0, MAX_OBJECT_BYTES)
        )
        return self._keep(stored, "PutObject", Response())

    async def _delete(self, _request: Request, key: str) -> Response:
        if self._objects.delete(key, reason="DeleteObject"):
            self._notify()
        return Response(status_code=204)

    async def _take_form(self, request: Request, _key: str) -> Response:
        form = await Form.read(request.headers.get("content-type", ""), request.stream())
        fields = form.fields
        policy = Policy(fields, self._secret_of)
        if not (key := fields.get("key", "")):
            raise S3Error("InvalidArgument", "Bucket POST must contain a field named 'key'.")
        least, most = policy.check(fields, bucket=self._bucket)
        content_type = fields.get("content-type") or form.file_type or _DEFAULT_TYPE
        limits = (least, MAX_OBJECT_BYTES if most is None else most)
        stored = await self._receive(key, form.file(), _read_metadata(fields), content_type, md5=None, sizes=limits)
        status = fields.get("success_action_status")
        return self._keep(stored, "POST Object", Response(status_code=200 if status == "200" else 204))

    async def _receive(
        self,
        key: str,
        body: AsyncIterator[bytes],
        metadata: Mapping[str, str],
        content_type: str,
        *,
        md5: str | None,
        sizes: tuple[int, int],
    ) -> StoredObject:
        """Write the content of an object to a file. Raises S3Error if it is not of the right size or another one."""
        _check_key(key)
        file = self._objects.new_file()
        digest, size = hashlib.md5(usedforsecurity=False), 0
        try:
            with file.open("wb") as content:
                async for part in body:
                    content.write(part)
                    digest.update(part)
                    size += len(part)
                    _check_size(size, (0, sizes[1]))
            _check_size(size, sizes)
            _check_digest(digest.digest(), md5)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        return StoredObject(
            key=key,
            etag=digest.hexdigest(),
            size=size,
            modified=time.time(),
            content_type=content_type,
            metadata=metadata,
            file=file,
        )

    def _keep(self, stored: StoredObject, reason: str, response: Response) -> Response:
        self._objects.put(stored, reason=reason)
        self._notify()
        response.headers["ETag"] = f'"{stored.etag}"'
        return response


def _read_address(request: Request) -> tuple[str, str]:
    """The bucket and the key of a path-style address."""
    raw: bytes = request.scope["raw_path"]
    try:
        bucket, _, key = unquote_to_bytes(raw.lstrip(b"/")).decode().partition("/")
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.") from None
    return bucket, key


def _read_metadata(fields: Mapping[str, str]) -> dict[str, str]:
    metadata = {
        name.lower().removeprefix(_METADATA): value
        for name, value in fields.items()
        if name.lower().startswith(_METADATA)
    }
    if sum(len(name) + len(value.encode()) for name, value in metadata.items()) > _MAX_METADATA_BYTES:
        raise S3Error("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size.")
    return metadata


def _describe(stored: StoredObject) -> dict[str, str]:
    """The headers of an object. S3 returns metadata that is not ASCII as RFC 2047 says (UsingMetadata.html)."""
    metadata = {
        f"{_METADATA}{name}": value if value.isascii() else Header(value, "utf-8", maxlinelen=10_000).encode()
        for name, value in stored.metadata.items()
    }
    return metadata | {"etag": f'"{stored.etag}"', "last-modified": formatdate(stored.modified, usegmt=True)}


async def _read(content: BinaryIO) -> AsyncIterator[bytes]:
    with content:
        while part := content.read(_READ_BYTES):
            yield part


def _matches(condition: str | None, etag: str) -> bool:
    return condition is None or etag in [one.strip().strip('"') for one in condition.split(",")] or condition == "*"


def _check_key(key: str) -> None:
    if (length := len(key.encode())) > _MAX_KEY_BYTES:
        raise S3Error(
            "KeyTooLongError",
            "Your key is too long",
            Size=str(length),
            MaxSizeAllowed=str(_MAX_KEY_BYTES),
        )


def _check_size(size: int, sizes: tuple[int, int]) -> None:
    least, most = sizes
    if size > most:
        message = "Your proposed upload exceeds the maximum allowed size"
        raise S3Error("EntityTooLarge", message, ProposedSize=str(size), MaxSizeAllowed=str(most))
    if size < least:
        message = "Your proposed upload is smaller than the minimum allowed size"
        raise S3Error("EntityTooSmall", message, ProposedSize=str(size), MinSizeAllowed=str(least))


def _check_digest(digest: bytes, stated: str | None) -> None:
    """Check an MD5 against the one that a client states in base64, if it does."""
    if stated is not None and base64.b64encode(digest) != stated.encode():
        raise S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.")
