"""Bounds of the numbers in a record."""

from __future__ import annotations

import math
from collections.abc import Iterator


def check_whole(name: str, value: float, least: int, most: float = math.inf) -> Iterator[str]:
    """Say what is wrong with a number that must be whole and within these bounds."""
    if not (least <= value <= most and int(value) == value):
        bounds = f"of {least:,} or more" if most == math.inf else f"from {least:,} to {most:,}"
        yield f"{name} must be a whole number {bounds}, not {value}."


def check_positive(name: str, value: float) -> Iterator[str]:
    """Say what is wrong with a number that must be above 0 and finite."""
    if not 0 < value < math.inf:
        yield f"{name} must be above 0, not {value}."
