"""Loads documents into an index of this machine by the code that loads them anywhere, and measures it."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.clients.pinecone_records import to_wire
from gleaner.model import Record
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS
from gleaner_documents.loading.records import make_records
from gleaner_documents.loading.writing import IngestProgress
from gleaner_documents.model import UnreadableDocument
from gleaner_documents.reading_process import read_document_safely
from gleaner_documents.source_files import SourceFile, find_source_files
from gleaner_local.index.embedded import EmbeddedIndex, searchable_text
from gleaner_local.index.embedder import Embedder
from gleaner_local.ingestion.run import ingest
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from harness.processes import cpu_seconds, resident_bytes

KB_ID = "benchmark"
MIN_SHARE = 0.8  # of what the embedder does alone
_EMBED_BATCH = 32  # as many texts as the loading code sends at once


class Reading(NamedTuple):
    """A file and its records."""

    file: SourceFile
    records: list[Record]


def read_files(paths: Sequence[Path]) -> list[Reading]:
    """The files that can be read, with their records."""
    readings = []
    for file in find_source_files(paths).files:
        try:
            data = file.read()
            records = make_records(
                file.source_file_path, data, read=read_document_safely, chunking=DEFAULT_CHUNK_SETTINGS
            )
        except UnreadableDocument:
            continue
        readings.append(Reading(file, records))
    return readings


class Speed(NamedTuple):
    """Seconds on the clock and of CPU time, of this process and its reading process."""

    wall: float
    cpu: float


def compare_with_embedder(readings: Sequence[Reading], rounds: int) -> tuple[list[Speed], list[Speed]]:
    """The speeds of loading and of the embedder alone, for the same texts, in turns."""
    embedder = Embedder.installed()
    embedder.embed(["loads the model"])
    texts = [searchable_text(to_wire(record)) for reading in readings for record in reading.records]
    loading, embedding = [], []

    def embed() -> None:
        for start in range(0, len(texts), _EMBED_BATCH):
            embedder.embed(texts[start : start + _EMBED_BATCH])

    with tempfile.TemporaryDirectory() as directory:
        for number in range(rounds):
            embedding.append(_measure(embed))
            with _serve(Path(directory, str(number)), embedder) as knowledge_base:
                loading.append(_measure(lambda kb=knowledge_base: _load(readings, kb)))  # type: ignore[misc]
    return loading, embedding


def median_share(loading: Sequence[Speed], embedding: Sequence[Speed], part: str) -> float:
    """What the embedder takes alone, as a share of what loading takes: the median of the rounds."""
    pairs = zip(embedding, loading, strict=True)
    share: float = statistics.median(getattr(alone, part) / getattr(whole, part) for alone, whole in pairs)
    return share


def watch_memory(readings: Sequence[Reading], documents: int, say: Callable[[int, float, float], None]) -> None:
    """Load `documents` copies, without vectors; `say` gets documents, and MB of this process and the reading process.

    Copies of the smaller half differ in their names and, where they are Markdown, in their last line.
    """
    readings = sorted(readings, key=lambda one: len(one.records))[: max(1, len(readings) // 2)]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "copies")
        for number in range(documents):
            _copy(readings[number % len(readings)].file.path, root / f"{number // 1_000:03}", number)
        steps = iter(range(0, documents, max(1, documents // 10)))
        due = next(steps)

        def show(done: int) -> None:
            resident = resident_bytes(os.getpid())
            own = resident.pop("gateway and index") / 1e6
            say(done, own, sum(resident.values()) / 1e6)

        def show_if_due(at: IngestProgress) -> None:
            nonlocal due
            if at.files_done >= due:
                due = next(steps, documents + 1)
                show(round(at.files_done))

        with _serve(Path(place, "index"), None) as knowledge_base:
            ingest([root], kb_id=KB_ID, knowledge_base=knowledge_base, prune=False, progress=show_if_due)
            show(documents)  # the last progress comes before the last documents are written


def _copy(path: Path, directory: Path, number: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    copy = directory / f"{number}{path.suffix}"
    shutil.copyfile(path, copy)
    if path.suffix == ".md":
        with copy.open("a") as file:
            file.write(f"\n\nThis is copy {number}.\n")


def _load(readings: Sequence[Reading], knowledge_base: KnowledgeBase) -> None:
    paths = [reading.file.path for reading in readings]
    ingest(paths, kb_id=KB_ID, knowledge_base=knowledge_base, prune=False, progress=lambda _progress: None)


def _measure(run: Callable[[], None]) -> Speed:
    wall, cpu = time.perf_counter(), sum(cpu_seconds(os.getpid()).values())
    run()
    return Speed(time.perf_counter() - wall, sum(cpu_seconds(os.getpid()).values()) - cpu)


@contextmanager
def _serve(directory: Path, embedder: Embedder | None) -> Iterator[KnowledgeBase]:
    index = EmbeddedIndex(directory, embedder)
    server = AsgiServer(pinecone_server.create_app(index))
    server.start()
    try:
        yield connect(host=server.url, api_key=lambda: "local")
    finally:
        server.stop()
        index.close()
