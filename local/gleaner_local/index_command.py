"""`gleaner index`: the Pinecone index that a deployment needs."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gleaner_local.api_client import CallFailed
from gleaner_local.pinecone_control import PineconeControl, PineconeIndex

app = typer.Typer(no_args_is_help=True, help="The Pinecone index of a deployment.")

_READY_SECONDS = 300.0
_PAUSE_SECONDS = 2.0


@app.callback()
def index() -> None:
    """The Pinecone index of a deployment."""


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Of the index: small letters, digits and -.")] = "gleaner",
    cloud: Annotated[str, typer.Option(help="aws, gcp or azure.")] = "aws",
    region: Annotated[str, typer.Option(help="Of the cloud, best that of the deployment.")] = "us-east-1",
    model: Annotated[str, typer.Option(help="What embeds the text.")] = "llama-text-embed-v2",
) -> None:
    """Make a serverless index with integrated embedding, and print its host; one that exists is kept."""
    api_key = os.environ.get("PINECONE_API_KEY")
    if not api_key:
        raise CallFailed("Set PINECONE_API_KEY to a key of the Pinecone project that the index shall be in.")
    control = PineconeControl(api_key=api_key, host=os.environ.get("PINECONE_CONTROLLER_HOST"))
    found = control.describe(name)
    if found is None:
        print(f"Making the index {name} in {cloud} {region} ...", flush=True)
        control.create(name, cloud=cloud, region=region, model=model)
    else:
        _require(found, cloud=cloud, region=region, model=model)
    ready = control.wait_until_ready(name, seconds=_READY_SECONDS, pause=_PAUSE_SECONDS)
    _require(ready, cloud=cloud, region=region, model=model)
    print(f"The index {name} {'is' if found is None else 'was there and is'} ready; {ready.model} embeds the text.")
    print(f"Host: {ready.host}")
    print(f"Next: make deploy ENV=dev PINECONE_INDEX_HOST={ready.host}")


def _require(index: PineconeIndex, *, cloud: str, region: str, model: str) -> None:
    """Raises CallFailed for an index of another shape than was asked for; no index is changed or removed."""
    wrong = index.unfit()
    if wrong is None and index.model != model:
        wrong = f"its text is embedded by {index.model}, not {model}"
    if wrong is None and index.place != f"{cloud} {region}":
        wrong = f"it is in {index.place or 'a deployment that is not serverless'}, not {cloud} {region}"
    if wrong is not None:
        raise CallFailed(
            f"There is an index {index.name} of another shape: {wrong}. Name another with --name, or ask for its shape."
        )
