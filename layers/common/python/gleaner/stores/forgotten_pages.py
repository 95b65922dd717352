"""Pages from which nothing may be learned for a while, because an answer learned from them was forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from gleaner.guards.blocked_hosts import to_ascii_host
from gleaner.model import utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.schema import PruneQueue

BAR_DAYS = 90.0  # stored answers are served for 30 days by default, so searches have moved on by then
_DEFAULT_PORTS = (None, 80, 443)


def page_identity(url: str) -> str:
    """What the addresses of one page have in common: not the scheme, `www.`, fragments and campaign parameters."""
    try:
        parts = urlsplit(url.strip())
        port = "" if parts.port in _DEFAULT_PORTS else f":{parts.port}"
        host = (to_ascii_host(parts.hostname or "") or "").removeprefix("www.")
    except ValueError:
        return url
    query = urlencode(
        sorted(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not pair[0].startswith("utm_"))
    )
    return f"{host}{port}{parts.path.rstrip('/')}?{query}"


def page_keys(urls: Iterable[str]) -> list[schema.Key]:
    """The keys of the bars of these pages, each once."""
    return [schema.page_key(identity) for identity in dict.fromkeys(map(page_identity, urls))]


def bar(table: Table, key: schema.Key, *, until: str) -> dict[str, Any]:
    """The action that bars a page. Unconditional: a later bar replaces an earlier one."""
    return table.update(
        key,
        # A pruning run deletes it some days after it ended, from the same queue as answers.
        expression="SET #barred_until = :until, #queue = :queue, #last_used_at = :until",
        condition="",
        values={":until": until, ":queue": schema.queue_partition(PruneQueue.UNREFERENCED, key["pk"])},
    )


def check_not_barred(table: Table, key: schema.Key) -> dict[str, Any]:
    """The action that fails a transaction while a page is barred."""
    return table.check(
        key,
        condition="attribute_not_exists(#barred_until) OR #barred_until < :now",
        values={":now": to_timestamp(utc_now())},
    )


def bar_end() -> str:
    """When a bar that begins now ends."""
    return to_timestamp(utc_now() + timedelta(days=BAR_DAYS))
