"""How a provider wants to be asked: what it accepts of the two APIs, as far as it is known."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum


class Api(StrEnum):
    """The API that a model is asked by."""

    RESPONSES = "responses"
    CHAT = "chat"


class Forcing(StrEnum):
    """How a tool call is asked for, strongest first."""

    ALLOWED = "allowed"  # Responses only: all tools are offered, and those that may be called are named
    REQUIRED = "required"  # only the tools that may be called are offered
    AUTO = "auto"
    SCHEMA = "schema"  # chat only: no tools, but one JSON object that must match a schema


# `max_tokens` is the older name, which every compatible provider knows. OpenAI wants the newer one.
_OUTPUT_LIMITS = {Api.RESPONSES: ("max_output_tokens",), Api.CHAT: ("max_tokens", "max_completion_tokens")}
_STRONGEST = {Api.RESPONSES: Forcing.ALLOWED, Api.CHAT: Forcing.REQUIRED}
_DEFAULT_EFFORTS = {Api.RESPONSES: "low", Api.CHAT: None}  # docs/decisions/0015 says why
REPLAYED_ITEMS = "output items"  # of the Responses API, as they came; without them a turn is built from its calls
# Of a model that does not reason, and so is older than cache breakpoints.
FIELDS_OF_NEWER_MODELS = frozenset(("include", "reasoning", "prompt_cache_breakpoint"))
# What the names of OpenAI's models say about them, so that even the first request is right. Amazon puts a prefix and
# a dot before them.
_NOT_REASONING = re.compile(r"(?:^|\.)gpt-[34]")
_WITHOUT_BREAKPOINTS = re.compile(r"(?:^|\.)(?:gpt-5(?:\.[0-5])?|o\d)(?![\d.])")
_NEWER_OUTPUT_LIMIT = re.compile(r"(?:^|\.)(?:gpt-[5-9]|o\d)(?![\d])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one provider accepts, as far as its refusals have shown."""

    api: Api
    apis: frozenset[Api]  # those that may be used
    model: str
    forcing: Forcing
    configured_effort: str | None = None
    effort: str | None = None  # None: the field is left out
    output_limits: tuple[str, ...] = ()  # names of the field that bounds the output; the first one is sent
    omitted: frozenset[str] = frozenset()  # optional fields that were refused

    def sends(self, field: str) -> bool:
        """Whether an optional field is sent."""
        return field not in self.omitted


def first_dialect(
    api: Api, apis: Collection[Api], model: str, effort: str | None, *, at_openai: bool = False
) -> Dialect:
    """How a provider is asked before it has answered; `effort` None is the API's default."""
    limits = _OUTPUT_LIMITS[api]
    return Dialect(
        api=api,
        apis=frozenset(apis),
        model=model,
        forcing=_STRONGEST[api],
        configured_effort=effort,
        effort=effort or _DEFAULT_EFFORTS[api],
        output_limits=limits[::-1] if at_openai or _NEWER_OUTPUT_LIMIT.search(model) else limits,
        omitted=_fields_unknown_to(model),
    )


def _fields_unknown_to(model: str) -> frozenset[str]:
    if _NOT_REASONING.search(model):
        return FIELDS_OF_NEWER_MODELS
    return frozenset(("prompt_cache_breakpoint",)) if _WITHOUT_BREAKPOINTS.search(model) else frozenset()


def with_schema(dialect: Dialect) -> Dialect | None:
    """The dialect that asks for a call as JSON by a schema; None where that was refused or does not exist."""
    usable = dialect.api is Api.CHAT and dialect.forcing is not Forcing.SCHEMA and dialect.sends("response_format")
    return replace(dialect, forcing=Forcing.SCHEMA) if usable else None


def without_schema(dialect: Dialect) -> Dialect:
    """The dialect for a provider that takes no schema."""
    return replace(dialect, omitted=dialect.omitted | {"response_format"})
