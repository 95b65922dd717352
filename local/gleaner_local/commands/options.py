"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gleaner.groups import is_group_name
from gleaner.model import ANONYMOUS, CALLER_PATTERN, GROUP_PREFIX, KB_ID_PATTERN
from gleaner_local.clients.credentials import API_KEY_VARIABLE, TOKEN_VARIABLE, fits_a_header
from gleaner_local.command_line import DEFAULT_DATA_DIR

_MAX_GROUP_LENGTH = 128  # of a name, in Cognito

_MAX_SUBJECT_BYTES = 2_000  # a key of DynamoDB has 2,048, of which some stand before the id in other tables


def _check_url(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a valid number
        valid = False
    if not valid:
        raise typer.BadParameter("give an http or https address, such as http://127.0.0.1:8000")
    return value.rstrip("/")


def _check_secret(value: str | None) -> str | None:
    if value is not None and not (value and fits_a_header(value)):
        raise typer.BadParameter("it must be printable ASCII and not empty")
    return value


def _check_kb_id(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(KB_ID_PATTERN, value):
        raise typer.BadParameter("use at most 63 lowercase letters, digits, - and _, beginning with a letter or digit")
    return value


def _check_answer_id(value: str) -> str:
    if not (value.isascii() and value.isalnum()):
        raise typer.BadParameter(
            "use the id of a stored answer, as `gleaner keywords show` and `gleaner keywords list --doubtful` print it"
        )
    return value


def _check_environment(value: str | None) -> str | None:
    if value is None:
        return None
    from infra.environments import ENVIRONMENTS  # does not import the CDK

    names = [environment.name for environment in ENVIRONMENTS]
    if value not in names:
        raise typer.BadParameter(f"there is no such environment; infra/environments.py has {', '.join(names)}")
    return value


def _check_subject(value: str) -> str:
    group = value.removeprefix(GROUP_PREFIX)
    is_group = group != value and re.fullmatch(rf"\S{{1,{_MAX_GROUP_LENGTH}}}", group)
    if len(value.encode()) > _MAX_SUBJECT_BYTES:
        raise typer.BadParameter(f"no caller has an id of more than {_MAX_SUBJECT_BYTES:,} bytes")
    if not (is_group or value == ANONYMOUS or re.fullmatch(CALLER_PATTERN, value)):
        raise typer.BadParameter(f"name a caller as key:ID, cognito:SUB, iam:ARN, group:NAME or {ANONYMOUS}")
    return value


def _check_kb_ids(values: list[str] | None) -> list[str]:
    return [kb_id for value in values or () if (kb_id := _check_kb_id(value))]


def _check_groups(values: list[str] | None) -> list[str]:
    for value in values or ():
        if not is_group_name(value):
            raise typer.BadParameter("a group has a name of 1 to 128 characters, none of them a space")
    return list(values or ())


Url = Annotated[
    str | None, typer.Option(help="Address of the service; by default the one that runs here.", callback=_check_url)
]
ApiKey = Annotated[
    str | None,
    typer.Option(help=f"Sent as x-api-key. With --url, {API_KEY_VARIABLE} can hold it, too.", callback=_check_secret),
]
Token = Annotated[
    str | None,
    typer.Option(help=f"Sent as bearer token. With --url, {TOKEN_VARIABLE} can hold it, too.", callback=_check_secret),
]
DataDir = Annotated[Path, typer.Option(help="Directory for all data.", file_okay=False)]
ServiceDataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help=f"Data directory of the service that runs here; {DEFAULT_DATA_DIR} by default.",
        file_okay=False,
    ),
]
AnswerId = Annotated[
    str,
    typer.Option(
        "--answer",
        help="Its id, as `gleaner keywords show` and `gleaner keywords list --doubtful` print it.",
        callback=_check_answer_id,
    ),
]
KbId = Annotated[str | None, typer.Option(help="The knowledge base.", callback=_check_kb_id)]
Subject = Annotated[
    str,
    typer.Argument(
        metavar="CALLER",
        help=f"Its id, such as key:ID, cognito:SUB, iam:ARN or {ANONYMOUS}; or group:NAME, a group of the user pool.",
        callback=_check_subject,
    ),
]
KbIds = Annotated[list[str], typer.Argument(metavar="KB", help="Knowledge bases.", callback=_check_kb_ids)]
KbIdsOrNone = Annotated[
    list[str] | None,
    typer.Argument(metavar="KB", help="Knowledge bases.", callback=_check_kb_ids),
]
CallerGroups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="GROUP",
        help="A group whose documents it may read, beside those of the user pool; may be repeated.",
        callback=_check_groups,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's response as JSON.")]
_Environment = typer.Option("--env", help="A deployed environment, such as dev.", callback=_check_environment)
EnvironmentName = Annotated[str, _Environment]
AnyEnvironmentName = Annotated[str | None, _Environment]
