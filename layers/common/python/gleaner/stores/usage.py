"""What callers, and the environment as a whole, use on a UTC day: questions, and their estimated cost in USD."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.quota import USD_DIGITS, Limits
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.statements import Result, Statement, update

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


Refusal = Limit | StoreUnavailable | DeadlineExceeded | None  # what keeps a question out of an account, if anything


class UsageStore:
    """The accounts, one item each.

    An account names the questions in flight, each by an attribute, so that every write has effect once, however often
    it is repeated: one that reserves adds the question, one that settles takes it away. What is killed between them
    stays reserved. Methods raise StoreUnavailable or DeadlineExceeded.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.execute = table.execute

    def reserve_in_all(
        self, limits: Mapping[Account, Limits], query_id: str, usd: float, *, deadline: Deadline
    ) -> dict[Account, Refusal]:
        """As `reserve` in each of these accounts, in one request unless one of them is new. Raises nothing.

        Accounts without limits come last: no question waits for them, and they take no time from the others.
        """
        ordered = sorted(limits.items(), key=lambda item: not item[1].exist)
        reservations = [self._reservation(account, query_id, usd, its) for account, its in ordered]
        try:
            results = self._table.execute(reservations, deadline=deadline)
        except (StoreUnavailable, DeadlineExceeded) as error:
            return dict.fromkeys(limits, error)
        refusals: dict[Account, Refusal] = {}
        for place, ((account, its), result) in enumerate(zip(ordered, results, strict=True)):
            share = deadline.share(len(ordered) - place)
            try:
                refusals[account] = self._read_refusal(result, account, query_id, usd, its, share)
            except (StoreUnavailable, DeadlineExceeded) as error:
                refusals[account] = error
        return refusals

    def reserve(
        self, account: Account, query_id: str, usd: float, limits: Limits, *, deadline: Deadline
    ) -> Limit | None:
        """Count a question and what it is expected to cost, unless a limit is reached. Return that limit.

        Of any number of writers at once, no more than `limits.questions` have a question counted. The limit of money
        refuses once the sum has reached it.
        """
        token = _token(query_id)
        conditions = [f"attribute_not_exists(#{token})"]
        values: dict[str, Any] = {":one": 1, ":usd": usd}
        if limits.questions is not None:
            conditions.append("(attribute_not_exists(#questions) OR #questions < :max_questions)")
            values[":max_questions"] = limits.questions
        if limits.usd is not None:
            conditions.append("(attribute_not_exists(#usd) OR #usd < :max_usd)")
            values[":max_usd"] = limits.usd
        update = self._table.update(
            account.key,
            expression=f"{_SET}, #{token} = :one ADD #questions :one, #usd :usd",
            condition=" AND ".join(conditions),
            values=values | _set_values(account),
            return_existing=True,
        )
        try:
            self._table.write(update, deadline=deadline)
        except ConditionFailed as failed:
            existing = failed.existing_items.get(0, {})
            return None if token in existing else _reached(existing, limits) or Limit.USD
        return None

    def settlement(self, account: Account, query_id: str, *, questions: int, usd: float) -> Statement:
        """The statement that does what `settle` does."""
        token = _token(query_id)
        changes = f'SET "questions" = "questions" + ? SET "usd" = "usd" + ? REMOVE "{token}"'
        return update(self._table.name, account.key, changes, (questions, _round(usd)), f'"{token}" IS NOT MISSING', ())

    def settle(self, account: Account, query_id: str, *, questions: int, usd: float, deadline: Deadline) -> bool:
        """Correct what was reserved for a question by these differences. False if nothing is reserved for it."""
        token = _token(query_id)
        write = self._table.update(
            account.key,
            expression=f"ADD #questions :questions, #usd :usd REMOVE #{token}",
            condition=f"attribute_exists(#{token})",
            values={":questions": questions, ":usd": _round(usd)},
        )
        try:
            self._table.write(write, deadline=deadline)
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

    def _reservation(self, account: Account, query_id: str, usd: float, limits: Limits) -> Statement:
        token = _token(query_id)
        changes = f'SET "questions" = "questions" + ? SET "usd" = "usd" + ? SET "{token}" = ?'
        bounds = {'"questions" < ?': limits.questions, '"usd" < ?': limits.usd}
        bounds = {text: limit for text, limit in bounds.items() if limit is not None}
        conditions = " AND ".join([f'"{token}" IS MISSING', *bounds])
        return update(self._table.name, account.key, changes, (1, _round(usd), 1), conditions, tuple(bounds.values()))

    def _read_refusal(
        self, result: Result, account: Account, query_id: str, usd: float, limits: Limits, deadline: Deadline
    ) -> Limit | None:
        """What a statement's result means. One that says too little, as of a new account, is followed by a write."""
        existing = result.existing or {}
        if result.is_done or _token(query_id) in existing:  # the latter: an earlier attempt of the request did it
            return None
        return _reached(existing, limits) or self.reserve(account, query_id, usd, limits, deadline=deadline)

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


def _reached(existing: Mapping[str, Any], limits: Limits) -> Limit | None:
    """The limit that an account has reached, if it has."""
    if limits.questions is not None and existing.get("questions", 0) >= limits.questions:
        return Limit.QUESTIONS
    if limits.usd is not None and existing.get("usd", 0.0) >= limits.usd:
        return Limit.USD
    return None


def _to_usage(item: Mapping[str, Any]) -> DayUsage:
    return DayUsage(questions=int(item.get("questions", 0)), usd=float(item.get("usd", 0.0)))


def _set_values(account: Account) -> dict[str, Any]:
    return {":caller_id": account.caller_id or _EVERYONE, ":expires_at": account.expires_at}


def _token(query_id: str) -> str:
    """The attribute that stands for a question in the accounts: short, because an item is billed by its length."""
    return f"q{schema.derived_id('usage', query_id)[:_TOKEN_LENGTH]}"


def _round(usd: float) -> float:
    return round(usd, USD_DIGITS) + 0.0  # the sum turns -0.0 into 0.0, which every store takes
