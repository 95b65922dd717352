"""Decides which keywords may lead to a web answer: those that it mentions, and a few other names for these.

Keywords lead later questions of all callers to an answer. Otherwise a web page that talked the model into keywords of
its choice would answer unrelated questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gleaner import text
from gleaner.model import WebAnswer

# The share of a keyword's terms that must occur; a name may contain a word that the answer does not use.
_MIN_SHARE = 0.5
_MAX_OTHER_NAMES = 3  # of what the call's other keywords name, in other words or another language
_NUMERONYM = re.compile(r"([a-z])([1-9][0-9]?)([a-z])")
_MIN_INITIALS = 3  # two letters occur by chance among the initials of any text; in capitals they are an abbreviation
_MIN_CAPITALS = 2


def related_keywords(keywords: Sequence[str], answer: WebAnswer, question: str) -> set[str]:
    """The keywords that may lead to `answer`: those it mentions, their abbreviations, and a few other names for them.

    Nothing here knows meanings. So other names, such as "myocardial infarction" beside "heart attack", are accepted
    only if they are few and no more than the mentioned ones; otherwise none is. What they lead to is checked again:
    retrieval does not count a keyword that the answer does not mention as a mention (see decision 0022).
    """
    topics = [
        keyword for keyword in dict.fromkeys(keywords) if text.terms(keyword)
    ]  # the others are refused as generic
    pages = (part for citation in answer.citations for part in (citation.title, citation.snippet))
    folded = text.fold("\n".join((question, answer.query, answer.answer, *pages)))
    stems = set(text.stems(folded))
    mentioned = {keyword for keyword in topics if _is_mentioned(keyword, folded, stems)}
    known = " \n".join((question, answer.query, answer.answer, *(citation.title for citation in answer.citations)))
    short_forms = {
        keyword
        for keyword in topics
        if keyword not in mentioned and (_abbreviates(keyword, known) or _is_spelled_out(keyword, known))
    }
    others = set(topics) - mentioned - short_forms
    are_few = len(others) <= min(len(mentioned), _MAX_OTHER_NAMES)
    return set(keywords) - (set() if are_few else others)


def _is_mentioned(keyword: str, folded: str, stems: set[str]) -> bool:
    terms = text.terms(keyword)
    # Also match within words: some scripts do not separate words.
    hits = sum(text.stem(term) in stems or term in folded for term in terms)
    return hits >= _MIN_SHARE * len(terms)


def _abbreviates(short: str, source: str) -> bool:
    """Whether a word abbreviates a word of `source` by its number of letters (k8s), or some words by initials."""
    folded = text.fold(short)
    words = text.find_words(text.fold(source))
    if match := _NUMERONYM.fullmatch(folded):
        first, count, last = match[1], int(match[2]), match[3]
        return any(len(word) == count + 2 and word[0] == first and word[-1] == last for word in words)
    letters = folded.replace(".", "").removesuffix("s" if short.endswith("s") and short[:-1].isupper() else "")
    if not letters.isalpha() or short.islower() or not _MIN_INITIALS <= len(letters) <= len(words):
        return False
    initials = "".join(word[0] for word in words)
    return letters in initials or letters in "".join(word[0] for word in words if word not in text.stop_words())


def _is_spelled_out(keyword: str, source: str) -> bool:
    """Whether `source` contains the abbreviation of a keyword: k8s for "Kubernetes", or initials in capitals."""
    words = text.find_words(text.fold(keyword))
    written = text.find_words(source)
    if len(words) == 1:
        matches = (_NUMERONYM.fullmatch(text.fold(word)) for word in written)
        return any(match and _abbreviates(match[0], keyword) for match in matches)
    capitals = {word for word in written if word.isupper() and len(word) >= _MIN_CAPITALS}
    return "".join(word[0] for word in words).upper() in capitals
