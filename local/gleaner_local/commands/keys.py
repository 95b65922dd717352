"""`gleaner keys`: the API keys of the remote services that a deployed environment uses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gleaner_local.clients.credentials import fits_a_header
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.clients.keys_secret import FIELDS, REQUIRED, keys_of, parse_fields, read_value, write_fields
from gleaner_local.commands.options import EnvironmentName

app = typer.Typer(no_args_is_help=True, help="The API keys of a deployed environment.")

_OUTPUT = "ApiKeysSecretArn"
_SHAPE = '{"openai": "KEY", "pinecone": "KEY", "perplexity": "KEY"}'
_UNUSABLE = (
    "The value before was no JSON object, so it was unusable and nothing of it was kept. "
    "It stays readable as the version AWSPREVIOUS."
)
_MAX_KEY_CHARS = 1000  # Perplexity's and OpenAI's have less than 200


@app.callback()
def keys() -> None:
    """The API keys of a deployed environment."""


@app.command()
def put(
    env: EnvironmentName,
    file: Annotated[
        Path | None,
        typer.Option(
            help=f"A file with {_SHAPE}, or - for the standard input; an empty string removes a key. "
            "Without it the keys are asked for.",
        ),
    ] = None,
) -> None:
    """Write API keys into the environment's secret. Those that are not given are kept, and none is shown."""
    from_file = None if file is None else _read(file)
    with _explain_aws_errors():
        client, arn = _open_secret(env)
        value = read_value(client, arn)
        before = parse_fields(value or "") or {}
        given = _ask(keys_of(before)) if from_file is None else from_file
        changed = {name: key for name, key in given.items() if key != before.get(name, "")}
        after = before | changed
        if not changed:
            print("Nothing was changed.")
        else:
            write_fields(client, arn, after)
            print(_describe_change(changed, keys_of(before), env))
            if value is not None and parse_fields(value) is None:
                print(_UNUSABLE)
    missing = [name for name in REQUIRED if name not in keys_of(after)]
    if missing:
        print(f"Still missing: {', '.join(missing)}. Until then questions get 503 api-keys-unavailable.")


def _open_secret(env: str) -> tuple[Any, str]:
    """A client of Secrets Manager, and the ARN of the environment's secret."""
    from gleaner_local.diagnosis.aws import Account
    from gleaner_local.diagnosis.deployed import find_output

    account = Account()
    arn = find_output(account, f"gleaner-{env}-data", _OUTPUT)
    if arn is None:
        raise CallFailed(f"{env} has no secret in this account and region. Deploy it: make deploy ENV={env} STACK=data")
    return account.client("secretsmanager"), arn


@contextmanager
def _explain_aws_errors() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    from gleaner_local.diagnosis.aws import explain_error

    try:
        yield
    except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: the region makes no address
        finding = explain_error("secret", error)
        raise CallFailed(f"{finding.seen} {finding.remedy}") from error


def _ask(present: Mapping[str, str]) -> dict[str, str]:
    """Ask for each key on the terminal, which does not show it; returns those that were entered."""
    if not sys.stdin.isatty():
        raise CallFailed("There is no terminal to ask on: give the keys with --file, which reads - as standard input.")
    given = {}
    for name in FIELDS:
        hint = "Enter keeps it" if name in present else "Enter leaves it empty"
        key = typer.prompt(f"API key of {name} ({hint})", default="", hide_input=True, show_default=False, err=True)
        if key.strip():
            given[name] = _check_key(name, key)
    return given


def _read(file: Path) -> dict[str, str]:
    """The keys of a file. Its content is in no message: a key may stand where a field belongs."""
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        fields = json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise CallFailed(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError):  # the latter if it is nested too deeply
        raise CallFailed(f"It is not JSON in UTF-8. It must look like {_SHAPE}.") from None
    if not isinstance(fields, dict) or not fields:
        raise CallFailed(f"It must be a JSON object with fields, such as {_SHAPE}.")
    if not set(fields) <= set(FIELDS):
        raise CallFailed(f"It has a field that is none of {', '.join(FIELDS)}.")
    return {name: _check_key(name, key) for name, key in fields.items()}


def _check_key(name: str, key: object) -> str:
    if not isinstance(key, str):
        raise CallFailed(f"The key of {name} must be a string.")
    key = key.strip()
    if len(key) > _MAX_KEY_CHARS:
        raise CallFailed(
            f"The key of {name} has {len(key):,} characters. No key has more than {_MAX_KEY_CHARS:,}. Copy it again."
        )
    if not fits_a_header(key) or " " in key:
        raise CallFailed(f"The key of {name} holds what no key has, such as a space or a line break. Copy it again.")
    return key


def _describe_change(changed: Mapping[str, str], present: Mapping[str, str], env: str) -> str:
    """What was written or removed, and what follows; `present` are the keys that were there."""
    written = [name for name in FIELDS if changed.get(name)]
    removed = [name for name in FIELDS if changed.get(name) == ""]
    parts = [f"{verb} {', '.join(names)}" for verb, names in (("wrote", written), ("removed", removed)) if names]
    sentence = " and ".join(parts)
    lines = [
        f"{sentence[0].upper()}{sentence[1:]} in the secret of {env}.",
        "Functions that found no usable keys read the secret at the next question, the others within 5 minutes.",
    ]
    if changed.keys() & present.keys():
        lines.append("Revoke an old key at its provider only then. docs/09 says how to have a new key used at once.")
    return "\n".join(lines)
