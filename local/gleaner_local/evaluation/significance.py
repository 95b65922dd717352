"""Tests of whether one of two runs over the same cases is worse, in plain Python.

Yes and no: McNemar's test in its exact form, a binomial test of the cases that changed (Fagerland, Lydersen and Laake,
BMC Medical Research Methodology 13:91, 2013). Everything else: Fisher's randomization test of the paired differences,
which Smucker, Allan and Carterette (CIKM 2007) prefer to the tests of Wilcoxon and of signs for measures of retrieval.
Several figures together: Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import product

_MAX_EXACT = 14  # differences, of which all signs are tried; beyond them as many random ones
_SAMPLES = 20_000
_SEED = 20_071  # a constant, so that the same runs give the same p
_ROUNDING = 1e-9


def worse_by_mcnemar(worse: int, better: int) -> float:
    """The one-sided p of at least `worse` of the changed cases having become worse, if each way were as likely."""
    changed = worse + better
    return float(sum(math.comb(changed, count) for count in range(worse, changed + 1)) / 2**changed)


def worse_by_randomization(losses: Sequence[float]) -> float:
    """The one-sided p of a sum of losses at least as high, if each loss were as likely to be a gain."""
    changed = [loss for loss in losses if loss]
    if not changed:
        return 1.0
    observed = math.fsum(changed) - _ROUNDING * max(map(abs, changed))
    if len(changed) <= _MAX_EXACT:
        signs = product((1, -1), repeat=len(changed))
        return float(sum(_sum(changed, chosen) >= observed for chosen in signs) / 2 ** len(changed))
    generator = random.Random(_SEED)  # noqa: S311 - no secret
    reached = sum(
        sum(loss if generator.getrandbits(1) else -loss for loss in changed) >= observed for _ in range(_SAMPLES)
    )
    return (reached + 1) / (_SAMPLES + 1)  # the observed signs are one of the samples


def adjust_by_holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p of each test adjusted for their number: whatever is below a level stays below it as a family."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, p * (len(values) - rank)))
        adjusted[name] = highest
    return adjusted


def _sum(values: Sequence[float], signs: Sequence[int]) -> float:
    return math.fsum(value * sign for value, sign in zip(values, signs, strict=True))
