"""Says whether an answer declines, whether its verdict is right, and why a case is not right."""

from __future__ import annotations

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Answer, Exchange
from gleaner_local.evaluation.figures import Values
from gleaner_local.evaluation.matching import without_marks
from gleaner_local.evaluation.phrases import says

_FOUND, _NOT_FOUND = "found", "not_found"


def declines(case: Case, answer: Answer) -> bool:
    """Whether the answer does not claim to rest on the documents: by its verdict, or because it cites none of them.

    What only the web holds may rest on any source.
    """
    return answer.answered == _NOT_FOUND or not any(
        source.source_type == "knowledge_base" or case.from_web for source in answer.sources
    )


def is_verdict_right(case: Case, answer: Answer, *, declined: bool) -> bool:
    """Whether the verdict is the expected one or, if the case expects none, the one that follows from it."""
    if case.answered:
        return answer.answered in case.answered
    return answer.answered == _FOUND if case.answerable else declined


def list_unsaid(case: Case, text: str) -> list[str]:
    """What a text does not say of what an answer must say."""
    return [choices[0] for choices in case.must_say if not any(says(text, phrase) for phrase in choices)]


def explain(case: Case, values: Values, exchange: Exchange) -> list[str]:
    """Why a case is not right."""
    answer = exchange.answer
    if answer is None:
        return [f"no answer: {exchange.problem.get('detail')}"]
    reasons = []
    if not case.answerable and not values["refused_rightly"]:
        reasons.append("answers from the documents, which do not hold it")
    if case.answerable and values["refused_wrongly"]:
        reasons.append(f"declines, although the {'web holds' if case.from_web else 'documents hold'} it")
    elif values.get("citation_recall") == 0:
        reasons.append("cites no expected place")
    if case.answered and not values.get("verdict"):
        reasons.append(f"the verdict is {answer.answered}")
    if unsaid := list_unsaid(case, without_marks(answer.answer)):
        reasons.append(f"does not say {', '.join(map(repr, unsaid))}")
    if values.get("avoids") is False:
        reasons.append("says what it must not")
    if case.tools and not values["tool_sequence"]:
        reasons.append(f"calls {', '.join(exchange.tools) or 'no tool'}")
    return reasons
