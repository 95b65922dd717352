"""Remembers which directory a root was loaded from, so that another one of that name does not silently replace it.

A knowledge base knows a root only by its name and can be updated from any checkout on any machine. This memory is
part of the machine's data directory: it distinguishes two directories that both exist on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gleaner.errors import InvalidInput
from gleaner_documents.source_files import Root
from gleaner_local import command_line
from gleaner_local.errors import CannotStart

_FILE = "roots.json"


class KnownRoots:
    """The directories that were loaded into one index, by knowledge base and name."""

    def __init__(self, data_dir: Path, *, index: str) -> None:
        """`index` names one of the indexes that are filled from this data directory."""
        self._file = data_dir / _FILE
        self._index = index

    def claim(self, roots: Iterable[Root], kb_id: str, *, confirmed: bool) -> None:
        """Remember the directories of these roots. Raises CannotStart if they cannot be saved.

        Unless the name is `confirmed`, raises InvalidInput for a root whose files were loaded from another directory
        that still exists.
        """
        places_by_index = self._read()
        places = places_by_index.setdefault(self._index, {}).setdefault(kb_id, {})
        for root in roots:
            previous = Path(places.get(root.name, root.path))
            if previous.is_dir() and not previous.samefile(root.path) and not confirmed:
                options = ("--root", f"other-{root.name}", "--kb-id", kb_id)
                rename = command_line.format_command("ingest", str(root.path), *options, data_dir=self._file.parent)
                raise InvalidInput(
                    f"{root.prefix} was loaded from {previous} earlier, and files of {root.path} would replace those "
                    f"of the same name. Give it another name: `{rename}`; or pass `--root {root.name}` to go on."
                )
            places[root.name] = str(root.path)
        self._write(places_by_index)

    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        try:
            places_by_index = json.loads(self._file.read_text())
        except (FileNotFoundError, ValueError):  # an unreadable file must not block loading
            return {}
        return places_by_index if isinstance(places_by_index, dict) else {}

    def _write(self, places_by_index: dict[str, dict[str, dict[str, str]]]) -> None:
        new_file = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new_file.write_text(json.dumps(places_by_index, indent=1))
            new_file.replace(self._file)  # atomic: an interruption never leaves half a file
        except OSError as error:
            raise CannotStart(f"Cannot write to the data directory {self._file.parent}: {error.strerror}.") from error
