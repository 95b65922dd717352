"""Reads queries of CloudWatch Logs Insights: which fields they name, and which lines they look for.

docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html: commands are separated by |, regular expressions
stand between slashes, and names with other characters than letters, digits, @, _ and dots need backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

_COMMANDS = frozenset(["fields", "filter", "stats", "sort", "limit"])
_FUNCTIONS = frozenset(["avg", "bin", "coalesce", "count", "ispresent", "sum"])
_WORDS = frozenset(["and", "as", "asc", "by", "desc", "in", "like", "not", "or"])
_TOKEN = re.compile(
    r"""\s*(?:(?P<regex>/(?:[^/\\]|\\.)+/)|(?P<text>"[^"]*"|'[^']*')|(?P<name>[@A-Za-z_][\w.]*)
    |(?P<number>\d+[smhd]?)|(?P<symbol>!=|>=|<=|[-=<>,()*+/\[\]]))""",
    re.VERBOSE,
)
_OWN_FIELDS = frozenset(["@timestamp", "@message", "@log"])  # of every line
_COMPARED = re.compile(r"""([\w.]+)\s*(?:=|like)\s*("[^"]*"|/(?:[^/\\]|\\.)+/)""")


@dataclass(slots=True)
class InsightsQuery:
    """The fields that the lines must have, and the values or regular expressions that some are compared with."""

    fields: set[str] = field(default_factory=set)
    compared: list[tuple[str, str]] = field(default_factory=list)


def read_query(text: str) -> InsightsQuery:
    """Read a query. Raises ValueError for anything that it does not know, which Insights may know."""
    query, aliases = InsightsQuery(), set[str]()
    for line in re.split(r"\n\s*\||^\|", text):
        command, _, rest = line.strip().partition(" ")
        if command not in _COMMANDS:
            raise ValueError(f"{command} is no command")
        tokens = list(_tokens(rest))
        new = {name for before, name in pairwise(tokens) if before == "as"}
        names = [token for token in tokens if re.match(r"[@A-Za-z_]", token)]
        called = {name for name, after in pairwise(tokens) if after == "("}
        if unknown := {name for name in called if name not in _FUNCTIONS | _WORDS}:
            raise ValueError(f"{unknown} are no functions")
        query.fields |= set(names) - _WORDS - called - aliases - new - _OWN_FIELDS
        query.compared += [(name, value.strip('"')) for name, value in _COMPARED.findall(rest)]
        aliases |= new
    return query


def _tokens(text: str) -> Iterator[str]:
    """Names and symbols; 0 stands for each value."""
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"not understood: {text[position:]}")
        position = match.end()
        yield match["name"] or match["symbol"] or "0"
