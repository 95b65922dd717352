"""Takes ports of 127.0.0.1 for servers that start later."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def hold_port(port: int) -> socket.socket:
    """Take a port, 0 for a free one, which no other program is given from now on. Raises OSError if it is taken.

    Connections are refused until a server listens on it: one that gets this socket, or another process that binds the
    port as well, which it can if it sets SO_REUSEADDR, too.
    """
    held = new_socket()
    try:
        held.bind((HOST, port))
    except OSError:
        held.close()
        raise
    return held


def new_socket() -> socket.socket:
    """A socket of a server, which is not bound yet."""
    # asyncio disables Nagle's algorithm only if the protocol is given; with the algorithm, responses wait 40 ms.
    created = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    created.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return created
