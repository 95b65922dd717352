"""What a caller may use is read beside the first call of the model, and known before anything comes of that."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest
from starlette.responses import Response

from gleaner.answering.events import Started
from gleaner.answering.question import Services
from gleaner.errors import NotAllowed, StoreUnavailable, UnknownSession
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
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
        seen.append(conversations.is_read.wait(60))  # one after the other, this would never end well

    services = replace(streaming, conversations=cast("Any", conversations))
    _, given = ask(services, session_id=first.session_id, admit=admit)
    assert given is not None and seen == [True]


@pytest.mark.parametrize("error", [NotAllowed("No."), StoreUnavailable("Down.")])
def test_a_question_that_is_known_to_be_refused_begins_nothing(
    streaming: Services, model: ScriptedModel, items: Any, error: Exception
) -> None:
    def admit(_kb_id: str) -> None:
        raise error

    model.plays()
    events, given = ask(streaming, admit=admit, expect=admit)
    assert (events, given, model.requests) == ([error], None, [])
    assert not any(isinstance(event, Started) for event in events)
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


class LateAccess:
    """An access that is known once the model was asked: a question that waited for it would never get there."""

    def __init__(self, model: ScriptedModel, *, kb_ids: frozenset[str] | None = None, error: Exception | None = None):
        self._model = model
        self._kb_ids = kb_ids
        self._error = error

    def admit(self, _kb_id: str) -> frozenset[str] | None:
        deadline = Deadline.after(30)
        while not self._model.requests and deadline.remaining() > 0:
            time.sleep(0.01)
        assert self._model.requests
        time.sleep(0.2)  # for events of the first turn to come, if anything let them
        if self._error is not None:
            raise self._error
        return self._kb_ids


def test_the_model_is_asked_while_the_access_is_read(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    _, given = ask(streaming, admit=LateAccess(model).admit)
    assert given is not None


def test_the_second_turn_offers_what_was_read_of_the_access(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    access = LateAccess(model, kb_ids=frozenset(("default_kb", "other_kb")))
    _, given = ask(streaming, admit=access.admit, expect=lambda _kb_id: frozenset(("default_kb", "former_kb")))
    assert given is not None
    offered = ["former_kb" in str(request["tools"]) for request in model.requests]
    assert offered == [True, False] and "other_kb" in str(model.requests[1]["tools"])


@pytest.mark.parametrize("error", [NotAllowed("No."), StoreUnavailable("Down.")])
@pytest.mark.parametrize("turn", [calls(search()), calls(answer()), Response(status_code=401)])
def test_nothing_comes_of_the_turn_of_a_caller_who_is_not_admitted(
    streaming: Services, model: ScriptedModel, items: Any, error: Exception, turn: Any
) -> None:
    model.plays(turn)
    events, given = ask(streaming, admit=LateAccess(model, error=error).admit)
    assert (events, given, len(model.requests)) == ([error], None, 1)
    assert items("TOOL_CALLS_TABLE") == []


def test_nothing_is_asked_for_a_caller_who_was_not_admitted_before(streaming: Services, model: ScriptedModel) -> None:
    def refuse(_kb_id: str) -> None:
        raise NotAllowed("No.")

    def admit(_kb_id: str) -> None:
        time.sleep(0.3)
        raise NotAllowed("Still not.")

    model.plays(calls(search()))
    events, _ = ask(streaming, admit=admit, expect=refuse)
    assert (str(events), model.requests) == ("[NotAllowed('Still not.')]", [])


def test_who_may_not_use_a_knowledge_base_is_not_told_whether_it_exists(
    streaming: Services, model: ScriptedModel
) -> None:
    def admit(_kb_id: str) -> None:
        time.sleep(0.3)
        raise NotAllowed("No.")

    model.plays(calls(search()))
    events, _ = ask(streaming, kb_id="nowhere", admit=admit)
    assert (str(events), model.requests) == ("[NotAllowed('No.')]", [])


def test_somebody_elses_session_stays_unknown(streaming: Services, model: ScriptedModel) -> None:
    model.plays()
    [error], _ = ask(streaming, session_id=new_id())
    assert isinstance(error, UnknownSession) and model.requests == []
