"""Makes a follow-up question stand on its own by adding what the conversation spoke of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gleaner.text import fold, stem, stop_words, terms, words

MAX_QUERY_CHARS = 2000
# With so few words of its own a question may lean on the turn before it.
FEW_WORDS = 2
MAX_ADDED_TERMS = 8
MAX_ADDED_NAMES = 2
# Of a query in other words. What is longer is no word but data in some encoding.
LONGEST_TERM, MOST_TERMS = 20, 40

_POINTS_BACK = re.compile(
    r"\b(it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|such|there|"
    r"the (former|latter|same|first|second|other) one|the (former|latter|same)|ones?)\b"
)
# "That" and "there" as plain grammar: "the tool that prunes", "is there a limit", "how many are there".
_PLAIN_GRAMMAR = re.compile(
    r"\b(is|are|was|were) there\b|\bthere (is|are|was|were)\b|\w+ that (?!one\b)\w+|\bit (possible|is)\b"
)
_GOES_ON = re.compile(r"^(and|but|or|so|also|what about|how about|what else|why|why not|more|tell me more|then)\b")
_WORD = re.compile(r"[\w'’+#.-]*\w[+#]*")
_NAME = re.compile(r"`[^`]+`|\b\w+_\w+\b|\b[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)+")


def standalone_query(question: str, earlier: Sequence[tuple[str, str]]) -> str:
    """A search query for `question`, at most 2,000 characters.

    `earlier` holds (role, text) of the turns before it. A question that stands on its own is returned as it is; to
    one that leans on the conversation the topic words of the last question that had a topic are added, and, where a
    pronoun points back, the names in the answer that followed.
    """
    own = _shortened(question)
    added = _topic(earlier, own) if leans_back(question, earlier) else []
    return _shortened(" ".join([own, *added]))


def reworded(query: str) -> str:
    """A question about the topic words of a query that was refused, without its code, addresses and orders."""
    topic = [term for term in terms(query) if len(term) <= LONGEST_TERM][:MOST_TERMS]
    return f"What is known about {' '.join(topic) or 'this'}?"


def leans_back(question: str, earlier: Sequence[tuple[str, str]]) -> bool:
    """Whether the question needs the turns before it to be understood."""
    if not any(role == "user" for role, _ in earlier):
        return False
    folded = fold(question)
    own_words = [word for word in words(question) if word not in stop_words()]
    if len(own_words) > 3 * FEW_WORDS + 2:
        return False
    return bool(_GOES_ON.match(folded)) or _points_back(folded) or len(own_words) < FEW_WORDS


def _points_back(folded: str) -> bool:
    return _POINTS_BACK.search(_PLAIN_GRAMMAR.sub(" ", folded)) is not None


def _topic(earlier: Sequence[tuple[str, str]], own: str) -> list[str]:
    """Words of the last user turn with a topic of its own, and names of the answers since then."""
    present = {stem(word) for word in words(own)}
    added: list[str] = []
    answers: list[str] = []
    for role, text in reversed(earlier):
        if role == "assistant":
            answers.append(text)
            continue
        fresh = [term for term in _content_words(text) if stem(fold(term)) not in present]
        added = [term for term in dict.fromkeys(fresh) if term not in added] + added
        if len(_content_words(text)) >= FEW_WORDS:
            break
    if _points_back(fold(own)):
        names = [name.strip("`") for text in answers[:1] for name in _NAME.findall(text)]
        known = present | {stem(word) for term in added for word in words(term)}
        new = [name for name in dict.fromkeys(names) if not {stem(word) for word in words(name)} <= known]
        added += new[:MAX_ADDED_NAMES]
    return added[: MAX_ADDED_TERMS + MAX_ADDED_NAMES]


def _content_words(text: str) -> list[str]:
    """The words of `text` that carry a topic, as they are written."""
    found = [word.strip(".-'’") for word in _WORD.findall(text)]
    return [word for word in found if any(part not in stop_words() for part in words(word))]


def _shortened(text: str) -> str:
    """`text` within the limit of a query: its beginning and its end, where a question usually stands."""
    text = " ".join(text.split())
    if len(text) <= MAX_QUERY_CHARS:
        return text
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}"
