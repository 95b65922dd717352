"""What loading documents into a deployed environment costs once, and a month of keeping them, from list prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.ingestion_queue import Circumstances, Document, Run, simulate_many
from infra.documents import Documents
from infra.prices import (
    AWS,
    PINECONE_EMBED_MILLION_TOKENS,
    PINECONE_PLANS,
    PINECONE_READ_MILLION,
    PINECONE_STORAGE_GB_MONTH,
    PINECONE_WRITE_MILLION,
)

_MILLION, _GB = 1e6, 1e9
# Of a document: the table is written when it is taken, before and between its requests to the index, and at the end.
# Each of these writes also takes one from, and puts one into, the index of states.
_TABLE_WRITES, _UNITS_OF_WRITE = 3, 3
_OBJECT_READS = 4  # HEAD of the command and of the file beside it, GET of the function, also of that file
_MESSAGES = 3  # sent, received, deleted
_INDEX_READS = 2  # the first chunk is fetched, and the ids of all are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingCosts:
    """USD, by what is charged. `monthly` goes on for as long as the documents are kept."""

    documents: int
    chunks: int
    tokens: int
    once: dict[str, float]
    monthly: dict[str, float]
    run: Run


def loading_costs(documents: Sequence[Document], count: int, record: Documents | None = None) -> LoadingCosts:
    """The costs of `count` documents like `documents`, on Pinecone's Standard plan."""
    record = record or Documents()
    plan = PINECONE_PLANS["Standard"]
    circumstances = Circumstances(concurrency=record.max_concurrency, tokens_a_minute=plan.passage_tokens_a_minute)
    run = simulate_many(documents, count, circumstances)
    scale = count / len(documents)
    units = scale * sum(document.write_units for document in documents)
    chunks, size = (scale * sum(getattr(one, name) for one in documents) for name in ("chunks", "bytes"))
    once = {
        "Pinecone, embedding": run.tokens * PINECONE_EMBED_MILLION_TOKENS / _MILLION,
        "Pinecone, write units": units * PINECONE_WRITE_MILLION / _MILLION,
        "Pinecone, read units": count * _INDEX_READS * PINECONE_READ_MILLION / _MILLION,
        "Lambda": run.busy_seconds * record.memory_mb / 1024 * AWS.gb_second
        + run.invocations * AWS.invocation_million / _MILLION,
        "DynamoDB": (count * (_TABLE_WRITES - 1) + run.requests) * _UNITS_OF_WRITE * AWS.write_million / _MILLION,
        "S3, requests": count * (AWS.put_thousand + _OBJECT_READS * AWS.get_thousand) / 1_000,
        "EventBridge and SQS": count * (AWS.s3_event_million + _MESSAGES * AWS.queue_request_million) / _MILLION,
    }
    monthly = {
        "Pinecone, storage": units * 1_000 / _GB * PINECONE_STORAGE_GB_MONTH,  # a unit for each KB of a record
        "S3, storage": size / _GB * AWS.object_gb_month,
    }
    return LoadingCosts(documents=count, chunks=round(chunks), tokens=run.tokens, once=once, monthly=monthly, run=run)


def describe_costs(costs: LoadingCosts) -> Iterator[str]:
    """The lines to print."""
    yield (
        f"{costs.documents:,} documents, {costs.chunks:,} chunks, {costs.tokens / _MILLION:,.0f} million tokens, "
        f"{costs.run.seconds / 3600:,.1f} hours with {Documents().max_concurrency} at once:"
    )
    for kind, prices in (("once", costs.once), ("a month", costs.monthly)):
        for name, usd in prices.items():
            yield f"  {name:24}{usd:12,.2f} USD {kind}"
        yield f"  {'together':24}{sum(prices.values()):12,.2f} USD {kind}"
