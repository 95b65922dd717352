"""A deferred package is the same package, run later. In fresh processes: what is imported stays so."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that prints when its `__init__` runs, with one like it inside."""
    inner = tmp_path / "shop" / "types" / "beta"
    inner.mkdir(parents=True)
    (tmp_path / "shop" / "__init__.py").write_text("from .types.price import Price\nfrom . import types\n")
    (tmp_path / "shop" / "types" / "price.py").write_text("class Price: ...\n")
    (tmp_path / "shop" / "types" / "__init__.py").write_text(
        "print('types runs')\nfrom .price import Price as Price\nfrom . import beta as beta\n"
    )
    (inner / "__init__.py").write_text("print('beta runs')\nlate = 'late'\n")
    return tmp_path


def said(package: Path, program: str) -> list[str]:
    """The lines that the program prints with `shop.types` deferred."""
    begin = "from gleaner.clients._deferred_packages import defer_packages\ndefer_packages('shop.types')\n"
    code = f"import sys\nsys.path.insert(0, {str(package)!r})\n" + begin + textwrap.dedent(program)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_modules_are_imported_without_their_package_being_run(package: Path) -> None:
    assert said(package, "import shop; print(shop.Price.__name__)") == ["Price"]


@pytest.mark.parametrize(
    "program",
    [
        "import shop; print(shop.types.Price is shop.Price)",
        "from shop.types import Price; import shop; print(Price is shop.Price)",
    ],
)
def test_it_is_run_once_when_something_of_it_is_asked_for(package: Path, program: str) -> None:
    assert said(package, program + "; import shop.types; shop.types.Price") == ["types runs", "True"]


def test_packages_inside_are_deferred_by_themselves(package: Path) -> None:
    assert said(package, "from shop.types import beta; print(beta.late)") == ["types runs", "beta runs", "late"]


def test_what_is_not_there_is_an_attribute_error(package: Path) -> None:
    program = """
    import shop
    try:
        shop.types.nothing
    except AttributeError as error:
        print(error)
    """
    assert said(package, program) == ["types runs", "module 'shop.types' has no attribute 'nothing'"]


def test_the_sdk_of_openai_is_whole() -> None:
    program = """
    import sys
    from gleaner.clients._openai_sdk import openai
    assert "openai.types.beta.assistant" not in sys.modules
    from openai.types.chat import ChatCompletion
    print(openai.types.Completion.__name__, ChatCompletion.__name__, openai.OpenAI(api_key="k").beta.assistants.create)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Completion ChatCompletion <bound method")
