"""Measures what was found and what is cited, against the places that a case expects.

Retrieval: hit@k and the reciprocal rank of the first passage from an expected place (Voorhees, TREC-8, 1999), and nDCG
with the gain 1 for the first passage of each expected place (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002). What
counts as found is what the searches of the knowledge base returned, as the stream tells it: `data-gleaner-passages`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.figures import NDCG_DEPTH, Values
from gleaner_local.evaluation.matching import expected_places, places_of

_DEPTHS = (1, 3, 5)


def measure_retrieval(case: Case, passages: Sequence[Source]) -> Values:
    """The ranks of the expected places among the passages; nothing if the case expects none."""
    if not case.expects_places:
        return {}
    places = [places_of(passage, case) for passage in passages]
    first = next((rank for rank, found in enumerate(places, start=1) if found), 0)
    values: Values = {f"hit_{depth}": 0 < first <= depth for depth in _DEPTHS}
    return values | {"reciprocal_rank": 1 / first if first else 0.0, "ndcg": _ndcg(places, len(expected_places(case)))}


def _ndcg(places: Sequence[set[int]], expected: int) -> float:
    """The gain of the first passage of each expected place, against that of a ranking that begins with them.

    Places that one passage is from count as one, since one passage is enough for them.
    """
    firsts: dict[int, int] = {}
    for rank, found in enumerate(places[:NDCG_DEPTH]):
        for place in found:
            firsts.setdefault(place, rank)
    ranks = set(firsts.values())
    wanted = min(expected - len(firsts) + len(ranks), NDCG_DEPTH)
    return sum(1 / math.log2(rank + 2) for rank in sorted(ranks)) / sum(1 / math.log2(r + 2) for r in range(wanted))


def measure_citations(case: Case, sources: Sequence[Source]) -> Values:
    """Precision: the share of cited passages that are expected; recall: that of expected places that are cited."""
    if not case.expects_places:
        return {}
    places = [places_of(source, case) for source in sources]
    found = set[int]().union(*places)
    values: Values = {"citation_recall": len(found) / len(expected_places(case))}
    if places:  # an answer that cites nothing is not imprecise: its recall is 0
        values["citation_precision"] = sum(map(bool, places)) / len(places)
    return values
