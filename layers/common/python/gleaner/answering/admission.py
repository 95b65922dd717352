"""Admits questions by what their callers may use and the quotas of the day, and counts what they cost.

Both run beside the reading of the history and the first call of the model, so that no answer waits for them. Only where
the question before was not admitted, nothing is asked until this one is: a process asks the model at most once in vain
after an admitted question. docs/decisions/0037-quotas-of-a-day.md and 0042 beside it have the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from types import TracebackType
from typing import Self

from gleaner.answering._access_check import AccessCheck
from gleaner.answering._closing import ClosingWrite, close
from gleaner.answering._held_events import HeldEvents
from gleaner.answering._reservation import Reservations
from gleaner.answering.events import Sink, ignore
from gleaner.answering.exchange import Asker
from gleaner.errors import QuotaExceeded
from gleaner.model import utc_now
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost, Prices, expected_usd
from gleaner.runtime.quota import Limits, Quota, seconds_to_reset
from gleaner.stores.usage import Account, Limit, UsageStore

_CALLER_REFUSALS = {
    Limit.QUESTIONS: "Your questions of today are used up: the limit is {limits.questions:,}.",
    Limit.USD: "What your questions of today may cost is used up: the limit is {limits.usd:,g} USD.",
}
_ENVIRONMENT_REFUSAL = "What the questions to this service may take in a day is used up."
_ADVICE = "Ask again after midnight UTC."


class Admissions:
    """Admits what one process is asked."""

    def __init__(self, usage: UsageStore, quota: Quota, prices: Prices) -> None:
        self._usage = usage
        self._quota = quota
        self._expected_usd = expected_usd(prices)
        self._doubtful: set[Account] = set()  # whose last question in this process was not admitted

    def admit(
        self, asker: Asker, executor: Executor, deadline: Deadline, access: AccessCheck | None = None
    ) -> Admission:
        """Begin to reserve a question in the accounts of its caller and of the environment.

        `access` is the check of what its caller may use, where that is not known yet.
        """
        day = utc_now().date()
        quota = Quota() if asker.is_admin and self._quota.admins_exempt else self._quota
        accounts = {Account(day, asker.caller_id): quota.caller, Account(day): quota.environment}
        self._doubtful.difference_update([account for account in tuple(self._doubtful) if account.day != day])
        reservations = Reservations(
            self._usage,
            accounts,
            query_id=asker.query_id,
            expected_usd=self._expected_usd,
            executor=executor,
            deadline=deadline,
        )
        close_with = partial(close, self._usage.execute)
        background = Background(executor, deadline)
        return Admission(accounts, reservations, self._doubtful, close_with, background, access)


class Admission:
    """What lets one question in. Leaving the context gives its place in the quotas back unless its cost is written."""

    def __init__(
        self,
        limits: Mapping[Account, Limits],
        reservations: Reservations,
        doubtful: set[Account],
        close_with: Callable[[Callable[[], Sequence[ClosingWrite]]], None],
        background: Background,
        access: AccessCheck | None,
    ) -> None:
        """`doubtful`: accounts whose last question was not admitted, which this one may change."""
        self._limits = limits
        self._reservations = reservations
        self._limited = [account for account, its in limits.items() if its.exist]
        self._access = access
        self._doubtful = doubtful
        self._close_with = close_with
        self._background = background
        self._held_events: HeldEvents | None = None
        self._is_settled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_settled:
            self.settle(None, is_counted=False)
        self._background.flush()

    def hold(self, emit: Sink) -> Sink:
        """Where events go that only an admitted question may show."""
        if emit is ignore or not (self._limited or self._access):
            return emit
        self._held_events = HeldEvents(emit)
        self._reservations.when_known(self._release_if_admitted)
        if self._access is not None:
            self._access.when_known(self._release_if_admitted)
        return self._held_events

    def require_early(self) -> None:
        """Wait for the reservation if the question before was not admitted. Raises as `require` does."""
        if not self._doubtful.isdisjoint(self._limited):
            self.require()

    def require(self) -> None:
        """Wait for the access, and for the reservation where there is a limit.

        Raises NotAllowed, QuotaExceeded, StoreUnavailable or DeadlineExceeded. A store that fails lets nothing through:
        questions would go uncounted, and could not be kept either.
        """
        if self._access is not None:
            self._access.wait()
        for account in self._limited:
            self._doubtful.add(account)
            limit = self._reservations.wait(account)
            if limit is not None:
                raise _to_error(account, self._limits[account], limit)
            self._doubtful.discard(account)
        self._release_if_admitted()

    def settle(
        self,
        cost: Cost | None,
        *,
        is_counted: bool,
        beside: Callable[[], Sequence[ClosingWrite]] = tuple,
        background: Background | None = None,
    ) -> None:
        """Begin to write what the question cost, with what else is to be written `beside` it, in one request.

        `is_counted`: the model answered, whatever came of it. A question that is not admitted does not count, but what
        it cost does.
        """
        self._is_settled = True
        usd = (cost.estimated_usd if cost else None) or 0.0

        def prepare() -> list[ClosingWrite]:
            settle = partial(self._reservations.settlement, usd=usd, is_counted=is_counted and self._is_admitted())
            return [*map(settle, self._limits), *beside()]

        (background or self._background).submit(f"usage of {usd:g} USD", lambda: self._close_with(prepare))

    def _is_admitted(self) -> bool:
        """Whether the question is admitted; waits until that is known."""
        return self._reservations.are_held(*self._limited) and (self._access is None or self._access.is_held())

    def _release_if_admitted(self) -> None:
        known = self._reservations.are_known() and (self._access is None or self._access.is_known())
        if self._held_events is not None and known and self._is_admitted():
            self._held_events.release()


def _to_error(account: Account, limits: Limits, limit: Limit) -> QuotaExceeded:
    is_own = account.caller_id is not None
    reason = _CALLER_REFUSALS[limit].format(limits=limits) if is_own else _ENVIRONMENT_REFUSAL
    return QuotaExceeded(f"{reason} {_ADVICE}", retry_after=seconds_to_reset(utc_now()), of_caller=is_own)
