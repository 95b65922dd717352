"""Asks all cases of a file and measures them, as often as wished; what could not be asked is kept apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gleaner_local.evaluation.asking import Asker, NotAsked
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.figures import Measured, measure
from gleaner_local.extractive.model import MODEL as LOCAL_MODEL

_MAX_UNANSWERED = 5  # in a row, until the rest is not tried
Progress = Callable[[int], None]  # is told how many questions were dealt with


@dataclass(slots=True)
class Outcome:
    """A case with what was measured each time that it was asked, or why it could not be asked."""

    case: Case
    measured: list[Measured] = field(default_factory=list)
    not_asked: str = ""


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
    """One run over cases. `model` is the model that answered."""

    def __init__(self, asker: Asker, settings: RunSettings, progress: Progress = lambda _count: None) -> None:
        self._asker = asker
        self._settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self._unanswered = 0  # in a row
        self._stopped_by = ""
        self.model = ""

    def ask_all(self, cases: Sequence[Case]) -> list[Outcome]:
        """Ask the cases; the outcomes are in their order.

        What may use the web is asked one after another, in order, since one answer may teach another. The rest depends
        on nothing, so the outcome is the same however many are asked at once.
        """
        outcomes = [Outcome(case) for case in cases]
        chained = [outcome for outcome in outcomes if outcome.case.may_use_the_web]
        free = [outcome for outcome in outcomes if not outcome.case.may_use_the_web]
        for _ in range(self._settings.repeats):
            with ThreadPoolExecutor(self._settings.concurrency) as pool:
                try:
                    jobs = [pool.submit(self._ask_each, group) for group in (chained, *([one] for one in free))]
                    for job in jobs:
                        job.result()
                except BaseException:
                    self._stopped_by = "the run was interrupted"
                    pool.shutdown(cancel_futures=True)
                    raise
        return outcomes

    def _ask_each(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self._ask(outcome)
            self._progress(1)

    def _ask(self, outcome: Outcome) -> None:
        """Ask a case once more. One that could not be asked each time counts as not asked."""
        if outcome.not_asked:
            return
        try:
            measured = self._measure(outcome.case)
        except NotAsked as reason:
            outcome.not_asked = str(reason)
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


class NotPlanted(NotAsked):
    """The case needs passages or pages that this service does not have."""
