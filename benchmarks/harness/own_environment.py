"""The environment of the processes that a benchmark starts, without access to remote services."""

from __future__ import annotations

import argparse
import os

from gleaner_local.aws import ministack

# Prefixes of variables that would replace a local server by a remote service or by one that already runs.
_REMOTE = ("OPENAI_", "PINECONE_", "PERPLEXITY_", "AWS_", "GLEANER_")


def without_remote_services() -> dict[str, str]:
    """The environment of this process without variables of remote services."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_REMOTE)}


def use_local_credentials() -> None:
    """Make boto3 in this process use the credentials of the local DynamoDB."""
    own = ministack.with_credentials(without_remote_services())
    os.environ.clear()
    os.environ.update(own)


def positive(text: str) -> int:
    """Parse the number of an option, which must be at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
