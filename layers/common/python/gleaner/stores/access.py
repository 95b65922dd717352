"""Which knowledge bases a caller may use: one item for each caller, or group of a Cognito pool, that is listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner.errors import InvalidInput
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table

MAX_KNOWLEDGE_BASES = 1_000  # of one subject: an item of some 64 KB


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one subject may use; no knowledge base at all if `kb_ids` is empty."""

    subject: str  # the id of a caller, or `group:` and the name of a group
    kb_ids: frozenset[str]
    edited_kb_ids: frozenset[str] = frozenset()  # those of them whose documents it may upload and remove
    updated_at: str  # ISO 8601 in UTC


class AccessStore:
    """The access table. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def find(self, subjects: Sequence[str], *, deadline: Deadline) -> list[Grant]:
        """The grants of those subjects that are listed, read consistently and in one round trip."""
        keys = [schema.subject_key(subject) for subject in subjects]
        return [_to_grant(item) for item in self._table.get_many(keys, consistent=True, deadline=deadline)]

    def list(self, *, deadline: Deadline) -> list[Grant]:
        """All grants, ordered by subject. Reads the whole table."""
        return sorted(map(_to_grant, self._table.iter_all(deadline=deadline)), key=lambda grant: grant.subject)

    def allow(self, subject: str, kb_ids: frozenset[str], *, as_editor: bool = False, deadline: Deadline) -> bool:
        """Add knowledge bases to what a subject may use; returns whether it was not listed before.

        `as_editor`: it may also upload and remove their documents. Listing a subject limits it to these. Raises
        InvalidInput beyond MAX_KNOWLEDGE_BASES.
        """
        if len(kb_ids) > MAX_KNOWLEDGE_BASES:
            raise _too_many(subject)
        added = ("kb_ids", "edited_kb_ids") if as_editor else ("kb_ids",)
        now = utc_now()
        item = schema.subject_key(subject) | {name: set(kb_ids) for name in added} | {"updated_at": now}
        new = self._table.put(item, condition="attribute_not_exists(#subject)")
        addition = self._table.update(
            schema.subject_key(subject),
            expression=f"ADD {', '.join(f'#{name} :kb_ids' for name in added)} SET #updated_at = :updated_at",
            condition="attribute_exists(#subject) AND (attribute_not_exists(#kb_ids) OR size(#kb_ids) <= :room)",
            values={":kb_ids": set(kb_ids), ":updated_at": now, ":room": MAX_KNOWLEDGE_BASES - len(kb_ids)},
            return_existing=True,
        )
        while True:
            for is_new, action in ((True, new), (False, addition)):
                try:
                    self._table.write(action, deadline=deadline)
                except ConditionFailed as error:
                    if error.existing_items:
                        raise _too_many(subject) from error
                else:
                    return is_new

    def revoke(self, subject: str, kb_ids: frozenset[str], *, only_editing: bool = False, deadline: Deadline) -> bool:
        """Take knowledge bases from what a subject may use, or `only_editing` their documents.

        It stays listed, even without any. Returns False, without a change, if it is not listed.
        """
        taken = ("edited_kb_ids",) if only_editing else ("kb_ids", "edited_kb_ids")
        removal = self._table.update(
            schema.subject_key(subject),
            expression=f"DELETE {', '.join(f'#{name} :kb_ids' for name in taken)} SET #updated_at = :updated_at",
            condition="attribute_exists(#subject)",
            values={":kb_ids": set(kb_ids), ":updated_at": utc_now()},
        )
        return self._write_if(removal, deadline)

    def revoke_all(self, subject: str, *, deadline: Deadline) -> bool:
        """List a subject as one that may use nothing; returns whether it was not listed before."""
        item = schema.subject_key(subject) | {"updated_at": utc_now()}
        while True:
            for is_new, condition in ((True, "attribute_not_exists(#subject)"), (False, "attribute_exists(#subject)")):
                if self._write_if(self._table.put(item, condition=condition), deadline):
                    return is_new

    def unlist(self, subject: str, *, deadline: Deadline) -> bool:
        """Remove a subject from the list, so that the rule for unlisted callers holds; returns whether it was there."""
        deletion = self._table.delete(schema.subject_key(subject), condition="attribute_exists(#subject)")
        return self._write_if(deletion, deadline)

    def _write_if(self, action: Mapping[str, Any], deadline: Deadline) -> bool:
        try:
            self._table.write(action, deadline=deadline)
        except ConditionFailed:
            return False
        return True


def _too_many(subject: str) -> InvalidInput:
    return InvalidInput(f"{subject} would have more than {MAX_KNOWLEDGE_BASES:,} knowledge bases. Revoke some first.")


def _to_grant(item: Mapping[str, Any]) -> Grant:
    # DynamoDB has no empty sets: the attribute is missing where nothing is left.
    kb_ids, edited_kb_ids = (frozenset(item.get(name, ())) for name in ("kb_ids", "edited_kb_ids"))
    return Grant(subject=item["subject"], kb_ids=kb_ids, edited_kb_ids=edited_kb_ids, updated_at=item["updated_at"])
