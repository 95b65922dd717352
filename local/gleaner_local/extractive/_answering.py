"""Composes an answer from quoted sentences, each with the mark of its passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner.model import Answered
from gleaner_documents.chunking import FENCE
from gleaner_local.extractive._conversation import Conversation, Passage, WebAnswer
from gleaner_local.extractive._selection import NOT_IN_SELECTION, answers_question
from gleaner_local.extractive.judging import Judgement
from gleaner_local.extractive.question import AnswerKind, Question
from gleaner_local.extractive.scoring import ScoredSentence, ScoredText, Text, distinct, score_texts

NO_ANSWER = "The knowledge base does not hold an answer to this question."
SEARCH_FAILED = "The knowledge base could not be searched, so there is no answer to this question."
WEB_FAILED = "The web search gave no usable result."

MAX_NAMES = 3  # of passages that do not answer
MAX_SENTENCES = 4
MAX_SENTENCES_PER_PASSAGE = 2
MAX_WEB_SENTENCES = 5
MAX_CODE_DISTANCE = 3  # sentences between what is quoted and the code that shows it
# A further sentence with less than this share of the best score would distract.
MIN_SHARE_OF_BEST = 0.85
# Further passages are quoted if their evidence is at least this share of the first passage's.
MIN_SHARE_OF_FIRST = 0.5
# From the upper bound on, evidence is as certain as word matching gets; below the lower one it says nothing.
CERTAIN, UNCERTAIN = 0.8, 0.2
MAX_CONFIDENCE = 0.95
NO_ANSWER_CONFIDENCE = 0.05

_MARK = re.compile(r"\s?\[(web-\d+)\]")
_MARKS_AFTER_FULL_STOP = re.compile(r"([.!?])((?:\s?\[web-\d+\])+)")


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    source: str

    def __str__(self) -> str:
        words, line_break, code = self.text.partition("\n")
        if words.startswith(FENCE):
            return f"{self.text}\n\n[{self.source}]"
        return f"{words} [{self.source}]{line_break}{code}"  # a mark after a fence would keep it from closing


def answer_from_passages(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    """The arguments of `generate_response`: quotes from the passages, or the text that there is no answer."""
    # After a web search that gave nothing, only what would have spared the search is quoted.
    quotable = judgement.enough if state.web_tried else judgement.usable
    if not (judgement.ranked and (quotable or judgement.question.only_asks)):
        return _no_answer(state, judgement)
    return _quote(state, judgement)


def answer_from_selection(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    """The arguments of `generate_response` for a question about a selected text."""
    if not answers_question(judgement):
        return _make_arguments(NOT_IN_SELECTION, [], NO_ANSWER_CONFIDENCE, Answered.NOT_FOUND)
    return _quote(state, judgement)


def _quote(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    quotes = _select_quotes(judgement)
    if not quotes:
        return _no_answer(state, judgement)
    passages = [state.passages[source] for source in dict.fromkeys(quote.source for quote in quotes)]
    answered = Answered.FOUND if judgement.enough else Answered.PARTLY
    return _make_arguments("\n\n".join(map(str, quotes)), passages, _confidence(judgement.strongest), answered)


def answer_from_web(state: Conversation, web: WebAnswer, judgement: Judgement) -> dict[str, Any]:
    """The arguments of `generate_response`: quotes from good passages, then from a new web answer."""
    quotes = _select_web_quotes(web, judgement.question)
    if not quotes:
        return answer_from_passages(state, judgement)
    pages = list(dict.fromkeys(quote.source for quote in quotes))
    coverage = _coverage(judgement.question, web)
    answer = {
        "answer": "\n\n".join(map(str, quotes)),
        "sources": pages,
        "answered": Answered.FOUND.value,
        "confidence_score": round(min(MAX_CONFIDENCE, 0.3 + 0.6 * coverage), 2),
        "used_internal_kb": False,
        "used_external_kb": True,
    }
    if not judgement.enough:
        return answer
    own = answer_from_passages(state, judgement)
    return {
        **answer,
        "answer": f"{own['answer']}\n\n{answer['answer']}",
        "sources": [*own["sources"], *pages],
        "used_internal_kb": own["used_internal_kb"],
    }


def _no_answer(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    parts = [SEARCH_FAILED if state.search_failed else NO_ANSWER]
    names = _names_of([state.passages[text.id] for text in judgement.ranked[:MAX_NAMES]])
    if names:
        parts.append(f"The closest passages are from {', '.join(names)}.")
    if state.web_tried and state.web is None:
        parts.append(WEB_FAILED)
    return _make_arguments(" ".join(parts), [], NO_ANSWER_CONFIDENCE, Answered.NOT_FOUND)


def _names_of(passages: Sequence[Passage]) -> list[str]:
    """The titles of the passages, quoted; the chapters where all are of one document."""
    own = [passage for passage in passages if not passage.external]
    titles = list(dict.fromkeys(passage.title for passage in own if passage.title))
    chapters = list(dict.fromkeys(passage.chapter for passage in own if passage.chapter))
    return [f'"{name}"' for name in (titles if len(titles) > 1 else chapters or titles)]


def _make_arguments(answer: str, passages: Sequence[Passage], confidence: float, answered: Answered) -> dict[str, Any]:
    return {
        "answer": answer,
        "sources": [passage.id for passage in passages],
        "answered": answered.value,
        "confidence_score": confidence,
        "used_internal_kb": any(not passage.external for passage in passages),
        "used_external_kb": any(passage.external for passage in passages),
    }


def _confidence(evidence: float) -> float:
    return round(min(MAX_CONFIDENCE, max(0.1, (evidence - UNCERTAIN) / (CERTAIN - UNCERTAIN))), 2)


def _select_quotes(judgement: Judgement) -> list[_Quote]:
    """The best sentences, in the order of their passages and of the text within a passage."""
    if not judgement.question.has_topic:  # for "explain this", quote the beginning of the best passage
        opening = judgement.ranked[0].sentences[:MAX_SENTENCES]
        return [_Quote(sentence.text, sentence.text_id) for sentence in opening]
    bound = MIN_SHARE_OF_FIRST * judgement.evidence[judgement.ranked[0].id]
    candidates: list[ScoredSentence] = []
    for text in judgement.ranked:
        if judgement.evidence[text.id] >= bound:
            candidates += sorted(text.sentences, key=_by_score)[:MAX_SENTENCES_PER_PASSAGE]
    best = min((s for s in candidates if s.text_id == judgement.ranked[0].id), key=_by_score, default=None)
    if best is None:
        return []
    min_score = MIN_SHARE_OF_BEST * best.score
    close = [s for s in sorted(candidates, key=_by_score) if s.score >= min_score and s is not best]
    selection = distinct([best, *close])[:MAX_SENTENCES]
    rank = {text.id: number for number, text in enumerate(judgement.ranked)}
    selection.sort(key=lambda sentence: (rank[sentence.text_id], sentence.position))
    if judgement.question.kind is AnswerKind.METHOD:
        selection = _with_code(selection, judgement.ranked)
    return [_Quote(_with_parts(sentence), sentence.text_id) for sentence in _without_quoted_parts(selection)]


def _with_code(selection: Sequence[ScoredSentence], ranked: Sequence[ScoredText]) -> list[ScoredSentence]:
    """Add the blocks of code that follow a sentence closely: who asks how to do something wants to see them."""
    texts = {text.id: text.sentences for text in ranked}
    quotes: dict[tuple[str, int], ScoredSentence] = {}
    for sentence in selection:
        quotes[sentence.text_id, sentence.position] = sentence
        if not sentence.is_code:
            following = texts[sentence.text_id][sentence.position + 1 : sentence.position + 1 + MAX_CODE_DISTANCE]
            quotes.update(((code.text_id, code.position), code) for code in following if code.is_code)
    return list(quotes.values())


def _with_parts(sentence: ScoredSentence) -> str:
    return f"{sentence.text}\n\n{sentence.parts}" if sentence.parts else sentence.text


def _without_quoted_parts(selection: Sequence[ScoredSentence]) -> Iterator[ScoredSentence]:
    """Leave out list items and rows that are quoted with their introduction."""
    for sentence in selection:
        if not any(sentence.text in other.parts and sentence.text_id == other.text_id for other in selection):
            yield sentence


def _by_score(sentence: ScoredSentence) -> tuple[float, int]:
    return (-sentence.score, sentence.position)


def _select_web_quotes(web: WebAnswer, question: Question) -> list[_Quote]:
    """The sentences of a web answer with its own marks: all of a short answer, the best of a long one."""
    if not web.pages:
        return []
    sentences = _score_web(question, web).sentences
    best = sorted(sentences, key=_by_score)[:MAX_WEB_SENTENCES]
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
    text = _MARKS_AFTER_FULL_STOP.sub(r"\2\1", web.text)
    return score_texts(question, [Text(web.result_id, text, 1.0, titles)])[0]


def _coverage(question: Question, web: WebAnswer) -> float:
    return _score_web(question, web).coverage
