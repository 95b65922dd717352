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
    """Where Pinecone runs serverless indexes."""

    AWS = "aws"
    GCP = "gcp"
    AZURE = "azure"


def _formed(pattern: str, form: str) -> Callable[[str], str]:
    """Checks an option against a pattern whose `form` is said in words."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise typer.BadParameter(f"use {form}")
        return value

    return check


_name = _formed("[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?", "small letters, digits and - between them, at most 45")
_region = _formed("[a-z0-9-]+", "a region of the cloud, such as us-east-1")
_model = _formed("[A-Za-z0-9._-]+", "a model that Pinecone hosts, such as llama-text-embed-v2")


@app.callback()
def index() -> None:
    """The Pinecone index of a deployment."""


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Of the index: small letters, digits and -.", callback=_name)] = "gleaner",
    cloud: Annotated[Cloud, typer.Option(help="Where it runs.")] = Cloud.AWS,
    region: Annotated[
        str, typer.Option(help="Of the cloud, best that of the deployment.", callback=_region)
    ] = "us-east-1",
    model: Annotated[str, typer.Option(help="What embeds the text.", callback=_model)] = "llama-text-embed-v2",
) -> None:
    """Make a serverless index with integrated embedding, and print its host; one that exists is kept."""
    control = PineconeControl(api_key=_api_key(), host=os.environ.get("PINECONE_CONTROLLER_HOST"))
    try:
        ready, made = _made(control, name, cloud=cloud, region=region, model=model)
    except ControlFailed as failure:
        raise CallFailed(f"{failure}{_remedy(failure.status)}") from failure
    print(f"The index {name} {'is' if made else 'was there and is'} ready; {ready.model} embeds the text.")
    print(f"Host: {ready.host}")
    print(f"Next: make deploy ENV=dev PINECONE_INDEX_HOST={ready.host}")


def _api_key() -> str:
    api_key = os.environ.get("PINECONE_API_KEY")
    if not api_key:
        raise CallFailed("Set PINECONE_API_KEY to a key of the Pinecone project that the index shall be in.")
    if not fits_a_header(api_key):
        raise CallFailed("PINECONE_API_KEY holds what is in no key, such as a line break. Copy the key again.")
    return api_key


def _made(control: PineconeControl, name: str, *, cloud: str, region: str, model: str) -> tuple[PineconeIndex, bool]:
    """The index once it is ready, and whether it was made now."""
    found = control.describe(name)
    if found is None:
        print(f"Making the index {name} in {cloud} {region} ...", flush=True)
        control.create(name, cloud=cloud, region=region, model=model)
    else:
        _require(found, cloud=cloud, region=region, model=model)
    ready = control.wait_until_ready(name, seconds=_READY_SECONDS, pause=_PAUSE_SECONDS)
    _require(ready, cloud=cloud, region=region, model=model)
    return ready, found is None


def _remedy(status: int | None) -> str:
    if status is None:  # what went wrong has said it
        return ""
    if status == UNAUTHORIZED:
        return " Set PINECONE_API_KEY to a key of the project, as Pinecone's console lists them."
    if status == _BUSY or status >= _SERVER_ERRORS:
        return " Try again later."
    return " Check --name, --cloud, --region and --model, and what the project and the key may have."


def _require(index: PineconeIndex, *, cloud: str, region: str, model: str) -> None:
    """Raises CallFailed for an index of another shape than was asked for; no index is changed or removed."""
    where = index.place or "a deployment that is not serverless"
    if (unfit := index.unfit()) is not None:
        wrong, take = unfit, ""
    elif index.model != model:
        wrong, take = f"its text is embedded by {index.model}, not {model}", f" Take it with --model {index.model}."
    elif index.place != f"{cloud} {region}":
        wrong, take = f"it is in {where}, not {cloud} {region}", ""
        if index.place:
            at_cloud, _, at_region = index.place.partition(" ")
            take = f" Take it with --cloud {at_cloud} --region {at_region}."
    else:
        return
    raise CallFailed(f"There is an index {index.name} of another shape: {wrong}.{take} Make another with --name.")
