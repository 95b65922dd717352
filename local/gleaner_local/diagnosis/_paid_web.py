"""Asks the web search one question."""

from __future__ import annotations

import time

import httpx

from gleaner.clients.from_settings import connect_web_search
from gleaner.clients.perplexity import WebSearchResult
from gleaner.clients.secrets import ApiKeys
from gleaner.errors import WebSearchUnavailable
from gleaner.runtime.settings import Settings
from gleaner_local.diagnosis._http_log import HttpLog, describe_times
from gleaner_local.diagnosis._paid_remedies import usd
from gleaner_local.diagnosis._web_search import SUBJECT
from gleaner_local.diagnosis.finding import Finding, Origin, ok, problem

_SECONDS = 60.0
_QUESTION = "What is Starlette?"


def ask_web(settings: Settings, key: str, origin: Origin) -> Finding:
    """Search once with the client of the query function; `key` is that of the web search."""
    keys = ApiKeys(openai="", pinecone="", perplexity=key)
    log = HttpLog()
    web = connect_web_search(settings, lambda: keys, event_hooks=log.event_hooks())
    began = time.monotonic()
    try:
        result = web.search(_QUESTION, context=None, timeout=_SECONDS)
    except WebSearchUnavailable as error:
        return _explain(error, log, origin)
    except ValueError:  # the key does not fit into a header
        return problem(SUBJECT, "The key cannot be sent.", f"Put a valid key into {origin.key}.")
    times = describe_times(log.exchanges, time.monotonic() - began)
    tokens = f"Tokens: {result.input_tokens} input, {result.output_tokens} output."
    text = f"{result.model or 'The service'} answered (sources: {len(result.citations)}). {times} {tokens}"
    return ok(SUBJECT, f"{text} {_describe_price(result, settings)}.")


def _describe_price(result: WebSearchResult, settings: Settings) -> str:
    if result.cost_usd is not None:
        return f"Price: {usd(result.cost_usd)}, as the service states"
    if settings.prices.web_search is not None:
        return f"Price: {usd(settings.prices.web_search)}, as WEB_SEARCH_PRICE says"
    return "The price is unknown: the service states none, and WEB_SEARCH_PRICE is not set"


def _explain(error: WebSearchUnavailable, log: HttpLog, origin: Origin) -> Finding:
    last = log.exchanges[-1] if log.exchanges else None
    text = f"{str(error).removesuffix('.')} ({last.describe()})." if last and last.failed else str(error)
    if last is None:
        return problem(SUBJECT, text, f"Check {origin.address} and the network.")
    if last.meant_status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return problem(SUBJECT, text, f"Put a valid key into {origin.key}, and check its account's credit.")
    if last.meant_status == httpx.codes.NOT_FOUND:
        return problem(SUBJECT, text, f"Check {origin.address}: it must not end with /v1.")
    return problem(SUBJECT, text, f"Check the account's credit and {origin.model}, or try later.")
