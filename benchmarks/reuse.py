"""Measures whether a learned answer serves the question that it answers, and no other.

    .venv/bin/python benchmarks/reuse.py [PAIRS.jsonl | DIR …]

DIR holds a pairs.jsonl. A line of a file is a pair: `kind`, `reuse` (whether the stored answer may serve the second
question), `age_days` (of the stored answer by then), `first` (the question `q` that the web answers with `a`, and the
`title` of its page) and `second` (`q`). The first question is asked with the local model and a scripted web search,
and learned; then the second is asked. Retrieval reuses the answer if it hands it out, the local model if it answers
without a web search. Without a file, the pairs of reuse_pairs.jsonl are measured, which have invented facts. The
bars: at most 6 % wrong, at least 95 % right.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from gleaner.answering.exchange import QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.model import SourceType, new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.items import from_item, to_timestamp
from gleaner_local.servers import openai_server
from harness.keyword_tables import print_table
from harness.local_services import Running, running
from tests.doubles.scripted_web import result

OWN_PAIRS = Path(__file__).with_name("reuse_pairs.jsonl")
TABLE = "keywords_table"
SECONDS = 30.0
MAX_WRONG, MIN_RIGHT = 6.0, 95.0  # per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether a pair's stored answer may be reused, and who reused it."""

    kind: str
    may_reuse: bool
    by_retrieval: bool
    by_model: bool
    note: str

    @property
    def is_right(self) -> bool:
        """Whether retrieval and the model did as they should."""
        return self.by_retrieval == self.may_reuse == self.by_model


def main() -> None:
    """Print the shares and a table for each file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", metavar="PAIRS.jsonl | DIR", type=Path, nargs="*", default=[OWN_PAIRS])
    files = [file / "pairs.jsonl" if file.is_dir() else file for file in parser.parse_args().files]
    app = openai_server.create_app()
    is_good = True
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), model_app=app) as local:
        for file in files:
            outcomes = [try_pair(pair, local, f"{file.stem}-{pair['id']}".lower()) for pair in read_pairs(file)]
            is_good &= show(file.name, outcomes)
    if not is_good:
        sys.exit("A bar is missed, see above.")


def read_pairs(file: Path) -> Iterator[dict[str, Any]]:
    """Read the pairs of a file."""
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def try_pair(pair: dict[str, Any], local: Running, kb_id: str) -> Outcome:
    """Ask both questions of a pair, in a knowledge base of its own."""
    services = replace(local.services, default_kb_id=kb_id)
    first, second = pair["first"], pair["second"]
    local.web.finds(first["a"], result(1, "https://web.example/first", first.get("title") or ""))
    ask(first["q"], services)
    make_older(local, kb_id, pair["age_days"])
    deadline = Deadline.after(SECONDS)
    passages = services.retrieval.search(kb_id, second["q"], top_k=5, deadline=deadline).passages
    local.web.finds(second.get("a", "The web says something else. [1]"), result(1, "https://web.example/2", ""))
    ask(second["q"], services)
    return Outcome(
        kind=pair["kind"],
        may_reuse=pair["reuse"],
        by_retrieval=any(passage.source_type is SourceType.EXTERNAL for passage in passages),
        by_model=not local.web.requests,
        note=f"{pair['id']}: {first['q']} | {second['q']}",
    )


def ask(question: str, services: Services) -> None:
    """Ask one question as a caller of its own."""
    request = QuestionRequest(query=question, caller_id=f"key:{new_id()}")
    answer_question(request, new_id(), services, Deadline.after(SECONDS))


def make_older(local: Running, kb_id: str, days: int) -> None:
    """Set back the time of the answers that a knowledge base learned."""
    created_at = to_timestamp(utc_now() - timedelta(days=days))
    pages = local.client.get_paginator("scan").paginate(TableName=TABLE)
    for item in (from_item(item) for page in pages for item in page["Items"]):
        if item["sk"] == "ANSWER" and item.get("kb_id") == kb_id:
            local.client.update_item(
                TableName=TABLE,
                Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}},
                UpdateExpression="SET created_at = :then",
                ExpressionAttributeValues={":then": {"S": created_at}},
            )


def show(name: str, outcomes: Sequence[Outcome]) -> bool:
    """Print the shares of wrong and right reuse, by kind, and the pairs that went wrong. Returns whether bars hold."""
    by_kind: dict[tuple[str, bool], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind, outcome.may_reuse].append(outcome)
        by_kind["all", outcome.may_reuse].append(outcome)
    rows = [
        (kind, "right" if may_reuse else "wrong", len(group), *shares(group))
        for (kind, may_reuse), group in sorted(by_kind.items(), key=lambda item: (item[0][0] == "all", item[0]))
    ]
    print_table(name, ("kind", "reuse would be", "pairs", "reused by retrieval %", "by the local model %"), rows)
    for outcome in outcomes:
        if not outcome.is_right:
            print(f"  retrieval {outcome.by_retrieval}, model {outcome.by_model}: {outcome.note}")
    wrong, right = (shares(by_kind["all", may_reuse]) for may_reuse in (False, True))
    return max(wrong) <= MAX_WRONG and min(right) >= MIN_RIGHT


def shares(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """The shares in per cent that retrieval and the local model reused."""
    total = max(1, len(outcomes))
    by_retrieval = sum(outcome.by_retrieval for outcome in outcomes)
    return 100 * by_retrieval / total, 100 * sum(outcome.by_model for outcome in outcomes) / total


if __name__ == "__main__":
    main()
