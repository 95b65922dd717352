"""The OpenAI SDK, without the types of endpoints that are never called: they take half of its load time."""

from __future__ import annotations

from gleaner.clients._deferred_packages import defer_packages

defer_packages("openai.types")

import openai  # noqa: E402  # packages must be deferred before they are imported

__all__ = ["openai"]
