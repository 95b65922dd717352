"""What `gleaner ingest` says and asks before it loads into Pinecone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Exit, confirm
from typer.testing import CliRunner, Result

from gleaner_local.commands import ingest_estimate, program
from gleaner_local.commands.ingest_estimate import confirm_load, describe_load
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.ingestion.estimate import LoadEstimate
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from infra.prices import PINECONE_PLANS


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EmbeddedIndex]:
    embedded = EmbeddedIndex(tmp_path / "remote", None)
    yield embedded
    embedded.close()


@pytest.fixture
def host(index: EmbeddedIndex) -> Iterator[str]:
    server = AsgiServer(pinecone_server.create_app(index))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.md"
    file.write_text("# Lamps\n\n" + "The lamp is trimmed every morning.\n\n" * 40)
    return file


def ingest(book: Path, tmp_path: Path, host: str, *options: str, stdin: str = "") -> Result:
    arguments = ["ingest", str(book), "--data-dir", str(tmp_path / "data"), *options]
    env = {"PINECONE_API_KEY": "k" if host else "", "PINECONE_INDEX_HOST": host}
    return CliRunner().invoke(program.app, arguments, env=env, input=stdin)


def answer_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_estimate, "_can_ask", lambda: True)


def test_the_estimate_comes_before_loading(book: Path, tmp_path: Path, host: str) -> None:
    result = ingest(book, tmp_path, host)
    assert result.exit_code == 0, result.output
    estimate, loaded = result.output.index("To load: 1 document, 2 chunks, about"), result.output.index("1 loaded")
    assert estimate < loaded
    assert "Starter 0.0% of the month's 5,000,000 tokens" in result.output
    assert "Standard and Enterprise about 0.00 USD" in result.output


def test_nothing_new_needs_no_estimate(book: Path, tmp_path: Path, host: str) -> None:
    ingest(book, tmp_path, host)
    assert "To load" not in ingest(book, tmp_path, host).output


def test_the_index_of_this_machine_needs_no_estimate(book: Path, tmp_path: Path) -> None:
    result = ingest(book, tmp_path, "")
    assert result.exit_code == 0 and "To load" not in result.output


@pytest.mark.parametrize(("reply", "loads"), [("y", True), ("n", False), ("", False)])
def test_more_than_a_month_is_asked_about(
    book: Path,
    tmp_path: Path,
    host: str,
    index: EmbeddedIndex,
    monkeypatch: pytest.MonkeyPatch,
    reply: str,
    loads: bool,
) -> None:
    monkeypatch.setattr(ingest_estimate, "MONTH", 100)
    answer_on_a_terminal(monkeypatch)
    result = ingest(book, tmp_path, host, stdin=f"{reply}\n")
    assert "more than the Starter plan embeds in a month: it would take 4 months" in result.output
    assert "book.md alone is more than that" in result.output
    assert (result.exit_code == 0, bool(index.counts())) == (loads, loads)


def test_an_interrupted_question_ends_as_any_interrupted_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(ingest_estimate, "MONTH", 100)
    answer_on_a_terminal(monkeypatch)
    monkeypatch.setitem(confirm.__globals__, "visible_prompt_func", interrupt)
    with pytest.raises(Exit) as ended:
        confirm_load(LoadEstimate(documents=1, chunks=2, tokens=400), lambda _line: None, yes=False)
    assert ended.value.exit_code == 130


def test_yes_asks_nothing(
    book: Path, tmp_path: Path, host: str, index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_estimate, "MONTH", 100)
    answer_on_a_terminal(monkeypatch)
    result = ingest(book, tmp_path, host, "--yes")
    assert result.exit_code == 0 and "Load it?" not in result.output and index.counts()


def test_without_a_terminal_loading_goes_on_and_says_so(
    book: Path, tmp_path: Path, host: str, index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_estimate, "MONTH", 100)
    result = ingest(book, tmp_path, host)
    assert result.exit_code == 0 and "Nobody can be asked here" in result.output and index.counts()


def test_a_large_load_is_told_in_months_minutes_and_dollars() -> None:
    estimate = LoadEstimate(documents=900, chunks=52_000, tokens=12_000_000, write_units=312_000)
    lines = "\n".join(describe_load(estimate))
    assert "900 documents, 52,000 chunks, about 12,000,000 tokens" in lines
    assert "Starter 240.0% of the month's 5,000,000 tokens, Builder 120.0% of the month's 10,000,000 tokens" in lines
    assert "3.17 USD (1.92 for tokens, 1.25 for writes)" in lines  # 12 × 0.16, and 0.312 × 4
    assert "48 minutes at least" in lines
    assert "3 months" in lines
    assert PINECONE_PLANS["Starter"].embedding_tokens == 5_000_000
