"""Measures one answer: facts of yes and no, shares, and counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner_local.evaluation.asking import is_answer_of_model
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Answer, Exchange, Source, differences
from gleaner_local.evaluation.explaining import declines, explain, is_verdict_right, list_unsaid
from gleaner_local.evaluation.figures import Values
from gleaner_local.evaluation.matching import cited, without_marks
from gleaner_local.evaluation.phrases import says
from gleaner_local.evaluation.ranking import measure_citations, measure_retrieval

_WEB, _SEARCH, _ANSWER, _LEARN = "perplexity_search", "knowledge_base_search", "generate_response", "index_keywords"


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
    marked = cited(answer.sources, answer.answer) if answer else []
    values = (
        measure_retrieval(case, streamed.passages)
        | measure_citations(case, marked)
        | _measure_text(case, answer, text)
        | _measure_run(case, streamed)
        | _measure_second(streamed, buffered)
    )
    leaks = _find_leaks(case, streamed, buffered)
    if case.must_not_leak:
        values["leaks"] = float(len(leaks))
    reasons = [*explain(case, values, streamed), *(f"leaks {leak!r}" for leak in leaks)]
    return Measured(
        values={"right": not reasons} | values,
        reasons=tuple(reasons),
        verdict=(answer.answered or answer.status) if answer else str(streamed.problem.get("type")),
        tools=tuple(streamed.tools),
        answer=answer.answer if answer else "",
        latency_ms=streamed.milliseconds,
        passages=tuple(streamed.passages),
        sources=tuple(answer.sources if answer else ()),
        cited=tuple(marked),
    )


def _measure_text(case: Case, answer: Answer | None, text: str) -> Values:
    values: Values = {}
    if case.must_say:
        values["says"] = not list_unsaid(case, text)
    if case.must_not_say:
        values["avoids"] = not any(says(text, phrase) for phrase in case.must_not_say)
    declined = answer is not None and declines(case, answer)
    values["refused_wrongly" if case.answerable else "refused_rightly"] = declined
    if answer is None or answer.answered is not None:
        values["verdict"] = answer is not None and is_verdict_right(case, answer, declined=declined)
    return values


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
