"""The index and the benches of the tests of loading."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gleaner_documents.loading import writing
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from tests.documents.loading.bench import Bench
from tests.table_pool import TablePool


@pytest.fixture(scope="module")
def loading_index_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    index = EmbeddedIndex(tmp_path_factory.mktemp("index"), None)
    server = AsgiServer(pinecone_server.create_app(index))
    server.start()
    yield server.url
    server.stop()
    index.close()


@pytest.fixture(scope="module")
def documents_table(table_pool: TablePool) -> Iterator[str]:
    """A table for the tests of a module: each bench has a knowledge base of its own."""
    tables = table_pool.borrow()
    yield tables["DOCUMENTS_TABLE"]
    table_pool.give_back(tables)


@pytest.fixture
def make_bench(
    dynamodb_url: str, loading_index_url: str, documents_table: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Bench]:
    """Makes benches. Documents of more than 2 chunks take several requests."""
    monkeypatch.setattr(writing, "_RECORDS_PER_REQUEST", 2)
    return lambda: Bench(dynamodb_url, documents_table, loading_index_url)


@pytest.fixture
def bench(make_bench: Callable[[], Bench]) -> Bench:
    return make_bench()
