"""Changes how a provider is asked after it has refused a request.

Providers that call themselves compatible with OpenAI differ in the fields that they accept. A refusal names what it
refuses. Each rule below recognizes one kind of refusal and changes one thing; the client remembers the result, so that
a process pays for a difference at most once. Rules depend on what a provider says, never on its name; the names of
OpenAI's models only make the first request right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from http import HTTPStatus

from gleaner.clients._dialect import (
    FIELDS_OF_NEWER_MODELS,
    REPLAYED_ITEMS,
    Api,
    Dialect,
    Forcing,
    first_dialect,
    with_schema,
)

_WEAKER = {Forcing.ALLOWED: Forcing.REQUIRED, Forcing.REQUIRED: Forcing.AUTO}
# Fields that a request can do without, by the names that refusals use.
_OPTIONAL_FIELDS = (
    *("prompt_cache_breakpoint", "prompt_cache_key", "include", "store", "reasoning"),
    *("reasoning_content", "reasoning_details", "extra_content", "stream_options"),
)
# "Your organization must be verified to stream this model" (OpenAI, param `stream`; lobehub#9385); "Tool and function
# calls do not currently support streaming" (Groq once; groq-python#27); "Cannot use tools with stream" (llama.cpp once;
# simonw/llm-llama-server#3).
_REFUSES_STREAMING = re.compile(
    r"""^stream |['"`]stream['"`]|verified to stream\b"""
    r"""|\bstream(?:ing|ed)?\b[^.]{0,40}\b(?:not|unsupported|disabled)\b|(?:\bnot|cannot|n't)\b[^.]{0,60}\bstream(?:ing|ed)?\b"""
)
_WANTS_RESPONSES = re.compile(r"v1/responses|not support the '/v1/chat/completions'")
# Models and servers without tools, and grammars made from the schemas of tools that a server cannot compile.
_REFUSES_TOOLS = re.compile(
    r"tool[ _-]choice|support (?:\w+ )?(?:tool|function)|(?:tools|functions)\W+(?:is|are) not|grammar"
)
_REFUSES_ITEM = re.compile(r"^input(?:\[\d+\](?:\.\w+)?)? |\bitem (?:with id )?'\w+_")
# The bound of the output is reserved within the context, and is more than the conversation leaves.
_RESERVES_TOO_MUCH = re.compile(r"in the completion|max_(?:completion_)?tokens\W+is too large")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # weakest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refused request: HTTP status, and the error's code, parameter and message (empty if missing)."""

    status: int
    code: str
    param: str
    message: str

    @property
    def text(self) -> str:
        """Parameter and message in lower case, to look for names in."""
        return f"{self.param} {self.message}".lower()

    @property
    def reserves_too_much(self) -> bool:
        """Whether the conversation has no room beside the output that the request allows."""
        return bool(_RESERVES_TOO_MUCH.search(self.text))

    @property
    def is_about_streaming(self) -> bool:
        """Whether what was refused is that the answer comes as a stream."""
        return bool(_REFUSES_STREAMING.search(self.text))

    def names(self, field: str) -> bool:
        """Whether a field is what was refused: it is the parameter, or quoted in the message."""
        quoted = rf"""(?:^|[\s'"`\[(.]){re.escape(field)}(?:$|[\s'"`\]).,:])"""
        return bool(re.search(quoted, self.text))


def adapt(dialect: Dialect, refusal: Refusal, tried: Collection[Dialect]) -> Dialect | None:
    """The next dialect to try after a refusal; None if nothing that it names can be changed.

    A dialect in `tried` is not tried again, so a sequence of refusals ends.
    """
    candidates = (rule(dialect, refusal) for rule in _RULES)
    return next((found for found in candidates if found is not None and found not in tried), None)


def _change_api(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    if dialect.api is Api.CHAT:
        wanted = _WANTS_RESPONSES.search(refusal.text) and Api.RESPONSES in dialect.apis
        return _restarted(dialect, Api.RESPONSES, dialect.apis) if wanted else None
    if not _is_unknown_route(refusal) or Api.CHAT not in dialect.apis:
        return None
    return _restarted(dialect, Api.CHAT, {Api.CHAT})


def _restarted(dialect: Dialect, api: Api, apis: Collection[Api]) -> Dialect:
    return first_dialect(api, apis, dialect.model, dialect.configured_effort)


def _is_unknown_route(refusal: Refusal) -> bool:
    if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
        return True
    known = refusal.param or re.search(r"model|deployment|item with id", f"{refusal.code} {refusal.text}".lower())
    return refusal.status == HTTPStatus.NOT_FOUND and not known


def _change_effort(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    if not (re.search(r"reasoning[._]effort", refusal.text) and dialect.sends("reasoning_effort")):
        return None
    if "to 'none'" in refusal.text:
        return replace(dialect, effort="none")
    supported = [effort for effort in _EFFORTS if f"'{effort}'" in refusal.text.partition("supported values are")[2]]
    if supported:
        return replace(dialect, effort=min(supported, key=lambda effort: _distance(effort, dialect.effort)))
    if dialect.api is Api.RESPONSES:
        return replace(dialect, effort=None, omitted=dialect.omitted | FIELDS_OF_NEWER_MODELS)
    if dialect.effort is None:
        return replace(dialect, effort="none")  # since what is refused is the provider's default
    omitted = dialect.omitted | {"reasoning_effort"}
    return replace(dialect, effort=None, omitted=omitted) if dialect.configured_effort else None


def _distance(effort: str, wanted: str | None) -> int:
    return abs(_EFFORTS.index(effort) - _EFFORTS.index(wanted)) if wanted in _EFFORTS else _EFFORTS.index(effort)


def _rebuild_turns(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    """Reasoning that the provider cannot decrypt or find, or an item of its own that it does not take back."""
    if dialect.api is Api.CHAT or not _is_about_an_item(refusal) or not dialect.sends(REPLAYED_ITEMS):
        return None
    return replace(dialect, omitted=dialect.omitted | {REPLAYED_ITEMS})


def _is_about_an_item(refusal: Refusal) -> bool:
    return refusal.code == "invalid_encrypted_content" or bool(_REFUSES_ITEM.search(refusal.text))


def _omit_field(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    field = next((name for name in _OPTIONAL_FIELDS if dialect.sends(name) and refusal.names(name)), None)
    if field is None or _is_about_an_item(refusal):  # whose message names `store` and `reasoning`, too
        return None
    return replace(dialect, omitted=dialect.omitted | (FIELDS_OF_NEWER_MODELS if field == "include" else {field}))


def _change_output_limit(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    limits = dialect.output_limits
    if limits and refusal.reserves_too_much:
        return replace(dialect, output_limits=())
    return replace(dialect, output_limits=limits[1:]) if limits and limits[0] in refusal.text else None


def _omit_streaming(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    streams = dialect.sends("stream") and refusal.is_about_streaming
    return replace(dialect, omitted=dialect.omitted | {"stream", "stream_options"}) if streams else None


def _weaken_forcing(dialect: Dialect, refusal: Refusal) -> Dialect | None:
    if "tool-call-parser" in refusal.text:
        return with_schema(dialect)
    if dialect.forcing in _WEAKER and re.search(r"tool[ _-]choice|allowed_tools", refusal.text):
        return replace(dialect, forcing=_WEAKER[dialect.forcing])
    return with_schema(dialect) if _REFUSES_TOOLS.search(refusal.text) else None


_RULES: tuple[Callable[[Dialect, Refusal], Dialect | None], ...] = (
    _change_api,
    _change_effort,
    _change_output_limit,
    _omit_streaming,
    _weaken_forcing,
    _omit_field,
    _rebuild_turns,
)
