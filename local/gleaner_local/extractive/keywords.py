"""Extracts keywords for a web answer: the phrases that a related question would use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gleaner.knowledge.learning import check_keywords
from gleaner.text import WORD, cut_phrases, find_stop_words, fold, stem, words
from gleaner_local.extractive._word_lists import read_words

MIN_KEYWORDS = 5
MAX_KEYWORDS = 8
MIN_CHARS = 2
MAX_CHARS = 50
MAX_WORDS = 3

QUESTION_SCORE = 3.0
TITLE_SCORE = 1.5
ANSWER_SCORE = 0.5
MAX_ANSWER_COUNT = 4
LENGTH_BONUS = 0.6  # per word after the first: "property-based testing" is more specific than "testing"

# Words that occur in many questions and name no topic; a keyword may not begin or end with one.
_WEAK = read_words("weak_keywords")
_TOKEN = re.compile(rf"(?:_|{WORD})+(?:[-'’.](?:_|{WORD})+)*|[^\w\s]")
_MARKUP = re.compile(r"```.*?```|https?://\S+|\[(?:(?:kb|web)-)?\d+\]|[`*_]{1,2}(?=\S)|(?<=\S)[`*_]{1,2}", re.DOTALL)


def extract_keywords(question: str, titles: Sequence[str], answer: str) -> list[str]:
    """At most eight keywords of one to three words (2 to 50 characters), best first, no two with the same stems.

    Words of the question weigh most, then those of the page titles, then those that the answer repeats.
    """
    scores: dict[str, float] = {}
    spelling: dict[str, str] = {}
    for text, score, ceiling in [
        (question, QUESTION_SCORE, 1),
        *((title, TITLE_SCORE, 1) for title in titles),
        (answer, ANSWER_SCORE, MAX_ANSWER_COUNT),
    ]:
        counts = Counter(key for key, phrase in _phrases(text) if spelling.setdefault(key, phrase))
        for key, count in counts.items():
            scores[key] = scores.get(key, 0.0) + score * min(count, ceiling)
    for key in scores:
        scores[key] *= 1.0 + LENGTH_BONUS * spelling[key].count(" ")
    # The service would reject the others as too generic.
    accepted = [key for key in scores if check_keywords([spelling[key]])[0] == [spelling[key]]]
    ranked = sorted(accepted, key=lambda key: (-scores[key], key))
    return [spelling[key] for key in _diversify(ranked)]


def _diversify(ranked: Sequence[str]) -> list[str]:
    """The best keys; those whose words are all in better keys are used only when there are too few."""
    selection: list[str] = []
    redundant: list[str] = []
    stems: set[str] = set()
    for key in ranked:
        parts = key.split()
        if stems.issuperset(parts):
            redundant.append(key)
            continue
        selection.append(key)
        stems.update(parts)
    return (selection + redundant[: max(0, MIN_KEYWORDS - len(selection))])[:MAX_KEYWORDS]


def _phrases(text: str) -> list[tuple[str, str]]:
    """(key, spelling) of every sequence of one to three topic words; the key is its stems."""
    phrases = []
    for run in _runs(_MARKUP.sub(" ", text)):
        for size in range(1, MAX_WORDS + 1):
            for start in range(len(run) - size + 1):
                part = run[start : start + size]
                phrase = " ".join(part)
                if _is_weak(part[0]) or _is_weak(part[-1]) or not MIN_CHARS <= len(phrase) <= MAX_CHARS:
                    continue
                key = " ".join(stem(word) for word in words(phrase))
                if key and not key.replace(" ", "").isdigit():
                    phrases.append((key, phrase))
    return phrases


def _runs(text: str) -> list[list[str]]:
    """The sequences of words between stop words and punctuation; in scripts without spaces, each is one "word"."""
    runs: list[list[str]] = [[]]
    no_topics = find_stop_words(words(text))
    for token in _TOKEN.findall(text):
        pieces = [piece for piece in cut_phrases(token) if not _says_nothing(piece, no_topics)]
        if pieces == [token]:
            runs[-1].append(token)
        else:
            runs += [*([piece] for piece in pieces), []]
    return [run for run in runs if run]


def _says_nothing(token: str, no_topics: frozenset[str]) -> bool:
    return not re.search(r"\w", token) or fold(token) in no_topics or len(fold(token)) < MIN_CHARS


def _is_weak(word: str) -> bool:
    return fold(word) in _WEAK
