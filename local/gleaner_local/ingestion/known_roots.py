"""Which directory the files of a root came from, so that another one of the same name does not replace them unasked.

The knowledge base knows a root by its name alone, and may be kept up to date from any checkout on any machine. What
is remembered here belongs to this machine's data directory: it tells two directories apart that both exist here.
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
        """`index` tells the indexes apart that are filled from this data directory."""
        self._file = data_dir / _FILE
        self._index = index

    def claim(self, roots: Iterable[Root], kb_id: str, *, confirmed: bool) -> None:
        """Remember where these roots lie. Raises CannotStart when that cannot be written.

        Unless it is `confirmed` that the name is meant, raises InvalidInput for a root whose files came from another
        directory that is still there.
        """
        known = self._read()
        places = known.setdefault(self._index, {}).setdefault(kb_id, {})
        for root in roots:
            before = Path(places.get(root.name, root.path))
            if before.is_dir() and not before.samefile(root.path) and not confirmed:
                named = ("--root", f"other-{root.name}", "--kb-id", kb_id)
                other = command_line.gleaner("ingest", str(root.path), *named, data_dir=self._file.parent)
                raise InvalidInput(
                    f"{root.prefix} was loaded from {before} before, and files of {root.path} would replace those of "
                    f"the same name. Give it another name: `{other}`; or say `--root {root.name}` to go on."
                )
            places[root.name] = str(root.path)
        self._write(known)

    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        try:
            known = json.loads(self._file.read_text())
        except (FileNotFoundError, ValueError):  # what cannot be read is no reason to load nothing any more
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: dict[str, dict[str, dict[str, str]]]) -> None:
        whole = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            whole.write_text(json.dumps(known, indent=1))
            whole.replace(self._file)  # at once: whatever ends this process, the file is whole
        except OSError as error:
            raise CannotStart(f"Cannot write to the data directory {self._file.parent}: {error.strerror}.") from error
