"""`gleaner callers allow`, `list`, `revoke` and `unlist`: which knowledge bases callers may use."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import terminal
from gleaner_local.commands.options import AnyEnvironmentName, AsJson, KbIds, KbIdsOrNone, ServiceDataDir, Subject

if TYPE_CHECKING:
    from gleaner.stores.access import AccessStore, Grant

_SECONDS = 20.0
_EFFECT = "Functions that have just asked notice it within a minute."
_NEW = "It was not listed before."
_UNLISTED = {
    None: "Callers that are not listed may use all knowledge bases, or none where UNLISTED_CALLERS is none.",
    True: "Callers that are not listed may use all knowledge bases.",
    False: "Callers that are not listed may use no knowledge base.",
}


def allow(
    subject: Subject,
    kb_ids: KbIds,
    env: AnyEnvironmentName = None,
    data_dir: ServiceDataDir = None,
    as_editor: Annotated[bool, typer.Option("--editor", help="Also let it upload and remove their documents.")] = False,
) -> None:
    """Let a caller use knowledge bases. A caller that was not listed is limited to them."""
    with _open(env, data_dir) as (store, _, deadline):
        is_new = store.allow(subject, frozenset(kb_ids), as_editor=as_editor, deadline=deadline)
        _print_grant(store, subject, deadline)
    print(f"{_NEW} {_EFFECT}" if is_new else _EFFECT)


def revoke(
    subject: Subject,
    kb_ids: KbIdsOrNone = None,
    env: AnyEnvironmentName = None,
    data_dir: ServiceDataDir = None,
    takes_all: Annotated[bool, typer.Option("--all", help="Take all of them, without asking.")] = False,
    only_editing: Annotated[
        bool, typer.Option("--editor", help="Take only the right to upload and remove their documents.")
    ] = False,
) -> None:
    """Take knowledge bases from a caller, or all of them. The caller stays listed, even without any."""
    name, is_new = terminal.show_line(subject), False
    if only_editing and not kb_ids:
        raise typer.BadParameter("name the knowledge bases whose documents it may not change any more")
    _require_intent(name, kb_ids, takes_all=takes_all)
    with _open(env, data_dir) as (store, _, deadline):
        if not kb_ids:
            is_new = store.revoke_all(subject, deadline=deadline)
        elif not store.revoke(subject, frozenset(kb_ids), only_editing=only_editing, deadline=deadline):
            advice = f"`gleaner callers revoke {name} --all` bars it."
            typer.echo(f"{name} is not listed, so there is nothing to take from it. {advice}", err=True)
            raise typer.Exit(1)
        _print_grant(store, subject, deadline)
    print(f"{_NEW} {_EFFECT}" if is_new else _EFFECT)


def _require_intent(name: str, kb_ids: Sequence[str] | None, *, takes_all: bool) -> None:
    """Have it confirmed that a caller loses everything: a forgotten word must not do that."""
    if bool(kb_ids) and takes_all:
        raise typer.BadParameter("name knowledge bases or give --all, not both")
    if kb_ids or takes_all:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("name the knowledge bases to take, or give --all to take all of them")
    typer.confirm(f"Take all knowledge bases from {name}?", abort=True, err=True)


def unlist(subject: Subject, env: AnyEnvironmentName = None, data_dir: ServiceDataDir = None) -> None:
    """Remove a caller from the list, so that it may use what unlisted callers may use."""
    name = terminal.show_line(subject)
    with _open(env, data_dir) as (store, rule, deadline):
        if not store.unlist(subject, deadline=deadline):
            typer.echo(f"{name} is not listed.", err=True)
            raise typer.Exit(1)
    print(f"{name} is not listed any more. {rule} {_EFFECT}")


def list_grants(env: AnyEnvironmentName = None, data_dir: ServiceDataDir = None, as_json: AsJson = False) -> None:
    """List the callers with the knowledge bases that they may use."""
    with _open(env, data_dir) as (store, rule, deadline):
        grants = store.list(deadline=deadline)
    if as_json:
        print(terminal.format_json({"callers": [_to_fields(grant) for grant in grants]}))
        return
    for grant in grants:
        print(_describe(grant))
    print(rule if grants else f"No caller is listed. {rule}")


def add_to(callers: typer.Typer) -> None:
    """Add the commands to `gleaner callers`."""
    callers.command("allow")(allow)
    callers.command("list")(list_grants)
    callers.command("revoke")(revoke)
    callers.command("unlist")(unlist)


@contextmanager
def _open(env: str | None, data_dir: Path | None) -> Iterator[tuple[AccessStore, str, Deadline]]:
    """The list, what holds for callers that it lacks, and the time for it. Explains a table that gives no answer."""
    from gleaner_local.service.access_table import find_deployed_access, find_local_access  # loads the SDK of AWS

    if env is not None and data_dir is not None:
        raise typer.BadParameter("--data-dir belongs to a service of this machine: leave out --env")
    if env is None:
        store, unlisted_may_use_all = find_local_access(data_dir or DEFAULT_DATA_DIR)
    else:
        store, unlisted_may_use_all = find_deployed_access(env), None
    try:
        yield store, _UNLISTED[unlisted_may_use_all], Deadline.after(_SECONDS)
    except (StoreUnavailable, DeadlineExceeded) as error:
        doctor = "gleaner doctor" if env is None else f"gleaner doctor --env {env}"
        raise CallFailed(f"The table of callers gives no usable answer: {error} `{doctor}` says more.") from error


def _print_grant(store: AccessStore, subject: str, deadline: Deadline) -> None:
    grants: Sequence[Grant] = store.find([subject], deadline=deadline)
    for grant in grants:
        print(_describe(grant))


def _describe(grant: Grant) -> str:
    used = ", ".join(sorted(grant.kb_ids)) or "no knowledge base"
    edited = ", ".join(sorted(grant.edited_kb_ids))
    return terminal.show_line(f"{grant.subject} may use {used}{f', and edit {edited}' if edited else ''}.")


def _to_fields(grant: Grant) -> dict[str, object]:
    kb_ids, edited_kb_ids = sorted(grant.kb_ids), sorted(grant.edited_kb_ids)
    return {
        "caller": grant.subject,
        "kb_ids": kb_ids,
        "edited_kb_ids": edited_kb_ids,
        "updated_at": grant.updated_at,
    }
