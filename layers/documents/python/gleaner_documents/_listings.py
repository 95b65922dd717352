"""Finds files by their composed names in directories that may keep another form of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gleaner.document_files import compose_name


class Listings:
    """The names in directories by their composed form (NFC); each directory is listed once."""

    def __init__(self) -> None:
        self._known: dict[Path, dict[str, list[str]] | None] = {}

    def has(self, directory: Path, names: Sequence[str]) -> bool:
        """Whether a file is below `directory` whose path, once composed, is `names`; True if in doubt."""
        if not names:
            return True
        if directory not in self._known:
            self._known[directory] = _list(directory)
        listing = self._known[directory]
        if listing is None:  # an inaccessible directory does not tell whether the file exists
            return True
        return any(self.has(directory / entry, names[1:]) for entry in listing.get(names[0], ()))


def _list(directory: Path) -> dict[str, list[str]] | None:
    """The entries of a directory by their composed names, none if it does not exist, None if it cannot be read."""
    listing: dict[str, list[str]] = {}
    try:
        for entry in os.listdir(directory):  # noqa: PTH208 - names alone
            listing.setdefault(compose_name(entry), []).append(entry)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError:
        return None
    return listing
