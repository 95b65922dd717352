"""How many examples a property is tried with, for those that take long or need many."""

from __future__ import annotations

from hypothesis import settings


def examples(quick: int, thorough: int) -> int:
    """Return the number of examples in `make test`, or in `make check` and `make explore`."""
    return quick if settings.get_current_profile_name() == "quick" else thorough
