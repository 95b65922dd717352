"""`gleaner ingest`: loads documents into the knowledge base."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gleaner.runtime.settings import read_default_kb_id
from gleaner_local.command_line import default_data_dir
from gleaner_local.commands.options import DataDir, KbId


def _checked_root(value: str | None) -> str | None:
    if value is not None and not (value.strip() and value.isprintable() and "/" not in value):
        raise typer.BadParameter("use a name without a slash, such as that of a directory")
    return value


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or directories: Markdown, text, HTML, PDF.")],
    data_dir: DataDir = default_data_dir,
    kb_id: KbId = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    root: Annotated[
        str | None, typer.Option(help="Name a directory's files by this, not by its own name.", callback=_checked_root)
    ] = None,
) -> None:
    """Load documents into the knowledge base."""
    if root is not None and not (len(paths) == 1 and paths[0].is_dir()):
        raise typer.BadParameter("--root names one directory: give no other path beside it")
    from gleaner_local.commands.ingest_output import run_ingest
    from gleaner_local.ingestion.index_access import open_index  # only this command needs the embedded index

    into = kb_id or read_default_kb_id(os.environ)
    with open_index(data_dir, os.environ) as knowledge_base:
        claim(data_dir, paths, into, root)
        code = run_ingest(paths, kb_id=into, knowledge_base=knowledge_base, prune=prune, root=root)
    raise typer.Exit(code)


def claim(data_dir: Path, paths: list[Path], kb_id: str, root: str | None) -> None:
    """Remember which directories are loaded.

    Raises InvalidInput when files of another directory of the same name would be replaced.
    """
    from gleaner_documents.source_files import directories
    from gleaner_local.ingestion.known_roots import KnownRoots

    known = KnownRoots(data_dir, index=os.environ.get("PINECONE_INDEX_HOST") or "here")
    known.claim(directories(paths, name=root), kb_id, confirmed=root is not None)
