"""A weak local model, by constrained decoding: all of a fixed set of questions end in an answer."""

from __future__ import annotations

from tests.conftest import Client, make_api
from tests.doubles.providers.weak_model import HABITS, PoorCalls
from tests.doubles.scripted_web import ScriptedWeb, result

FOUND = "Starlette 1.0, the ASGI framework, was released in 2026 [1]."


def test_every_question_ends_in_an_answer(settings: dict[str, str], web: ScriptedWeb) -> None:
    web.finds(FOUND, result(1, "https://starlette.dev/release", "Starlette release notes"))
    model = PoorCalls()
    with model.serving() as base_url:
        client = Client(make_api(settings | {"OPENAI_API": "auto", "OPENAI_BASE_URL": base_url}))
        answers = {question: client.ask(question) for question in HABITS}
    failures = {
        question: body for question, (status, body) in answers.items() if (status, body["status"]) != (200, "success")
    }
    assert not failures
    assert len(answers) == 20
    assert all(body["sources"] for _, body in answers.values())
    assert model.wasted == 1  # the very first: a plain text answer
    assert model.violations == []
