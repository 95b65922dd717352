"""What callers, and the environment as a whole, use on a UTC day: questions, and their estimated cost in USD."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from gleaner.runtime.deadline import Deadline
from gleaner.runtime.quota import USD_DIGITS, Limits
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table

KEPT_DAYS = 35  # after which DynamoDB deletes an account
_MAX_LATE_DAYS = 3  # it does so within a few days
_EVERYONE = "*"  # the caller of the environment's account; no caller has this id
_SET = "SET #caller_id = :caller_id, #expires_at = :expires_at"  # with every write that may make the item
_TOKEN_LENGTH = 12  # 48 bits; an account has at most some hundred questions in flight


@dataclass(frozen=True, slots=True)
class Account:
    """Whose use is counted, and on which day; without a caller, that of the whole environment."""

    day: date
    caller_id: str | None = None

    @property
    def key(self) -> schema.Key:
        """The key of its item."""
        if self.caller_id is None:
            return schema.environment_usage_key(self.day)
        return schema.caller_usage_key(self.day, schema.caller_hash(self.caller_id))

    @property
    def expires_at(self) -> int:
        """When its item expires, in seconds since 1970."""
        return int(datetime.combine(self.day + timedelta(days=KEPT_DAYS), time(), UTC).timestamp())


class Limit(StrEnum):
    """What refuses a question."""

    QUESTIONS = "questions"
    USD = "usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage:
    """The use of a day. Questions in flight are in it, each with what it is expected to cost."""

    questions: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerUsage:
    """The use of one caller on a day. `position` is its place in the list."""

    caller_id: str
    usage: DayUsage
    position: str


class UsageStore:
    """The accounts, one item each.

    An account names the questions in flight, so that every write has effect once, however often it is repeated: one
    that reserves adds the question, one that settles takes it away. What is killed between them stays reserved. Methods
    raise StoreUnavailable or DeadlineExceeded.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def reserve(
        self, account: Account, query_id: str, usd: float, limits: Limits, *, deadline: Deadline
    ) -> Limit | None:
        """Count a question and what it is expected to cost, unless a limit is reached. Return that limit.

        Of any number of writers at once, no more than `limits.questions` have a question counted. The limit of money
        refuses once the sum has reached it.
        """
        token = _token(query_id)
        conditions = ["(attribute_not_exists(#in_flight) OR NOT contains(#in_flight, :one_query))"]
        values = {":one": 1, ":usd": usd, ":query": {token}, ":one_query": token}
        if limits.questions is not None:
            conditions.append("(attribute_not_exists(#questions) OR #questions < :max_questions)")
            values[":max_questions"] = limits.questions
        if limits.usd is not None:
            conditions.append("(attribute_not_exists(#usd) OR #usd < :max_usd)")
            values[":max_usd"] = limits.usd
        update = self._table.update(
            account.key,
            expression=f"{_SET} ADD #questions :one, #usd :usd, #in_flight :query",
            condition=" AND ".join(conditions),
            values=values | _set_values(account),
            return_existing=True,
        )
        try:
            self._table.write(update, deadline=deadline)
        except ConditionFailed as failed:
            return _find_limit(failed.existing_items.get(0, {}), token, limits)
        return None

    def settle(self, account: Account, query_id: str, *, questions: int, usd: float, deadline: Deadline) -> bool:
        """Correct what was reserved for a question by these differences. False if nothing is reserved for it."""
        token = _token(query_id)
        update = self._table.update(
            account.key,
            expression="ADD #questions :questions, #usd :usd DELETE #in_flight :query",
            condition="contains(#in_flight, :one_query)",
            values={":questions": questions, ":usd": _round(usd), ":query": {token}, ":one_query": token},
        )
        try:
            self._table.write(update, deadline=deadline)
        except ConditionFailed:
            return False
        return True

    def add(self, account: Account, *, questions: int, usd: float, deadline: Deadline) -> None:
        """Count what was used without a reservation. If its response is lost, it may be counted twice."""
        update = self._table.update(
            account.key,
            expression=f"{_SET} ADD #questions :questions, #usd :usd",
            condition="",
            values={":questions": questions, ":usd": _round(usd)} | _set_values(account),
        )
        self._table.write(update, deadline=deadline)

    def read(self, account: Account, *, deadline: Deadline) -> DayUsage:
        """The use of one account."""
        return _to_usage(self._table.get(account.key, deadline=deadline) or {})

    def list_callers(self, day: date, *, limit: int, after: str, deadline: Deadline) -> list[CallerUsage]:
        """At most `limit` callers who asked on a day, after a position, in no order that means anything."""
        items = self._table.query_all(
            partition=schema.caller_usage_key(day, "")["pk"],
            begins_with=schema.USED_BY_PREFIX,
            after=after,
            limit=limit,
            deadline=deadline,
        )
        return [CallerUsage(caller_id=item["caller_id"], usage=_to_usage(item), position=item["sk"]) for item in items]

    def erase(self, caller_id: str, today: date, *, deadline: Deadline) -> None:
        """Delete the accounts of a caller. What the environment used remains, which names nobody."""
        days = [today - timedelta(days=age) for age in range(-1, KEPT_DAYS + _MAX_LATE_DAYS)]
        keys = [Account(day, caller_id).key for day in days]
        found = self._table.get_many(keys, deadline=deadline, consistent=True)
        self._table.delete_many([{"pk": item["pk"], "sk": item["sk"]} for item in found], deadline=deadline)


def _find_limit(existing: Mapping[str, Any], token: str, limits: Limits) -> Limit | None:
    """The limit that refused a question; None if an earlier attempt of the same write had counted it."""
    if token in existing.get("in_flight", ()):
        return None
    if limits.questions is not None and existing.get("questions", 0) >= limits.questions:
        return Limit.QUESTIONS
    return Limit.USD


def _to_usage(item: Mapping[str, Any]) -> DayUsage:
    return DayUsage(questions=int(item.get("questions", 0)), usd=float(item.get("usd", 0.0)))


def _set_values(account: Account) -> dict[str, Any]:
    return {":caller_id": account.caller_id or _EVERYONE, ":expires_at": account.expires_at}


def _token(query_id: str) -> str:
    """What stands for a question in the accounts: short, because an item is billed by its length."""
    return schema.derived_id("usage", query_id)[:_TOKEN_LENGTH]


def _round(usd: float) -> float:
    return round(usd, USD_DIGITS) + 0.0  # the sum turns -0.0 into 0.0, which every store takes
