"""Writes computed tables and sentences into the handbook, and compares it with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

COSTS = Path(__file__).resolve().parents[2] / "docs" / "11-costs-and-limits.md"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that begins with the row `columns`."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def render(self) -> str:
        """The table in Markdown."""
        return "\n".join(map(_to_line, [self.columns, ["---"] * len(self.columns), *self.rows]))

    def find(self, text: str) -> str:
        """The table of these columns in `text`. Raises ValueError if it has none."""
        head = re.escape(_to_line(self.columns))
        found = re.search(rf"^{head}\n(?:\|.*\n?)*", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"The handbook has no table {_to_line(self.columns)!r}.")
        return found[0].rstrip("\n")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of prose with a number for each `{}`."""

    form: str
    numbers: tuple[str, ...]

    def render(self) -> str:
        """The piece with its numbers."""
        return self.form.format(*self.numbers)

    def find(self, text: str) -> str:
        """The piece in `text`, with whatever numbers. Raises ValueError if it is not there."""
        found = re.search(re.escape(self.form).replace(r"\{\}", _NUMBER.pattern), text)
        if found is None:
            raise ValueError(f"The handbook does not say {self.form!r}.")
        return found[0]


Part = Table | Sentence


def write(parts: Iterable[Part]) -> None:
    """Replace the parts in the chapter on costs. Raises ValueError for one that it does not have."""
    text = COSTS.read_text()
    for part in parts:
        text = text.replace(part.find(text), part.render())
    COSTS.write_text(text)


def differences(parts: Iterable[Part], *, tolerance: float) -> Iterator[str]:
    """Where the handbook differs: by a word, or by a number that is off by more than this share and by 0.01."""
    text = COSTS.read_text()
    for part in parts:
        for written, computed in zip_longest(part.find(text).splitlines(), part.render().splitlines(), fillvalue=""):
            if not _agree(written, computed, tolerance):
                yield f"docs/{COSTS.name} says {written!r}, computed is {computed!r}"


def _agree(one: str, other: str, tolerance: float) -> bool:
    if _NUMBER.sub("", one) != _NUMBER.sub("", other):
        return False
    pairs = zip(map(_read, _NUMBER.findall(one)), map(_read, _NUMBER.findall(other)), strict=True)
    return all(abs(a - b) <= max(0.0101, tolerance * max(abs(a), abs(b))) for a, b in pairs)


def _read(number: str) -> float:
    return float(number.replace(",", ""))


def _to_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("| --- |", "|---|").replace(" --- |", "---|")
