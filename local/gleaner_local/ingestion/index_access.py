"""Opens the knowledge base that a command works on: Pinecone, the running service's index or the index on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def open_index(data_dir: Path, env: Mapping[str, str]) -> Iterator[KnowledgeBase]:
    """Open the Pinecone index that the environment names, or else the knowledge base of `data_dir`.

    Raises CannotStart, ConfigurationError, and NotReady while the service of `data_dir` starts or stops.
    """
    host = read_index_host(env)
    if host is None:
        service = running_service(data_dir)
        if env.get("PINECONE_API_KEY") and (not service or Part.INDEX in service["local"]):
            raise CannotStart(_KEY_WITHOUT_HOST)
        host = service.get("pinecone_index_host")
    if host:
        yield connect(host=host, api_key=lambda: env.get("PINECONE_API_KEY") or LOCAL_KEY)
        return
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        index = EmbeddedIndex.open(data_dir / "index")
    except OSError as error:
        raise CannotStart(f"The index in {data_dir} cannot be opened: {error.strerror or error}.") from error
    server = AsgiServer(pinecone_server.create_app(index), stop_seconds=pinecone_server.STOP_SECONDS)
    server.start()
    try:
        yield connect(host=server.url, api_key=lambda: LOCAL_KEY)
    finally:
        index.stop_embedding()
        server.stop()
        index.close()
