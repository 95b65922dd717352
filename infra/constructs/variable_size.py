"""How much room the variables of a function take, of which Lambda gives little."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

# "Lambda quotas" in its developer guide. When it refuses more, it shows the text that it measured: the variables as
# JSON with their names (github-aws-runners/terraform-aws-github-runner#3594).
MAX_VARIABLES = 4096  # bytes

# A value that only CloudFormation knows. The longest are ARNs of secrets and names of tables.
_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")
_OF_TOKEN = 80  # bytes, about
_NAMED = 3  # of the biggest variables


def check_variables(variables: Mapping[str, str]) -> str | None:
    """What is wrong with variables that take more than Lambda gives, by estimate, or None."""
    sizes = {name: _measure({name: value}) for name, value in variables.items()}
    total = _measure(variables)
    if total <= MAX_VARIABLES:
        return None
    biggest = sorted(sizes, key=lambda name: -sizes[name])[:_NAMED]
    named = ", ".join(f"{name} ({sizes[name]:,})" for name in biggest)
    return (
        f"the variables of the query function take about {total:,} bytes, but Lambda takes {MAX_VARIABLES:,}. "
        f"Shorten the biggest: {named}."
    )


def _measure(variables: Mapping[str, str]) -> int:
    known = {name: _TOKEN.sub("x" * _OF_TOKEN, value) for name, value in variables.items()}
    return len(json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode())
