"""Answers the question with Gleaner's whole function, from API Gateway's event to the stored turn and its answer."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from worker import serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from functions.query.handler import lambda_handler
from gleaner_local.aws.execution_environment import LocalContext
from tests.conftest import proxy_event


def ask(question: str) -> str:
    event = proxy_event("POST", "/api/chat/query", "benchmark") | {"body": json.dumps({"query": question})}
    context: Any = LocalContext("query", "request-1", ends_at=time.monotonic() + 30)
    response = lambda_handler(event, context)
    if response["statusCode"] != 200:
        raise RuntimeError(f"no answer: {response['statusCode']} {response['body']}")
    return str(json.loads(response["body"])["answer"])


serve(ask)
