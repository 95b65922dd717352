"""What is reserved for a question in one account, and what it comes to once its cost is known."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from gleaner.errors import DeadlineExceeded
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.quota import Limits
from gleaner.stores.usage import Account, Limit, UsageStore

_MAX_RESERVE_SECONDS = 3.0
_MAX_SETTLE_SECONDS = 3.0


class Reservation:
    """Reserves a question and what it is expected to cost, in the background."""

    def __init__(
        self,
        usage: UsageStore,
        account: Account,
        limits: Limits,
        *,
        query_id: str,
        expected_usd: float,
        executor: Executor,
        deadline: Deadline,
    ) -> None:
        self._usage = usage
        self.account = account
        self.limits = limits
        self._query_id = query_id
        self._expected_usd = expected_usd
        self._deadline = deadline
        self._refusal = executor.submit(self._reserve, deadline)

    def wait(self) -> Limit | None:
        """The limit that refuses the question. Raises StoreUnavailable, or DeadlineExceeded at the end of its time."""
        try:
            return self._refusal.result(timeout=max(0.0, self._deadline.remaining()))
        except TimeoutError as error:
            raise DeadlineExceeded("The store did not count the question in time.") from error

    def is_held(self) -> bool:
        """Whether the question is reserved, as far as the store tells; waits until it does."""
        return self._refusal.exception() is None and self._refusal.result() is None

    def is_known(self) -> bool:
        """Whether the store has answered."""
        return self._refusal.done()

    def when_known(self, act: Callable[[], None]) -> None:
        """Call `act`, in another thread, once the store has answered."""
        self._refusal.add_done_callback(lambda _: act())

    def settle(self, usd: float, *, is_counted: bool) -> None:
        """Replace what is reserved by what the question cost. Raises StoreUnavailable or DeadlineExceeded."""
        deadline = Deadline.after(_MAX_SETTLE_SECONDS)
        was_refused = self._refusal.exception() is None and self._refusal.result() is not None
        if not was_refused:
            is_settled = self._usage.settle(
                self.account,
                self._query_id,
                questions=0 if is_counted else -1,
                usd=usd - self._expected_usd,
                deadline=deadline,
            )
            if is_settled or self.is_held():  # otherwise its caller was erased in the meantime
                return
        if is_counted or usd:  # nothing was reserved, but the money is spent
            self._usage.add(self.account, questions=int(is_counted), usd=usd, deadline=deadline)

    def _reserve(self, deadline: Deadline) -> Limit | None:
        until = deadline.part(_MAX_RESERVE_SECONDS)
        return self._usage.reserve(self.account, self._query_id, self._expected_usd, self.limits, deadline=until)
