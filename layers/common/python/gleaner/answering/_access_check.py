"""Reads what the caller may use and read beside the history and the first call of the model."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from gleaner.answering.exchange import QuestionRequest
from gleaner.errors import NotAllowed, StoreUnavailable


class AccessCheck:
    """Whether the caller may use the knowledge base of a question, which others, and whose documents."""

    def __init__(self, request: QuestionRequest, kb_id: str, executor: Executor) -> None:
        self._request = request
        self.kb_id = kb_id
        self._found = executor.submit(lambda: (request.admit(kb_id), request.find_groups()))

    def begin(self) -> frozenset[str] | None:
        """What the caller may use, as far as it is known; waits only if there is doubt that the caller is admitted.

        Nothing may come of it before `wait` has returned. Raises as `wait` does.
        """
        if not self._found.done():
            try:
                return self._request.expect(self.kb_id)
            except (NotAllowed, StoreUnavailable):
                pass
        return self.wait()

    def wait(self) -> frozenset[str] | None:
        """What the caller is limited to. Raises NotAllowed, StoreUnavailable or DeadlineExceeded."""
        return self._found.result()[0]

    def groups(self) -> frozenset[str]:
        """The groups of the caller. Raises as `wait` does."""
        return self._found.result()[1]

    def is_held(self) -> bool:
        """Whether the caller is admitted; waits until that is known."""
        return self._found.exception() is None

    def is_known(self) -> bool:
        """Whether it is known."""
        return self._found.done()

    def when_known(self, act: Callable[[], None]) -> None:
        """Call `act`, in another thread, once it is known."""
        self._found.add_done_callback(lambda _: act())
