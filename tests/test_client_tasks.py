"""Which messages are tasks of a chat client, and which are questions that only look like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.client_tasks import ClientTask, TaskRequest, read_task
from tests.doubles import client_tasks as sent

QUESTION, ANSWER = "How are duplicates merged?", "By a conditional write."
TURNS = (("user", QUESTION), ("assistant", ANSWER))
OPEN_WEBUI = f"USER: {QUESTION}\nASSISTANT: {ANSWER}"
TASKS = {
    sent.title(TURNS): (ClientTask.TITLE, "title"),
    sent.title_of_2025(TURNS): (ClientTask.TITLE, "title"),
    sent.tags(TURNS): (ClientTask.TAGS, "tags"),
    sent.follow_ups(TURNS): (ClientTask.FOLLOW_UPS, "follow_ups"),
    sent.follow_ups_of_2025(TURNS): (ClientTask.FOLLOW_UPS, "follow_ups"),
    sent.queries(TURNS): (ClientTask.QUERIES, "queries"),
}
OF_LIBRE_CHAT = (
    sent.libre_chat(QUESTION, ANSWER),
    sent.libre_chat_structured(QUESTION, ANSWER),
    sent.libre_chat_of_2024(QUESTION, ANSWER),
)


@pytest.mark.parametrize("message", TASKS)
def test_what_open_webui_asks_for_is_recognized(message: str) -> None:
    task, field = TASKS[message]
    expected = TaskRequest(task=task, conversation=OPEN_WEBUI, field=field)
    assert read_task([("user", message)]) == expected
    # An administrator's system prompt of the model comes along.
    assert read_task([("system", "Be brief."), ("user", message)]) == expected


def test_the_continuation_of_what_is_typed_is_recognized() -> None:
    request = read_task([("user", sent.continuation(TURNS, "what is <text> in"))])
    assert request is not None
    assert (request.task, request.field) == (ClientTask.CONTINUATION, "text")


@pytest.mark.parametrize("message", OF_LIBRE_CHAT)
@pytest.mark.parametrize("role", ["user", "system"])
def test_what_libre_chat_asks_for_is_recognized(message: str, role: str) -> None:
    request = read_task([(role, message)])
    assert request is not None
    assert (request.task, request.field) == (ClientTask.TITLE, None)
    assert QUESTION in request.conversation
    assert ANSWER in request.conversation


@pytest.mark.parametrize(
    "question",
    [
        "Generate a concise title summarizing the chat history.",
        "### Task:\nGenerate a concise title summarizing the chat history.",
        "Suggest 3-5 relevant follow-up questions or prompts for the interview chapter.",
        "What does <chat_history> mean in the prompt for tags?",
        f"Why does this prompt fail?\n\n{sent.title(TURNS)}",
        f"{sent.title(TURNS)}\n\nWhat is wrong with it?",
        sent.open_webui("Generate a concise report summarizing the chat history.", '{ "title": "x" }', TURNS),
        sent.open_webui("Generate a concise title summarizing the chat history.", '{ "name": "x" }', TURNS),
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
        f"Explain: {sent.libre_chat(QUESTION, ANSWER)}",
        "Please generate a concise, 5-word-or-less title for the conversation, and explain ||>User: to me.",
        "Provide a title for chapter 3.\n\nConversation:\nUser: hello",
        "",
    ],
)
def test_a_question_that_resembles_a_task_is_a_question(question: str) -> None:
    assert read_task([("user", question)]) is None


@pytest.mark.parametrize("message", [*TASKS, *OF_LIBRE_CHAT])
def test_a_task_within_a_conversation_is_a_question(message: str) -> None:
    assert read_task([("user", "Hello"), ("assistant", "Hi."), ("user", message)]) is None
    assert read_task([("user", "Hello"), ("user", message)]) is None
    assert read_task([("user", message), ("assistant", "Done.")]) is None


def test_no_messages_are_no_task() -> None:
    assert read_task([]) is None


@given(st.lists(st.tuples(st.sampled_from(("user", "assistant")), st.text()), min_size=1, max_size=6))
def test_any_conversation_stays_within_its_task(turns: list[tuple[str, str]]) -> None:
    request = read_task([("user", sent.tags(turns))])
    assert request is not None
    history = "\n".join(f"{role.upper()}: {text}" for role, text in turns)
    assert request.conversation == history.strip()


@pytest.mark.parametrize("part", ["<chat_history>\n", "### Task:\n", "summarizing ", "||>User:"])
def test_a_long_message_with_many_parts_of_a_template_is_a_question(part: str) -> None:
    assert read_task([("user", sent.title(TURNS) + part * 20_000)]) is None  # read in linear time, or this never ends
