"""Makes a follow-up question self-contained by adding the topic of the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gleaner.text import WORD, cut_phrases, find_stop_words, find_words, fold, stem, words

MAX_QUERY_CHARS = 2000
# A question with fewer topic words may depend on the turn before it.
MIN_TOPIC_WORDS = 2
MAX_ADDED_TERMS = 8
MAX_ADDED_NAMES = 2
# Limits of a reworded query. A longer term is not a word but encoded data.
MAX_TERM_CHARS, MAX_TERMS = 20, 40

_REFERENCE = re.compile(
    r"\b(it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|such|there|"
    r"the (former|latter|same|first|second|other) one|the (former|latter|same)|ones?)\b"
)
# "That" and "there" without a reference: "the tool that prunes", "is there a limit", "how many are there".
_NO_REFERENCE = re.compile(
    r"\b(is|are|was|were) there\b|\bthere (is|are|was|were)\b|\w+ that (?!one\b)\w+|\bit (possible|is)\b"
)
_CONTINUES = re.compile(r"^(and|but|or|so|also|what about|how about|what else|why|why not|more|tell me more|then)\b")
_WORD = re.compile(rf"(?:_|{WORD})(?:['’.+#-]*+(?:_|{WORD}))*+")
_NAME = re.compile(r"`[^`]+`|\b\w+_\w+\b|\b[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)+")


def standalone_query(question: str, earlier: Sequence[tuple[str, str]]) -> str:
    """A search query for `question`, at most 2,000 characters.

    `earlier` holds (role, text) of the turns before it. A self-contained question is returned unchanged. A follow-up
    gets the topic words of the last question that had a topic and, if a pronoun refers back, the names in the answer
    that followed.
    """
    query = _shorten(question)
    topic = _find_topic(earlier, query) if is_follow_up(question, earlier) else []
    return _shorten(" ".join([query, *topic]))


def reword(query: str) -> str:
    """Ask about the topic words of a refused query, without its code, addresses and instructions."""
    pieces = dict.fromkeys(fold(piece) for word in find_words(query) for piece in cut_phrases(word))
    no_topics = find_stop_words(words(query))
    topic = [piece for piece in pieces if len(piece) <= MAX_TERM_CHARS and piece not in no_topics][:MAX_TERMS]
    return f"What is known about {' '.join(topic) or 'this'}?"


def is_follow_up(question: str, earlier: Sequence[tuple[str, str]]) -> bool:
    """Whether the question can only be understood with the turns before it."""
    if not any(role == "user" for role, _ in earlier):
        return False
    folded = fold(question)
    all_words = words(question)
    no_topics = find_stop_words(all_words)
    topic_words = [word for word in all_words if word not in no_topics]
    if len(topic_words) > 3 * MIN_TOPIC_WORDS + 2:
        return False
    return bool(_CONTINUES.match(folded)) or _refers_back(folded) or len(topic_words) < MIN_TOPIC_WORDS


def _refers_back(folded: str) -> bool:
    return _REFERENCE.search(_NO_REFERENCE.sub(" ", folded)) is not None


def _find_topic(earlier: Sequence[tuple[str, str]], query: str) -> list[str]:
    """The words of the last user turn with a topic of its own, and names in the answers since then."""
    query_stems = {stem(word) for word in words(query)}
    topic: list[str] = []
    answers: list[str] = []
    for role, text in reversed(earlier):
        if role == "assistant":
            answers.append(text)
            continue
        new_terms = [term for term in _topic_words(text) if not query_stems.issuperset(map(stem, words(term)))]
        topic = [term for term in dict.fromkeys(new_terms) if term not in topic] + topic
        if len(_topic_words(text)) >= MIN_TOPIC_WORDS:
            break
    if _refers_back(fold(query)):
        names = [name.strip("`") for text in answers[:1] for name in _NAME.findall(text)]
        all_stems = query_stems | {stem(word) for term in topic for word in words(term)}
        new_names = [name for name in dict.fromkeys(names) if not {stem(word) for word in words(name)} <= all_stems]
        topic += new_names[:MAX_ADDED_NAMES]
    return topic[: MAX_ADDED_TERMS + MAX_ADDED_NAMES]


def _topic_words(text: str) -> list[str]:
    """The words of `text` that carry a topic, in their original spelling."""
    candidates = [piece for word in _WORD.findall(text) for piece in cut_phrases(word.strip(".-'’"))]
    no_topics = find_stop_words(words(text))
    return [word for word in candidates if not no_topics.issuperset(words(word))]


def _shorten(text: str) -> str:
    """Cut `text` to the limit of a query: keep its beginning and its end, where a question usually is."""
    text = " ".join(text.split())
    if len(text) <= MAX_QUERY_CHARS:
        return text
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}"
