"""The prompts, as text files beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_prompt(name: str) -> str:
    """The text of the prompt file `<name>.md`, without surrounding blank lines."""
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip()
