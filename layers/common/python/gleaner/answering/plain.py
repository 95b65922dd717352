"""Writes titles, tags, follow-up questions and queries for chat clients: one model call, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gleaner import text
from gleaner.answering.exchange import Asker
from gleaner.answering.question import Services
from gleaner.client_tasks import Spoken
from gleaner.errors import AnswerRefused, AnswerRejected, InvalidInput
from gleaner.guards import disclosure
from gleaner.guards.answer_text import AllowedLinks, remove_foreign_links
from gleaner.guards.redaction import redact_secrets
from gleaner.guards.untrusted import defuse_tokens, restore_tokens
from gleaner.model import ChatMessage
from gleaner.prompts import read_prompt
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost, estimate_cost

MAX_CHARS = 64_000  # of all messages together
_NO_LINKS = AllowedLinks.of(())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswer:
    """What the model wrote, and what it cost."""

    text: str
    cost: Cost
    model: str
    is_cut_off: bool  # at the maximum length


def complete_plainly(messages: Sequence[Spoken], asker: Asker, services: Services, deadline: Deadline) -> PlainAnswer:
    """Write what the messages ask for, without tools, knowledge base or store; nothing is kept.

    It counts as a question in the quotas of the day: the model is paid for. The text comes at once, since it is checked
    as a whole. Raises InvalidInput for messages that are too long, AnswerRefused, AnswerRejected if the model wrote
    nothing, QuotaExceeded, ServiceUnavailable, ContextTooLong or DeadlineExceeded.
    """
    length = sum(len(content) for _, content in messages)
    if length > MAX_CHARS:
        raise InvalidInput(f"The messages have {length:,} characters, at most {MAX_CHARS:,} are read: shorten them.")
    with services.admissions.admit(asker, services.io_executor, deadline) as admission:
        admission.require_early()
        turn = services.model.write(_build(messages), deadline=deadline)
        cost = estimate_cost(turn.usage, (), services.prices)
        admission.settle(cost, is_counted=True)
        admission.require()
        written = _check(turn.content)  # while what it cost is written
    if turn.is_refused:
        raise AnswerRefused
    if not written:
        raise AnswerRejected("The language model wrote nothing. Ask again.")
    return PlainAnswer(
        text=written,
        cost=cost,
        model=turn.model,
        is_cut_off=turn.finish_reason == "length",
    )


def _build(messages: Sequence[Spoken]) -> list[ChatMessage]:
    """The conversation with the model. What the client calls its system message stands below the service's own."""
    return [ChatMessage(role="system", content=read_prompt("plain")), *map(_to_chat_message, messages)]


def _to_chat_message(message: Spoken) -> ChatMessage:
    speaker, content = message
    role: Literal["user", "assistant"] = "assistant" if speaker == "assistant" else "user"
    return ChatMessage(role=role, content=defuse_tokens(content))


def _check(written: str) -> str:
    """What may be shown of it. JSON is checked by its values, whose escapes could hide something."""
    try:
        return json.dumps(_check_values(json.loads(written)), ensure_ascii=False)
    except (json.JSONDecodeError, RecursionError):
        return _check_text(written)


def _check_values(value: Any) -> Any:
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, dict):
        return {_check_text(name): _check_values(item) for name, item in value.items()}
    return [_check_values(item) for item in value] if isinstance(value, list) else value


def _check_text(written: str) -> str:
    """A text without hidden characters, the service's instructions, links and secrets."""
    readable = restore_tokens(text.clean(written))
    own = disclosure.remove_runs(readable, disclosure.collect_prompt_runs(), ())
    return redact_secrets(remove_foreign_links(own, _NO_LINKS)).strip()
