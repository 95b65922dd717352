"""A function that answers the questions of one event in parallel, which a deployed function never does.

Load it in a separate process: it configures the tracing of its process.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gleaner.answering.exchange import QuestionRequest
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.runtime.tracing import make_tracer
from gleaner.wiring import Answering, build_stores

settings = Settings.from_env(os.environ)
answering = Answering(settings, build_stores(settings), make_tracer("botocore"))


def lambda_handler(event: dict[str, Any], _context: Any) -> list[str]:
    """Return the status of each answer."""
    with ThreadPoolExecutor(len(event["questions"])) as threads:
        return list(threads.map(_answer, event["questions"]))


def _answer(question: str) -> str:
    request = QuestionRequest(query=question, caller_id="local", session_id=None)
    return answering(request, new_id(), Deadline.after(20), lambda _: None).status.value
