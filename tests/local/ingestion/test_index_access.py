"""Which knowledge base a command loads into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gleaner.clients import pinecone
from gleaner_local.commands import program
from gleaner_local.errors import CannotStart
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service import running

HERE = {"PINECONE_API_KEY": "", "PINECONE_INDEX_HOST": ""}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.md"
    file.write_text("# Lamps\n\nThe lamp is trimmed every morning.\n")
    return file


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The address of an index outside the data directory."""
    embedded = EmbeddedIndex(tmp_path / "remote", None)
    server = AsgiServer(pinecone_server.create_app(embedded))
    server.start()
    yield server.url
    server.stop()
    embedded.close()


def ingest(book: Path, data_dir: Path, **env: str) -> Result:
    return CliRunner().invoke(program.app, ["ingest", str(book), "--data-dir", str(data_dir)], env=HERE | env)


def is_loaded(index: str) -> bool:
    hits = pinecone.connect(host=index, api_key=lambda: "k").search("default_kb", "lamp", top_k=3, timeout=20)
    return bool(hits)


def test_a_key_without_a_host_loads_nothing_anywhere(book: Path, tmp_path: Path) -> None:
    result = ingest(book, tmp_path / "data", PINECONE_API_KEY="k")
    assert isinstance(result.exception, CannotStart)
    message = str(result.exception)
    assert "PINECONE_INDEX_HOST" in message and "unset" in message and "\n" not in message
    assert not (tmp_path / "data" / "index").exists()


def test_a_key_with_a_host_loads_into_that_index(book: Path, tmp_path: Path, index: str) -> None:
    result = ingest(book, tmp_path / "data", PINECONE_API_KEY="k", PINECONE_INDEX_HOST=index)
    assert result.exit_code == 0, result.output
    assert is_loaded(index)


@pytest.mark.parametrize(("local", "refused"), [({"PINECONE_INDEX_HOST": "x"}, True), ({}, False)])
def test_a_key_is_used_with_a_running_service_that_has_a_pinecone_index(
    book: Path, tmp_path: Path, index: str, local: dict[str, str], refused: bool
) -> None:
    data_dir = tmp_path / "data"
    with running.acquire_lock(data_dir):
        running.announce(data_dir, {"url": "x", "pinecone_index_host": index, "local": local})
        result = ingest(book, data_dir, PINECONE_API_KEY="k")
    assert isinstance(result.exception, CannotStart) is refused
    assert is_loaded(index) is not refused
