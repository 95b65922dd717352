"""Random uploads, deletions and hints, with processes that end at any request and holders that overtake each other."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from gleaner.model import DocumentState
from tests.documents.loading.bench import Bench, Killed, fresh, text

PATHS = ("docs/a.md", "docs/b.md")
BODIES = [text(version, chunks) for version, chunks in (("one", 1), ("two", 2), ("six", 6), ("ten", 10))]
UNREADABLE = b"\xff\x00\xfe"
_LEASE_AND_MORE = 301.0

paths = st.sampled_from(PATHS)
bodies = st.sampled_from([*BODIES, UNREADABLE])
# Requests before a process ends. A load of ten chunks takes about thirty.
lives = st.just(inf) | st.integers(0, 30)


class LoadingMachine(RuleBasedStateMachine):
    """`objects` is what the bucket holds."""

    def __init__(self, make_bench: Callable[[], Bench]) -> None:
        super().__init__()
        self.bench = make_bench()
        self.objects: dict[str, bytes] = {}
        self.versions: dict[str, list[bytes]] = {path: [] for path in PATHS}

    @rule(path=paths, body=bodies)
    def upload(self, path: str, body: bytes) -> None:
        self.bench.put(path, body)
        self.objects[path] = body
        self.versions[path].append(body)

    @rule(path=paths)
    def delete(self, path: str) -> None:
        self.bench.delete(path)
        self.objects.pop(path, None)

    @rule(path=paths, life=lives)
    def hint(self, path: str, life: float) -> None:
        """A hint of any age is delivered, once more or for the first time; its process may be killed."""
        self._run(path, life, lambda: None)

    @rule(
        path=paths,
        first=st.sampled_from(BODIES[2:]),
        body=bodies,
        moment=st.integers(0, 20),
        life=lives,
        overtakes=st.booleans(),
    )
    def change_while_a_holder_works(
        self, path: str, first: bytes, body: bytes, moment: int, life: float, overtakes: bool
    ) -> None:
        """Before a request of a holder the object changes; its hint comes, perhaps when the lease has ended."""
        self.upload(path, first)

        def change() -> None:
            self.upload(path, body)
            if overtakes:
                self.bench.clock.now += _LEASE_AND_MORE
            self.bench.load(path)

        self._run(path, life, change, moment=moment)

    @rule(seconds=st.sampled_from([10.0, _LEASE_AND_MORE]))
    def wait(self, seconds: float) -> None:
        self.bench.clock.now += seconds

    def _run(self, path: str, life: float, change: Callable[[], None], *, moment: int = -1) -> None:
        count = -1

        def before_request(_operation: str) -> None:
            nonlocal count
            count += 1
            if count == moment:
                with self.bench.unseen():
                    change()
            if count >= life:
                raise Killed

        self.bench.before_request = before_request
        try:
            self.bench.load(path)
        except Killed:
            pass
        finally:
            self.bench.before_request = lambda _operation: None

    @invariant()
    def what_the_table_calls_loaded_is_complete(self) -> None:
        for path in PATHS:
            entry = self.bench.entry(path)
            if entry is not None and entry.state is DocumentState.LOADED:
                hashes = {content_hash for _, content_hash in self.bench.fingerprint(path).values()}
                assert hashes == {entry.content_hash}
                assert len(self.bench.fingerprint(path)) == entry.chunk_count

    def teardown(self) -> None:
        """The next hint, once the leases of the dead have ended, makes the index what a fresh load would."""
        self.bench.clock.now += _LEASE_AND_MORE
        for path in PATHS:
            self.bench.load(path)
            stored, entry = self.bench.fingerprint(path), self.bench.entry(path)
            body = self.objects.get(path)
            if body is None:
                assert (stored, entry) == ({}, None)
                continue
            assert entry is not None
            if body == UNREADABLE:
                assert entry.state is DocumentState.SKIPPED
                readable = [version for version in self.versions[path] if version != UNREADABLE]
                assert stored == {} or stored in [fresh(path, version) for version in readable]
            else:
                assert (entry.state, entry.chunk_count) == (DocumentState.LOADED, len(stored))
                assert stored == fresh(path, body)


def run_machine(make_bench: Callable[[], Bench], examples: int, steps: int) -> None:
    bounded = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: LoadingMachine(make_bench), settings=bounded)


def test_the_index_is_what_a_fresh_load_would_make_it(make_bench: Callable[[], Bench]) -> None:
    run_machine(make_bench, 2, 8)


@pytest.mark.slow
def test_the_index_is_what_a_fresh_load_would_make_it_after_anything(make_bench: Callable[[], Bench]) -> None:
    run_machine(make_bench, 25, 20)


@pytest.mark.slow
@pytest.mark.parametrize("before", BODIES[1:3])
def test_a_process_may_end_at_every_single_request(make_bench: Callable[[], Bench], before: bytes) -> None:
    path, after = PATHS[0], BODIES[3]
    for life in range(60):
        bench = make_bench()
        bench.put(path, before)
        bench.load(path)
        bench.put(path, after)
        was_killed = kill(bench, path, life)
        bench.clock.now += _LEASE_AND_MORE
        bench.load(path)
        assert bench.fingerprint(path) == fresh(path, after), life
        if not was_killed:
            return
    raise AssertionError("a load ends after some requests")


@pytest.mark.slow
@pytest.mark.parametrize("life", range(4, 12))
def test_a_version_that_comes_back_does_not_go_on_where_it_ended(make_bench: Callable[[], Bench], life: int) -> None:
    bench, path, first, second = make_bench(), PATHS[0], text("first", 10), text("second", 10)
    for body, requests in ((first, 12), (second, life)):
        bench.put(path, body)
        assert kill(bench, path, requests)
        bench.clock.now += _LEASE_AND_MORE
    bench.put(path, first)
    bench.load(path)
    assert bench.fingerprint(path) == fresh(path, first)


def kill(bench: Bench, path: str, life: int) -> bool:
    """Load in a process that ends before its request of that number; whether it did."""
    count = 0

    def before_request(_operation: str) -> None:
        nonlocal count
        count += 1
        if count > life:
            raise Killed

    bench.before_request = before_request
    try:
        bench.load(path)
    except Killed:
        return True
    finally:
        bench.before_request = lambda _operation: None
    return False
