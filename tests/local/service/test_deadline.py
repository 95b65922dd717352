"""How long a question may take on this machine."""

from __future__ import annotations

import pytest

from gleaner_local.service._deadline import choose_deadline


@pytest.mark.parametrize(
    ("env", "option", "seconds"),
    [
        ({}, None, 25),  # the extractive model
        ({"OPENAI_API_KEY": "k"}, None, 25),
        ({"OPENAI_BASE_URL": "https://openrouter.ai/api/v1"}, None, 25),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, None, 300),
        ({"OPENAI_BASE_URL": "http://localhost:8080/v1"}, None, 300),
        ({"OPENAI_BASE_URL": "http://192.168.1.20:1234/v1"}, None, 300),
        ({"OPENAI_BASE_URL": "http://[::1]:8000/v1"}, None, 300),
        ({"OPENAI_BASE_URL": "http://gpu.local:8000/v1"}, None, 300),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "QUERY_DEADLINE_SECONDS": "40"}, None, 40),
        ({"QUERY_DEADLINE_SECONDS": "40"}, 90, 90),
    ],
)
def test_a_model_of_ones_own_gets_more_time(env: dict[str, str], option: float | None, seconds: float) -> None:
    assert choose_deadline(env, option) == seconds
