"""Connects the clients of the model and the web search as the settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gleaner.clients import chat_model, perplexity
from gleaner.clients.chat_model import Api, ChatModel
from gleaner.clients.perplexity import WebSearch
from gleaner.clients.secrets import ApiKeys, ApiKeysSecret, ReadKeys
from gleaner.prompts import read_prompt
from gleaner.runtime.settings import Settings

EventHooks = Mapping[str, list[Callable[[Any], None]]]  # of an HTTP client


def read_keys(settings: Settings) -> ReadKeys:
    """How the keys of the services are read: from the secret, or from the variables."""
    if settings.api_keys_secret_arn is not None:
        return ApiKeysSecret(settings.api_keys_secret_arn).read
    keys = ApiKeys(
        openai=settings.openai_api_key, pinecone=settings.pinecone_api_key, perplexity=settings.perplexity_api_key
    )
    return lambda: keys


def connect_model(settings: Settings, keys: ReadKeys, *, event_hooks: EventHooks | None = None) -> ChatModel:
    """The language model that `settings` name, with the event hooks of its HTTP client; sends nothing yet."""
    return chat_model.connect(
        api_key=lambda: keys().openai,
        base_url=settings.openai_base_url,
        model=settings.openai_model,
        max_output_tokens=settings.openai_max_completion_tokens,
        api=Api(settings.openai_api) if settings.openai_api else None,
        effort=settings.openai_reasoning_effort,
        event_hooks=event_hooks,
    )


def connect_web_search(settings: Settings, keys: ReadKeys, *, event_hooks: EventHooks | None = None) -> WebSearch:
    """The web search that `settings` name, with the event hooks of its HTTP client; sends nothing yet."""
    return perplexity.connect(
        base_url=settings.perplexity_base_url,
        api_key=lambda: keys().perplexity,
        model=settings.perplexity_model,
        instructions=read_prompt("web_search"),
        blocked_hosts=settings.web_blocked_hosts,
        event_hooks=event_hooks,
    )
