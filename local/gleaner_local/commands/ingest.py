"""`gleaner ingest`: loads documents into the knowledge base."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gleaner.runtime.settings import read_default_kb_id
from gleaner_documents.page_urls import is_base_url
from gleaner_documents.reading import format_names
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands.options import AnyEnvironmentName, DataDir, KbId


def _check_root(value: str | None) -> str | None:
    if value is not None and not (value.strip() and value.isprintable() and "/" not in value):
        raise typer.BadParameter("use a name without a slash, such as the name of a directory")
    return value


def _check_base_url(value: str | None) -> str | None:
    if value is not None and not is_base_url(value):
        raise typer.BadParameter("use an http or https URL without a user name, a query and a fragment")
    return value


def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help=f"Files or directories: {', '.join(format_names())}.")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    env: AnyEnvironmentName = None,
    kb_id: KbId = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    root: Annotated[
        str | None,
        typer.Option(
            help="Begin the names of a directory's files with this, not with its own name.", callback=_check_root
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Where the directory is published: guide/moor.md is then at URL/guide/moor/.",
            metavar="URL",
            callback=_check_base_url,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Load into Pinecone without asking, also what exceeds a free plan's month.")
    ] = False,
    max_wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait at most this long in all while the index takes no more, or with --env while no document ends; "
            "without a limit by default.",
        ),
    ] = None,
    resync: Annotated[
        bool,
        typer.Option("--resync", help="With --env: have all documents that were ever uploaded looked at again."),
    ] = False,
) -> None:
    """Load documents into the knowledge base of this machine or Pinecone, or upload them to an environment."""
    paths = paths or []
    if resync and env is None:
        raise typer.BadParameter("--resync looks at what an environment has: give --env")
    if not (paths or resync):
        raise typer.BadParameter("name the files or directories to load")
    if root is not None and not (len(paths) == 1 and paths[0].is_dir()):
        raise typer.BadParameter("--root names one directory: give exactly one directory")
    if base_url is not None and len(paths) != 1:
        raise typer.BadParameter("--base-url is the address of one directory: give exactly one file or directory")
    if env is not None:
        raise typer.Exit(
            _ingest_deployed(
                paths,
                env,
                kb_id,
                data_dir=data_dir,
                prune=prune,
                resync=resync,
                root=root,
                base_url=base_url,
                max_wait=max_wait,
            )
        )
    from gleaner_local.commands.ingest_estimate import confirm_load
    from gleaner_local.commands.ingest_output import ingest_and_report
    from gleaner_local.ingestion.bucket_following import follow, open_bucket
    from gleaner_local.ingestion.index_access import open_index  # only this command needs the embedded index

    target_kb_id = kb_id or read_default_kb_id(os.environ)
    with open_index(data_dir, os.environ) as index, open_bucket(data_dir, os.environ) as bucket:
        claim_roots(data_dir, paths, target_kb_id, root)
        code = ingest_and_report(
            paths,
            kb_id=target_kb_id,
            knowledge_base=index.knowledge_base,
            prune=prune,
            root=root,
            base_url=base_url,
            confirm=partial(confirm_load, yes=yes) if index.is_metered else None,
            max_wait=max_wait,
            then=partial(follow, paths, kb_id=target_kb_id, root=root, bucket=bucket) if bucket else None,
        )
    raise typer.Exit(code)


def _ingest_deployed(
    paths: list[Path],
    env: str,
    kb_id: str | None,
    *,
    data_dir: Path,
    prune: bool,
    resync: bool,
    root: str | None,
    base_url: str | None,
    max_wait: float | None,
) -> int:
    """Upload `paths`, if any, and with `resync` have the environment look again at all that it has."""
    from gleaner_local.commands.ingest_deployed import Target, resync_and_report, upload_and_report  # loads AWS's SDK
    from gleaner_local.commands.main import INTERRUPTED
    from infra.environments import ENVIRONMENTS  # does not import the CDK

    (record,) = [environment for environment in ENVIRONMENTS if environment.name == env]
    target = Target(env, kb_id or record.knowledge_bases.default)
    code = 0
    if paths:
        code = upload_and_report(
            paths, target, data_dir=data_dir, prune=prune, root=root, base_url=base_url, max_wait=max_wait
        )
    if resync and code != INTERRUPTED:
        resync_and_report(target)
    return code


def claim_roots(data_dir: Path, paths: list[Path], kb_id: str, root: str | None) -> None:
    """Remember which directories are loaded; `gleaner serve --load` does so, too.

    Raises InvalidInput if files of another directory of the same name would be replaced.
    """
    from gleaner_documents.source_files import find_roots
    from gleaner_local.ingestion.known_roots import KnownRoots

    known_roots = KnownRoots(data_dir, index=os.environ.get("PINECONE_INDEX_HOST") or "here")
    known_roots.claim(find_roots(paths, name=root), kb_id, confirmed=root is not None)
