"""Runs a fresh service over documents for one evaluation, so that nothing learned before changes an answer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gleaner.clients import pinecone
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.runtime.settings import read_default_kb_id
from gleaner_documents.reading_process import stop_shared_process
from gleaner_local.evaluation.cases import Case, InvalidCases
from gleaner_local.evaluation.exchange import Source
from gleaner_local.ingestion.run import ingest
from gleaner_local.outside_world.descriptions import Section
from gleaner_local.service.parts import LOCAL_KEY, Part, local_parts
from gleaner_local.service.run import LocalService

_SECONDS = 30.0  # for a request to the index
_PLANTED = "planted"  # the directory that names planted passages


def serves_own_web(env: Mapping[str, str]) -> bool:
    """Whether this machine searches the web itself, so that pages can be planted."""
    return Part.WEB in local_parts(env)


@dataclass(slots=True, kw_only=True)
class Loaded:
    """What a service of its own holds.

    `places` are those of each knowledge base, `planted` says which case planted a file (of a knowledge base) or an
    address, and `skipped` names files that could not be loaded, with the reason.
    """

    default_kb_id: str
    places: dict[str, list[Source]] = field(default_factory=dict)
    planted: dict[tuple[str, str] | str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


@contextmanager
def own_service(
    paths: Sequence[Path], cases: Sequence[Case], env: Mapping[str, str], *, kb_id: str | None, concurrency: int
) -> Iterator[tuple[LocalService, Loaded]]:
    """Serve until the end of the block, with the documents under `paths` and what the cases plant.

    The model, index and web are those that `env` names, as for `gleaner serve`. An index that is named keeps what is
    loaded, so that only one of this machine is allowed. Raises InvalidCases and CannotStart.
    """
    if Part.INDEX not in local_parts(env):
        raise InvalidCases(
            f"--load fills an index of its own, but {Part.INDEX.value} names another one. Unset it, or load the "
            "documents by `gleaner ingest` and leave out --load."
        )
    with tempfile.TemporaryDirectory(prefix="gleaner-eval-") as directory:
        planted = Path(directory) / _PLANTED
        service = LocalService(
            Path(directory) / "data", env, port=0, concurrency=concurrency, web_pages=_list_pages(cases)
        )

        loaded = Loaded(default_kb_id=kb_id or read_default_kb_id(env))

        def load(host: str) -> None:
            base = pinecone.connect(host=host, api_key=lambda: env.get("PINECONE_API_KEY") or LOCAL_KEY)
            loaded.skipped += _load(paths, base, loaded.default_kb_id)
            _plant(cases, planted, base, loaded)
            for own_kb_id in {loaded.default_kb_id, *(case.kb_id for case in cases if case.kb_id)}:
                loaded.places[own_kb_id] = _list_places(base, own_kb_id)

        try:
            service.start(before_gateway=load)
            yield service, loaded
        finally:
            service.stop()
            stop_shared_process()


def _list_pages(cases: Sequence[Case]) -> list[Section]:
    return [
        Section(project=page.title, title=page.title, url=page.url, text=page.text)
        for case in cases
        for page in case.planted_pages
    ]


def _plant(cases: Sequence[Case], directory: Path, base: KnowledgeBase, loaded: Loaded) -> None:
    """Load planted passages, of which each is a file in a directory for its knowledge base."""
    folders: dict[str, Path] = {}
    for number, case in enumerate(cases):
        own_kb_id = case.kb_id or loaded.default_kb_id
        for position, passage in enumerate(case.planted_passages):
            folder = folders.setdefault(own_kb_id, directory / own_kb_id)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{number}-{position}.md"
            file.write_text(f"# {passage.title}\n\n{passage.text}\n", encoding="utf-8")
            loaded.planted[own_kb_id, f"{own_kb_id}/{file.name}"] = case.id
        loaded.planted |= {page.url: case.id for page in case.planted_pages}
    for own_kb_id, folder in folders.items():
        if skipped := _load([folder], base, own_kb_id):
            raise InvalidCases(f"A planted passage cannot be loaded: {skipped[0]}")


def _load(paths: Sequence[Path], base: KnowledgeBase, kb_id: str) -> list[str]:
    """Load what can be loaded; returns what cannot. Raises InvalidCases if there is nothing."""
    report = ingest(paths, kb_id=kb_id, knowledge_base=base, prune=False, progress=lambda _: None)
    skipped = [str(problem) for problem in report.skipped]
    if not report.chunks_written:
        reason = f", the first: {skipped[0]}" if skipped else ""
        raise InvalidCases(f"There is nothing to load in {', '.join(map(str, paths))}{reason}")
    return skipped


def _list_places(base: KnowledgeBase, kb_id: str) -> list[Source]:
    """The files and chapters of a knowledge base, each once."""
    records = base.fetch(kb_id, list(base.list_ids(kb_id, timeout=_SECONDS)), timeout=_SECONDS)
    places = dict.fromkeys((record.source_file_path, record.chapter) for record in records.values())
    return [
        Source(id="", source_type="knowledge_base", source_file_path=file, chapter=chapter) for file, chapter in places
    ]
