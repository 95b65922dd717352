"""The environment of what a benchmark starts: nothing in it leads to a remote service."""

from __future__ import annotations

import argparse
import os

from gleaner_local.aws import ministack

# Variables that would put a remote service, or a service that runs already, in the place of a local server.
_REMOTE = ("OPENAI_", "PINECONE_", "PERPLEXITY_", "AWS_", "GLEANER_")


def without_remote_services() -> dict[str, str]:
    """The environment of this process without them."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_REMOTE)}


def use_local_credentials() -> None:
    """Let boto3 in this process take the credentials of the local DynamoDB."""
    own = ministack.with_credentials(without_remote_services())
    os.environ.clear()
    os.environ.update(own)


def positive(text: str) -> int:
    """A number of an option, at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
