"""Reads the word lists of the extractive model, which are text files in this package."""

from __future__ import annotations

from importlib.resources import files


def read_words(name: str) -> frozenset[str]:
    """The words of `words/<name>.txt`, which are separated by white space."""
    return frozenset((files(__package__ or "") / "words" / f"{name}.txt").read_text(encoding="utf-8").split())
