"""Builds the Lambda layers without Docker: pinned wheels for the target, our packages, and their bytecode."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.interpreters import find_python

ROOT = Path(__file__).resolve().parents[1]
BUILD_DIR = ROOT / "build" / "layer"

# Parts of wheels that a function never reads: tests, type stubs, sources of extension modules, records of the
# installer, and pinecone's gRPC transport (we use its HTTP API). METADATA, entry points and licences stay.
_EXCLUDED_DIRS = (
    "tests",
    "test",
    "testing",
    "__pycache__",
    "bin",
    "sboms",
    "*-stubs",
    "isoschematron",
    "pypdfium2_cli",
)
_EXCLUDED_FILES = (
    *("*.pyi", "*.pyx", "*.pxd", "*.pxi", "*.c", "*.h", "_grpc.abi3.so"),
    *("RECORD", "INSTALLER", "REQUESTED", "WHEEL", "top_level.txt"),
    # Pillow is here because python-pptx imports it. No picture is decoded, and its fonts and colours are imported
    # where they are used. What `_imaging` itself links to stays.
    *("_avif.*", "libavif-*", "_webp.*", "libwebp*", "libsharpyuv-*", "_imagingcms.*", "liblcms2-*", "_imagingft.*"),
    *("libfreetype-*", "libharfbuzz-*", "libbrotli*", "libpng16-*"),
    # Of lxml, the readers use the parsers.
    *("objectify.cpython-*", "diff.cpython-*", "_difflib.cpython-*"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a layer is built from."""

    requirements: Path  # pinned, with hashes
    package: Path  # ours
    max_bytes: int  # unzipped


COMMON = Source(
    requirements=ROOT / "layers" / "common" / "requirements.txt",
    package=ROOT / "layers" / "common" / "python" / "gleaner",
    max_bytes=90 * 1000 * 1000,
)
DOCUMENTS = Source(
    requirements=ROOT / "layers" / "documents" / "requirements.txt",
    package=ROOT / "layers" / "documents" / "python" / "gleaner_documents",
    max_bytes=90 * 1000 * 1000,
)
PACKAGE = COMMON.package


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the layer runs on. `platform` is uv's name for it; None means this machine."""

    python_version: str
    platform: str | None


# Lambda's python3.13 runtime on Graviton: Amazon Linux 2023, which has glibc 2.34.
LAMBDA = Target(python_version="3.13", platform="aarch64-manylinux_2_34")
THIS_MACHINE = Target(python_version=f"{sys.version_info.major}.{sys.version_info.minor}", platform=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A built layer: its directory, the hash of its inputs, its unzipped size in bytes."""

    path: Path
    content_hash: str
    size: int
    has_bytecode: bool


def build(target: Target = LAMBDA, build_dir: Path = BUILD_DIR, *, source: Source = COMMON) -> Layer:
    """Build the layer of `source` for `target`, or reuse the one that was built from the same inputs.

    Raises RuntimeError if it is too large, subprocess.CalledProcessError if a wheel cannot be installed.
    """
    compiler = find_python(target.python_version)
    content_hash = _content_hash(source, target, has_bytecode=compiler is not None)
    path = build_dir / content_hash
    with _locked(build_dir / f"{content_hash}.lock"):
        if not path.exists():
            unfinished = build_dir / f"{content_hash}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            _install(unfinished / "python", source, target)
            _prune(unfinished / "python")
            if compiler is not None:
                _compile(unfinished / "python", compiler)
            unfinished.rename(path)
    layer = Layer(path=path, content_hash=content_hash, size=_size(path), has_bytecode=compiler is not None)
    if layer.size > source.max_bytes:
        limit = source.max_bytes / 1e6
        raise RuntimeError(
            f"The layer of {source.package.name} has {layer.size / 1e6:.1f} MB; the limit is {limit:.0f} MB."
        )
    return layer


def describe(layer: Layer) -> str:
    """Describe a layer in one line, with what to do if it lacks bytecode."""
    line = f"layer {layer.content_hash[:12]}: {layer.size / 1e6:.1f} MB unzipped"
    if layer.has_bytecode:
        return f"{line}, with bytecode"
    return (
        f"{line}, WITHOUT bytecode: no Python {LAMBDA.python_version} was found to compile it. It works, but starts "
        f"more slowly. Install one (uv python install {LAMBDA.python_version}) or set LAYER_PYTHON to its path."
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time in: two that build the same layer would remove each other's files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _content_hash(source: Source, target: Target, *, has_bytecode: bool) -> str:
    digest = hashlib.sha256(repr((target, has_bytecode)).encode())
    for path in (Path(__file__), source.requirements, *_package_files(source)):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _package_files(source: Source) -> Iterator[Path]:
    return (path for path in sorted(source.package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _install(site: Path, source: Source, target: Target) -> None:
    platform = ["--python-platform", target.platform] if target.platform else []
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(site)]
    command += ["--python-version", target.python_version, *platform]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement"]
    subprocess.run([*command, str(source.requirements)], check=True)
    for path in _package_files(source):
        copy = site / source.package.name / path.relative_to(source.package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)  # with its mode: Lambda executes a script of the package


def _prune(site: Path) -> None:
    for pattern in _EXCLUDED_DIRS:
        for path in list(site.rglob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
    for pattern in _EXCLUDED_FILES:
        for path in list(site.rglob(pattern)):
            path.unlink()


def _compile(site: Path, compiler: Path) -> None:
    # The CDK sets every modification time to 1980, so bytecode that is checked by time would be stale. Unchecked
    # bytecode is safe because the files of a layer never change.
    command = [str(compiler), "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(site), "-p", "/opt/python", str(site)], check=True)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


if __name__ == "__main__":
    for each in (COMMON, DOCUMENTS):
        print(describe(build(source=each)))
