"""What the layer ships, built for real: for Lambda's architecture, with our package, without what never runs."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from infra import layer_build
from infra.layer_build import Layer

pytestmark = pytest.mark.slow

LARGEST_BYTES = 60_000_000
ARM64 = 183  # in the header of an ELF file
UNCHECKED_HASH = 0b01  # in the header of bytecode
NOT_SHIPPED = {"boto3", "botocore", "gleaner_local", "infra", "ministack", "moto", "aws_cdk", "pytest", "starlette"}


@pytest.fixture(scope="module")
def layer() -> Layer:
    """The layer that `make synth` and `make deploy` ship."""
    built = layer_build.build()
    print(layer_build.describe(built))  # noqa: T201 - the size is a figure that a check prints
    return built


def test_it_is_small(layer: Layer) -> None:
    assert layer.size <= LARGEST_BYTES


def test_it_holds_our_package_as_it_is(layer: Layer) -> None:
    for source in layer_build.PACKAGE.rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            shipped = layer.path / "python" / "gleaner" / source.relative_to(layer_build.PACKAGE)
            assert shipped.read_bytes() == source.read_bytes()


def test_it_holds_no_local_code_no_boto3_no_tests(layer: Layer) -> None:
    assert not NOT_SHIPPED & {path.name for path in (layer.path / "python").iterdir()}
    assert not [path for path in layer.path.rglob("*") if path.is_dir() and path.name in ("tests", "test")]


def test_extension_modules_are_for_the_architecture(layer: Layer) -> None:
    extensions = list(layer.path.rglob("*.so"))
    assert extensions
    for path in extensions:
        with path.open("rb") as file:
            (machine,) = struct.unpack("<H", file.read(20)[18:20])
        assert machine == ARM64, path


def test_bytecode_is_complete_and_not_checked(layer: Layer) -> None:
    if not layer.has_bytecode:
        pytest.skip("there is no Python 3.13 here to make bytecode with")
    tag = layer_build.LAMBDA.python_version.replace(".", "")
    for source in (layer.path / "python").rglob("*.py"):
        bytecode = source.parent / "__pycache__" / f"{source.stem}.cpython-{tag}.pyc"
        assert _flags(bytecode) == UNCHECKED_HASH


def test_the_same_content_is_built_once(layer: Layer) -> None:
    made = layer.path.stat().st_mtime_ns
    assert layer_build.build() == layer
    assert layer.path.stat().st_mtime_ns == made


def _flags(bytecode: Path) -> int:
    with bytecode.open("rb") as file:
        (flags,) = struct.unpack("<I", file.read(8)[4:8])
    return int(flags)
