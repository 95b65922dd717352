"""What is read of a refused request to the model."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from gleaner.clients._failures import RequestRefused, describe_refusal, read_refusal
from gleaner.clients._openai_sdk import openai


def refuse(error: Any) -> RequestRefused:
    request = httpx2.Request("POST", "https://model.example/v1/responses")
    body = {"error": error}
    client = openai.OpenAI(api_key="k", base_url="https://model.example/v1")
    response = httpx2.Response(400, content=json.dumps(body).encode(), request=request)
    failure = read_refusal(client._make_status_error_from_response(response))
    assert isinstance(failure, RequestRefused)
    return failure


def test_a_huge_message_is_cut() -> None:
    assert len(refuse({"message": "x" * 5_000_000, "code": None}).refusal.message) < 10_000


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("code", "unsupported_value", "400, code unsupported_value"),
        ("code", 429, "400, code 429"),
        ("param", "input[1].status", "400, param input[1].status"),
        ("code", "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789", "400"),  # pragma: allowlist secret
        ("code", {"a": 1}, "400"),
        ("param", "<script>alert(1)</script> see https://evil.example/", "400"),
        ("code", "a b\nc", "400"),
    ],
)
def test_only_identifiers_are_shown(field: str, value: Any, shown: str) -> None:
    assert describe_refusal(refuse({"message": "no", field: value}).refusal) == shown
