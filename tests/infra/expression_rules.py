"""What CloudWatch's documentation allows in the expression of an alarm.

Source: docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html, "Metric math syntax and
functions" and "Using IF expressions"; the length: APIReference/API_MetricDataQuery.html.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_MAX_LENGTH = 2048
_FUNCTIONS = frozenset(
    """ABS ANOMALY_DETECTION_BAND AVG CEIL DATAPOINT_COUNT DB_PERF_INSIGHTS DIFF DIFF_TIME FILL FIRST FLOOR IF
    INSIGHT_RULE_METRIC LAMBDA LAST LOG LOG10 MAX METRIC_COUNT METRICS MIN MINUTE HOUR DAY DATE MONTH YEAR EPOCH PERIOD
    RATE REMOVE_EMPTY RUNNING_SUM SEARCH SERVICE_QUOTA SLICE SORT STDDEV SUM TIME_SERIES""".split()
)
# "We recommend that you do not use this function in CloudWatch alarms", which get more points than they evaluate.
_DISCOURAGED = frozenset("AVG DATAPOINT_COUNT MAX MIN REMOVE_EMPTY RUNNING_SUM STDDEV SUM".split())
# They return several series, and an alarm watches one. These make one of many.
_MANY = frozenset("ANOMALY_DETECTION_BAND METRICS SEARCH SLICE SORT".split())
_ONE = frozenset("AVG DATAPOINT_COUNT FIRST LAST MAX MIN STDDEV SUM".split())
_KEYWORDS = frozenset("AND OR REPEAT LINEAR ASC DESC".split())
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ALLOWED = re.compile(r"[\w\s.,()+\-*/^<>=!&|\[\]]*")
_COMPARISONS = frozenset("== != <= >= < >".split())


def breaches_of_expression(expression: str, ids: Collection[str], *, has_spare_points: bool) -> Iterator[str]:
    """What is wrong with an expression in words; `ids` are those of the alarm's other queries.

    `has_spare_points`: the alarm needs fewer breaching points than it evaluates (M of N).
    """
    if not 1 <= len(expression) <= _MAX_LENGTH:
        yield f"an expression has 1 to {_MAX_LENGTH} characters"
    text = _STRING.sub("", expression)
    yield from _breaches_of_syntax(text)
    words = _WORD.findall(text)
    functions = re.findall(r"([A-Za-z_]\w*)\s*\(", text)
    operands = [word for word in words if word not in functions and word not in _KEYWORDS]
    yield from (f"there is no function {name}" for name in functions if name not in _FUNCTIONS | _KEYWORDS)
    yield from (f"there is no query {name}" for name in operands if name not in ids)
    if not set(operands) & set(ids) and "METRICS" not in functions:
        yield "the result is no time series: no query is used"
    if not _ONE & set(functions):
        yield from (f"{name} returns several series" for name in [*functions, *text] if name in _MANY | {"["})
    yield from (f"{name} sees more points than the alarm evaluates" for name in functions if name in _DISCOURAGED)
    if "FILL" in functions and not has_spare_points:
        # "... the latest data point ... to always be the FILL value, which can result in the alarm being stuck ... You
        # can work around this by using a M out of N alarm."
        yield "FILL may hide the latest point: evaluate more points than must breach"
    yield from _breaches_of_if(text)


def _breaches_of_syntax(text: str) -> Iterator[str]:
    if not _ALLOWED.fullmatch(text):
        yield "it has characters that metric math does not know"
    for opening, closing in ("()", "[]"):
        if text.count(opening) != text.count(closing):
            yield f"{opening} and {closing} do not match"
    for operator in re.findall(r"[<>=!]+", text):
        if operator not in _COMPARISONS:
            yield f"{operator} is no comparison"


def _breaches_of_if(text: str) -> Iterator[str]:
    for match in re.finditer(r"\bIF\s*\(", text):
        count = _argument_count(text[match.end() :])
        if count not in (2, 3):
            yield f"IF takes two or three arguments, not {count}"


def _argument_count(text: str) -> int:
    """The number of arguments before the parenthesis that closes them."""
    depth, count = 0, 1
    for character in text:
        if character == ")" and depth == 0:
            break
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        count += character == "," and depth == 0
    return count
