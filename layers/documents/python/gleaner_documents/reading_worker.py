"""The worker that `reading_process` starts: reads the files that it is sent, one after the other, within its limits."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from gleaner_documents._messages import OUT_OF_MEMORY, READY, receive, send
from gleaner_documents.model import UnreadableDocument
from gleaner_documents.reading import read_document

# The caller holds the answer in memory, too. A file without compression has at most 50 MB.
MAX_ANSWER_BYTES = 100 * 1024 * 1024
# The caller ends the worker at the limit. An orphan ends itself a little later.
_GRACE_SECONDS = 5


def main(max_memory_bytes: int, max_seconds: float) -> None:
    """Answer until the caller is gone."""
    _limit_memory(max_memory_bytes)
    requests, answers = sys.stdin.buffer, _take_over_stdout()
    send(answers, READY)
    while True:
        try:
            arguments, data = json.loads(receive(requests)), receive(requests)
        except EOFError:
            return
        signal.alarm(int(max_seconds) + _GRACE_SECONDS)
        send(answers, _answer(data, arguments))
        signal.alarm(0)


def _limit_memory(max_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = max_bytes if hard == resource.RLIM_INFINITY else min(max_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _take_over_stdout() -> BinaryIO:
    """Keep what parsers print out of the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a file descriptor is wanted
        os.dup2(nowhere.fileno(), 1)
    return answers


def _answer(data: bytes, arguments: dict[str, Any]) -> bytes:
    try:
        answer = json.dumps(_read(data, arguments), ensure_ascii=False).encode("utf-8", "replace")
    except MemoryError:
        return json.dumps({"error": OUT_OF_MEMORY, "reason": ""}).encode()
    if len(answer) > MAX_ANSWER_BYTES:
        limit = MAX_ANSWER_BYTES // 1024**2
        return json.dumps({"error": "RefusedFile", "reason": f"holds more than {limit} MB of text"}).encode()
    return answer


def _read(data: bytes, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return asdict(read_document(data=data, **arguments))
    except UnreadableDocument as problem:
        return {"error": type(problem).__name__, "reason": problem.reason}


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
