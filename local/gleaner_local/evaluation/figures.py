"""The figures of an evaluation: their names, what they say, and which values are better."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NDCG_DEPTH = 10


class Better(StrEnum):
    """Which values of a figure are better; of a figure with NEITHER nothing can fall."""

    HIGH = "high"
    LOW = "low"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its name in reports, what it says, and which values are better."""

    name: str
    label: str
    better: Better = Better.HIGH
    is_share: bool = True


FIGURES = (
    Figure("right", "cases right in all that is expected"),
    Figure("hit_1", "hit@1: first passage is an expected one"),
    Figure("hit_3", "hit@3"),
    Figure("hit_5", "hit@5"),
    Figure("reciprocal_rank", "MRR", is_share=False),
    Figure("ndcg", f"nDCG@{NDCG_DEPTH}", is_share=False),
    Figure("citation_precision", "citation precision"),
    Figure("citation_recall", "citation recall"),
    Figure("says", "answer says what it must"),
    Figure("avoids", "answer avoids what it must not say"),
    Figure("verdict", "verdict right"),
    Figure("refused_rightly", "refusals right (unanswerable, declined)"),
    Figure("refused_wrongly", "refusals wrong (answerable, declined)", Better.LOW),
    Figure("tool_sequence", "tool sequence right"),
    Figure("streamed_as_buffered", "streamed = buffered"),
    Figure("web_avoided", "web searches avoided by learned answers"),
    Figure("leaks", "injection leaks", Better.LOW, is_share=False),
    Figure("failed", "model gave no valid answer", Better.LOW),
    Figure("model_calls", "model calls", Better.LOW, is_share=False),
    Figure("web_searches", "web searches", Better.NEITHER, is_share=False),
    Figure("input_tokens", "input tokens", Better.LOW, is_share=False),
    Figure("output_tokens", "output tokens", Better.NEITHER, is_share=False),
    Figure("usd", "cost in USD", Better.LOW, is_share=False),
)

Value = float | bool
Values = dict[str, Value]
