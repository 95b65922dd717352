"""Loading into an index that embeds only so many tokens a minute and a month."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.errors import KnowledgeBaseBusy
from gleaner_documents.loading import writing
from gleaner_documents.loading.waiting import Waiting
from gleaner_local.commands import ingest_output
from gleaner_local.commands.ingest_output import ingest_and_report
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.pinecone_server import create_app
from tests.doubles.pinecone_limits import LimitedIndex


class Clock:
    """A clock that only waits move."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(ingest_output, "Waiting", lambda **options: Waiting(sleep=clock.sleep, **options))
    return clock


@pytest.fixture
def limited(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[LimitedIndex, KnowledgeBase]]:
    monkeypatch.setattr(writing, "_RECORDS_PER_REQUEST", 4)  # a request for each document
    index = EmbeddedIndex(tmp_path / "index", None)
    limits = LimitedIndex(create_app(index), clock.now)
    server = AsgiServer(limits)
    server.start()
    yield limits, connect(host=server.url, api_key=lambda: "any")
    server.stop()
    index.close()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Three documents of four chunks, of about 125 tokens as the index counts them."""
    root = tmp_path / "docs"
    root.mkdir()
    for name in ("a", "b", "c"):
        sections = (f"## Part {n}\n\n" + f"Lamp {name}{n} is trimmed. " * 21 for n in range(4))
        (root / f"{name}.md").write_text(f"# Lamps {name}\n\n" + "\n\n".join(sections))
    return root


def run(
    docs: Path, kb: KnowledgeBase, *, max_wait: float | None = None, terminal: bool = False, prune: bool = False
) -> tuple[int, str]:
    output = io.StringIO()
    console = Console(file=output, width=200, force_terminal=terminal)
    code = ingest_and_report(
        [docs],
        kb_id="lamps",
        knowledge_base=kb,
        prune=prune,
        console=console,
        max_wait=max_wait,
    )
    return code, output.getvalue()


def stored(kb: KnowledgeBase) -> int:
    return len(list(kb.list_ids("lamps", timeout=20)))


def test_the_tokens_of_a_minute_are_waited_for(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    limits.tokens_per_minute = 1_200
    code, output = run(docs, kb)
    assert (code, stored(kb)) == (0, 12), output
    assert limits.refused and sum(clock.waits) == pytest.approx(clock.time)
    assert 60 <= clock.time < 120
    assert "Waiting 2 s: the index takes no more for now" in output
    assert "3 loaded; 12 chunks written" in output


def test_a_terminal_shows_the_wait_in_the_progress_bar(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    limits.tokens_per_minute, limits.retry_after = 1_200, "61"
    code, output = run(docs, kb, terminal=True)
    assert code == 0
    assert re.search(r"Waiting (6[1-9]|7\d) s: the index takes no more for now", output)
    assert output.rindex("Loading") > output.rindex("Waiting")


def test_the_wait_is_as_long_as_the_service_asks(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    limits.tokens_per_minute, limits.retry_after = 1_200, "61"
    assert run(docs, kb)[0] == 0
    assert limits.refused == len(clock.waits) == 1
    assert 61 <= clock.waits[0] <= 61 * 1.25


@pytest.mark.parametrize("asked", ["99999999999999999999", "1e9", "Wed, 21 Oct 2065 07:28:00 GMT"])
def test_a_wait_of_more_than_an_hour_is_not_begun(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path, asked: str
) -> None:
    limits, kb = limited
    limits.tokens_per_minute, limits.retry_after = 0, asked
    code, output = run(docs, kb)
    assert code == 1 and clock.waits == []
    assert "asks to wait for more than an hour" in output


@pytest.mark.parametrize("asked", ["inf", "1e400", "nan", "soon"])
def test_a_time_to_wait_that_is_none_is_ignored(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path, asked: str
) -> None:
    limits, kb = limited
    limits.tokens_per_minute, limits.retry_after = 1_200, asked
    assert run(docs, kb)[0] == 0
    assert clock.waits and max(clock.waits) <= 75


def test_a_run_waits_no_longer_than_it_may(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    limits.tokens_per_minute = 1_200
    code, output = run(docs, kb, max_wait=10)
    assert code == 1 and clock.time <= 10
    assert "Stopped: The knowledge base takes no more requests for now" in output
    assert "What was loaded until then stays. Run the same command again to continue." in output
    clock.time += 60
    assert run(docs, kb)[0] == 0
    assert stored(kb) == 12


def test_a_used_up_month_ends_the_run_and_the_next_one_goes_on(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    limits.tokens_per_month = 1_200
    code, output = run(docs, kb)
    assert code == 1 and clock.waits == []
    assert "allowance of embedding tokens for this month is used up" in output
    assert "What was loaded until then stays" in output
    kept = stored(kb)
    assert 0 < kept < 12
    limits.tokens_per_month = 10**9
    assert run(docs, kb)[0] == 0
    assert stored(kb) == 12


def texts(kb: KnowledgeBase) -> dict[str, str]:
    records = kb.fetch("lamps", list(kb.list_ids("lamps", timeout=20)), timeout=20)
    return {record_id: record.text for record_id, record in records.items()}


def full(limits: LimitedIndex) -> None:
    limits.is_full = lambda: True


def month_used_up(limits: LimitedIndex) -> None:
    limits.tokens_per_month = 0


def busy(limits: LimitedIndex) -> None:
    limits.tokens_per_minute = 0


def rewrite(docs: Path, name: str, chunks: int) -> None:
    sections = (f"## Part {n}\n\n" + f"Wick {n} is cut. " * 20 for n in range(chunks))
    (docs / f"{name}.md").write_text("# Wicks\n\n" + "\n\n".join(sections))


@pytest.mark.parametrize("refuse", [full, month_used_up, busy])
@pytest.mark.parametrize("chunks", [1, 4, 9])  # fewer than before, as many, more, and more than a request takes
def test_old_versions_stay_until_the_index_takes_the_new_ones(
    limited: tuple[LimitedIndex, KnowledgeBase],
    docs: Path,
    refuse: Callable[[LimitedIndex], None],
    chunks: int,
) -> None:
    limits, kb = limited
    assert run(docs, kb)[0] == 0
    before = texts(kb)
    for name in ("a", "b", "c"):
        rewrite(docs, name, chunks)
    refuse(limits)
    assert run(docs, kb, max_wait=10)[0] == 1
    assert texts(kb) == before
    limits.is_full, limits.tokens_per_month, limits.tokens_per_minute = lambda: False, 10**9, 10**9
    assert run(docs, kb)[0] == 0
    assert len(texts(kb)) == 3 * chunks and all("Wick" in text for text in texts(kb).values())


def test_a_full_index_takes_what_pruning_makes_room_for(
    limited: tuple[LimitedIndex, KnowledgeBase], docs: Path
) -> None:
    limits, kb = limited
    assert run(docs, kb)[0] == 0
    (docs / "a.md").unlink()
    rewrite(docs, "new", 4)
    limits.is_full = lambda: limits.deletions == 0
    code, output = run(docs, kb)
    assert code == 1 and "The knowledge base is full" in output
    code, output = run(docs, kb, prune=True)
    assert code == 0, output
    assert "Removed docs/a.md" in output and "1 loaded, 2 unchanged, 1 removed; 4 chunks written" in output
    assert stored(kb) == 12


def test_the_start_of_a_service_waits_for_each_request_only_so_long(
    limited: tuple[LimitedIndex, KnowledgeBase], clock: Clock, docs: Path
) -> None:
    limits, kb = limited
    console = Console(file=io.StringIO())
    load = partial(ingest_and_report, [docs], kb_id="lamps", knowledge_base=kb, prune=False, console=console)
    limits.tokens_per_minute = 0
    assert load(max_wait_each=90) == 1 and clock.time <= 90
    limits.tokens_per_minute = 600  # a document a minute: longer in all, but never for one request
    assert load(max_wait_each=120) == 0 and clock.time > 120


def test_a_renamed_file_is_not_lost_when_the_month_is_used_up(
    limited: tuple[LimitedIndex, KnowledgeBase], docs: Path
) -> None:
    limits, kb = limited
    run(docs, kb)
    before = texts(kb)
    (docs / "a.md").rename(docs / "lamps.md")
    limits.tokens_per_month = 0
    assert run(docs, kb, prune=True)[0] == 1
    assert texts(kb) == before


@pytest.mark.parametrize("waits", [0, 3, 10, 10_000])
def test_waits_grow_to_a_minute(waits: int) -> None:
    clock = Clock()
    Waiting(say=lambda _seconds: None, sleep=clock.sleep)(KnowledgeBaseBusy("busy"), waits)
    assert min(60, 2.0 ** (min(waits, 9) + 1)) <= clock.time <= min(60, 2.0 ** (min(waits, 9) + 1)) * 1.25
