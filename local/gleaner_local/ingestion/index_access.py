"""Opens the knowledge base that a command works on: Pinecone, the running service's index or the index on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.runtime.settings import read_index_host
from gleaner_local.errors import CannotStart
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service.parts import LOCAL_KEY, Part
from gleaner_local.service.running import running_service

# Whoever sets a key means Pinecone and would find nothing loaded there.
_KEY_WITHOUT_HOST = (
    "PINECONE_API_KEY is set and PINECONE_INDEX_HOST is not. Set it to the host of your index, "
    "or unset the key to load into the index of this machine."
)


class OpenIndex(NamedTuple):
    """An index, and whether it is Pinecone's, which has a plan that limits it."""

    knowledge_base: KnowledgeBase
    is_metered: bool


@contextmanager
def open_index(data_dir: Path, env: Mapping[str, str]) -> Iterator[OpenIndex]:
    """Open the Pinecone index that the environment names, or else the knowledge base of `data_dir`.

    Raises CannotStart, ConfigurationError, and NotReady while the service of `data_dir` starts or stops.
    """
    host, is_metered = read_index_host(env), True
    if host is None:
        service = running_service(data_dir)
        is_metered = bool(service) and Part.INDEX not in service["local"]
        if env.get("PINECONE_API_KEY") and not is_metered:
            raise CannotStart(_KEY_WITHOUT_HOST)
        host = service.get("pinecone_index_host")
    if host:
        # Loading has time: its requests are repeated as late as the service asks for.
        knowledge_base = connect(host=host, api_key=lambda: env.get("PINECONE_API_KEY") or LOCAL_KEY, max_pause=None)
        yield OpenIndex(knowledge_base, is_metered)
        return
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        index = EmbeddedIndex.open(data_dir / "index")
    except OSError as error:
        raise CannotStart(f"The index in {data_dir} cannot be opened: {error.strerror or error}.") from error
    server = AsgiServer(pinecone_server.create_app(index), stop_seconds=pinecone_server.STOP_SECONDS)
    server.start()
    try:
        yield OpenIndex(connect(host=server.url, api_key=lambda: LOCAL_KEY), is_metered=False)
    finally:
        index.stop_embedding()
        server.stop()
        index.close()
