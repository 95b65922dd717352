"""Deferred packages behave as usual, but run later. Each test starts a new process: imports are permanent."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The parent of a package that prints when its `__init__` runs, with a subpackage that does, too."""
    inner = tmp_path / "shop" / "types" / "beta"
    inner.mkdir(parents=True)
    (tmp_path / "shop" / "__init__.py").write_text("from .types.price import Price\nfrom . import types\n")
    (tmp_path / "shop" / "types" / "price.py").write_text("class Price: ...\n")
    (tmp_path / "shop" / "types" / "__init__.py").write_text(
        "print('types runs')\nfrom .price import Price as Price\nfrom . import beta as beta\n"
    )
    (inner / "__init__.py").write_text("print('beta runs')\nlate = 'late'\n")
    return tmp_path


def run_deferred(package: Path, program: str) -> list[str]:
    """Run `program` with `shop.types` deferred and return the lines that it prints."""
    prologue = "from gleaner.clients._deferred_packages import defer_packages\ndefer_packages('shop.types')\n"
    code = f"import sys\nsys.path.insert(0, {str(package)!r})\n" + prologue + textwrap.dedent(program)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_modules_can_be_imported_without_running_their_package(package: Path) -> None:
    assert run_deferred(package, "import shop; print(shop.Price.__name__)") == ["Price"]


@pytest.mark.parametrize(
    "program",
    [
        "import shop; print(shop.types.Price is shop.Price)",
        "from shop.types import Price; import shop; print(Price is shop.Price)",
    ],
)
def test_a_package_runs_once_when_an_attribute_is_used(package: Path, program: str) -> None:
    assert run_deferred(package, program + "; import shop.types; shop.types.Price") == ["types runs", "True"]


def test_subpackages_are_deferred_separately(package: Path) -> None:
    assert run_deferred(package, "from shop.types import beta; print(beta.late)") == ["types runs", "beta runs", "late"]


def test_a_missing_attribute_raises_attribute_error(package: Path) -> None:
    program = """
    import shop
    try:
        shop.types.nothing
    except AttributeError as error:
        print(error)
    """
    assert run_deferred(package, program) == ["types runs", "module 'shop.types' has no attribute 'nothing'"]


def test_the_openai_sdk_is_complete() -> None:
    program = """
    import sys
    from gleaner.clients._openai_sdk import openai
    assert "openai.types.beta.assistant" not in sys.modules
    from openai.types.chat import ChatCompletion
    print(openai.types.Completion.__name__, ChatCompletion.__name__, openai.OpenAI(api_key="k").beta.assistants.create)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Completion ChatCompletion <bound method")
