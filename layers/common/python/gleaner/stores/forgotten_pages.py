"""Pages from which nothing may be learned for a while, because an answer learned from them was forgotten.

Each barred page has an item. All bars are also in one item, of which there are some equal ones: what is learned from a
web answer checks one of them instead of an item for each page. It has an attribute for each page, a number of seconds
since the epoch, and takes so many that it costs no more than the items would.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from gleaner.guards.blocked_hosts import to_ascii_host
from gleaner.model import utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_timestamp, to_timestamp
from gleaner.stores.schema import PruneQueue

BAR_DAYS = 90.0  # stored answers are served for 30 days by default, so searches have moved on by then
MAX_LISTED_BARS = 120  # 4 KB
_MAX_CHECKED = 40  # pages in one condition, which may have 4 KB
_MAX_REMOVED = 30  # in one expression, which may have 4 KB
_INCOMPLETE = "incomplete_until"  # when the last bar ends that found the list full
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


def bar_pages(
    table: Table, keys: Sequence[schema.Key], *, until: datetime, listed: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The actions that bar pages. A later bar replaces an earlier one.

    `listed` is the list of bars as it was read. They fail if a bar that has ended in it was renewed since.
    """
    if not keys:
        return []
    return [*(_bar(table, key, until) for key in keys), *_list_bars(table, keys, until, listed)]


def list_bar(table: Table, bar: Mapping[str, Any], listed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The actions that add a bar's item to the lists, or none if they have it. They fail if the bar was renewed since.

    For bars of earlier versions, which wrote items only.
    """
    until = from_timestamp(bar["barred_until"])
    known_until = max(listed.get(schema.listed_bar(bar), 0), listed.get(_INCOMPLETE, 0))
    if until < utc_now() or known_until >= until.timestamp():
        return []
    key = {"pk": bar["pk"], "sk": bar["sk"]}
    is_current = table.check(key, condition="#barred_until = :read", values={":read": bar["barred_until"]})
    return [is_current, *_list_bars(table, [key], until, listed)]


def is_bar(item: Mapping[str, Any]) -> bool:
    """Whether an item of the keywords table is the bar of a page."""
    return bool(item["sk"] == schema.BAR)


class BarChecks:
    """Plans the checks that fail a transaction while a page is barred: one of a list, or one of each page."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._list_is_complete = True  # until a list says that it is not

    def plan(self, urls: Iterable[str], *, spread_by: str, from_list: bool) -> list[dict[str, Any]]:
        """The checks. `spread_by` says which of the equal lists to check, so that transactions seldom meet at one."""
        keys = page_keys(urls)
        if keys and from_list and self._list_is_complete and len(keys) <= _MAX_CHECKED:
            return [self._check_list([schema.listed_bar(key) for key in keys], spread_by)]
        return [self._check_page(key) for key in keys]

    def note_refusal(self, item: Mapping[str, Any]) -> bool:
        """Whether this item, which failed a check, is a list that does not have all bars. Later plans know it."""
        is_incomplete: bool = item.get(_INCOMPLETE, 0) >= utc_now().timestamp()
        self._list_is_complete = self._list_is_complete and not is_incomplete
        return is_incomplete

    def _check_list(self, names: Sequence[str], spread_by: str) -> dict[str, Any]:
        conditions = (f"(attribute_not_exists(#{name}) OR #{name} < :now)" for name in [_INCOMPLETE, *names])
        return self._table.check(
            schema.bars_key(spread_by),
            condition=" AND ".join(conditions),
            values={":now": utc_now().timestamp()},
            return_existing=True,
        )

    def _check_page(self, key: schema.Key) -> dict[str, Any]:
        return self._table.check(
            key,
            condition="attribute_not_exists(#barred_until) OR #barred_until < :now",
            values={":now": to_timestamp(utc_now())},
        )


def bar_end() -> datetime:
    """When a bar that begins now ends."""
    return utc_now() + timedelta(days=BAR_DAYS)


def _bar(table: Table, key: schema.Key, until: datetime) -> dict[str, Any]:
    return table.update(
        key,
        # A pruning run deletes it some days after it ended, from the same queue as answers.
        expression="SET #barred_until = :until, #queue = :queue, #last_used_at = :until",
        condition="",
        values={":until": until, ":queue": schema.queue_partition(PruneQueue.UNREFERENCED, key["pk"])},
    )


def _list_bars(
    table: Table, keys: Sequence[schema.Key], until: datetime, listed: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The actions that add bars to the lists, in place of those that have ended.

    Lists that are full only say until when they do not have all bars.
    """
    now = math.floor(utc_now().timestamp())
    ends = {name: end for name, end in listed.items() if name not in ("pk", "sk")}
    names = [schema.listed_bar(key) for key in keys]
    ended = [name for name, end in ends.items() if end < now and name not in names]
    if len(ends) - len(ended) + len(names) > MAX_LISTED_BARS:
        names = [_INCOMPLETE]
        ended = [name for name in ended if name != _INCOMPLETE]
    expression = "SET " + ", ".join(f"#{name} = :until" for name in names)
    expression += (" REMOVE " + ", ".join(f"#{name}" for name in ended[:_MAX_REMOVED])) if ended else ""
    condition = " AND ".join(f"(attribute_not_exists(#{name}) OR #{name} < :now)" for name in ended[:_MAX_REMOVED])
    values = {":until": math.ceil(until.timestamp())} | ({":now": now} if ended else {})
    return [table.update(key, expression=expression, condition=condition, values=values) for key in schema.bars_keys()]
