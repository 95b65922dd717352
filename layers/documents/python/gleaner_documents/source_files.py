"""Finds the files to ingest and names them in the same way wherever the command runs."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gleaner.document_files import MAX_FILE_BYTES, UPLOADS, compose_name, is_visible
from gleaner.errors import InvalidInput
from gleaner.groups import Groups
from gleaner_documents._listings import Listings
from gleaner_documents.groups import MAX_SIDECAR_BYTES, document_beside, read_sidecar, sidecar_of
from gleaner_documents.model import FileNotReadable, FileTooLarge, UnclearRights, UnreadableDocument
from gleaner_documents.page_urls import page_url
from gleaner_documents.reading import is_known_type, unknown_type

_MAX_ENDING_CHARS = 12
_INVISIBLE = "has a line break or another character that cannot be shown in its name; rename it"
_TWO_FORMS = "is the name of two files, which differ only in how its letters are encoded; rename or delete one"
_OTHER_FORM = "is not named as its sidecar, whose letters are encoded in another way; rename one of the two"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file on disk and its name in the knowledge base.

    The name begins with the name of the given directory, not with its location: `ingest docs`,
    `ingest /srv/handbook/docs` and `ingest docs/keywords.md` all name `docs/keywords.md`. So any checkout on any
    machine can update a knowledge base; in return, a knowledge base takes two directories of the same name for
    the same root unless one of them is given another name. It is composed (NFC), whichever form the file system has.
    `source_url` is the address of the file if its directory is published at a known one.
    """

    path: Path
    source_file_path: str
    source_url: str | None = None

    def read(self) -> bytes:
        """The file's bytes. Raises FileNotReadable and FileTooLarge."""
        try:
            with self.path.open("rb") as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise FileNotReadable(self.source_file_path, _os_reason(error)) from error
        if len(data) > MAX_FILE_BYTES:
            limit = MAX_FILE_BYTES // (1024 * 1024)
            raise FileTooLarge(self.source_file_path, f"is larger than {limit} MB; split it into parts")
        return data

    def read_groups(self) -> Groups:
        """The groups that the sidecar of the file names; none without one. Raises UnclearRights."""
        data = self.read_sidecar()
        return () if data is None else read_sidecar(self.source_file_path, data)

    def read_sidecar(self) -> bytes | None:
        """The bytes of the sidecar of the file, or more than a sidecar may have; None without one.

        Raises UnclearRights, also for a link that leads nowhere, as to a drive that is not there.
        """
        sidecar = self.path.with_name(sidecar_of(self.path.name))
        try:
            with sidecar.open("rb") as stream:
                return stream.read(MAX_SIDECAR_BYTES + 1)
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError) and not os.path.lexists(sidecar)
            if is_missing or _exceeds_file_names(error, sidecar):
                return None
            reason = f"{sidecar_of(self.source_file_path)} {_os_reason(error)}"
            raise UnclearRights(self.source_file_path, reason) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A directory, and the name that its files' names begin with."""

    path: Path  # absolute
    name: str
    base_url: str | None = None  # where the directory is published

    @property
    def prefix(self) -> str:
        """The prefix of its files' names: "docs/"."""
        return f"{self.name}/"

    def name_of(self, path: Path) -> str:
        """The name of a file in the directory."""
        below = compose_name(path.relative_to(self.path).as_posix())
        return self.prefix + below if self.name else below

    def url_of(self, path: Path) -> str | None:
        """The address of a file in the directory, if it is known."""
        below = compose_name(path.relative_to(self.path).as_posix())
        return page_url(self.base_url, below) if self.base_url else None

    def find_missing(self, names: Iterable[str]) -> list[str]:
        """Those of the names in the directory that no file has any more; without those that are in doubt."""
        listings = Listings()
        return [name for name in names if not self._has(name, listings)]

    def _has(self, name: str, listings: Listings) -> bool:
        if compose_name(name) != name:  # of an earlier version, or of another program
            return False
        below = name.removeprefix(self.prefix)
        try:
            os.lstat(self.path / below)
        except ValueError:  # NUL, which no file has in its name
            return False
        except OSError:  # it may have another form there, or be in a directory that cannot be read
            return listings.has(self.path, below.split("/"))
        return True


def find_roots(paths: Iterable[Path], *, name: str | None = None, base_url: str | None = None) -> list[Root]:
    """The directories among `paths` as roots, called `name` instead of their own names if it is given.

    Raises InvalidInput for the name of the page's uploads.
    """
    absolute = (_absolute(path) for path in paths)
    return [_make_root(path, name=name, base_url=base_url) for path in absolute if path.is_dir()]


def _make_root(path: Path, *, name: str | None = None, base_url: str | None = None) -> Root:
    root = Root(path=path, name=compose_name(name or path.name), base_url=base_url)
    if root.name == UPLOADS:  # its files would replace those that callers uploaded, and drop their groups
        raise InvalidInput(
            f"Files of {root.path} cannot be named {root.prefix}…: documents that were uploaded by the page or the API "
            "have these names. Load the directory with --root and another name."
        )
    return root


@dataclass(slots=True, kw_only=True)
class ScanResult:
    """What was found under the given paths: `roots` are the directories.

    `left_out` counts the files of unknown type in them by the ending of their names, "" for those without one.
    """

    files: list[SourceFile] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    unreadable: list[UnreadableDocument] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def find_source_files(paths: Iterable[Path], *, root: str | None = None, base_url: str | None = None) -> ScanResult:
    """Find all files of a known type under `paths`, each once, sorted by name.

    `root` names the directories instead of their own names; `base_url` is where they are published. Hidden files
    and directories are skipped. A path that does not exist or is a file of unknown type is reported in
    `unreadable`, and so are files whose names cannot be shown, or differ in nothing but their form in Unicode. Raises
    InvalidInput if two other files would have the same name, for the root of the file system, and for the name of the
    page's uploads.
    """
    result = ScanResult()
    for path in paths:
        if path.is_dir():
            result.roots += find_roots((path,), name=root, base_url=base_url)
            _add_directory(result, result.roots[-1])
        else:
            _add_given_file(result, _absolute(path), base_url)
    result.files = _remove_duplicates(result)
    return result


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would rename a linked directory


def _add_given_file(result: ScanResult, path: Path, base_url: str | None) -> None:
    if not path.is_file():
        reason = "is not a file or directory" if path.exists() else "does not exist"
        result.unreadable.append(FileNotReadable(_printable(str(path)), reason))
    elif not is_known_type(path.name):
        result.unreadable.append(unknown_type(_printable(path.name)))
    else:
        _add_file(result, path, _make_root(path.parent, base_url=base_url))


def _add_directory(result: ScanResult, root: Root) -> None:
    if not root.name:
        raise InvalidInput(f"{root.path} has no name to begin its files' names with. Name a directory below it.")
    for path in _walk(result, root):
        if (document := document_beside(path.name)) is not None:
            _check_sidecar(result, path, document, root)
        elif is_known_type(path.name) and path.is_file():
            _add_file(result, path, root)
        else:
            result.left_out[_ending(path)] += 1


def _check_sidecar(result: ScanResult, path: Path, document: str, root: Root) -> None:
    """A sidecar is no document. One with a slip in its name restricts no file, so the file is loaded for everybody."""
    if path.name != sidecar_of(document) or not os.path.lexists(path.with_name(document)):
        name = _printable(root.name_of(path))
        reason = (
            f"restricts no file: there must be one beside it, as {sidecar_of('report.pdf')} beside report.pdf. If that "
            "was renamed, it is loaded for everybody now: rename the sidecar as well"
        )
        result.unreadable.append(UnclearRights(name, reason))


def _ending(path: Path) -> str:
    """What people call the kind of the file. A long ending is a part of a name: "report.draft of monday"."""
    ending = _printable(path.suffix.lower())
    return ending if len(ending) <= _MAX_ENDING_CHARS and ending.isprintable() and " " not in ending else ""


def _add_file(result: ScanResult, path: Path, root: Root) -> None:
    name = root.name_of(path)
    if name != _printable(name):
        result.unreadable.append(FileNotReadable(_printable(name), "has a name that is not UTF-8; rename it"))
    elif not is_visible(name):
        result.unreadable.append(FileNotReadable(name, _INVISIBLE))
    else:
        result.files.append(SourceFile(path=path, source_file_path=name, source_url=root.url_of(path)))


def _walk(result: ScanResult, root: Root) -> Iterator[Path]:
    """Yield every file below `root`. Follows links, after real directories, and enters each directory only once."""
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
            result.unreadable.append(FileNotReadable(_printable(f"{root.name_of(directory)}/"), _os_reason(error)))
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


def _printable(name: str) -> str:
    """`name` with "?" for bytes that are not UTF-8, which Python keeps as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


def _remove_duplicates(result: ScanResult) -> list[SourceFile]:
    """Each file once, but none of those whose names differ only in their form in Unicode: nobody can tell them apart.

    Nor a file whose sidecar has another form than itself, which restricts no file where it is.
    """
    by_name: dict[str, SourceFile] = {}
    problems: dict[str, UnreadableDocument] = {}
    for file in result.files:
        name = file.source_file_path
        other = by_name.setdefault(name, file)
        if other.path == file.path:
            continue
        if compose_name(str(other.path)) != compose_name(str(file.path)):
            raise InvalidInput(
                f"{other.path} and {file.path} would both be named {name!r} in the knowledge "
                "base. Rename one of the directories, or ingest them into different knowledge bases."
            )
        problems[name] = FileNotReadable(name, _TWO_FORMS)
    for problem in result.unreadable:
        name = document_beside(problem.source_file_path) or ""
        if name in by_name and problem.source_file_path == sidecar_of(name):
            problems[name] = UnclearRights(name, _OTHER_FORM)
    result.unreadable += problems.values()
    return [by_name[name] for name in sorted(by_name.keys() - problems.keys())]


def _exceeds_file_names(error: OSError, path: Path) -> bool:
    """Whether no file can have this name, and not only a path that is too long for a request to the system."""
    if error.errno != errno.ENAMETOOLONG:
        return False
    return len(os.fsencode(path.name)) > os.pathconf(path.parent, "PC_NAME_MAX")


def _os_reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"
