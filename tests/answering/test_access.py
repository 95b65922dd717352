"""A question waits for what its caller may use beside its history, and goes no further without it."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest

from gleaner.answering.events import Started
from gleaner.answering.question import Services
from gleaner.errors import NotAllowed, StoreUnavailable, UnknownSession
from gleaner.model import new_id
from gleaner.stores.conversations import ConversationStore
from tests.answering.asking import ask
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search


class TimedConversations:
    """A store of conversations that tells when a history is read."""

    def __init__(self, conversations: ConversationStore) -> None:
        self._conversations = conversations
        self.is_read = Event()

    def get_recent_messages(self, *arguments: Any, **options: Any) -> Any:
        self.is_read.set()
        return self._conversations.get_recent_messages(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conversations, name)


def test_the_history_is_read_while_the_access_is(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()), calls(search()), calls(answer()))
    _, first = ask(streaming)
    assert first is not None
    conversations = TimedConversations(streaming.conversations)
    seen: list[bool] = []

    def admit(kb_id: str) -> None:
        assert kb_id == "default_kb"
        seen.append(conversations.is_read.wait(10))  # one after the other, this would never end well

    services = replace(streaming, conversations=cast("Any", conversations))
    _, given = ask(services, session_id=first.session_id, admit=admit)
    assert given is not None and seen == [True]


@pytest.mark.parametrize("error", [NotAllowed("No."), StoreUnavailable("Down.")])
def test_a_question_that_is_not_admitted_begins_nothing(
    streaming: Services, model: ScriptedModel, items: Any, error: Exception
) -> None:
    def admit(_kb_id: str) -> None:
        raise error

    model.plays()
    events, given = ask(streaming, admit=admit)
    assert (events, given, model.requests) == ([error], None, [])
    assert not any(isinstance(event, Started) for event in events)
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


def test_somebody_elses_session_stays_unknown(streaming: Services, model: ScriptedModel) -> None:
    model.plays()
    [error], _ = ask(streaming, session_id=new_id())
    assert isinstance(error, UnknownSession) and model.requests == []
