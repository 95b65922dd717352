"""Sessions and their messages. Ownership is checked here: somebody else's session does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gleaner.deadline import Deadline
from gleaner.errors import UnknownSession
from gleaner.model import utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import from_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a session."""

    message_id: str
    role: str  # user | assistant
    content: str
    created_at: datetime
    mode: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer, as they are added to a session."""

    query_id: str
    session_id: str
    owner: str
    question: str
    answer: str
    mode: str
    asked_at: datetime
    metadata: Mapping[str, Any]  # of the answer


class ConversationStore:
    """The conversations table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def recent_messages(self, session_id: str, owner: str, *, limit: int, deadline: Deadline) -> list[Message]:
        """The newest `limit` messages of a session of `owner`, oldest first, in one round trip.

        Raises UnknownSession when `owner` has no such session.
        """
        # The session sorts after its messages, so that one read from the end brings both.
        items = self._table.query(
            partition=schema.session_key(session_id)["pk"],
            limit=limit + 1,
            deadline=deadline,
            newest_first=True,
            consistent=True,
        )
        if not items or items[0]["sk"] != schema.session_key(session_id)["sk"] or items[0]["owner"] != owner:
            raise UnknownSession("There is no such session. Leave session_id out to begin a new one.")
        return [_to_message(item) for item in reversed(items[1:])]

    def add_turn(self, turn: Turn, *, new_session: bool, deadline: Deadline) -> None:
        """Add a question and its answer to a session, or begin the session with them: all or nothing.

        Adding the same turn again changes nothing. Raises UnknownSession when the session was deleted meanwhile.
        """
        actions = [self._session_action(turn, new_session)]
        actions += [self._table.new_item(item) for item in _to_items(turn)]
        try:
            self._table.transact(actions, deadline=deadline)
        except ConditionFailed as error:
            if 1 in error.positions:  # the question is there: this turn was written by an earlier try
                return
            raise UnknownSession("The session was deleted while the question was answered.") from error

    def _session_action(self, turn: Turn, new_session: bool) -> dict[str, Any]:
        now = utc_now()
        if new_session:
            session = {
                "session_id": turn.session_id,
                "owner": turn.owner,
                "created_at": now,
                "updated_at": now,
                "message_count": 2,
            }
            return self._table.new_item(schema.session_key(turn.session_id) | session)
        return self._table.update(
            schema.session_key(turn.session_id),
            expression="SET #updated_at = :now ADD #message_count :two",
            condition="#owner = :owner",  # a deleted session must not come back as a stump
            values={":now": now, ":two": 2, ":owner": turn.owner},
        )


def _to_items(turn: Turn) -> list[dict[str, Any]]:
    return [
        schema.message_key(turn.session_id, turn.query_id, position)
        | {
            "message_id": message_id(turn.query_id, role),
            "role": role,
            "content": content,
            "created_at": moment,
            "mode": turn.mode,
            "metadata": metadata,
        }
        for position, (role, content, moment, metadata) in enumerate(
            (
                ("user", turn.question, turn.asked_at, {}),
                ("assistant", turn.answer, utc_now(), turn.metadata),
            )
        )
    ]


def message_id(query_id: str, role: str) -> str:
    """The id of a turn's message: derived, so that a turn written again is the same turn."""
    return f"{query_id}-{role}"


def _to_message(item: Mapping[str, Any]) -> Message:
    return Message(
        message_id=item["message_id"],
        role=item["role"],
        content=item["content"],
        created_at=from_timestamp(item["created_at"]),
        mode=item["mode"],
        metadata=item["metadata"],
    )
