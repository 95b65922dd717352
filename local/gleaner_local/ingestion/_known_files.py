"""Remembers which versions of a directory's files are in the bucket, so that a restart reads only what changed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gleaner_documents.groups import sidecar_of


class Fingerprint(NamedTuple):
    """Tells versions of a file apart without reading it: time in ns, size and inode, also those of its sidecar."""

    modified_ns: int
    size: int
    inode: int
    sidecar: tuple[int, int, int] | None


class KnownFiles:
    """The fingerprint and the ETag of each file that was put into the bucket, by name, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._versions: dict[str, tuple[Fingerprint, str]] = {}
        self._saved: object = None
        self.held: set[str] = set()  # names that are not deleted although their files are gone

    def load(self, stored: Mapping[str, str]) -> None:
        """Remember earlier versions, as far as `stored`, the ETags in the bucket by name, has the same."""
        try:
            kept = json.loads(self._path.read_text())
            self.held = {str(name) for name in kept["held"]} & stored.keys()
            for name, (modified_ns, size, inode, beside, etag) in kept["versions"].items():
                if stored.get(name) == etag:
                    sidecar = None if beside is None else (beside[0], beside[1], beside[2])
                    self._versions[name] = (Fingerprint(modified_ns, size, inode, sidecar), etag)
        except (FileNotFoundError, ValueError, TypeError, LookupError, AttributeError):
            return  # what is not known is put again, and found unchanged

    def save(self) -> None:
        """Write the file if anything changed. Raises OSError."""
        state = (dict(self._versions), set(self.held))
        if state == self._saved:
            return
        new_file = self._path.with_suffix(".new")
        versions = {name: [*mark, etag] for name, (mark, etag) in self._versions.items()}
        new_file.write_text(json.dumps({"versions": versions, "held": sorted(self.held)}))
        new_file.replace(self._path)
        self._saved = state

    def get(self, name: str) -> Fingerprint | None:
        """The version of a file that is in the bucket."""
        version = self._versions.get(name)
        return version[0] if version else None

    def put(self, name: str, fingerprint: Fingerprint, etag: str) -> None:
        """Remember that a version is in the bucket."""
        self._versions[name] = (fingerprint, etag)

    def drop(self, name: str) -> None:
        """Forget a file."""
        self._versions.pop(name, None)


def take_fingerprint(path: Path) -> Fingerprint:
    """The fingerprint of a file now. Raises OSError."""
    return Fingerprint(*_facts(path), _find_facts(path.with_name(sidecar_of(path.name))))


def _facts(path: Path) -> tuple[int, int, int]:
    found = os.stat(path)  # noqa: PTH116 - of thousands of files every few seconds
    return found.st_mtime_ns, found.st_size, found.st_ino


def _find_facts(path: Path) -> tuple[int, int, int] | None:
    try:
        return _facts(path)
    except FileNotFoundError:
        return (0, 0, 0) if os.path.lexists(path) else None
    except OSError:  # it is there and says something, as is a link that leads nowhere: its reader says what is wrong
        return (0, 0, 0)
