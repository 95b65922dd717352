"""`gleaner callers allow`, `list`, `revoke` and `unlist`: which knowledge bases callers may use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gleaner.runtime.deadline import Deadline
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import terminal
from gleaner_local.commands.options import AllOrKbIds, AnyEnvironmentName, AsJson, KbIds, ServiceDataDir, Subject

if TYPE_CHECKING:
    from gleaner.stores.access import AccessStore, Grant

_SECONDS = 20.0
_EFFECT = "Functions that have just asked notice it within a minute."
_UNLISTED = "Callers that are not listed may use all knowledge bases, or none where UNLISTED_CALLERS is none."


def allow(subject: Subject, kb_ids: KbIds, env: AnyEnvironmentName = None, data_dir: ServiceDataDir = None) -> None:
    """Let a caller use knowledge bases. A caller that was not listed is limited to them."""
    store, deadline = _open(env, data_dir), Deadline.after(_SECONDS)
    is_new = store.allow(subject, frozenset(kb_ids), deadline=deadline)
    _print_grant(store, subject, deadline)
    print(f"It was not listed before. {_EFFECT}" if is_new else _EFFECT)


def revoke(
    subject: Subject,
    kb_ids: AllOrKbIds = None,
    env: AnyEnvironmentName = None,
    data_dir: ServiceDataDir = None,
) -> None:
    """Take knowledge bases from a caller, or all of them. The caller stays listed, even without any."""
    store, deadline = _open(env, data_dir), Deadline.after(_SECONDS)
    if not kb_ids:
        store.revoke_all(subject, deadline=deadline)
    elif not store.revoke(subject, frozenset(kb_ids), deadline=deadline):
        name = terminal.show_line(subject)
        typer.echo(
            f"{name} is not listed, so there is nothing to take from it. `gleaner callers revoke {name}` bars it.",
            err=True,
        )
        raise typer.Exit(1)
    _print_grant(store, subject, deadline)
    print(_EFFECT)


def unlist(subject: Subject, env: AnyEnvironmentName = None, data_dir: ServiceDataDir = None) -> None:
    """Remove a caller from the list, so that it may use what unlisted callers may use."""
    store, name = _open(env, data_dir), terminal.show_line(subject)
    if not store.unlist(subject, deadline=Deadline.after(_SECONDS)):
        typer.echo(f"{name} is not listed.", err=True)
        raise typer.Exit(1)
    print(f"{name} is not listed any more. {_UNLISTED} {_EFFECT}")


def list_grants(env: AnyEnvironmentName = None, data_dir: ServiceDataDir = None, as_json: AsJson = False) -> None:
    """List the callers with the knowledge bases that they may use."""
    grants = _open(env, data_dir).list(deadline=Deadline.after(_SECONDS))
    if as_json:
        print(terminal.format_json({"callers": [_to_fields(grant) for grant in grants]}))
        return
    for grant in grants:
        print(_describe(grant.subject, grant.kb_ids))
    print(_UNLISTED if grants else f"No caller is listed. {_UNLISTED}")


def add_to(callers: typer.Typer) -> None:
    """Add the commands to `gleaner callers`."""
    callers.command("allow")(allow)
    callers.command("list")(list_grants)
    callers.command("revoke")(revoke)
    callers.command("unlist")(unlist)


def _open(env: str | None, data_dir: Path | None) -> AccessStore:
    from gleaner_local.service.access_table import find_deployed_access, find_local_access  # loads the SDK of AWS

    if env is not None and data_dir is not None:
        raise typer.BadParameter("--data-dir belongs to a service of this machine: leave out --env")
    return find_local_access(data_dir or DEFAULT_DATA_DIR) if env is None else find_deployed_access(env)


def _print_grant(store: AccessStore, subject: str, deadline: Deadline) -> None:
    grants: Sequence[Grant] = store.find([subject], deadline=deadline)
    for grant in grants:
        print(_describe(subject, grant.kb_ids))


def _describe(subject: str, kb_ids: Iterable[str]) -> str:
    listed = ", ".join(sorted(kb_ids)) or "no knowledge base"
    return terminal.show_line(f"{subject} may use {listed}.")


def _to_fields(grant: Grant) -> dict[str, object]:
    return {"caller": grant.subject, "kb_ids": sorted(grant.kb_ids), "updated_at": grant.updated_at}
