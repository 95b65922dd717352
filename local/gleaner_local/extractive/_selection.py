"""Answers questions about a text that the user selected, and requests for its content as a whole."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from gleaner.model import Answered
from gleaner.text import fold
from gleaner_local.extractive._conversation import Conversation, Passage
from gleaner_local.extractive._languages import tokenize
from gleaner_local.extractive._sentences import split_passage
from gleaner_local.extractive._topics import topic_words
from gleaner_local.extractive.judging import Judgement
from gleaner_local.extractive.question import COMMON_WEIGHT

NOT_IN_SELECTION = "The selected text does not hold an answer to this question."
BEGINNING = "The first sentences of the selected text:"
WHOLE = "The selected text in full:"

# A query without a topic, for which a selection is returned in its order.
ABOUT_THE_WHOLE = "What is this?"
MAX_SENTENCES = 4
# An answer needs this share of the weight of the question's topic words: one noun of a question is enough.
MIN_SHARE = 0.25
CONFIDENCE = 0.5  # of a beginning, which stands for the whole

_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def asks_for_whole(question: str) -> bool:
    """Whether a request is for the content as a whole: "Summarize", "What is the main point?", "Worum geht es?"."""
    phrases, nouns = _read_requests()
    rest = f" {' '.join(tokenize(question))} "
    whole = rest
    for phrase in phrases:
        rest = rest.replace(phrase, " ") if _UNSPACED.search(phrase) else rest.replace(f" {phrase} ", "  ")
    return rest != whole and all(_is_noun(word, nouns) for word in topic_words(rest))


def has_beginning(state: Conversation) -> bool:
    """Whether the beginning of the selection is among the passages."""
    return any(passage.position == 0 for passage in state.passages.values())


def answers_question(judgement: Judgement) -> bool:
    """Whether a passage has enough of the question's topic words."""
    topic = {key: weight for key, weight in judgement.question.weights.items() if weight > COMMON_WEIGHT}
    required = MIN_SHARE * sum(topic.values())
    return bool(topic) and any(
        sum(topic[key] for key in text.matches & topic.keys()) >= required for text in judgement.ranked
    )


def quote_beginning(state: Conversation) -> dict[str, Any]:
    """The arguments of `generate_response`: the first sentences of the selection, with a line that says so."""
    passages = sorted(state.passages.values(), key=lambda passage: passage.position)
    sentences = [(sentence.text, passage) for passage in passages for sentence in split_passage(passage.content)]
    if not sentences:
        return {
            "answer": NOT_IN_SELECTION,
            "sources": [],
            "answered": Answered.NOT_FOUND.value,
            "confidence_score": 0.0,
        }
    quotes = sentences[:MAX_SENTENCES]
    title = WHOLE if len(quotes) == len(sentences) else BEGINNING
    return {
        "answer": "\n\n".join([title, *(_mark(text, passage) for text, passage in quotes)]),
        "sources": list(dict.fromkeys(passage.id for _, passage in quotes)),
        "answered": Answered.FOUND.value,
        "confidence_score": CONFIDENCE,
        "used_internal_kb": True,
        "used_external_kb": False,
    }


def _mark(text: str, passage: Passage) -> str:
    separator = "\n\n" if text.endswith("```") else " "  # a mark after a fence would keep it from closing
    return f"{text}{separator}[{passage.id}]"


def _is_noun(word: str, nouns: frozenset[str]) -> bool:
    folded = fold(word)
    if _UNSPACED.search(folded):
        return any(noun in folded for noun in nouns if noun)
    return all(part in nouns for part in tokenize(word))


@cache
def _read_requests() -> tuple[tuple[str, ...], frozenset[str]]:
    """The phrases, the longest first, and the words for a text."""
    source = (files(__package__ or "") / "words" / "summary.txt").read_text(encoding="utf-8")
    phrases, _, nouns = re.sub("(?m)^#.*\n", "", source).partition("\n\n")
    tokens = {" ".join(tokenize(phrase)) for phrase in re.split(r"[,\n]", phrases)}
    return tuple(sorted(tokens, key=lambda phrase: (-len(phrase), phrase))), frozenset(fold(nouns).split())
