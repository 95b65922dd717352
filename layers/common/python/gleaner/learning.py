"""Learning from the web: a web answer is stored under keywords that later questions share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.deadline import Deadline
from gleaner.model import WebAnswer
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keywords import IndexedKeyword, KeywordStore

SHORTEST_KEYWORD = 2  # code points of the folded text
LONGEST_KEYWORD = 50
MOST_KEYWORDS = 20  # that one call may index
_EXTRACTED_KEYWORDS = 6
_LONGEST_PHRASE = 3  # words of an extracted keyword
_PHRASE_BREAK = re.compile(r"[.,;:!?()\[\]{}\"“”|/\n]+|\s[-–—]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A keyword that was not taken, and why, in words for the model."""

    keyword: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one call indexed."""

    indexed: tuple[IndexedKeyword, ...]
    rejected: tuple[Rejected, ...]


class Learning:
    """Checks keywords and writes them with what they stand for."""

    def __init__(self, keywords: KeywordStore) -> None:
        self._keywords = keywords

    def learn(self, proposed: Sequence[object], use: KeywordUse, *, deadline: Deadline) -> Learned:
        """Index the valid ones of `proposed` for `use`; the others come back with the reason.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        valid, rejected = check_keywords(proposed)
        indexed = self._keywords.index(valid, use, deadline=deadline) if valid else []
        return Learned(indexed=tuple(indexed), rejected=tuple(rejected))

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Count that these keywords served a query. Raises StoreUnavailable or DeadlineExceeded."""
        self._keywords.count_uses(keyword_ids, use, deadline=deadline)


def check_keywords(proposed: Sequence[object]) -> tuple[list[str], list[Rejected]]:
    """The valid keywords, one spelling for each identity, at most MOST_KEYWORDS; and the rejected ones."""
    valid: dict[str, str] = {}
    rejected: list[Rejected] = []
    for candidate in proposed:
        shown, problem = _checked(candidate)
        folded = text.fold(shown)
        if problem is None and len(valid) == MOST_KEYWORDS and folded not in valid:
            problem = f"more than {MOST_KEYWORDS} keywords in one call"
        if problem is not None:
            rejected.append(Rejected(keyword=shown, reason=problem))
        else:
            valid.setdefault(folded, shown)
    return list(valid.values()), rejected


def _checked(candidate: object) -> tuple[str, str | None]:
    """The keyword as it is displayed, and what is wrong with it."""
    if not isinstance(candidate, str):
        return str(candidate)[:LONGEST_KEYWORD], "not a string"
    shown = text.collapse(text.clean(candidate))
    folded = text.fold(shown)
    if len(folded) < SHORTEST_KEYWORD:
        return shown, f"shorter than {SHORTEST_KEYWORD} characters"
    if len(folded) > LONGEST_KEYWORD:
        return shown[: LONGEST_KEYWORD + 1], f"longer than {LONGEST_KEYWORD} characters; name the topic only"
    if not text.stems(folded):
        return shown, "too generic: name the product, concept or task"
    return shown, None


def extract_keywords(answer: WebAnswer) -> list[str]:
    """Keywords for `answer` when the model gave none: phrases of its query and titles that its text repeats.

    Candidate phrases are runs of terms between stop words and punctuation, as in RAKE (Rose et al., 2010);
    they are ranked by how often their words occur in the answer and its titles.
    """
    titles = [citation.title for citation in answer.citations]
    frequency = Counter(text.stem(word) for word in text.words(" ".join((answer.answer, *titles))))
    phrases = dict.fromkeys(phrase for source in (answer.query, *titles) for phrase in _phrases(source))
    ranked = sorted(phrases, key=lambda phrase: -_weight(phrase, frequency))
    valid, _ = check_keywords(ranked)
    return valid[:_EXTRACTED_KEYWORDS]


def _weight(phrase: str, frequency: Counter[str]) -> float:
    stems = text.stems(phrase)
    return sum(frequency[stem] for stem in stems) / len(stems)


def _phrases(source: str) -> list[str]:
    """Runs of at most three terms, in the spelling of the source."""
    phrases: list[str] = []
    for part in _PHRASE_BREAK.split(source):
        run: list[str] = []
        for word in [*part.split(), ""]:
            if word and text.stems(word):
                run.append(word)
            elif run:
                phrases.append(" ".join(run[:_LONGEST_PHRASE]))
                run = []
    return phrases
