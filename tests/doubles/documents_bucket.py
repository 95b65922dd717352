"""The local S3 as the bucket of an API, and a browser that sends its forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from gleaner_local.aws import ministack
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.s3_objects import ObjectFiles, StoredObject
from gleaner_local.servers.s3_server import S3Server

BUCKET = "documents"
SECRETS = {ministack.CREDENTIALS["AWS_ACCESS_KEY_ID"]: ministack.CREDENTIALS["AWS_SECRET_ACCESS_KEY"]}


class DocumentsBucket:
    """A running bucket."""

    def __init__(self, directory: Path) -> None:
        self._objects = ObjectFiles(directory)
        self._server = AsgiServer(
            S3Server(self._objects, bucket=BUCKET, secret_of=SECRETS.get, notify=lambda: None).app
        )
        self._server.start()
        self.variables = {"DOCUMENTS_BUCKET": BUCKET, "AWS_ENDPOINT_URL_S3": self._server.url}

    def stop(self) -> None:
        """End the server."""
        self._server.stop()
        self._objects.close()

    def find(self, key: str) -> StoredObject | None:
        """An object."""
        return self._objects.find(key)

    def delete(self, key: str) -> None:
        """Delete an object, as somebody else does."""
        self._objects.delete(key, reason="DeleteObject")


def send_form(form: dict[str, Any], content: bytes, **changes: str | None) -> tuple[int, str]:
    """Send a form as a browser does, with `changes` to its fields; the status, and S3's code of an error."""
    fields = {name: value for name, value in (form["fields"] | changes).items() if value is not None}
    # A file without a name is a field: (None, value).
    parts: list[tuple[str, Any]] = [(name, (None, value.encode())) for name, value in fields.items()]
    response = httpx.post(form["url"], files=[*parts, ("file", ("file", content))], timeout=30)
    code = response.text.partition("<Code>")[2].partition("</Code>")[0]
    return response.status_code, code
