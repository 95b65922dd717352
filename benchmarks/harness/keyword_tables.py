"""A local DynamoDB for the keyword benchmarks, and tables of figures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gleaner.stores import dynamodb
from gleaner.stores.dynamodb import Table
from gleaner.stores.schema import KEYWORDS
from gleaner_local.aws import ministack
from harness.own_environment import use_local_credentials

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KB_ID = "default_kb"
READ_THREADS = 48  # as many as the service reads with


@dataclass(frozen=True, slots=True)
class Database:
    """A running DynamoDB with the service's client and threads."""

    client: DynamoDBClient
    executor: ThreadPoolExecutor

    def keywords_table(self, name: str) -> Table:
        """Create an empty keywords table."""
        ministack.create_tables(self.client, {name: KEYWORDS})
        return Table(self.client, name)


@contextmanager
def database() -> Iterator[Database]:
    """Run a DynamoDB process; it is stopped and its data deleted at the end."""
    use_local_credentials()
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(READ_THREADS) as executor:
        server = ministack.Ministack(Path(directory) / "state", Path(directory) / "log")
        server.start()
        try:
            yield Database(dynamodb.connect(endpoint_url=server.url), executor)
        finally:
            server.stop()


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table, with one decimal for fractional numbers."""
    cells = [list(columns), *([_format(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n{title}\n\n" + "\n".join(lines), flush=True)


def _format(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
