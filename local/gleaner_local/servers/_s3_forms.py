"""Reads the form of a browser that uploads a file to S3, and checks it against the policy that was signed for it.

docs.aws.amazon.com/AmazonS3/latest/API: RESTObjectPOST.html (the fields and their order),
sigv4-HTTPPOSTConstructPolicy.html (the conditions), sigv4-UsingHTTPPOST.html (the signature).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message
from typing import Any

from gleaner_local.servers._s3_errors import S3Error

_MAX_FIELD_BYTES = 20_000  # of everything before the file: "The form data ... must not exceed 20 KB"
_NOT_IN_POLICY = frozenset(("policy", "x-amz-signature", "file"))
_MALFORMED = "The body of your POST request is not well-formed multipart/form-data."

SecretOf = Callable[[str], str | None]  # the secret key of an access key id


class Form:
    """A form whose fields have been read up to its file, which is the last one that counts."""

    def __init__(self, body: AsyncIterator[bytes], boundary: bytes) -> None:
        self._body = body
        self._delimiter = b"\r\n--" + boundary
        self._buffer = b"\r\n"  # a delimiter begins with it, except the first one
        self.fields: dict[str, str] = {}
        self.file_type = ""

    @classmethod
    async def read(cls, content_type: str, body: AsyncIterator[bytes]) -> Form:
        """Read the fields before the file. Raises S3Error."""
        header = Message()
        header["content-type"] = content_type
        boundary = header.get_param("boundary")
        if header.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
            raise S3Error("MalformedPOSTRequest", _MALFORMED)
        form = cls(body, boundary.encode("latin-1", "replace"))
        await form._read_fields()
        return form

    async def file(self) -> AsyncIterator[bytes]:
        """Yield the content of the file in pieces. Raises S3Error if the form breaks off."""
        while (end := self._buffer.find(self._delimiter)) < 0:
            keep = len(self._delimiter) - 1
            if len(self._buffer) > keep:
                yield self._buffer[:-keep]
                self._buffer = self._buffer[-keep:]
            await self._receive()
        yield self._buffer[:end]

    async def _read_fields(self) -> None:
        await self._read_until(self._delimiter)
        size = 0
        while True:
            if (await self._read_until(b"\r\n")).startswith(b"--"):
                raise S3Error("InvalidArgument", "POST requires exactly one file upload per request.")
            head = await self._read_head()
            name = _parameter(head, "name").lower()
            if name == "file":
                self.file_type = head.get("content-type", "")
                return
            value = await self._read_until(self._delimiter)
            if (size := size + len(name) + len(value)) > _MAX_FIELD_BYTES:
                raise _too_many_fields()
            try:
                self.fields[name] = value.decode()
            except UnicodeDecodeError:
                raise S3Error("MalformedPOSTRequest", _MALFORMED) from None

    async def _read_head(self) -> Message:
        head = Message()
        while line := await self._read_until(b"\r\n"):
            name, _, value = line.decode("utf-8", "replace").partition(":")
            head[name.strip()] = value.strip()
        return head

    async def _read_until(self, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > _MAX_FIELD_BYTES:
                raise _too_many_fields()
            await self._receive()
        value, self._buffer = self._buffer[:end], self._buffer[end + len(mark) :]
        return value

    async def _receive(self) -> None:
        while (part := await anext(self._body, None)) is not None:
            if part:
                self._buffer += part
                return
        raise S3Error("MalformedPOSTRequest", _MALFORMED)


class Policy:
    """A policy whose signature is right: what a form may hold, and until when."""

    def __init__(self, fields: Mapping[str, str], secret_of: SecretOf) -> None:
        """Check the signature. Raises S3Error."""
        _check_signature(fields, secret_of)
        try:
            document: dict[str, Any] = json.loads(base64.b64decode(fields["policy"], validate=True))
            self._expires = datetime.fromisoformat(document["expiration"])
            self._conditions = [_to_condition(condition) for condition in _split(document["conditions"])]
        except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
            raise S3Error("InvalidPolicyDocument", "Invalid Policy: Invalid JSON.") from None

    def check(self, fields: Mapping[str, str], *, bucket: str) -> tuple[int, int | None]:
        """The least and the largest size of the file. Raises S3Error unless the fields are as the policy says."""
        if datetime.now(UTC) >= self._expires:
            raise _denied("Policy expired.")
        sizes: tuple[int, int | None] = (0, None)
        values = {**fields, "bucket": bucket}
        covered = set()
        for operator, name, value in self._conditions:
            if operator == "content-length-range":
                sizes = (int(name), int(value))
                continue
            actual = values.get(name.removeprefix("$").lower())
            if actual is None or not (actual == value if operator == "eq" else actual.startswith(value)):
                raise _denied(f"Policy Condition failed: {json.dumps([operator, name, value])}")
            covered.add(name.removeprefix("$").lower())
        ignored = {name for name in fields if name.startswith("x-ignore-")}
        if extra := sorted(set(fields) - covered - _NOT_IN_POLICY - ignored):
            raise _denied(f"Extra input fields: {', '.join(extra)}")
        return sizes


def _split(conditions: list[Any]) -> Iterator[Any]:
    """A condition for each field, where an object names several."""
    for condition in conditions:
        if isinstance(condition, dict):
            yield from ({name: value} for name, value in condition.items())
        else:
            yield condition


def _to_condition(condition: Any) -> tuple[str, Any, Any]:
    if isinstance(condition, dict):
        [(name, value)] = condition.items()
        return "eq", f"${name}", str(value)
    operator, name, value = condition
    operator = operator.lower()
    if operator == "content-length-range":
        return operator, int(name), int(value)
    if operator not in ("eq", "starts-with") or not name.startswith("$"):
        raise ValueError(operator)
    return operator, name, str(value)


def _check_signature(fields: Mapping[str, str], secret_of: SecretOf) -> None:
    required = ("policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")
    if missing := [name for name in required if not fields.get(name)]:
        if missing == list(required):
            raise S3Error("AccessDenied", "Access Denied")  # an anonymous upload
        raise S3Error("InvalidArgument", f"Bucket POST must contain a field named '{missing[0]}'.")
    scope = fields["x-amz-credential"].split("/")
    if fields["x-amz-algorithm"] != "AWS4-HMAC-SHA256" or len(scope) != 5 or scope[3:] != ["s3", "aws4_request"]:  # noqa: PLR2004
        raise S3Error("InvalidArgument", "The credential of the form is malformed.")
    if (secret := secret_of(scope[0])) is None:
        raise S3Error("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
    key = f"AWS4{secret}".encode()
    for part in (*scope[1:], fields["policy"]):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    if not hmac.compare_digest(key.hex().encode(), fields["x-amz-signature"].encode()):
        raise S3Error(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method.",
        )


def _parameter(head: Message, name: str) -> str:
    """A parameter of the part's disposition: browsers quote it and write a quote in it as %22."""
    found = re.search(rf';\s*{name}=(?:"([^"]*)"|([^;\s]+))', head.get("content-disposition", ""))
    return (found[1] or found[2] or "") if found else ""


def _denied(reason: str) -> S3Error:
    return S3Error("AccessDenied", f"Invalid according to Policy: {reason}")


def _too_many_fields() -> S3Error:
    return S3Error("MaxPostPreDataLengthExceeded", "Your POST request fields preceding the upload file were too large.")
