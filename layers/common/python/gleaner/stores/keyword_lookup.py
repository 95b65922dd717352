"""Finds keywords by the words of a query, and the web answers stored under them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gleaner import text
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores._former_entries import MAX_FORMER_STEMS, former_lookups, match_former
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import MAX_STEMS

# These bound a look-up regardless of the table's size. The first round trip reads at most 43 ranges (16 stems,
# 15 pairs, and 12 stems of entries that earlier versions wrote) of 25 entries; the second 12 keywords with their newest
# 10 associations. Each is one request, or a query for each range where that one would read more.
ENTRIES_PER_TERM = 25
MAX_KEYWORDS = 12
ASSOCIATIONS_PER_KEYWORD = 10

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
    answers: tuple[dict[str, Any], ...] | None = None  # the items that were to be read beside; None: they were not


@dataclass(slots=True)
class _Candidate:
    keyword_text: str
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


_Entries = tuple[tuple[str, ...], list[dict[str, Any]]]
_Ranked = tuple[str, str, float]  # the scope of a keyword, its id, and its score


class KeywordLookup:
    """Reads the look-up entries of the keywords table; on `executor` where it takes several requests."""

    def __init__(self, table: Table, executor: Executor) -> None:
        self._table = table
        self._executor = executor

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
        the bounds then hold for each of the two scopes. The items of `answer_ids` are read beside the entries. Takes
        two round trips of bounded size. Raises StoreUnavailable or DeadlineExceeded.
        """
        scopes = [kb_id] if caller is None else [schema.private_scope(kb_id, caller), kb_id]
        stems = text.stems(query)[:MAX_STEMS]
        former = dict(list(former_lookups(query, stems).items())[:MAX_FORMER_STEMS])
        lookups = [*((stem,) for stem in stems), *pairwise(stems)]
        by_scope, answers = self._read_entries(scopes, [*lookups, *((stem,) for stem in former)], answer_ids, deadline)
        weights = _weigh(stems, [entries[: len(lookups)] for entries in by_scope])
        ranked: list[_Ranked] = []
        for scope, entries in zip(scopes, by_scope, strict=True):
            present, earlier = entries[: len(lookups)], entries[len(lookups) :]
            best = _rank(weights, [*_candidates(present), *_former_candidates(earlier, former, weights)])
            ranked += [(scope, keyword_id, score) for keyword_id, _, score in best[:MAX_KEYWORDS]]
        matches = self._with_answers(ranked, caller, deadline) if ranked else []
        return LookupResult(matches=tuple(matches), weights=weights, answers=answers)

    def _read_entries(
        self,
        scopes: Sequence[str],
        lookups: Sequence[tuple[str, ...]],
        answer_ids: Sequence[str],
        deadline: Deadline,
    ) -> tuple[list[list[_Entries]], tuple[dict[str, Any], ...] | None]:
        """The entries of each scope with the stems they were looked up by, one or two adjacent ones; the answers."""
        ranges = [_entry_range(*place) for place in itertools.product(scopes, lookups)]
        answer_keys = [schema.answer_key(result_id) for result_id in answer_ids]
        names = [*(partition for partition, _ in ranges), *(key["pk"] for key in answer_keys)]
        limit = ENTRIES_PER_TERM * len(ranges) + len(answer_keys)
        items = self._table.select(names, limit=limit, deadline=deadline) if names else []
        if items is None:
            found = self._map_parallel(lambda place: self._query(place, deadline), ranges)
        else:
            found = _cut_ranges(items, ranges)
        entries = iter(found)
        by_scope = [[(key_stems, next(entries)) for key_stems in lookups] for _ in scopes]
        return by_scope, None if items is None else tuple(item for item in items if _key(item) in answer_keys)

    def _query(self, place: tuple[str, str], deadline: Deadline) -> list[dict[str, Any]]:
        partition, begins_with = place
        return self._table.query(
            partition=partition, begins_with=begins_with, limit=ENTRIES_PER_TERM, deadline=deadline
        )

    def _with_answers(self, ranked: Sequence[_Ranked], caller: str | None, deadline: Deadline) -> list[KeywordMatch]:
        scores: dict[str, float] = {}
        for _, keyword_id, score in ranked:
            scores[keyword_id] = max(score, scores.get(keyword_id, 0.0))
        heads, by_place = self._read_keywords([(scope, keyword_id) for scope, keyword_id, _ in ranked], deadline)
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

    def _read_keywords(
        self, places: Sequence[tuple[str, str]], deadline: Deadline
    ) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
        """The keywords, and for each scope and keyword the newest associations."""
        prefixes = [schema.association_prefix(scope) for scope, _ in places]
        keys = {keyword_id: schema.keyword_key(keyword_id) for _, keyword_id in places}
        # A keyword sorts after its associations with answers, and before those with queries that it served.
        between = min(prefixes), schema.keyword_key("")["sk"]
        limit = (ASSOCIATIONS_PER_KEYWORD + 1) * (len(places) + 1)
        items = self._table.select(
            [key["pk"] for key in keys.values()], between=between, limit=limit, deadline=deadline
        )
        if items is None:
            heads = self._executor.submit(lambda: self._table.get_many(list(keys.values()), deadline=deadline))
            by_place = self._map_parallel(lambda place: self._query_associations(place[0], place[1], deadline), places)
            return heads.result(), by_place
        newest_first = sorted(items, key=lambda item: item["sk"], reverse=True)
        return [item for item in items if item["sk"] == between[1]], [
            [item for item in newest_first if item["pk"] == keys[keyword_id]["pk"] and item["sk"].startswith(prefix)][
                :ASSOCIATIONS_PER_KEYWORD
            ]
            for (_, keyword_id), prefix in zip(places, prefixes, strict=True)
        ]

    def _query_associations(self, scope: str, keyword_id: str, deadline: Deadline) -> list[dict[str, Any]]:
        return self._table.query(
            partition=schema.keyword_key(keyword_id)["pk"],
            begins_with=schema.association_prefix(scope),
            limit=ASSOCIATIONS_PER_KEYWORD,
            newest_first=True,
            deadline=deadline,
        )

    def _map_parallel(self, read: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        return list(self._executor.map(read, arguments))


def _key(item: Mapping[str, Any]) -> schema.Key:
    return {"pk": item["pk"], "sk": item["sk"]}


def _cut_ranges(items: Sequence[dict[str, Any]], ranges: Sequence[tuple[str, str]]) -> list[list[dict[str, Any]]]:
    """The first entries of each range of whole partitions, as a query of it would return them."""
    partitions: dict[str, list[dict[str, Any]]] = {partition: [] for partition, _ in ranges}
    for item in sorted(items, key=lambda item: item["sk"]):
        partitions.get(item["pk"], []).append(item)
    return [
        [item for item in partitions[partition] if item["sk"].startswith(prefix)][:ENTRIES_PER_TERM]
        for partition, prefix in ranges
    ]


def _entry_range(kb_id: str, key_stems: tuple[str, ...]) -> tuple[str, str]:
    """The partition to query, and the prefix of its sort keys."""
    if len(key_stems) > 1:
        return schema.pair_partition(kb_id, *key_stems), ""
    stem = key_stems[0]
    # Equal stems sort before longer ones because the separator sorts before letters and digits. A stem shorter
    # than the partition's prefix matches only itself: its extensions are in other partitions.
    exact = schema.KEY_SEPARATOR if len(stem) < schema.PREFIX_LENGTH else ""
    return schema.term_partition(kb_id, stem), stem + exact


def _candidates(entries: Sequence[_Entries]) -> Iterator[tuple[str, _Candidate]]:
    candidates: dict[str, _Candidate] = {}
    for key_stems, items in entries:
        for item in items:
            entry_stem, term_count, keyword_id = item["sk"].rsplit(schema.KEY_SEPARATOR, 2)
            candidate = candidates.setdefault(keyword_id, _Candidate(item["keyword_text"], int(term_count)))
            is_whole = len(key_stems) > 1 or entry_stem == key_stems[0]
            candidate.add(dict.fromkeys(key_stems, 1.0 if is_whole else _PREFIX_WEIGHT))
    yield from candidates.items()


def _former_candidates(
    entries: Sequence[_Entries], former: Mapping[str, Mapping[str, float]], stems: Collection[str]
) -> Iterator[tuple[str, _Candidate]]:
    candidates: dict[str, _Candidate] = {}
    for (looked_up,), items in entries:
        for item in items:
            entry_stem, term_count, keyword_id = item["sk"].rsplit(schema.KEY_SEPARATOR, 2)
            candidate = candidates.setdefault(keyword_id, _Candidate(item["keyword_text"], int(term_count)))
            match = match_former(entry_stem, looked_up, former[looked_up], stems)
            candidate.add(match.weights)
            candidate.former_shares[entry_stem] = match.share
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
                counts[key_stems[0]] += len(items)
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
