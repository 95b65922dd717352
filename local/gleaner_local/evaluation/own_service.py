"""Runs a fresh service over documents for one evaluation, so that nothing learned before changes an answer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gleaner.clients import pinecone
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.runtime.settings import read_default_kb_id
from gleaner_documents.reading_process import stop_shared_process
from gleaner_local.errors import CannotStart
from gleaner_local.evaluation.cases import Case, InvalidCases
from gleaner_local.ingestion.run import ingest
from gleaner_local.outside_world.descriptions import Section
from gleaner_local.service.parts import LOCAL_KEY, Part, local_parts
from gleaner_local.service.run import LocalService

_PLANTED = "planted"  # the directory that names planted passages


def serves_own_web(env: Mapping[str, str]) -> bool:
    """Whether this machine searches the web itself, so that pages can be planted."""
    return Part.WEB in local_parts(env)


@contextmanager
def own_service(
    paths: Sequence[Path], cases: Sequence[Case], env: Mapping[str, str], *, kb_id: str | None, concurrency: int
) -> Iterator[LocalService]:
    """Serve until the end of the block, with the documents under `paths` and what the cases plant.

    The model, index and web are those that `env` names, as for `gleaner serve`. An index that is named keeps what is
    loaded, so that only one of this machine is allowed. Raises CannotStart.
    """
    if Part.INDEX not in local_parts(env):
        raise InvalidCases(
            f"--load fills an index of its own, but {Part.INDEX.value} names another one. Unset it, or load the "
            "documents by `gleaner ingest` and leave out --load."
        )
    pages = [
        Section(project=page.title, title=page.title, url=page.url, text=page.text)
        for case in cases
        for page in case.planted_pages
    ]
    with tempfile.TemporaryDirectory(prefix="gleaner-eval-") as directory:
        planted = Path(directory) / _PLANTED
        service = LocalService(Path(directory) / "data", env, port=0, concurrency=concurrency, web_pages=pages)

        def load(host: str) -> None:
            base = pinecone.connect(host=host, api_key=lambda: env.get("PINECONE_API_KEY") or LOCAL_KEY)
            default = read_default_kb_id(env)
            _load(paths, base, kb_id or default)
            for own_kb_id, folder in _write_planted(cases, planted, kb_id or default).items():
                _load([folder], base, own_kb_id)

        try:
            service.start(before_gateway=load)
            yield service
        finally:
            service.stop()
            stop_shared_process()


def _write_planted(cases: Sequence[Case], directory: Path, default_kb_id: str) -> dict[str, Path]:
    """Write planted passages as files, in a directory for each knowledge base."""
    folders: dict[str, Path] = {}
    for number, case in enumerate(cases):
        for position, passage in enumerate(case.planted_passages):
            folder = folders.setdefault(case.kb_id or default_kb_id, directory / (case.kb_id or default_kb_id))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}-{position}.md").write_text(f"# {passage.title}\n\n{passage.text}\n", encoding="utf-8")
    return folders


def _load(paths: Sequence[Path], base: KnowledgeBase, kb_id: str) -> None:
    """Raises CannotStart if something could not be loaded: figures would be of other documents than one thinks."""
    if not paths:
        return
    report = ingest(paths, kb_id=kb_id, knowledge_base=base, prune=False, progress=lambda _: None)
    if report.skipped:
        raise CannotStart(f"{len(report.skipped)} files could not be loaded, the first: {report.skipped[0]}")
    if not report.chunks_written:
        raise InvalidCases(f"There is nothing to load in {', '.join(map(str, paths))}.")
