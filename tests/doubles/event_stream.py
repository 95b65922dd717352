"""Reads the server-sent events of a streamed answer, and plays the client who reads them or goes."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gleaner.runtime.response_stream import ClientGone

Part = dict[str, Any]


def read_parts(body: str) -> list[Part]:
    """The parts of a whole stream, which must end as the protocol says."""
    *lines, rest = [block for block in body.split("\n\n") if not block.startswith(":")]
    assert not rest, "the stream ends within an event"
    assert lines[-1] == "data: [DONE]"
    lines = [line.removeprefix("event: error\n") for line in lines]  # clients read the data alone
    assert all(line.startswith("data: ") and "\n" not in line for line in lines)
    return [json.loads(line.removeprefix("data: "), parse_constant=_refuse) for line in lines[:-1]]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def final_of(parts: Sequence[Part]) -> tuple[int, Any]:
    """Status and body of the route without streaming: the answer, or the problem that ended the stream."""
    assert parts[-1] == {"type": "finish"}
    results = [part for part in parts if part["type"] in ("data-gleaner-answer", "data-gleaner-problem")]
    assert len(results) == 1
    [result] = results
    has_error = any(part["type"] == "error" for part in parts)
    assert has_error is (result["type"] == "data-gleaner-problem")
    return result["data"]["status"] if has_error else 200, result["data"]


def texts_of(parts: Sequence[Part]) -> list[str]:
    """The texts that a reader still sees at the end: one for each text part that was not withdrawn."""
    texts: dict[str, str] = {}
    open_id = None
    for part in parts:
        if part["type"] == "text-start":
            assert open_id is None and part["id"] not in texts
            open_id, texts[part["id"]] = part["id"], ""
        elif part["type"] == "text-delta":
            assert part["id"] == open_id
            texts[part["id"]] += part["delta"]
        elif part["type"] == "text-end":
            assert part["id"] == open_id
            open_id = None
            if "providerMetadata" in part:
                del texts[part["id"]]
    assert open_id is None
    return list(texts.values())


@dataclass
class Reader:
    """The stream of one response; the client goes before the chunk of the number `leaves_at`."""

    leaves_at: int | None = None
    status: int | None = None
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    has_chunk: threading.Event = field(default_factory=threading.Event)

    def start(self, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Note the status and the headers."""
        assert self.status is None
        self.status, self.headers = status, headers
        self._leave()

    def write(self, chunk: bytes) -> None:
        """Note a chunk."""
        assert self.status is not None
        self._leave()
        self.chunks.append(chunk)
        self.has_chunk.set()

    def _leave(self) -> None:
        if self.leaves_at is not None and len(self.chunks) >= self.leaves_at:
            raise ClientGone

    def parts(self) -> list[Part]:
        """The parts that arrived."""
        return read_parts(b"".join(self.chunks).decode())
