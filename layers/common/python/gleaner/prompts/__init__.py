"""The prompts: text files next to this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_prompt(name: str) -> str:
    """Read the prompt file `<name>.md`, without surrounding blank lines."""
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def read_all_prompts() -> tuple[str, ...]:
    """Read all prompt files."""
    names = sorted(file.name for file in files(__name__).iterdir() if file.name.endswith(".md"))
    return tuple(read_prompt(name.removesuffix(".md")) for name in names)
