"""Stores web answers under keywords, by which later questions find them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.clients.answer_index import AnswerIndex
from gleaner.errors import DeadlineExceeded, KnowledgeBaseUnavailable
from gleaner.guards.redaction import drop_placeholders, redact
from gleaner.knowledge._generic_keywords import find_problem
from gleaner.model import WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_stems import merge_key
from gleaner.stores.keywords import IndexedKeyword, KeywordStore

MIN_KEYWORD_LENGTH = 2  # code points of the folded text
MAX_KEYWORD_LENGTH = 50
MAX_KEYWORDS_PER_CALL = 20
_MAX_EXTRACTED_KEYWORDS = 8
_MAX_PHRASE_WORDS = 3
_MAX_INDEX_SECONDS = 2.0  # for writing a record; then there is time left to queue the answer for the next pruning run
_PHRASE_BREAK = re.compile(r"[.,;:!?()\[\]{}\"“”|/\n。、，；：！？「」『』（）【】《》〈〉・।॥۔؟،؛]+|\s[-–—]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedKeyword:
    """A keyword that was not indexed, with a reason for the model to read."""

    keyword: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """What one call indexed."""

    indexed: tuple[IndexedKeyword, ...]
    rejected: tuple[RejectedKeyword, ...]


class Learning:
    """Checks keywords and indexes them, and the answers that they lead to."""

    def __init__(self, keywords: KeywordStore, answer_index: AnswerIndex | None = None) -> None:
        """Without an index, answers are found by their keywords only."""
        self._keywords = keywords
        self._answer_index = answer_index

    def learn(self, proposed: Sequence[object], use: KeywordUse, *, deadline: Deadline) -> LearningResult:
        """Index the valid keywords of `proposed` for `use`, and return the others with a reason.

        Raises AnswerForgotten, StoreUnavailable or DeadlineExceeded.
        """
        valid, rejected = check_keywords(proposed)
        indexed = self._keywords.index(valid, use, deadline=deadline) if valid else []
        return LearningResult(indexed=tuple(indexed), rejected=tuple(rejected))

    def index_answer(self, answer: WebAnswer, *, deadline: Deadline) -> None:
        """Make a stored answer findable by meaning. If that fails, the next pruning run does it.

        Raises KnowledgeBaseUnavailable, StoreUnavailable or DeadlineExceeded.
        """
        if self._answer_index is None:
            return
        try:
            self._answer_index.put(answer, timeout=deadline.timeout(_MAX_INDEX_SECONDS))
        except (KnowledgeBaseUnavailable, DeadlineExceeded):
            self._keywords.queue_for_index(answer.result_id, deadline=deadline)
            raise

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Record that these keywords served a query. Raises StoreUnavailable or DeadlineExceeded."""
        self._keywords.count_uses(keyword_ids, use, deadline=deadline)


def check_keywords(proposed: Sequence[object]) -> tuple[list[str], list[RejectedKeyword]]:
    """Split into valid keywords (at most MAX_KEYWORDS_PER_CALL, the first of near-duplicates) and rejected ones."""
    valid: dict[str, str] = {}
    rejected: list[RejectedKeyword] = []
    for candidate in proposed:
        keyword, problem = _check(candidate)
        key = merge_key(keyword)
        if problem is None and len(valid) == MAX_KEYWORDS_PER_CALL and key not in valid:
            problem = f"more than {MAX_KEYWORDS_PER_CALL} keywords in one call"
        if problem is not None:
            rejected.append(RejectedKeyword(keyword=keyword, reason=problem))
        else:
            valid.setdefault(key, keyword)
    return list(valid.values()), rejected


def _check(candidate: object) -> tuple[str, str | None]:
    """The keyword as it is displayed, and what is wrong with it or None."""
    if not isinstance(candidate, str):
        return str(candidate)[:MAX_KEYWORD_LENGTH], "not a string"
    keyword = text.collapse(text.clean(candidate))
    folded = text.fold(keyword)
    if (redacted := redact(keyword)) != keyword:  # all callers share keywords
        return redacted, "contains a secret or personal data"
    if len(folded) < MIN_KEYWORD_LENGTH:
        return keyword, f"shorter than {MIN_KEYWORD_LENGTH} characters"
    if len(folded) > MAX_KEYWORD_LENGTH:
        return keyword[: MAX_KEYWORD_LENGTH + 1], f"longer than {MAX_KEYWORD_LENGTH} characters; name the topic only"
    return keyword, find_problem(keyword)


def extract_keywords(answer: WebAnswer) -> list[str]:
    """Extract keywords when the model gave none: at most eight, each with a stem that the earlier ones lack.

    Candidates are runs of terms between stop words and punctuation, as in RAKE (Rose et al., 2010). Those of
    the query and the titles come first, ranked by how often their words occur in the answer and its titles.
    Then come those that the answer repeats: a related question may ask for another part of it.
    """
    titles = [citation.title for citation in answer.citations]
    frequency = Counter(text.stem(word) for word in text.words(" ".join((answer.answer, *titles))))
    sources = (drop_placeholders(answer.query), *titles)
    phrases = dict.fromkeys(phrase for source in sources for phrase in _phrases(source))
    candidates = sorted(phrases, key=lambda phrase: -_weight(phrase, frequency)) + _repeated_phrases(answer.answer)
    keywords: list[str] = []
    keyword_stems: set[str] = set()
    for phrase in candidates:
        stems = set(text.stems(phrase))
        if not stems <= keyword_stems and not check_keywords([phrase])[1]:
            keywords.append(phrase)
            keyword_stems |= stems
    return keywords[:_MAX_EXTRACTED_KEYWORDS]


def _weight(phrase: str, frequency: Counter[str]) -> float:
    stems = text.stems(phrase)
    return sum(frequency[stem] for stem in stems) / len(stems)


def _repeated_phrases(source: str) -> list[str]:
    """The phrases that occur at least twice, in their first spelling, frequent and long ones first."""
    spelling: dict[tuple[str, ...], str] = {}
    count: Counter[tuple[str, ...]] = Counter()
    for phrase in _phrases(source):
        stems = tuple(text.stems(phrase))
        spelling.setdefault(stems, phrase)
        count[stems] += 1
    ranked = sorted(count, key=lambda stems: -count[stems] * len(stems))
    return [spelling[stems] for stems in ranked if count[stems] > 1]


def _phrases(source: str) -> list[str]:
    """Runs of terms, cut into phrases of at most three words, in the spelling of the source.

    In scripts without spaces, a phrase is what stands between two function words.
    """
    phrases: list[str] = []
    no_topics = text.find_stop_words(text.words(source))
    for part in _PHRASE_BREAK.split(source):
        run: list[str] = []
        for word in [*part.split(), ""]:
            pieces = text.cut_phrases(word)
            if pieces == [word] and text.stems(word) and not no_topics.issuperset(text.words(word)):
                run.append(word)
            else:
                starts = range(0, len(run), _MAX_PHRASE_WORDS)
                phrases += [" ".join(run[start : start + _MAX_PHRASE_WORDS]) for start in starts]
                phrases += [piece for piece in pieces if piece != word and text.stems(piece)]
                run = []
    return phrases
