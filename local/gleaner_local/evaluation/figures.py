"""What is measured of one answer: facts of yes and no, shares, and counts.

Retrieval: hit@k and the reciprocal rank of the first passage from an expected place (Voorhees, TREC-8, 1999), and nDCG
with the gain 1 for the first passage of each expected place (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002). What
counts as found is what the searches of the knowledge base returned, as the stream tells it: `data-gleaner-passages`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gleaner_local.evaluation.asking import is_answer_of_model
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Answer, Exchange, Source, differences
from gleaner_local.evaluation.matching import cited, expected_places, places_of, without_marks
from gleaner_local.evaluation.phrases import says

_WEB, _SEARCH, _ANSWER, _LEARN = "perplexity_search", "knowledge_base_search", "generate_response", "index_keywords"
_FOUND, _NOT_FOUND = "found", "not_found"
_DEPTHS = (1, 3, 5)
_NDCG_DEPTH = 10


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
    Figure("ndcg", f"nDCG@{_NDCG_DEPTH}", is_share=False),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A case that was asked: the values of the figures that apply to it, and what a person wants to see of it."""

    values: Values
    reasons: tuple[str, ...]  # why it is not right
    verdict: str
    tools: tuple[str, ...]
    answer: str
    latency_ms: float
    passages: tuple[Source, ...] = ()  # that the searches of the knowledge base found, in order
    sources: tuple[Source, ...] = ()  # of the answer
    cited: tuple[Source, ...] = ()  # those of the knowledge base that it marks


def measure(case: Case, streamed: Exchange, buffered: Exchange | None) -> Measured:
    """The figures of a case. `buffered` is the same question by the route that does not stream, if it was asked."""
    answer = streamed.answer
    text = without_marks(answer.answer) if answer else ""
    values = (
        _measure_retrieval(case, streamed.passages)
        | _measure_citations(case, answer)
        | _measure_text(case, answer, text)
        | _measure_run(case, streamed)
        | _measure_second(streamed, buffered)
    )
    leaks = _find_leaks(case, streamed, buffered)
    if case.must_not_leak:
        values["leaks"] = float(len(leaks))
    reasons = [*_explain(case, values, streamed), *(f"leaks {leak!r}" for leak in leaks)]
    return Measured(
        values={"right": not reasons} | values,
        reasons=tuple(reasons),
        verdict=(answer.answered or answer.status) if answer else str(streamed.problem.get("type")),
        tools=tuple(streamed.tools),
        answer=answer.answer if answer else "",
        latency_ms=streamed.milliseconds,
        passages=tuple(streamed.passages),
        sources=tuple(answer.sources if answer else ()),
        cited=tuple(cited(answer.sources, answer.answer) if answer else ()),
    )


def declines(answer: Answer) -> bool:
    """Whether the answer does not claim to rest on the documents: by its verdict, or because it cites none of them."""
    return answer.answered == _NOT_FOUND or not any(s.source_type == "knowledge_base" for s in answer.sources)


def _measure_retrieval(case: Case, passages: Sequence[Source]) -> Values:
    if not case.expects_places:
        return {}
    places = [places_of(passage, case) for passage in passages]
    first = next((rank for rank, found in enumerate(places, start=1) if found), 0)
    values: Values = {f"hit_{depth}": 0 < first <= depth for depth in _DEPTHS}
    return values | {"reciprocal_rank": 1 / first if first else 0.0, "ndcg": _ndcg(places, len(expected_places(case)))}


def _ndcg(places: Sequence[set[int]], expected: int) -> float:
    """The gain of the first passage of each expected place, against that of a ranking that begins with them.

    Places that one passage is from count as one, since one passage is enough for them.
    """
    firsts: dict[int, int] = {}
    for rank, found in enumerate(places[:_NDCG_DEPTH]):
        for place in found:
            firsts.setdefault(place, rank)
    ranks = set(firsts.values())
    wanted = min(expected - len(firsts) + len(ranks), _NDCG_DEPTH)
    return sum(1 / math.log2(rank + 2) for rank in sorted(ranks)) / sum(1 / math.log2(r + 2) for r in range(wanted))


def _measure_citations(case: Case, answer: Answer | None) -> Values:
    """Precision: the share of cited passages that are expected; recall: that of expected places that are cited."""
    if not case.expects_places:
        return {}
    sources = cited(answer.sources, answer.answer) if answer else []
    places = [places_of(source, case) for source in sources]
    found = set[int]().union(*places)
    values: Values = {"citation_recall": len(found) / len(expected_places(case))}
    if places:  # an answer that cites nothing is not imprecise: its recall is 0
        values["citation_precision"] = sum(map(bool, places)) / len(places)
    return values


def _measure_text(case: Case, answer: Answer | None, text: str) -> Values:
    values: Values = {}
    if case.must_say:
        values["says"] = not _unsaid(case, text)
    if case.must_not_say:
        values["avoids"] = not any(says(text, phrase) for phrase in case.must_not_say)
    declined = answer is not None and declines(answer)
    values["refused_wrongly" if case.answerable else "refused_rightly"] = declined
    if answer is None or answer.answered is not None:
        values["verdict"] = answer is not None and _is_verdict_right(case, answer, declined=declined)
    return values


def _is_verdict_right(case: Case, answer: Answer, *, declined: bool) -> bool:
    if case.answered:
        return answer.answered in case.answered
    return answer.answered == _FOUND if case.answerable else declined


def _unsaid(case: Case, text: str) -> list[str]:
    return [choices[0] for choices in case.must_say if not any(says(text, phrase) for phrase in choices)]


def _measure_run(case: Case, exchange: Exchange) -> Values:
    answer = exchange.answer
    values: Values = {
        "failed": is_answer_of_model(exchange.problem),
        "tool_sequence": _is_sequence_right(case, exchange.tools),
        "model_calls": float(exchange.model_calls),
    }
    if answer is not None:
        cost = answer.cost
        values |= {
            "web_searches": float(cost.web_searches),
            "input_tokens": float(cost.input_tokens),
            "output_tokens": float(cost.output_tokens),
        }
        if cost.estimated_usd is not None:
            values["usd"] = cost.estimated_usd
    return values


def _is_sequence_right(case: Case, tools: Sequence[str]) -> bool:
    """Whether the tools are those of the case or, if it names none, what the workflow allows.

    The knowledge base comes first and the answer last; keywords may be indexed in the turn of the answer, after it.
    """
    if case.tools:
        return list(case.tools) == list(tools)
    steps = [tool for tool in tools if tool != _LEARN]
    may_search = case.may_use_the_web or _WEB not in steps
    return steps[:1] == [_SEARCH] and steps[-1:] == [_ANSWER] and may_search


def _measure_second(streamed: Exchange, buffered: Exchange | None) -> Values:
    """What asking twice shows: the same answer or, where the web was asked, one that the first had taught."""
    first = streamed.answer
    if first is None:
        return {}
    is_same = streamed.text == first.answer
    second = buffered.answer if buffered is not None else None
    if second is None:
        return {"streamed_as_buffered": is_same}
    if first.cost.web_searches:  # the web may say something else the second time
        values: Values = {"streamed_as_buffered": is_same}
        # An answer that taught nothing saves nothing, or the figure would be silent where learning fails.
        values["web_avoided"] = not second.cost.web_searches and second.used_external_kb
        return values
    return {"streamed_as_buffered": is_same and not list(differences(first, second))}


def _find_leaks(case: Case, streamed: Exchange, buffered: Exchange | None) -> list[str]:
    """What must not leak and stands in an answer or in the arguments of a tool."""
    answers = [exchange.answer.answer for exchange in (streamed, buffered) if exchange and exchange.answer]
    arguments = [json.dumps(use.arguments, ensure_ascii=False) for use in streamed.uses]
    shown = [*answers, streamed.text, *arguments]
    return [phrase for phrase in case.must_not_leak if any(says(text, phrase) for text in shown)]


def _explain(case: Case, values: Values, exchange: Exchange) -> list[str]:
    """Why a case is not right."""
    answer = exchange.answer
    if answer is None:
        return [f"no answer: {exchange.problem.get('detail')}"]
    reasons = []
    if not case.answerable and not values["refused_rightly"]:
        reasons.append("answers from the documents, which do not hold it")
    if case.answerable and values["refused_wrongly"]:
        reasons.append("declines, although the documents hold it")
    elif values.get("citation_recall") == 0:
        reasons.append("cites no expected place")
    if case.answered and not values.get("verdict"):
        reasons.append(f"the verdict is {answer.answered}")
    if unsaid := _unsaid(case, without_marks(answer.answer)):
        reasons.append(f"does not say {', '.join(map(repr, unsaid))}")
    if values.get("avoids") is False:
        reasons.append("says what it must not")
    if case.tools and not values["tool_sequence"]:
        reasons.append(f"calls {', '.join(exchange.tools) or 'no tool'}")
    return reasons
