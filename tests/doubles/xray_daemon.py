"""Receives traces like the X-Ray daemon of Lambda."""

from __future__ import annotations

import socket


class XrayDaemon:
    """A UDP socket on the loopback interface; `environment` makes the SDK send its traces there."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.environment = {
            "LAMBDA_TASK_ROOT": "/var/task",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{self._socket.getsockname()[1]}",
            "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
        }

    def received(self) -> str:
        """Everything received so far."""
        parts = []
        while True:
            try:
                parts.append(self._socket.recv(65_536).decode())
            except BlockingIOError:
                return "\n".join(parts)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
