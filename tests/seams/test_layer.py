"""The content of the layers that are really built for Lambda's architecture."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra import layer_build
from infra.layer_build import Layer, Source
from tests.documents.small_files import make_docx, make_epub, make_pptx, make_xlsx, paragraph
from tests.documents.small_pdf import make_pdf

pytestmark = pytest.mark.slow

MAX_BYTES = {layer_build.COMMON: 60_000_000, layer_build.DOCUMENTS: 50_000_000}
# "Lambda quotas" in its developer guide: a function and its layers, unzipped. Half of it leaves room for the handler
# and for growth.
MAX_TOGETHER = 250 * 1024 * 1024 // 2
ARM64 = 183  # machine type in the header of an ELF file
UNCHECKED_HASH = 0b01  # flags in the header of bytecode
_READ = """
import pathlib
from gleaner_documents.reading import read_document
for path in sys.argv[1:]:
    document = read_document(path, pathlib.Path(path).read_bytes())
    assert "Keywords are merged" in " ".join(section.text for section in document.sections), path
"""
EXCLUDED = {"boto3", "botocore", "gleaner_local", "infra", "ministack", "moto", "aws_cdk", "pytest", "starlette"}


@pytest.fixture(scope="module", params=MAX_BYTES, ids=lambda source: source.package.name)
def source(request: pytest.FixtureRequest) -> Source:
    """What a layer is built from."""
    built: Source = request.param
    return built


@pytest.fixture(scope="module")
def layer(source: Source) -> Layer:
    """The layer that `make synth` and `make deploy` use."""
    layer = layer_build.build(source=source)
    print(layer_build.describe(layer))  # noqa: T201 - `make check` prints the size
    return layer


def test_the_layer_is_small(layer: Layer, source: Source) -> None:
    assert layer.size <= MAX_BYTES[source]


def test_both_layers_fit_into_a_function() -> None:
    assert sum(layer_build.build(source=source).size for source in MAX_BYTES) <= MAX_TOGETHER


def test_no_package_is_in_both_layers_in_two_versions() -> None:
    # Lambda puts one over the other: a file of either version could be imported with one of the other's.
    common, documents = (_distributions(layer_build.build(source=source)) for source in MAX_BYTES)
    shared = common.keys() & documents.keys()
    assert {name: documents[name] for name in shared} == {name: common[name] for name in shared}


def test_the_layer_contains_our_package_unchanged(layer: Layer, source: Source) -> None:
    for file in source.package.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            copy = layer.path / "python" / source.package.name / file.relative_to(source.package)
            assert copy.read_bytes() == file.read_bytes()


def test_the_layer_contains_no_local_code_boto3_or_tests(layer: Layer) -> None:
    assert not EXCLUDED & {path.name for path in (layer.path / "python").iterdir()}
    assert not [path for path in layer.path.rglob("*") if path.is_dir() and path.name in ("tests", "test")]


def test_extension_modules_are_built_for_arm64(layer: Layer) -> None:
    extensions = list(layer.path.rglob("*.so"))
    assert extensions
    for path in extensions:
        with path.open("rb") as file:
            (machine,) = struct.unpack("<H", file.read(20)[18:20])
        assert machine == ARM64, path


def test_bytecode_is_complete_and_not_checked(layer: Layer) -> None:
    if not layer.has_bytecode:
        pytest.skip("no Python 3.13 was found to compile bytecode")
    tag = layer_build.LAMBDA.python_version.replace(".", "")
    for source in (layer.path / "python").rglob("*.py"):
        bytecode = source.parent / "__pycache__" / f"{source.stem}.cpython-{tag}.pyc"
        assert _flags(bytecode) == UNCHECKED_HASH


def test_an_unchanged_layer_is_not_rebuilt(layer: Layer, source: Source) -> None:
    modified_at = layer.path.stat().st_mtime_ns
    assert layer_build.build(source=source) == layer
    assert layer.path.stat().st_mtime_ns == modified_at


def test_two_builds_of_one_layer_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        first, second = (executor.submit(layer_build.build, layer_build.THIS_MACHINE, tmp_path) for _ in range(2))
    assert first.result() == second.result()


def test_what_is_left_of_the_packages_reads_every_format(tmp_path: Path) -> None:
    paths = [layer_build.build(layer_build.THIS_MACHINE, tmp_path, source=source).path for source in MAX_BYTES]
    setup = f"import sys; sys.path[:0] = {[str(path / 'python') for path in paths]!r}\n"
    files = _write_files(tmp_path / "files")
    # -S: without the packages of this environment.
    command = [sys.executable, "-I", "-S", "-c", setup + _READ, *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def _write_files(folder: Path) -> list[Path]:
    """A file of every kind of format, each with the same sentence."""
    text = "Keywords are merged when their stems are equal."
    page = f"<html><body><h1>Title</h1><p>{text}</p></body></html>"
    notebook = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": [text]}], "metadata": {}, "nbformat": 4}
    contents: dict[str, bytes] = {
        "a.md": f"---\ntitle: One\n---\n\n{text}\n".encode(),
        "a.txt": text.encode(),
        "a.rst": f"Title\n=====\n\n{text}\n".encode(),
        "a.csv": f"id,text\n1,{text}\n".encode(),
        "a.html": page.encode(),
        "a.ipynb": json.dumps(notebook).encode(),
        "a.eml": f"Subject: One\nContent-Type: text/html\n\n{page}\n".encode(),
        "a.pdf": make_pdf([text]),
        "a.docx": make_docx(paragraph(text)),
        "a.pptx": make_pptx(text),
        "a.xlsx": make_xlsx([["id", "text"], [1, text]]),
        "a.epub": make_epub({"one.xhtml": f"<p>{text}</p>"}),
    }
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def _distributions(layer: Layer) -> dict[str, str]:
    """The version of each package of a layer."""
    names = (path.name.removesuffix(".dist-info") for path in (layer.path / "python").glob("*.dist-info"))
    return {name: version for name, _, version in (name.partition("-") for name in names)}


def _flags(bytecode: Path) -> int:
    with bytecode.open("rb") as file:
        (flags,) = struct.unpack("<I", file.read(8)[4:8])
    return int(flags)
