"""Creates environments for other people's packages in .gleaner-bench, from pinned requirements, when one is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENTS = ROOT / ".gleaner-bench"
_UV = Path(sys.executable).with_name("uv")


def create(name: str, *requirements: Path) -> Path:
    """The Python of an environment with these requirements, which is created anew if they have changed."""
    folder = _ENVIRONMENTS / name
    python, installed = folder / "bin" / "python", folder / "requirements.txt"
    text = "\n".join(path.read_text() for path in requirements)
    if not installed.exists() or installed.read_text() != text:
        print(f"Creating an environment for {name} ...", file=sys.stderr)
        subprocess.run([_UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        install: list[str | Path] = [_UV, "pip", "install", "--quiet", "--python", python, "--compile-bytecode"]
        install += ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
        for path in requirements:
            install += ["-r", path]
        subprocess.run(install, check=True)
        installed.write_text(text)
    return python


def packages(python: Path) -> list[Distribution]:
    """The packages of an environment."""
    (folder,) = python.parents[1].glob("lib/python3.*/site-packages")
    return list(distributions(path=[str(folder)]))


def installed_bytes(package: Distribution) -> int:
    """The size of a package's files, without bytecode."""
    return sum(path.stat().st_size for path in _files(package))


def _files(package: Distribution) -> Iterator[Path]:
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        if path.suffix != ".pyc" and path.is_file():
            yield path
