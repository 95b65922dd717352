"""Puts an answer together from quoted sentences, each with the mark of its passage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gleaner_local.extractive._conversation import Conversation, Passage, WebAnswer
from gleaner_local.extractive.judging import Judgement
from gleaner_local.extractive.question import Question
from gleaner_local.extractive.scoring import ScoredSentence, ScoredText, Text, distinct, score_texts

NOT_HELD = "The knowledge base does not hold an answer to this question."
NOT_SEARCHED = "The knowledge base could not be searched, so there is no answer to this question."
WEB_FAILED = "The web search gave no usable result."

MAX_SENTENCES = 4
MAX_SENTENCES_PER_PASSAGE = 2
MAX_WEB_SENTENCES = 5
# A further sentence must come this near to the best one, or it distracts.
NEAR_BEST = 0.85
# Further passages are named as sources when their evidence comes this near to that of the first.
NEAR_FIRST = 0.5
MAX_SOURCES = 5
# Evidence of this much and more is as sure as word matching can be; below the lower bound it says nothing.
SURE, UNSURE = 0.8, 0.2
MAX_CONFIDENCE = 0.95
NO_ANSWER_CONFIDENCE = 0.05

_MARK = re.compile(r"\s?\[(web-\d+)\]")
_MARKS_BEHIND_THE_STOP = re.compile(r"([.!?])((?:\s?\[web-\d+\])+)")


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.text} [{self.source}]"


def answer_from_passages(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    """The arguments of `generate_response` that quote the passages, or say that they hold no answer."""
    if not (judgement.ranked and (judgement.usable or not judgement.question.has_topic)):
        return _no_answer(state)
    quotes = _quotes(judgement)
    if not quotes:
        return _no_answer(state)
    bound = NEAR_FIRST * judgement.evidence[judgement.ranked[0].id]
    further = [text.id for text in judgement.ranked if judgement.evidence[text.id] >= bound]
    sources = list(dict.fromkeys([judgement.ranked[0].id, *(quote.source for quote in quotes), *further]))
    used = [state.passages[source] for source in sources[:MAX_SOURCES]]
    return _arguments("\n\n".join(map(str, quotes)), used, _confidence(judgement.strongest))


def answer_from_web(state: Conversation, web: WebAnswer, judgement: Judgement) -> dict[str, Any]:
    """The arguments of `generate_response` that quote a fresh web answer, and good passages after it."""
    quotes = _web_quotes(web, judgement.question)
    if not quotes:
        return answer_from_passages(state, judgement)
    cited = list(dict.fromkeys(quote.source for quote in quotes))
    covered = _coverage(judgement.question, web)
    answer = {
        "answer": "\n\n".join(map(str, quotes)),
        "sources": cited,
        "confidence_score": round(min(MAX_CONFIDENCE, 0.3 + 0.6 * covered), 2),
        "used_internal_kb": False,
        "used_external_kb": True,
    }
    if not judgement.enough:
        return answer
    own = answer_from_passages(state, judgement)
    return {
        **answer,
        "answer": f"{own['answer']}\n\n{answer['answer']}",
        "sources": [*own["sources"], *cited],
        "used_internal_kb": own["used_internal_kb"],
    }


def _no_answer(state: Conversation) -> dict[str, Any]:
    parts = [NOT_SEARCHED if state.search_failed else NOT_HELD]
    if state.web_tried and state.web is None:
        parts.append(WEB_FAILED)
    return _arguments(" ".join(parts), [], NO_ANSWER_CONFIDENCE)


def _arguments(answer: str, used: Sequence[Passage], confidence: float) -> dict[str, Any]:
    return {
        "answer": answer,
        "sources": [passage.id for passage in used],
        "confidence_score": confidence,
        "used_internal_kb": any(not passage.external for passage in used),
        "used_external_kb": any(passage.external for passage in used),
    }


def _confidence(evidence: float) -> float:
    return round(min(MAX_CONFIDENCE, max(0.1, (evidence - UNSURE) / (SURE - UNSURE))), 2)


def _quotes(judgement: Judgement) -> list[_Quote]:
    """The best sentences, in the order of their passages and, within one, of the text."""
    if not judgement.question.has_topic:  # "explain this": the opening of the best passage
        opening = judgement.ranked[0].sentences[:MAX_SENTENCES]
        return [_Quote(sentence.text, sentence.text_id) for sentence in opening]
    bound = NEAR_FIRST * judgement.evidence[judgement.ranked[0].id]
    chosen: list[ScoredSentence] = []
    for text in judgement.ranked:
        if judgement.evidence[text.id] >= bound:
            chosen += sorted(text.sentences, key=_by_score)[:MAX_SENTENCES_PER_PASSAGE]
    leading = min((s for s in chosen if s.text_id == judgement.ranked[0].id), key=_by_score, default=None)
    if leading is None:
        return []
    near = [s for s in sorted(chosen, key=_by_score) if s.score >= NEAR_BEST * leading.score and s is not leading]
    kept = distinct([leading, *near])[:MAX_SENTENCES]
    place = {text.id: number for number, text in enumerate(judgement.ranked)}
    kept.sort(key=lambda sentence: (place[sentence.text_id], sentence.position))
    return [_Quote(sentence.text, sentence.text_id) for sentence in kept]


def _by_score(sentence: ScoredSentence) -> tuple[float, int]:
    return (-sentence.score, sentence.position)


def _web_quotes(web: WebAnswer, question: Question) -> list[_Quote]:
    """The sentences of a web answer with its own marks: all of a short answer, the best of a long one."""
    if not web.pages:
        return []
    scored = _score_web(question, web).sentences
    best = sorted(scored, key=_by_score)[:MAX_WEB_SENTENCES]
    quotes = []
    for sentence in sorted(best, key=lambda sentence: sentence.position):
        marks = [mark for mark in _MARK.findall(sentence.text) if any(page.id == mark for page in web.pages)]
        text = _MARK.sub("", sentence.text).strip()
        if text:
            quotes.append(_Quote(text, marks[0] if marks else web.pages[0].id))
    return quotes


def _score_web(question: Question, web: WebAnswer) -> ScoredText:
    titles = " ".join(page.title for page in web.pages)
    # A mark that follows the full stop belongs to the sentence before it, not to the next one.
    text = _MARKS_BEHIND_THE_STOP.sub(r"\2\1", web.text)
    return score_texts(question, [Text(web.result_id, text, 1.0, titles)])[0]


def _coverage(question: Question, web: WebAnswer) -> float:
    return _score_web(question, web).coverage
