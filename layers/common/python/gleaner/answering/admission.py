"""Admits questions by what their callers may use and the quotas of the day, and counts what they cost.

Both run beside the reading of the history and the first call of the model, so that no answer waits for them. Only where
the question before was not admitted, nothing is asked until this one is: a process asks the model at most once in vain
after an admitted question. docs/decisions/0037-quotas-of-a-day.md and 0042 beside it have the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from types import TracebackType
from typing import Self

from gleaner.answering._access_check import AccessCheck
from gleaner.answering._held_events import HeldEvents
from gleaner.answering._reservation import Reservation
from gleaner.answering.events import Sink, ignore
from gleaner.answering.exchange import Asker
from gleaner.errors import QuotaExceeded
from gleaner.model import utc_now
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost, Prices, expected_usd
from gleaner.runtime.quota import Quota, seconds_to_reset
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
        reserve = partial(
            Reservation,
            self._usage,
            query_id=asker.query_id,
            expected_usd=self._expected_usd,
            executor=executor,
            deadline=deadline,
        )
        self._doubtful.difference_update([account for account in tuple(self._doubtful) if account.day != day])
        reservations = [reserve(account, limits) for account, limits in accounts.items()]
        return Admission(reservations, self._doubtful, Background(executor, deadline), access)


class Admission:
    """What lets one question in. Leaving the context gives its place in the quotas back unless its cost is written."""

    def __init__(
        self,
        reservations: Sequence[Reservation],
        doubtful: set[Account],
        background: Background,
        access: AccessCheck | None,
    ) -> None:
        """`doubtful`: accounts whose last question was not admitted, which this one may change."""
        self._reservations = reservations
        self._limited = [one for one in reservations if one.limits.exist]
        self._access = access
        self._conditions: list[Reservation | AccessCheck] = [*self._limited, *([access] if access else [])]
        self._doubtful = doubtful
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
        if emit is ignore or not self._conditions:
            return emit
        self._held_events = HeldEvents(emit)
        for condition in self._conditions:
            condition.when_known(self._release_if_admitted)
        return self._held_events

    def require_early(self) -> None:
        """Wait for the reservation if the question before was not admitted. Raises as `require` does."""
        if any(one.account in self._doubtful for one in self._limited):
            self.require()

    def require(self) -> None:
        """Wait for the access, and for the reservation where there is a limit.

        Raises NotAllowed, QuotaExceeded, StoreUnavailable or DeadlineExceeded. A store that fails lets nothing through:
        questions would go uncounted, and could not be kept either.
        """
        if self._access is not None:
            self._access.wait()
        for reservation in self._limited:
            self._doubtful.add(reservation.account)
            limit = reservation.wait()
            if limit is not None:
                raise _to_error(reservation, limit)
            self._doubtful.discard(reservation.account)
        self._release_if_admitted()

    def settle(self, cost: Cost | None, *, is_counted: bool) -> None:
        """Begin to write what the question cost. `is_counted`: the model answered, whatever came of it.

        A question that is not admitted does not count, but what it cost does.
        """
        self._is_settled = True
        usd = (cost.estimated_usd if cost else None) or 0.0
        for reservation in self._reservations:
            write = partial(self._settle_one, reservation, usd, is_counted=is_counted)
            self._background.submit(f"usage of {usd:g} USD", write)

    def _settle_one(self, reservation: Reservation, usd: float, *, is_counted: bool) -> None:
        is_admitted = all(one.is_held() for one in self._conditions)
        reservation.settle(usd, is_counted=is_counted and is_admitted)

    def _release_if_admitted(self) -> None:
        if self._held_events is not None and all(one.is_known() and one.is_held() for one in self._conditions):
            self._held_events.release()


def _to_error(reservation: Reservation, limit: Limit) -> QuotaExceeded:
    is_own = reservation.account.caller_id is not None
    reason = _CALLER_REFUSALS[limit].format(limits=reservation.limits) if is_own else _ENVIRONMENT_REFUSAL
    return QuotaExceeded(f"{reason} {_ADVICE}", retry_after=seconds_to_reset(utc_now()), of_caller=is_own)
