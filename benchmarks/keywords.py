"""The keyword index: exactness of merging, cost of a look-up, and how much of what was learned is found again.

    python benchmarks/keywords.py [merge] [lookup] [learning DIR]

Without a name the first two are run. DIR holds corpus.jsonl (id, title, text), queries.jsonl (id, text) and
qrels.tsv (query, document, relevance, with a header), with several queries for each document.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.keyword_learning import measure_learning
from harness.keyword_lookup import SIZES, measure_lookup
from harness.keyword_merge import measure_merge
from harness.keyword_tables import database
from harness.own_environment import positive


def main() -> None:
    """Run what was asked for against a DynamoDB of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parts = parser.add_subparsers(dest="part")
    parts.add_parser("merge", help="concurrent writers")
    lookup = parts.add_parser("lookup", help="cost by the size of the table")
    lookup.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of keywords")
    learning = parts.add_parser("learning", help="answers found again by other questions")
    learning.add_argument("directory", metavar="DIR", type=Path)
    everything = parts.add_parser("all", help="all three")
    everything.add_argument("directory", metavar="DIR", type=Path)
    chosen = parser.parse_args()
    with database() as running:
        if chosen.part in (None, "merge", "all"):
            measure_merge(running)
        if chosen.part in (None, "lookup", "all"):
            measure_lookup(running, getattr(chosen, "sizes", SIZES))
        if chosen.part in ("learning", "all"):
            measure_learning(running, chosen.directory)


if __name__ == "__main__":
    main()
