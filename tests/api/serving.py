"""Serves the API of this process over HTTP, for clients that need an address."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gleaner_local.aws import api_gateway
from gleaner_local.aws.execution_environment import LocalContext
from gleaner_local.servers.asgi import AsgiServer
from tests.conftest import Client


@contextmanager
def serving(client: Client) -> Iterator[str]:
    """The address, through the local gateway."""
    lock = threading.Lock()

    def invoke(event: dict[str, Any], request_id: str) -> dict[str, Any]:
        with lock:  # an environment serves one request at a time
            context: Any = LocalContext("query", request_id, time.monotonic() + 30)
            return client.api.handle(event, context)

    server = AsgiServer(api_gateway.create_app(invoke))
    server.start()
    yield server.url
    server.stop()
