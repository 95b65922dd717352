"""Simulates the queue of documents, its function and the index's published limits, without waiting for any of them.

A worker is one invocation at a time of the function. It takes a message, reads the object, cuts the document and sends
its records in requests, as the loading code does. The index refuses a request beyond its tokens of a minute or its
upserts of a second; the worker then waits as `Waiting` does, whose delays are used here. A document that a function
has no time to finish goes on in another invocation, by a message of its own.

What is published: 96 text records a request, tokens a minute by plan, 100 upserts a second and namespace
(docs.pinecone.io/reference/api/database-limits); 15 minutes an invocation, 2 to 1,000 invocations of a queue
(docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html). What is not: how long the index takes for a request,
and whether its minute slides. Here a minute slides, as in the tests, and a request takes `request_seconds` and
`record_seconds` for each record.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gleaner.clients.pinecone import MAX_UPSERT_RECORDS
from gleaner.errors import KnowledgeBaseBusy
from gleaner_documents.loading.waiting import Waiting

UPSERTS_A_SECOND = 100
MINUTE, INVOCATION_SECONDS = 60.0, 900.0
RESERVE_SECONDS = 60.0  # of an invocation: whoever waits longer hands the document on
_NEARLY = 0.1


@dataclass(frozen=True, slots=True)
class Document:
    """What loading a document takes."""

    chunks: int
    tokens: int
    bytes: int = 0
    write_units: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a simulation assumes. Seconds are those of a function with 2 GB."""

    concurrency: int
    tokens_a_minute: int
    request_seconds: float = 0.25  # of a request to the index, and
    record_seconds: float = 0.01  # for each of its records, which it embeds
    document_seconds: float = 0.35  # messages, lease, object, state: round trips of a document
    cut_seconds: float = 0.004  # to read and cut what gives one chunk
    start_seconds: float = 6.0  # of a new execution environment, with the reading process


@dataclass(slots=True)
class Run:
    """What a simulation saw."""

    seconds: float = 0.0  # from the first message to the last document
    busy_seconds: float = 0.0  # of all invocations, which are billed
    waited_seconds: float = 0.0  # of these, in which the index took no more
    documents: int = 0
    requests: int = 0
    refused: int = 0
    invocations: int = 0
    handed_on: int = 0  # documents that outlasted an invocation, each time counted
    tokens: int = 0
    most_tokens_in_a_minute: int = 0

    def multiplied(self, times: float) -> Run:
        """What so many runs one after the other take."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        most = values.pop("most_tokens_in_a_minute")
        scaled = {name: type(value)(value * times) for name, value in values.items()}
        return Run(**scaled, most_tokens_in_a_minute=most)


@dataclass(slots=True)
class _Index:
    """The limits of the index. Times do not decrease."""

    tokens_a_minute: int
    _minute: deque[tuple[float, int]] = field(default_factory=deque)
    _tokens: int = 0
    _second: deque[float] = field(default_factory=deque)

    def admit(self, now: float, tokens: int) -> bool:
        while self._minute and self._minute[0][0] <= now - MINUTE:
            self._tokens -= self._minute.popleft()[1]
        while self._second and self._second[0] <= now - 1:
            self._second.popleft()
        if self._tokens + tokens > self.tokens_a_minute or len(self._second) >= UPSERTS_A_SECOND:
            return False
        self._minute.append((now, tokens))
        self._second.append(now)
        self._tokens += tokens
        return True

    @property
    def tokens(self) -> int:
        return self._tokens


@dataclass(slots=True)
class _Worker:
    """An execution environment, and the document that it is loading."""

    began: float = 0.0  # its invocation
    requests: deque[tuple[int, int]] = field(default_factory=deque)  # records and tokens that are still to be sent
    waits: int = 0
    slept: float = 0.0
    waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = Waiting(say=_say_nothing, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept = seconds

    def next_wait(self) -> float:
        """The seconds that the loading code waits before it sends a refused request again."""
        self.waiting(KnowledgeBaseBusy("refused"), self.waits)
        self.waits += 1
        return self.slept


MAX_SIMULATED = 20_000


def simulate_many(documents: Sequence[Document], count: int, circumstances: Circumstances) -> Run:
    """As `simulate`; beyond MAX_SIMULATED documents what so many take is multiplied.

    A full simulation of a million differed by 2 % from that of 10,000, which took a hundredth of the time.
    """
    simulated = min(count, MAX_SIMULATED)
    run = simulate(documents, simulated, circumstances)
    return run if simulated == count else run.multiplied(count / simulated)


def choose_concurrency(runs: Mapping[int, Run]) -> int:
    """The smallest concurrency that is nearly as fast as the best: more of it only waits, and is billed for that."""
    best = min(run.seconds for run in runs.values())
    return min(concurrency for concurrency, run in runs.items() if run.seconds <= best * (1 + _NEARLY))


def simulate(documents: Sequence[Document], count: int, circumstances: Circumstances, *, seed: int = 7) -> Run:
    """Load `count` documents, each drawn from `documents`, that arrive at once."""
    random.seed(seed)  # of the waits, too
    index, run = _Index(circumstances.tokens_a_minute), Run()
    queue: deque[deque[tuple[int, int]]] = deque()
    left = count

    def take() -> tuple[deque[tuple[int, int]], float] | None:
        """The next message: what it has to send, and the seconds until the first request."""
        nonlocal left
        if left:
            left -= 1
            document = random.choice(documents)  # noqa: S311 - a simulation
            return _divide(document), circumstances.document_seconds + document.chunks * circumstances.cut_seconds
        return (queue.popleft(), circumstances.document_seconds) if queue else None

    workers = [_Worker() for _ in range(circumstances.concurrency)]
    events = [(circumstances.start_seconds, position) for position in range(len(workers))]
    run.busy_seconds += circumstances.start_seconds * len(workers)
    while events:
        now, position = heapq.heappop(events)
        worker = workers[position]
        if not worker.requests:  # its document is loaded: the next message
            message = take()
            if message is None:
                continue
            worker.requests, seconds = message
            worker.began, worker.waits = now, 0
            run.invocations += 1
        elif index.admit(now, worker.requests[0][1]):
            seconds = _send(worker, circumstances, run)
            run.most_tokens_in_a_minute = max(run.most_tokens_in_a_minute, index.tokens)
        else:
            run.refused += 1
            seconds = worker.next_wait()
            if now + seconds - worker.began > INVOCATION_SECONDS - RESERVE_SECONDS:
                run.handed_on += 1
                queue.append(worker.requests)
                worker.requests, seconds = deque(), 0.0
            run.waited_seconds += seconds
        run.busy_seconds += seconds
        run.seconds = max(run.seconds, now + seconds)
        heapq.heappush(events, (now + seconds, position))
    return run


def _divide(document: Document) -> deque[tuple[int, int]]:
    """The records and tokens of each request of a document."""
    requests: deque[tuple[int, int]] = deque()
    for first in range(0, max(document.chunks, 1), MAX_UPSERT_RECORDS):
        records = min(MAX_UPSERT_RECORDS, document.chunks - first)
        requests.append((records, document.tokens * records // max(document.chunks, 1)))
    return requests


def _send(worker: _Worker, circumstances: Circumstances, run: Run) -> float:
    records, tokens = worker.requests.popleft()
    run.tokens += tokens
    worker.waits = 0
    run.requests += 1
    run.documents += not worker.requests
    return circumstances.request_seconds + records * circumstances.record_seconds


def _say_nothing(_seconds: float) -> None:
    """Nobody watches."""
