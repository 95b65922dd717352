"""The content of a layer that is really built for Lambda's architecture."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra import layer_build
from infra.layer_build import Layer

pytestmark = pytest.mark.slow

MAX_BYTES = 60_000_000
ARM64 = 183  # machine type in the header of an ELF file
UNCHECKED_HASH = 0b01  # flags in the header of bytecode
EXCLUDED = {"boto3", "botocore", "gleaner_local", "infra", "ministack", "moto", "aws_cdk", "pytest", "starlette"}


@pytest.fixture(scope="module")
def layer() -> Layer:
    """The layer that `make synth` and `make deploy` use."""
    layer = layer_build.build()
    print(layer_build.describe(layer))  # noqa: T201 - `make check` prints the size
    return layer


def test_the_layer_is_small(layer: Layer) -> None:
    assert layer.size <= MAX_BYTES


def test_the_layer_contains_our_package_unchanged(layer: Layer) -> None:
    for source in layer_build.PACKAGE.rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            copy = layer.path / "python" / "gleaner" / source.relative_to(layer_build.PACKAGE)
            assert copy.read_bytes() == source.read_bytes()


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


def test_an_unchanged_layer_is_not_rebuilt(layer: Layer) -> None:
    modified_at = layer.path.stat().st_mtime_ns
    assert layer_build.build() == layer
    assert layer.path.stat().st_mtime_ns == modified_at


def test_two_builds_of_one_layer_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        first, second = (executor.submit(layer_build.build, layer_build.THIS_MACHINE, tmp_path) for _ in range(2))
    assert first.result() == second.result()


def _flags(bytecode: Path) -> int:
    with bytecode.open("rb") as file:
        (flags,) = struct.unpack("<I", file.read(8)[4:8])
    return int(flags)
