"""What is reserved for a question in the accounts, and what it comes to once its cost is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import partial
from typing import TypedDict

from gleaner.answering._closing import ClosingWrite
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.quota import Limits
from gleaner.stores.statements import Result
from gleaner.stores.usage import Account, Limit, Refusal, UsageStore

_MAX_RESERVE_SECONDS = 3.0
_TOO_LATE = "The store did not count the question in time."


class _Difference(TypedDict):
    """Between what a question came to and what was reserved for it."""

    questions: int
    usd: float


class Reservations:
    """Reserves a question and what it is expected to cost, in the background, in all accounts at once."""

    def __init__(
        self,
        usage: UsageStore,
        limits: Mapping[Account, Limits],
        *,
        query_id: str,
        expected_usd: float,
        executor: Executor,
        deadline: Deadline,
    ) -> None:
        self._usage = usage
        self._query_id = query_id
        self._expected_usd = expected_usd
        self._deadline = deadline
        until = deadline.part(_MAX_RESERVE_SECONDS)
        reserve = partial(usage.reserve_in_all, limits, query_id, expected_usd, deadline=until)
        self._refusals: Future[dict[Account, Refusal]] = executor.submit(reserve)

    def wait(self, account: Account) -> Limit | None:
        """The limit that refuses the question. Raises StoreUnavailable, or DeadlineExceeded at the end of its time."""
        try:
            refusal = self._refusals.result(timeout=max(0.0, self._deadline.remaining()))[account]
        except TimeoutError as error:
            raise DeadlineExceeded(_TOO_LATE) from error
        if isinstance(refusal, DeadlineExceeded) and self._deadline.remaining() > 0:
            # Only the time of the reservation is up.
            raise StoreUnavailable(_TOO_LATE) from refusal
        if isinstance(refusal, StoreUnavailable | DeadlineExceeded):
            raise refusal
        return refusal

    def are_held(self, *accounts: Account) -> bool:
        """Whether the question is reserved in these accounts, as far as the store tells; waits until it does."""
        refusals = self._refusals.result()
        return all(refusals[account] is None for account in accounts)

    def are_known(self) -> bool:
        """Whether the store has answered."""
        return self._refusals.done()

    def when_known(self, act: Callable[[], None]) -> None:
        """Call `act`, in another thread, once the store has answered."""
        self._refusals.add_done_callback(lambda _: act())

    def settlement(self, account: Account, usd: float, *, is_counted: bool) -> ClosingWrite:
        """The write that replaces what is reserved in an account by what the question cost."""
        difference = _Difference(questions=0 if is_counted else -1, usd=usd - self._expected_usd)
        statement = None
        if not self._is_refused(account):
            statement = self._usage.settlement(account, self._query_id, **difference)

        def finish(result: Result, deadline: Deadline) -> None:
            """Do what the statement has not done."""
            if result.is_done or (statement and self._settle(account, difference, result, deadline)):
                return
            if is_counted or usd:  # nothing was reserved, but the money is spent
                self._usage.add(account, questions=int(is_counted), usd=usd, deadline=deadline)

        return ClosingWrite(f"usage of {usd:g} USD", finish, statement)

    def _settle(self, account: Account, difference: _Difference, result: Result, deadline: Deadline) -> bool:
        """Settle what a statement did not. False if the store had not told that it reserved anything, and did not.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        is_settled = not result.is_refused and self._usage.settle(
            account, self._query_id, deadline=deadline, **difference
        )
        return is_settled or self.are_held(account)  # held, but not settled: its caller was erased in the meantime

    def _is_refused(self, account: Account) -> bool:
        return isinstance(self._refusals.result()[account], Limit)
