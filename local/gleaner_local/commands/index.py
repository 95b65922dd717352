"""`gleaner index`: the Pinecone index that a deployment needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from gleaner_local.clients.credentials import fits_a_header
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.clients.pinecone_control import UNAUTHORIZED, ControlFailed, PineconeControl, PineconeIndex

app = typer.Typer(no_args_is_help=True, help="The Pinecone index of a deployment.")

_READY_SECONDS = 300.0
_PAUSE_SECONDS = 2.0
_SERVER_ERRORS = 500
_BUSY = 429


class Cloud(StrEnum):
    """The clouds where Pinecone runs serverless indexes."""

    AWS = "aws"
    GCP = "gcp"
    AZURE = "azure"


def _make_check(pattern: str, hint: str) -> Callable[[str], str]:
    """A callback that checks an option against a pattern; `hint` describes the pattern for people."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise typer.BadParameter(f"use {hint}")
        return value

    return check


_check_name = _make_check(
    "[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?", "lowercase letters and digits with - between them, at most 45 characters"
)
_check_region = _make_check("[a-z0-9-]+", "a region of the cloud, such as us-east-1")
_check_model = _make_check("[A-Za-z0-9._-]+", "a model that Pinecone hosts, such as llama-text-embed-v2")


@app.callback()
def index() -> None:
    """The Pinecone index of a deployment."""


@app.command()
def create(
    name: Annotated[
        str, typer.Option(help="Name of the index: lowercase letters, digits and -.", callback=_check_name)
    ] = "gleaner",
    cloud: Annotated[Cloud, typer.Option(help="Cloud that it runs in.")] = Cloud.AWS,
    region: Annotated[
        str, typer.Option(help="Region of the cloud, best that of the deployment.", callback=_check_region)
    ] = "us-east-1",
    model: Annotated[
        str, typer.Option(help="Model that embeds the text.", callback=_check_model)
    ] = "llama-text-embed-v2",
) -> None:
    """Create a serverless index with integrated embedding and print its host; an existing one is kept."""
    control = PineconeControl(api_key=_read_api_key(), host=os.environ.get("PINECONE_CONTROLLER_HOST"))
    try:
        ready, is_new = _ensure_index(control, name, cloud=cloud, region=region, model=model)
    except ControlFailed as failure:
        raise CallFailed(f"{failure}{_suggest_remedy(failure.status)}") from failure
    print(f"The index {name} {'is' if is_new else 'already exists and is'} ready; {ready.model} embeds the text.")
    print(f"Host: {ready.host}")
    print(f"Next: make deploy ENV=dev PINECONE_INDEX_HOST={ready.host}")


def _read_api_key() -> str:
    api_key = os.environ.get("PINECONE_API_KEY")
    if not api_key:
        raise CallFailed("Set PINECONE_API_KEY to a key of the Pinecone project that the index belongs to.")
    if not fits_a_header(api_key):
        raise CallFailed("PINECONE_API_KEY holds a character that no key has, such as a line break. Copy it again.")
    return api_key


def _ensure_index(
    control: PineconeControl, name: str, *, cloud: str, region: str, model: str
) -> tuple[PineconeIndex, bool]:
    """Wait until the index is ready, and create it if necessary; also returns whether it was created."""
    existing = control.describe(name)
    if existing is None:
        print(f"Creating the index {name} in {cloud} {region} ...", flush=True)
        control.create(name, cloud=cloud, region=region, model=model)
    else:
        _require_match(existing, cloud=cloud, region=region, model=model)
    ready = control.wait_until_ready(name, seconds=_READY_SECONDS, pause=_PAUSE_SECONDS)
    _require_match(ready, cloud=cloud, region=region, model=model)
    return ready, existing is None


def _suggest_remedy(status: int | None) -> str:
    if status is None:  # the message already says what to do
        return ""
    if status == UNAUTHORIZED:
        return " Set PINECONE_API_KEY to a key of the project, as listed in Pinecone's console."
    if status == _BUSY or status >= _SERVER_ERRORS:
        return " Try again later."
    return " Check --name, --cloud, --region and --model, and what the project and the key may use."


def _require_match(index: PineconeIndex, *, cloud: str, region: str, model: str) -> None:
    """Raises CallFailed for an index of another shape than requested; no index is changed or removed."""
    where = index.place or "a deployment that is not serverless"
    if (mismatch := index.find_mismatch()) is not None:
        fix = ""
    elif index.model != model:
        mismatch, fix = f"its text is embedded by {index.model}, not {model}", f" Use it with --model {index.model}."
    elif index.place != f"{cloud} {region}":
        mismatch, fix = f"it is in {where}, not {cloud} {region}", ""
        if index.place:
            its_cloud, _, its_region = index.place.partition(" ")
            fix = f" Use it with --cloud {its_cloud} --region {its_region}."
    else:
        return
    raise CallFailed(f"The index {index.name} exists in another shape: {mismatch}.{fix} Create another with --name.")
