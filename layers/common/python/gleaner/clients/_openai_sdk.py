"""The SDK of OpenAI, without the types of all that is not called: they take half of the time of loading it."""

from __future__ import annotations

from gleaner.clients._deferred_packages import defer_packages

defer_packages("openai.types")

import openai  # noqa: E402  # what is to be deferred must be named before

__all__ = ["openai"]
