"""The names of models in OpenAI's API: each is a knowledge base, and how its answers are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from gleaner.errors import UnknownModel
from gleaner.model import KB_ID_PATTERN

DEFAULT = "gleaner"  # asks the default knowledge base
PLAIN = "gleaner-plain"  # asks none: titles, tags and the like
MAX_MODEL_NAME = 200  # characters
_STRICT, _FOOTNOTES = "strict", "footnotes"
_SUFFIXES = (_STRICT, _FOOTNOTES)  # in this order
_EXPLICIT = "kb="  # before a knowledge base that is named like a suffix; no id contains an equals sign


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName:
    """A model; `kb_id` None is the default knowledge base."""

    kb_id: str | None = None
    is_strict: bool = False
    has_footnotes: bool = False
    is_plain: bool = False

    def __str__(self) -> str:
        """The name, as clients write it."""
        if self.is_plain:
            return PLAIN
        kb_id = f"{_EXPLICIT}{self.kb_id}" if self.kb_id in _SUFFIXES else self.kb_id
        parts = [DEFAULT, kb_id, _STRICT if self.is_strict else None, _FOOTNOTES if self.has_footnotes else None]
        return ":".join(part for part in parts if part)


def parse_model(name: str) -> ModelName:
    """The model of a name: `gleaner`, a knowledge base, then `strict`, then `footnotes`, with colons between them.

    The last words are suffixes wherever they can be; `kb=` marks a knowledge base that is named like one. Raises
    UnknownModel.
    """
    if name == PLAIN:
        return ModelName(is_plain=True)
    first, *rest = name.split(":")
    flags = {suffix: bool(rest) and rest[-1] == suffix and bool(rest.pop()) for suffix in reversed(_SUFFIXES)}
    kb_id = rest.pop().removeprefix(_EXPLICIT) if rest else None
    model = ModelName(kb_id=kb_id, is_strict=flags[_STRICT], has_footnotes=flags[_FOOTNOTES])
    if first != DEFAULT or rest or (kb_id is not None and not re.fullmatch(KB_ID_PATTERN, kb_id)):
        raise unknown_model(name)
    return model


def list_models(kb_ids: Iterable[str], *, default_kb_id: str) -> Iterator[ModelName]:
    """The models of some knowledge bases, the default one first, and the plain one last."""
    for kb_id in sorted(kb_ids, key=lambda one: (one != default_kb_id, one)):
        base = ModelName(kb_id=None if kb_id == default_kb_id else kb_id)
        for is_strict, has_footnotes in product((False, True), repeat=2):
            yield replace(base, is_strict=is_strict, has_footnotes=has_footnotes)
    yield ModelName(is_plain=True)


def unknown_model(name: str) -> UnknownModel:
    """The error for a model that does not exist or is not the caller's: OpenAI says the same of both."""
    shown = name[:MAX_MODEL_NAME]
    return UnknownModel(f"The model `{shown}` does not exist or you do not have access to it. See GET /v1/models.")
