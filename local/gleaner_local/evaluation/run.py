"""Asks all cases of a file and measures them, as often as wished; what could not be asked is kept apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gleaner_local.evaluation.asking import Asker, NotAsked
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.measuring import Measured, measure
from gleaner_local.extractive.model import MODEL as LOCAL_MODEL

_MAX_UNANSWERED = 5  # in a row, until the rest is not tried
INTERRUPTED = "the run was interrupted"
Progress = Callable[[int], None]  # is told how many questions were dealt with


@dataclass(slots=True)
class Outcome:
    """A case with what was measured each time that it was asked, or why it was not asked."""

    case: Case
    measured: list[Measured] = field(default_factory=list)
    not_asked: str = ""
    left_out: bool = False  # because it needs what this service cannot have


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How cases are asked.

    `both_ways`: also by the route that does not stream; None: if the local model answers, which costs nothing.
    `concurrency`: how many cases that do not depend on each other are asked at once. `plants`: whether planted passages
    and pages are in place.
    """

    repeats: int = 1
    both_ways: bool | None = None
    concurrency: int = 1
    has_planted_passages: bool = False
    has_planted_pages: bool = False


class Run:
    """One run over cases. `model` is the model that answered; `is_interrupted`, whether somebody ended it early."""

    def __init__(self, asker: Asker, settings: RunSettings, progress: Progress = lambda _count: None) -> None:
        self._asker = asker
        self._settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self._unanswered = 0  # in a row
        self._stopped_by = ""
        self.model = ""
        self.is_interrupted = False

    def ask_all(self, cases: Sequence[Case]) -> list[Outcome]:
        """Ask the cases; the outcomes are in their order.

        What may use the web is asked one after another, in order, since one answer may teach another. The rest depends
        on nothing, so the outcome is the same however many are asked at once. What was measured before an interruption
        (KeyboardInterrupt) stays: of several rounds those that were finished.
        """
        outcomes = [Outcome(case) for case in cases]
        finished = 0
        try:
            while finished < self._settings.repeats:
                self._ask_round(outcomes)
                finished += 1
        except KeyboardInterrupt:
            _leave_unfinished(outcomes, finished)
        return outcomes

    def _ask_round(self, outcomes: Sequence[Outcome]) -> None:
        chained = [outcome for outcome in outcomes if outcome.case.may_use_the_web]
        free = [outcome for outcome in outcomes if not outcome.case.may_use_the_web]
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            try:
                jobs = [pool.submit(self._ask_each, group) for group in (chained, *([one] for one in free))]
                for job in jobs:
                    job.result()
            except BaseException:
                self.is_interrupted = True
                self._asker.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _ask_each(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if self.is_interrupted:
                return
            self._ask(outcome)
            self._progress(1)

    def _ask(self, outcome: Outcome) -> None:
        """Ask a case once more. One that could not be asked each time counts as not asked."""
        if outcome.not_asked:
            return
        try:
            measured = self._measure(outcome.case)
        except NotAsked as reason:
            if self.is_interrupted:  # it may be the reason, and what was measured before stays
                return
            outcome.not_asked = str(reason)
            outcome.left_out = isinstance(reason, NotPlanted)
            outcome.measured.clear()
            self._note_failure(reason)
        else:
            outcome.measured.append(measured)
            self._unanswered = 0

    def _measure(self, case: Case) -> Measured:
        if self._stopped_by:
            raise NotAsked(self._stopped_by)
        self._require_plants(case)
        streamed = self._asker.ask_streamed(case)
        if streamed.answer is not None:
            self.model = streamed.answer.metadata.model
        both_ways = self._settings.both_ways
        if both_ways is None:
            both_ways = self.model == LOCAL_MODEL
        return measure(case, streamed, self._asker.ask_whole(case) if both_ways else None)

    def _require_plants(self, case: Case) -> None:
        if case.planted_passages and not self._settings.has_planted_passages:
            raise NotPlanted("its passages are planted only with --load, into a service of its own")
        if case.planted_pages and not self._settings.has_planted_pages:
            raise NotPlanted("its pages are planted only with --load and without a key of a web search")

    def _note_failure(self, reason: NotAsked) -> None:
        if isinstance(reason, NotPlanted):
            return
        with self._lock:
            self._unanswered += 1
            if not self._stopped_by and (reason.is_for_all or self._unanswered >= _MAX_UNANSWERED):
                in_a_row = "" if reason.is_for_all else f"the {_MAX_UNANSWERED} before it got no answer: "
                self._stopped_by = f"not tried, because {in_a_row}{reason}"


def _leave_unfinished(outcomes: Sequence[Outcome], finished: int) -> None:
    """Keep as many measurements of each case; all that there are if not even the first round was finished."""
    for outcome in outcomes:
        del outcome.measured[max(1, finished) :]
        if not outcome.measured and not outcome.not_asked:
            outcome.not_asked = INTERRUPTED


class NotPlanted(NotAsked):
    """The case needs passages or pages that this service does not have."""
