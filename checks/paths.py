"""Finds paths in Markdown documents that do not exist in the repository: `python -m checks.paths`.

Words in code and targets of links are checked. A short form such as `gleaner/api/app.py` or `app.py` is the end of a
path. Exit status 1 means a dead path.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from posixpath import normpath

ROOT = Path(__file__).resolve().parents[1]
# Paths that documents use as examples, by document.
EXAMPLES: Mapping[str, Collection[str]] = {"docs/04-knowledge-base-and-ingestion.md": {"docs/keywords.md"}}

_FENCE = re.compile(r"\s*(```|~~~)")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_WORD = re.compile(r"[^\s\"'(),;=\[\]]+")
_PATH = re.compile(r"(\w|\.\w)[\w.*-]*(/[\w.*-]+)*/?")


@dataclass(frozen=True, slots=True)
class Repository:
    """The files of a repository, as paths from its root, and all their directories."""

    paths: frozenset[str]
    directory_names: frozenset[str]

    @classmethod
    def of(cls, files: Collection[str]) -> Repository:
        """The repository that consists of `files`."""
        directories = {parent for file in files for parent in PurePosixPath(file).parents if parent.name}
        return cls(frozenset({*files, *map(str, directories)}), frozenset(path.name for path in directories))

    def looks_like_path(self, word: str) -> bool:
        """Whether a word in code means a file or directory of the repository."""
        first, slash, _ = word.partition("/")
        return bool(_PATH.fullmatch(word)) and (word.endswith(".py") or (bool(slash) and first in self.directory_names))

    def holds(self, path: str) -> bool:
        """Whether a path, its short form or its pattern exists."""
        name = path.rstrip("/")
        if "*" in name:
            return any(fnmatchcase(f"/{known}", f"*/{name}") for known in self.paths)
        return name in self.paths or any(known.endswith(f"/{name}") for known in self.paths)


def main() -> int:
    """Print the dead paths of all documents: 1 if there are any."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    files = [name for name in names if (ROOT / name).is_file()]
    repository = Repository.of(files)
    documents = [name for name in files if name.endswith(".md") and "prompts" not in name.split("/")]
    dead = [line for name in documents for line in dead_paths(name, (ROOT / name).read_text("utf-8"), repository)]
    print("\n".join([*dead, f"{len(documents)} documents, {len(dead)} dead paths."]))
    return int(bool(dead))


def dead_paths(document: str, text: str, repository: Repository) -> Iterator[str]:
    """A line for each path in the text of `document` that `repository` does not hold."""
    in_fence = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        code = [line] if in_fence else _CODE.findall(line)
        words = [word.rstrip(".:") for part in code for word in _WORD.findall(part)]
        missing = [word for word in words if repository.looks_like_path(word) and not repository.holds(word)]
        links = [] if in_fence else _LINK.findall(line)
        missing += [link for link in links if not _is_live(link, document, repository)]
        for path in missing:
            if path not in EXAMPLES.get(document, ()):
                yield f"{document}:{number}: {path} does not exist"


def _is_live(link: str, document: str, repository: Repository) -> bool:
    target = link.partition("#")[0]
    if not target or ":" in target:  # an anchor of this document, or a URL
        return True
    return normpath(str(PurePosixPath(document).parent / target)) in repository.paths


if __name__ == "__main__":
    sys.exit(main())
