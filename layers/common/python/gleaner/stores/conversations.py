"""Sessions and their messages. Ownership is checked here: another caller's session is treated as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gleaner.errors import UnknownQuery, UnknownSelection, UnknownSession
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import _long_text, schema
from gleaner.stores.conversation_items import (
    Message,
    SelectedText,
    Session,
    Turn,
    selection_values,
    to_message,
    to_selected_text,
    to_session,
    turn_values,
)
from gleaner.stores.dynamodb import ConditionFailed, Table

Position = tuple[str, str]  # updated_at and id of the last session of a page

UNKNOWN_SESSION = "There is no such session. Leave session_id out to start a new one."


class ConversationStore:
    """The conversations table. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(self, session: Session, *, deadline: Deadline) -> None:
        """Create a session without messages. Idempotent."""
        self._table.put_new(_new_session(session), deadline=deadline)

    def get(self, session_id: str, owner: str, *, deadline: Deadline) -> Session:
        """Read a session of `owner`. Raises UnknownSession."""
        item = self._table.get(schema.session_key(session_id), deadline=deadline)
        return to_session(_require_owner(item, owner))

    def list_sessions(self, owner: str, *, limit: int, after: Position | None, deadline: Deadline) -> list[Session]:
        """The next `limit` sessions of `owner` after a position, most recently used first."""
        items = self._table.query_index(
            schema.CONVERSATIONS.indexes[0],
            partition=owner,
            position=lambda item: (item["updated_at"], item["session_id"]),
            after=after,
            limit=limit,
            deadline=deadline,
        )
        return [to_session(item) for item in items]

    def get_recent_messages(self, session_id: str, owner: str, *, limit: int, deadline: Deadline) -> list[Message]:
        """The newest `limit` messages of a session of `owner`, oldest first.

        Takes one round trip, or two if a message is long. Raises UnknownSession when `owner` has no such session.
        """
        # The session item sorts directly after its messages: one query from the end returns both.
        items = self._table.query(
            partition=schema.session_key(session_id)["pk"],
            limit=limit + 1,
            deadline=deadline,
            newest_first=True,
            consistent=True,
        )
        session = items[0] if items and items[0]["sk"] == schema.session_key(session_id)["sk"] else None
        _require_owner(session, owner)
        return self._load_messages(list(reversed(items[1:])), deadline)

    def list_messages(
        self, session_id: str, *, limit: int, after: str, deadline: Deadline
    ) -> list[tuple[str, Message]]:
        """The next `limit` messages after the position `after`, oldest first, each with its position.

        Does not check the owner: call `get` first.
        """
        items = self._table.query_all(
            partition=schema.session_key(session_id)["pk"],
            begins_with=schema.MESSAGE_PREFIX,
            after=after,
            limit=limit,
            deadline=deadline,
        )
        return list(zip([item["sk"] for item in items], self._load_messages(items, deadline), strict=True))

    def get_selected_text(self, session_id: str, query_id: str, *, deadline: Deadline) -> SelectedText:
        """The text that the question of a query was asked about. Raises UnknownSelection.

        Does not check the owner: call `get` first.
        """
        item = self._table.get(schema.selection_key(session_id, query_id), deadline=deadline)
        if item is None:
            raise UnknownSelection("This session has no such message, or it did not ask about a selected text.")
        keys = _piece_keys(item, "selected_text")
        pieces = self._load_pieces(keys, deadline)
        return to_selected_text(item, [pieces[key["sk"]] for key in keys])

    def add_turn(self, turn: Turn, *, new_session: Session | None, deadline: Deadline) -> None:
        """Add a question and its answer to a session, or create the session with them, in one transaction.

        Idempotent. Raises UnknownSession when the session was deleted in the meantime.
        """
        actions = [self._session_action(turn, new_session)]
        actions += [self._table.new_item(item) for item in _turn_items(turn)]
        try:
            self._table.transact(actions, deadline=deadline)
        except ConditionFailed as error:
            if 1 in error.positions:  # the question exists: an earlier attempt wrote this turn
                return
            raise UnknownSession("The session was deleted while the question was being answered.") from error

    def note_query(self, owner: str, query_id: str, tool_call_count: int, *, deadline: Deadline) -> None:
        """Remember a query to whose tool calls no session leads: it failed before there was one, or was not kept."""
        key = schema.noted_key(owner, query_id)
        item = {"query_id": query_id, "tool_call_count": tool_call_count}
        self._table.put_new(key | item, deadline=deadline)

    def require_noted(self, owner: str, query_id: str, *, deadline: Deadline) -> None:
        """Raises UnknownQuery unless this query of the caller is noted, which erasing the caller deletes."""
        if self._table.get(schema.noted_key(owner, query_id), deadline=deadline) is None:
            raise UnknownQuery("The query does not exist any more.")

    def _load_messages(self, items: Sequence[dict[str, Any]], deadline: Deadline) -> list[Message]:
        heads = [item for item in items if item["sk"].startswith(schema.MESSAGE_PREFIX)]
        pieces = self._load_pieces([key for head in heads for key in _piece_keys(head, "content")], deadline)
        return [to_message(head, [pieces[key["sk"]] for key in _piece_keys(head, "content")]) for head in heads]

    def _load_pieces(self, keys: Sequence[schema.Key], deadline: Deadline) -> dict[str, bytes]:
        """The further pieces of long texts, by sort key."""
        if not keys:
            return {}
        return {item["sk"]: item["piece"] for item in self._table.get_many(keys, deadline=deadline, consistent=True)}

    def _session_action(self, turn: Turn, new_session: Session | None) -> dict[str, Any]:
        title = turn.title()
        titled = {} if title is None else {"title": title}
        if new_session is not None:
            return self._table.new_item(_new_session(new_session) | turn.totals() | titled)
        totals = turn.totals()
        # Of two first questions at once, that of the turn that is stored first gives the title.
        naming = ", #title = if_not_exists(#title, :title)" if titled else ""
        return self._table.update(
            schema.session_key(turn.session_id),
            expression=f"SET #updated_at = :now{naming} ADD {', '.join(f'#{name} :{name}' for name in totals)}",
            # An update without this condition would recreate a session that was deleted.
            condition="#owner = :owner AND attribute_not_exists(#deleted_at)",
            values={":now": utc_now(), ":owner": turn.owner}
            | {f":{name}": value for name, value in (totals | titled).items()},
        )


def _piece_keys(head: Mapping[str, Any], attribute: str) -> list[schema.Key]:
    key = {"pk": head["pk"], "sk": head["sk"]}
    return [schema.piece_key(key, number) for number in range(_long_text.count_pieces(attribute, head))]


def _require_owner(item: Mapping[str, Any] | None, owner: str) -> Mapping[str, Any]:
    if item is None or item["owner"] != owner or "deleted_at" in item:
        raise UnknownSession(UNKNOWN_SESSION)
    return item


def _new_session(session: Session) -> dict[str, Any]:
    return schema.session_key(session.session_id) | {
        "session_id": session.session_id,
        "owner": session.owner,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "metadata": session.metadata,
    }


def _turn_items(turn: Turn) -> list[dict[str, Any]]:
    """The items of a turn. The question comes first: if its condition fails, the turn was already written."""
    question, answer = (schema.message_key(turn.session_id, turn.query_id, position) for position in (0, 1))
    packed_items = list(zip((question, answer), turn_values(turn), strict=True))
    if turn.selected_text is not None:
        packed_items.append((schema.selection_key(turn.session_id, turn.query_id), selection_values(turn)))
    items: list[dict[str, Any]] = []
    for key, (attributes, pieces) in packed_items:
        items.append(key | attributes)
        items += [schema.piece_key(key, number) | {"piece": piece} for number, piece in enumerate(pieces)]
    return items
