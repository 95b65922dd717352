"""Measures the keyword index: exactness of merging, cost of a look-up, and how well it finds learned answers.

    python benchmarks/keywords.py [merge] [lookup] [learning DIR]

Without an argument, the first two run. DIR holds corpus.jsonl (id, title, text), queries.jsonl (id, text) and
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
    """Run the chosen parts against a DynamoDB of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parts = parser.add_subparsers(dest="part")
    parts.add_parser("merge", help="concurrent writers")
    lookup = parts.add_parser("lookup", help="cost by the size of the table")
    lookup.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of keywords")
    learning = parts.add_parser("learning", help="learned answers found by other questions")
    learning.add_argument("directory", metavar="DIR", type=Path)
    everything = parts.add_parser("all", help="all three")
    everything.add_argument("directory", metavar="DIR", type=Path)
    options = parser.parse_args()
    with database() as running:
        if options.part in (None, "merge", "all"):
            measure_merge(running)
        if options.part in (None, "lookup", "all"):
            measure_lookup(running, getattr(options, "sizes", SIZES))
        if options.part in ("learning", "all"):
            measure_learning(running, options.directory)


if __name__ == "__main__":
    main()
