"""Finds the files to ingest and names them so that the name is the same wherever the command runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gleaner.errors import InvalidInput
from gleaner_documents.model import FileNotReadable, FileTooLarge, UnreadableDocument
from gleaner_documents.reading import is_known_type, unknown_type

# A file is held in memory with its text and chunks, and embedding 50 MB of text takes a quarter of an hour.
LARGEST_FILE_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file on disk and its name in the knowledge base.

    The name begins with the directory that was given, not with where that lies: `ingest docs` and
    `ingest /srv/handbook/docs` both name `docs/keywords.md`, and so does `ingest docs/keywords.md`. So a
    knowledge base may be kept up to date from any checkout on any machine; in return, two directories of the
    same name are the same root to a knowledge base, unless one of them is given another name.
    """

    path: Path
    source_file_path: str

    def read(self) -> bytes:
        """The file's bytes. Raises FileNotReadable and FileTooLarge."""
        try:
            with self.path.open("rb") as stream:
                data = stream.read(LARGEST_FILE_BYTES + 1)
        except OSError as error:
            raise FileNotReadable(self.source_file_path, _os_reason(error)) from error
        if len(data) > LARGEST_FILE_BYTES:
            limit = LARGEST_FILE_BYTES // (1024 * 1024)
            raise FileTooLarge(self.source_file_path, f"is larger than {limit} MB; split it into parts")
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A directory, and the name that the names of the files in it begin with."""

    path: Path  # absolute
    name: str

    @property
    def prefix(self) -> str:
        """What the names of all files under it begin with: "docs/"."""
        return f"{self.name}/"

    def name_of(self, path: Path) -> str:
        """The name of a file under it."""
        below = path.relative_to(self.path).as_posix()
        return self.prefix + below if self.name else below

    def has(self, source_file_path: str) -> bool:
        """Whether the file of this name is still there; when in doubt, it is."""
        try:
            os.lstat(self.path / source_file_path.removeprefix(self.prefix))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a directory that may not be entered now says nothing of what is in it
            return True
        return True


def directories(paths: Iterable[Path], *, name: str | None = None) -> list[Root]:
    """The roots among `paths`; `name` is used instead of a directory's own."""
    absolute = (_absolute(path) for path in paths)
    return [Root(path=path, name=name or path.name) for path in absolute if path.is_dir()]


@dataclass(slots=True, kw_only=True)
class Found:
    """What lies under the paths given: `roots` are the directories, `ignored` counts files of unknown type."""

    files: list[SourceFile] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    unreadable: list[UnreadableDocument] = field(default_factory=list)
    ignored: int = 0


def find_source_files(paths: Iterable[Path], *, root: str | None = None) -> Found:
    """All files of a known type under `paths`, in the order of their names, each once.

    `root` is the name of the directories, instead of their own. Hidden files and directories are left out. A path
    that does not exist, or is a file of unknown type, is among `unreadable`. Raises InvalidInput when
    two files would have the same name, and for the root of the file system.
    """
    found = Found()
    for path in paths:
        if path.is_dir():
            found.roots += directories((path,), name=root)
            _add_directory(found, found.roots[-1])
        else:
            _add_named_file(found, _absolute(path))
    found.files = _without_repeats(found.files)
    return found


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would rename a linked directory


def _add_named_file(found: Found, path: Path) -> None:
    if not path.is_file():
        reason = "is not a file or directory" if path.exists() else "does not exist"
        found.unreadable.append(FileNotReadable(_sendable(str(path)), reason))
    elif not is_known_type(path.name):
        found.unreadable.append(unknown_type(_sendable(path.name)))
    else:
        _add_file(found, path, Root(path=path.parent, name=path.parent.name))


def _add_directory(found: Found, root: Root) -> None:
    if not root.name:
        raise InvalidInput(f"{root.path} has no name to call its files by. Name a directory below it.")
    for path in _walk(found, root):
        if is_known_type(path.name) and path.is_file():
            _add_file(found, path, root)
        else:
            found.ignored += 1


def _add_file(found: Found, path: Path, root: Root) -> None:
    name = root.name_of(path)
    if name == _sendable(name):
        found.files.append(SourceFile(path=path, source_file_path=name))
    else:
        found.unreadable.append(FileNotReadable(_sendable(name), "has a name that is not UTF-8; rename it"))


def _walk(found: Found, root: Root) -> Iterator[Path]:
    """Every file below `root`, links followed, each directory once: real ones first, so a loop ends nowhere."""
    pending = [root.path]
    links: list[Path] = []
    visited: set[str] = set()
    while pending or links:
        directory = pending.pop() if pending else links.pop()
        real = os.path.realpath(directory)
        if real in visited:
            continue
        visited.add(real)
        try:
            entries = sorted(directory.iterdir(), key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            found.unreadable.append(FileNotReadable(_sendable(f"{root.name_of(directory)}/"), _os_reason(error)))
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if not entry.is_dir():
                yield entry
            elif entry.is_symlink():
                links.append(entry)
            else:
                pending.append(entry)


def _sendable(name: str) -> str:
    """`name` with "?" for bytes that are no text, which Python keeps as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


def _without_repeats(files: list[SourceFile]) -> list[SourceFile]:
    by_name: dict[str, SourceFile] = {}
    for file in files:
        other = by_name.setdefault(file.source_file_path, file)
        if other.path != file.path:
            raise InvalidInput(
                f"{other.path} and {file.path} would both be named {file.source_file_path!r} in the knowledge "
                "base. Rename one of the directories, or ingest them into different knowledge bases."
            )
    return [by_name[name] for name in sorted(by_name)]


def _os_reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"
