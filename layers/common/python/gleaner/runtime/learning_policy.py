"""Who finds what the web taught: the setting for the service, and for single knowledge bases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gleaner.errors import ConfigurationError
from gleaner.model import KB_ID_PATTERN, LearningMode
from gleaner.runtime.variables import read_switch

_MODES = ", ".join(LearningMode)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicy:
    """The learning mode of each knowledge base."""

    default: LearningMode = LearningMode.SHARED
    by_kb: Mapping[str, LearningMode] = field(default_factory=dict)
    forgets_with_session: bool = False  # whether shared answers go with the session that taught them

    def mode(self, kb_id: str) -> LearningMode:
        """The mode of a knowledge base."""
        return self.by_kb.get(kb_id, self.default)


def read_learning_policy(env: Mapping[str, str]) -> LearningPolicy:
    """Read LEARNING, LEARNING_BY_KB and LEARNING_FORGET_WITH_SESSION. Raises ConfigurationError."""
    default = env.get("LEARNING") or LearningMode.SHARED.value
    if default not in list(LearningMode):
        raise ConfigurationError(f"LEARNING must be one of {_MODES}.")
    return LearningPolicy(
        default=LearningMode(default),
        by_kb=dict(map(_read_pair, env.get("LEARNING_BY_KB", "").split())),
        forgets_with_session=read_switch(env, "LEARNING_FORGET_WITH_SESSION"),
    )


def _read_pair(pair: str) -> tuple[str, LearningMode]:
    kb_id, _, mode = pair.partition("=")
    # A typo would share what is meant to stay private.
    if not re.fullmatch(KB_ID_PATTERN, kb_id) or mode not in list(LearningMode):
        raise ConfigurationError(
            f"LEARNING_BY_KB must be knowledge bases with a mode ({_MODES}), separated by spaces, such as kb1=off."
        )
    return kb_id, LearningMode(mode)
