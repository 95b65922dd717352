"""The encoder of chat completion chunks: what was sent is the answer in the end, or the stream ends with an error."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gleaner.answering.events import AnswerDelta, AnswerWithdrawn, Event, Started, StepTaken
from gleaner.answering.steps import Step
from gleaner.api.protocols.chat_completion_stream import ChatCompletionStream
from gleaner.api.protocols.encoder import KEEP_ALIVE
from tests.doubles.completion_stream import content_of, read_chunks
from tests.doubles.event_stream import Part

STARTED = Started(query_id="Q", session_id=None)
ERROR = '{"error":{"message":"It failed.","type":"server_error","param":null,"code":"internal"}}'
CITATION = {"start_index": 0, "end_index": 1, "title": "T", "url": "https://example.org"}
TEXT = st.text(st.characters(codec="utf-8"))
# Few letters, so that another answer often begins like the one before.
SHORT = st.text("ab", max_size=4)


def completion_json(text: str, *, citations: int = 0) -> str:
    annotation = {"type": "url_citation", "url_citation": CITATION}
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": [annotation] * citations}
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": "chatcmpl-Q", "object": "chat.completion", "created": 7, "model": "gleaner"}
    return json.dumps(head | {"choices": [choice], "usage": usage, "gleaner": {"query_id": "Q"}})


def follow(
    events: list[Event], end: str, *, is_answer: bool = True, with_usage: bool = False
) -> tuple[list[Part], dict[str, Any] | None]:
    encoder = ChatCompletionStream("gleaner", with_usage=with_usage)
    body = b"".join(map(encoder.encode, events)) + KEEP_ALIVE
    body += encoder.finish(end) if is_answer else encoder.fail(end)
    return read_chunks(body.decode("ascii" if is_answer else "utf-8"))


DELTAS = SHORT.map(lambda text: AnswerDelta(text=text))
EVENTS = st.lists(DELTAS | st.just(AnswerWithdrawn()) | st.just(StepTaken(step=Step.DECIDE)), max_size=8)


@given(EVENTS, SHORT, st.booleans())
def test_the_deltas_are_the_answer_or_the_stream_ends_with_an_error(
    events: list[Event], text: str, with_usage: bool
) -> None:
    chunks, error = follow([STARTED, *events], completion_json(text), with_usage=with_usage)
    sent = content_of(chunks)
    if error is None:
        assert sent == text
        assert chunks[-1]["gleaner"] == {"query_id": "Q"}
    else:
        assert not text.startswith(sent)
        assert error["code"] == "answer-withdrawn"
        assert error["completion"] == json.loads(completion_json(text))
        assert all(choice["finish_reason"] is None for chunk in chunks for choice in chunk["choices"])


@given(st.lists(TEXT, max_size=6), TEXT)
def test_an_answer_that_only_grows_is_sent_as_it_comes(pieces: list[str], rest: str) -> None:
    encoder = ChatCompletionStream("gleaner", with_usage=False)
    body = encoder.encode(STARTED)
    for count, piece in enumerate(pieces, start=1):
        body += encoder.encode(AnswerDelta(text=piece))
        shown, _ = read_chunks((body + b"data: [DONE]\n\n").decode())
        assert content_of(shown) == "".join(pieces[:count])
    chunks, error = read_chunks((body + encoder.finish(completion_json("".join(pieces) + rest))).decode())
    assert (content_of(chunks), error) == ("".join(pieces) + rest, None)


@given(EVENTS)
def test_a_question_that_failed_ends_with_its_error(events: list[Event]) -> None:
    chunks, error = follow([STARTED, *events], ERROR, is_answer=False)
    assert error == json.loads(ERROR)["error"]
    assert all("gleaner" not in chunk for chunk in chunks)


def test_an_answer_that_begins_anew_goes_on_where_the_reader_is() -> None:
    events = [STARTED, AnswerDelta(text="Merged at "), AnswerWithdrawn(), AnswerDelta(text="Merged ")]
    chunks, error = follow([*events, AnswerDelta(text="at once")], completion_json("Merged at once."))
    contents = [choice["delta"].get("content") for chunk in chunks for choice in chunk["choices"]]
    assert [content for content in contents if content] == ["Merged at ", "once", "."]
    assert error is None


def test_the_parts_of_a_stream_come_in_openais_order() -> None:
    chunks, _ = follow([STARTED, AnswerDelta(text="Mer")], completion_json("Merged.", citations=2), with_usage=True)
    choices = [chunk["choices"][0] if chunk["choices"] else None for chunk in chunks]
    first, *words, citing, stopping, last = choices
    assert first and first["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert [choice["delta"] for choice in words if choice] == [{"content": "Mer"}, {"content": "ged."}]
    assert citing and len(citing["delta"]["annotations"]) == 2
    assert stopping and (stopping["delta"], stopping["finish_reason"]) == ({}, "stop")
    assert last is None and chunks[-1]["usage"]["total_tokens"] == 3
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert [chunk.get("gleaner") is not None for chunk in chunks] == [False] * 5 + [True]


def test_usage_is_sent_to_those_alone_who_ask() -> None:
    chunks, _ = follow([STARTED], completion_json("Merged."))
    assert all("usage" not in chunk for chunk in chunks)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop" and "gleaner" in chunks[-1]


def test_a_stored_answer_is_a_whole_stream() -> None:
    chunks, error = follow([], completion_json("Merged."))
    assert (content_of(chunks), error) == ("Merged.", None)
    assert (chunks[0]["id"], chunks[0]["created"]) == ("chatcmpl-Q", 7)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
