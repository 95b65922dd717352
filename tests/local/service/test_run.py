"""The start of the local service."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gleaner_local.errors import CannotStart
from gleaner_local.service.run import LocalService


def test_a_port_in_use_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    loaded: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        service = LocalService(tmp_path, {}, port=port, concurrency=1)
        with pytest.raises(CannotStart, match=f"Port {port} cannot be used: .*--port"):
            service.start(before_gateway=loaded.append)
    assert not loaded
    assert not (tmp_path / "index").exists()
