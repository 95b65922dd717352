"""Finds keywords by the words of a query, and the web answers stored under them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gleaner import text
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores._lookup_reading import ENTRIES_PER_TERM, LookupReader, Term
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_postings import MAX_STEMS, Posting

# A look-up is bounded regardless of the table's size. It reads the posting lists of at most 16 stems, and the look-up
# entries of those whose lists are full; of earlier versions' keywords at most 28 ranges of entries (16 stems, and 12
# stems by their rules); then the pairs of those stems that have more entries than were read (at most 15), and then so
# many keywords with their newest associations; with two scopes, twice as many.
MAX_KEYWORDS = 12

UNKNOWN_WEIGHT = 0.7  # weight of a stem whose rarity is unknown
_PREFIX_WEIGHT = 0.6  # weight of a stem that is only a prefix of the keyword's term; an equal stem weighs 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordMatch:
    """A keyword found for a query. `score`, 0 to 1, says how much of the keyword and of the query match."""

    keyword_id: str
    keyword_text: str
    score: float
    usage_count: int
    result_ids: tuple[str, ...]  # its latest stored web answers in this knowledge base, newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupResult:
    """The keywords found for a query, best first, and the rarity weights of the query's stems, 0 to 1."""

    matches: tuple[KeywordMatch, ...]
    weights: dict[str, float]
    answers: tuple[dict[str, Any], ...] = ()  # the items that were to be read beside


@dataclass(slots=True)
class _Candidate:
    term_count: int
    match_weights: dict[str, float] = field(default_factory=dict)  # by stem of the query
    former_shares: dict[str, float] = field(default_factory=dict)  # by stem of an entry of an earlier version

    def add(self, weights: Mapping[str, float]) -> None:
        """Note that the keyword matches these stems of the query."""
        for stem, weight in weights.items():
            self.match_weights[stem] = max(weight, self.match_weights.get(stem, 0.0))

    def matching_terms(self) -> float:
        """How many of the keyword's terms match."""
        return sum((self.former_shares or self.match_weights).values())


_Entries = tuple[tuple[str, ...], Sequence[Posting]]  # of one stem of the query, or of two adjacent ones
_Ranked = tuple[str, str, float]  # the scope of a keyword, its id, and its score


class KeywordLookup:
    """Finds keywords by their words; on `executor` where it takes several requests."""

    def __init__(self, table: Table, executor: Executor, layout: KeywordLayout) -> None:
        self._reader = LookupReader(table, executor, layout)

    def find(self, kb_id: str, query: str, *, caller: str | None = None, deadline: Deadline) -> list[KeywordMatch]:
        """The matches of `look_up`."""
        return list(self.look_up(kb_id, query, caller=caller, deadline=deadline).matches)

    def look_up(
        self,
        kb_id: str,
        query: str,
        *,
        caller: str | None = None,
        answer_ids: Sequence[str] = (),
        deadline: Deadline,
    ) -> LookupResult:
        """Find active keywords that share terms, or prefixes of terms, with `query`.

        With `caller`, a hash, the matches lead only to answers that this caller caused, or whose caller is not known;
        the bounds then hold for each of the two scopes. The items of `answer_ids` are read beside the lists. Takes
        two round trips of bounded size, each one request, and up to three more of queries for words that many keywords
        have in common and for keywords with many answers. Raises
        StoreUnavailable or DeadlineExceeded.
        """
        scopes = [kb_id] if caller is None else [schema.private_scope(kb_id, caller), kb_id]
        stems = text.stems(query)[:MAX_STEMS]
        former: dict[str, dict[str, float]] = {}

        def find_former_terms() -> list[Term]:
            former.update(_former_lookups(query, stems))
            return list(itertools.product(scopes, former))

        found = self._reader.read_postings(
            list(itertools.product(scopes, stems)),
            find_former_terms,
            [schema.answer_key(result_id) for result_id in answer_ids],
            deadline,
        )
        by_term = found.by_term
        by_scope: list[list[_Entries]] = [[((stem,), by_term[scope, stem]) for stem in stems] for scope in scopes]
        weights = _weigh(stems, by_scope)
        pairs = self._read_pairs(scopes, stems, found.cut, deadline)
        ranked: list[_Ranked] = []
        for scope, present in zip(scopes, by_scope, strict=True):
            earlier = _former_candidates(((stem, by_term.get((scope, stem), ())) for stem in former), former, weights)
            best = _rank(weights, [*_candidates([*present, *pairs[scope]]), *earlier])
            ranked += [(scope, keyword_id, score) for keyword_id, _, score in best[:MAX_KEYWORDS]]
        matches = self._with_answers(ranked, caller, deadline) if ranked else []
        return LookupResult(matches=tuple(matches), weights=weights, answers=tuple(found.answers))

    def _read_pairs(
        self, scopes: Sequence[str], stems: Sequence[str], cut: frozenset[Term], deadline: Deadline
    ) -> dict[str, list[_Entries]]:
        """The entries of adjacent stems, one of which has more entries than were read. The others lead to nothing more.

        A keyword with an entry for two adjacent stems has an entry or a posting for each of them.
        """
        wanted = [
            (scope, first, second)
            for scope, (first, second) in itertools.product(scopes, pairwise(stems))
            if not cut.isdisjoint([(scope, first), (scope, second)])
        ]
        pairs: dict[str, list[_Entries]] = {scope: [] for scope in scopes}
        for (scope, *pair), postings in zip(wanted, self._reader.read_pairs(wanted, deadline), strict=True):
            pairs[scope].append((tuple(pair), postings))
        return pairs

    def _with_answers(self, ranked: Sequence[_Ranked], caller: str | None, deadline: Deadline) -> list[KeywordMatch]:
        scores: dict[str, float] = {}
        for _, keyword_id, score in ranked:
            scores[keyword_id] = max(score, scores.get(keyword_id, 0.0))
        heads, by_place = self._reader.read_keywords([(scope, keyword_id) for scope, keyword_id, _ in ranked], deadline)
        associations: dict[str, list[dict[str, Any]]] = {keyword_id: [] for keyword_id in scores}
        for (_, keyword_id, _), items in zip(ranked, by_place, strict=True):
            associations[keyword_id] += [item for item in items if caller in (None, item.get("caller", caller))]
        active = {item["keyword_id"]: item for item in heads if item["status"] == "active"}
        matches = [
            KeywordMatch(
                keyword_id=keyword_id,
                keyword_text=active[keyword_id]["keyword_text"],
                score=score,
                usage_count=active[keyword_id]["usage_count"],
                result_ids=_result_ids(associations[keyword_id]),
            )
            for keyword_id, score in scores.items()
            if keyword_id in active
        ]
        return sorted(matches, key=lambda match: (-match.score, -match.usage_count, match.keyword_id))


def _candidates(entries: Sequence[_Entries]) -> Iterator[tuple[str, _Candidate]]:
    candidates: dict[str, _Candidate] = {}
    for key_stems, postings in entries:
        for posting in postings:
            candidate = candidates.setdefault(posting.keyword_id, _Candidate(posting.term_count))
            is_whole = len(key_stems) > 1 or posting.stem == key_stems[0]
            candidate.add(dict.fromkeys(key_stems, 1.0 if is_whole else _PREFIX_WEIGHT))
    yield from candidates.items()


def _former_lookups(query: str, stems: Collection[str]) -> dict[str, dict[str, float]]:
    """What to look up besides the stems, in a table that may hold keywords of earlier versions."""
    from gleaner.stores._former_entries import MAX_FORMER_STEMS, former_lookups

    return dict(itertools.islice(former_lookups(query, stems).items(), MAX_FORMER_STEMS))


def _former_candidates(
    found: Iterable[tuple[str, Sequence[Posting]]],
    former: Mapping[str, Mapping[str, float]],
    stems: Collection[str],
) -> Iterator[tuple[str, _Candidate]]:
    if not former:
        return
    from gleaner.stores._former_entries import match_former

    candidates: dict[str, _Candidate] = {}
    for looked_up, postings in found:
        for posting in postings:
            candidate = candidates.setdefault(posting.keyword_id, _Candidate(posting.term_count))
            match = match_former(posting.stem, looked_up, former[looked_up], stems)
            candidate.add(match.weights)
            candidate.former_shares[posting.stem] = match.share
    yield from candidates.items()


def _rank(
    weights: Mapping[str, float], candidates: Iterable[tuple[str, _Candidate]]
) -> list[tuple[str, _Candidate, float]]:
    """Keyword id, candidate and score, best first; of several candidates of a keyword, the best."""
    scored = sorted(
        ((keyword_id, candidate, _score(candidate, weights)) for keyword_id, candidate in candidates),
        key=lambda item: (-item[2], item[0]),
    )
    best: dict[str, tuple[str, _Candidate, float]] = {}
    for item in scored:
        best.setdefault(item[0], item)
    return list(best.values())


def _weigh(stems: Sequence[str], by_scope: Sequence[Sequence[_Entries]]) -> dict[str, float]:
    """The weights of the query's stems, by the entries of all scopes."""
    counts = dict.fromkeys(stems, 0)
    for entries in by_scope:
        for key_stems, items in entries:
            if len(key_stems) == 1:
                counts[key_stems[0]] += min(len(items), ENTRIES_PER_TERM)
    return {stem: _rarity(count) for stem, count in counts.items()}


def _rarity(entries: int) -> float:
    """Weight of a stem by the number of its entries: 1 for a term of one keyword, 0.44 at the read limit.

    A stem without entries is either rare or not a keyword's word at all, such as a common verb.
    """
    return 1.0 / (1.0 + 0.4 * math.log(entries)) if entries else UNKNOWN_WEIGHT


def _score(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    """Geometric mean of the shares of the keyword and of the query (weighted by rarity) that match."""
    keyword_share = min(1.0, candidate.matching_terms() / candidate.term_count)
    query_weight = sum(weight * weights[stem] for stem, weight in candidate.match_weights.items())
    return math.sqrt(keyword_share * query_weight / sum(weights.values())) if weights else 0.0


def _result_ids(associations: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            item["perplexity_result_id"]
            for item in associations
            if item["status"] == "active" and "perplexity_result_id" in item
        )
    )
