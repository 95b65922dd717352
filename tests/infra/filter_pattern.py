"""What a JSON filter pattern of CloudWatch Logs matches, as far as the stacks use the syntax.

docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html, "Matching terms in JSON log events":
comparisons by = and != of a selector with a string, in which * stands for any text, joined by && and || with
parentheses. An unmatched pattern is an error here, as `logs:TestMetricFilter` would report it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(r'\s*(?P<token>\(|\)|&&|\|\||\$\.[\w.]+|!=|=|"[^"]*")')


def matches(pattern: str, event: Mapping[str, object]) -> bool:
    """Whether a metric filter with this pattern counts this line. Raises ValueError for any other syntax."""
    if not (pattern.startswith("{") and pattern.endswith("}")):
        raise ValueError(f"not a JSON pattern: {pattern}")
    tokens = _tokens(pattern[1:-1].strip())
    result = _any(tokens, event)
    if tokens:
        raise ValueError(f"{tokens[0]} is not expected in {pattern}")
    return result


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"unknown syntax: {text[position:]}")
        tokens.append(match["token"])
        position = match.end()
    return tokens


def _any(tokens: list[str], event: Mapping[str, object]) -> bool:
    results = [_all(tokens, event)]
    while tokens and tokens[0] == "||":
        tokens.pop(0)
        results.append(_all(tokens, event))
    return any(results)


def _all(tokens: list[str], event: Mapping[str, object]) -> bool:
    results = [_term(tokens, event)]
    while tokens and tokens[0] == "&&":
        tokens.pop(0)
        results.append(_term(tokens, event))
    return all(results)


def _term(tokens: list[str], event: Mapping[str, object]) -> bool:
    first = tokens.pop(0)
    if first == "(":
        result = _any(tokens, event)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a parenthesis is not closed")
        return result
    operator, quoted = tokens.pop(0), tokens.pop(0)
    value = event.get(first.removeprefix("$."))
    if not isinstance(value, str):
        return False  # neither operator matches a line without the property
    expected = ".*".join(re.escape(part) for part in quoted[1:-1].split("*"))
    return (re.fullmatch(expected, value, re.DOTALL) is not None) is (operator == "=")
