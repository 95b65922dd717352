"""Learning from the web: a web answer is stored under keywords that later questions share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.guards.redaction import redact
from gleaner.model import WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keywords import IndexedKeyword, KeywordStore

MIN_KEYWORD_LENGTH = 2  # code points of the folded text
MAX_KEYWORD_LENGTH = 50
MAX_KEYWORDS_PER_CALL = 20  # that one call may index
_EXTRACTED_KEYWORDS = 8
_LONGEST_PHRASE = 3  # words of an extracted keyword
_PHRASE_BREAK = re.compile(r"[.,;:!?()\[\]{}\"“”|/\n]+|\s[-–—]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedKeyword:
    """A keyword that was not taken, and why, in words for the model."""

    keyword: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """What one call indexed."""

    indexed: tuple[IndexedKeyword, ...]
    rejected: tuple[RejectedKeyword, ...]


class Learning:
    """Checks keywords and writes them with what they stand for."""

    def __init__(self, keywords: KeywordStore) -> None:
        self._keywords = keywords

    def learn(self, proposed: Sequence[object], use: KeywordUse, *, deadline: Deadline) -> LearningResult:
        """Index the valid ones of `proposed` for `use`; the others come back with the reason.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        valid, rejected = check_keywords(proposed)
        indexed = self._keywords.index(valid, use, deadline=deadline) if valid else []
        return LearningResult(indexed=tuple(indexed), rejected=tuple(rejected))

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Count that these keywords served a query. Raises StoreUnavailable or DeadlineExceeded."""
        self._keywords.count_uses(keyword_ids, use, deadline=deadline)


def check_keywords(proposed: Sequence[object]) -> tuple[list[str], list[RejectedKeyword]]:
    """The valid keywords, one spelling for each identity, at most MAX_KEYWORDS_PER_CALL; and the rejected ones."""
    valid: dict[str, str] = {}
    rejected: list[RejectedKeyword] = []
    for candidate in proposed:
        shown, problem = _checked(candidate)
        folded = text.fold(shown)
        if problem is None and len(valid) == MAX_KEYWORDS_PER_CALL and folded not in valid:
            problem = f"more than {MAX_KEYWORDS_PER_CALL} keywords in one call"
        if problem is not None:
            rejected.append(RejectedKeyword(keyword=shown, reason=problem))
        else:
            valid.setdefault(folded, shown)
    return list(valid.values()), rejected


def _checked(candidate: object) -> tuple[str, str | None]:
    """The keyword as it is displayed, and what is wrong with it."""
    if not isinstance(candidate, str):
        return str(candidate)[:MAX_KEYWORD_LENGTH], "not a string"
    shown = text.collapse(text.clean(candidate))
    folded = text.fold(shown)
    if (redacted := redact(shown)) != shown:  # keywords are shared by all callers
        return redacted, "holds a secret or personal data"
    if len(folded) < MIN_KEYWORD_LENGTH:
        return shown, f"shorter than {MIN_KEYWORD_LENGTH} characters"
    if len(folded) > MAX_KEYWORD_LENGTH:
        return shown[: MAX_KEYWORD_LENGTH + 1], f"longer than {MAX_KEYWORD_LENGTH} characters; name the topic only"
    if not text.stems(folded):
        return shown, "too generic: name the product, concept or task"
    return shown, None


def extract_keywords(answer: WebAnswer) -> list[str]:
    """Keywords for `answer` when the model gave none: at most eight, no two of the same words.

    Candidates are runs of terms between stop words and punctuation, as in RAKE (Rose et al., 2010). Those of
    the query and the titles come first, ranked by how often their words occur in the answer and its titles;
    then those that the answer repeats, for a related question may ask for another part of it.
    """
    titles = [citation.title for citation in answer.citations]
    frequency = Counter(text.stem(word) for word in text.words(" ".join((answer.answer, *titles))))
    asked = dict.fromkeys(phrase for source in (answer.query, *titles) for phrase in _phrases(source))
    ranked = sorted(asked, key=lambda phrase: -_weight(phrase, frequency)) + _repeated_phrases(answer.answer)
    chosen: list[str] = []
    covered: set[str] = set()
    for phrase in ranked:
        stems = set(text.stems(phrase))
        if not stems <= covered and not check_keywords([phrase])[1]:
            chosen.append(phrase)
            covered |= stems
    return chosen[:_EXTRACTED_KEYWORDS]


def _weight(phrase: str, frequency: Counter[str]) -> float:
    stems = text.stems(phrase)
    return sum(frequency[stem] for stem in stems) / len(stems)


def _repeated_phrases(source: str) -> list[str]:
    """The phrases that occur at least twice, in their first spelling; frequent and long ones first."""
    spelling: dict[tuple[str, ...], str] = {}
    count: Counter[tuple[str, ...]] = Counter()
    for phrase in _phrases(source):
        stems = tuple(text.stems(phrase))
        spelling.setdefault(stems, phrase)
        count[stems] += 1
    ranked = sorted(count, key=lambda stems: -count[stems] * len(stems))
    return [spelling[stems] for stems in ranked if count[stems] > 1]


def _phrases(source: str) -> list[str]:
    """Runs of terms in pieces of at most three, in the spelling of the source."""
    phrases: list[str] = []
    for part in _PHRASE_BREAK.split(source):
        run: list[str] = []
        for word in [*part.split(), ""]:
            if word and text.stems(word):
                run.append(word)
            else:
                starts = range(0, len(run), _LONGEST_PHRASE)
                phrases += [" ".join(run[start : start + _LONGEST_PHRASE]) for start in starts]
                run = []
    return phrases
