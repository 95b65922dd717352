"""Says before `gleaner ingest` loads into Pinecone what that takes of a plan; asks if it takes more than a month."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator

import typer

from gleaner_local.commands.main import INTERRUPTED
from gleaner_local.ingestion.embedding_tokens import ERROR
from gleaner_local.ingestion.estimate import LoadEstimate
from infra.prices import PINECONE_EMBED_MILLION_TOKENS, PINECONE_PLANS, PINECONE_WRITE_MILLION

_MILLION = 1_000_000
_FREE = PINECONE_PLANS["Starter"]
MONTH = _FREE.embedding_tokens or 0


def confirm_load(estimate: LoadEstimate, say: Callable[[str], None], *, yes: bool) -> None:
    """Say what is to be loaded. Raises typer.Abort if it exceeds the free plan's month and the user declines.

    Without a terminal nobody is asked: a scheduled job may have a paid plan, and what exceeds a month is refused by
    Pinecone and loaded by the next run.
    """
    if not estimate.documents:
        return
    for line in describe_load(estimate):
        say(line)
    if estimate.tokens <= MONTH or yes:
        return
    if not _can_ask():
        say("Nobody can be asked here, so loading goes on. --yes leaves out this line.")
        return
    try:
        typer.confirm("Load it?", abort=True)
    except typer.Abort as abort:
        if isinstance(abort.__context__, KeyboardInterrupt):  # click makes one error of "no" and Ctrl-C
            raise typer.Exit(INTERRUPTED) from abort
        raise


def _can_ask() -> bool:
    return sys.stdin.isatty()


def describe_load(estimate: LoadEstimate) -> Iterator[str]:
    """The lines to print."""
    yield (
        f"To load: {_count(estimate.documents, 'document')}, {_count(estimate.chunks, 'chunk')}, about "
        f"{_round(estimate.tokens):,} tokens to embed (llama-text-embed-v2, ±{ERROR:.0%})."
    )
    shares = [
        f"{name} {estimate.tokens / plan.embedding_tokens:.1%} of the month's {plan.embedding_tokens:,} tokens"
        for name, plan in PINECONE_PLANS.items()
        if plan.embedding_tokens
    ]
    tokens = estimate.tokens * PINECONE_EMBED_MILLION_TOKENS / _MILLION
    writes = estimate.write_units * PINECONE_WRITE_MILLION / _MILLION
    paid = " and ".join(name for name, plan in PINECONE_PLANS.items() if not plan.embedding_tokens)
    yield (
        f"Pinecone's plans: {', '.join(shares)}; {paid} about {tokens + writes:.2f} USD "
        f"({tokens:.2f} for tokens, {writes:.2f} for writes)."
    )
    minutes = math.ceil(estimate.tokens / _FREE.passage_tokens_a_minute)
    if minutes > 1:
        yield f"The Starter plan embeds {_FREE.passage_tokens_a_minute:,} tokens a minute: {minutes} minutes at least."
    if estimate.tokens > MONTH:
        yield (
            f"That is more than the Starter plan embeds in a month: it would take {math.ceil(estimate.tokens / MONTH)} "
            "months. Loading stops when a month is used up; the same command then continues in the next one."
        )
    if estimate.largest_tokens > MONTH:
        yield (
            f"{estimate.largest_document} alone is more than that (about {_round(estimate.largest_tokens):,} tokens), "
            "and each run begins it again: the Starter plan never loads it. Divide it, or upgrade the plan."
        )


def _round(number: int) -> int:
    """A number with as many digits as an estimate has."""
    return round(number, 2 - len(str(number))) if number else 0


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
