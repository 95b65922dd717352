"""Keyword stores on ministack, which is exact under threads and faster than moto, whose transactions copy the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import Stemmer

from gleaner.model import Citation, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_item
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.keywords import IndexedKeyword, KeywordStore
from gleaner.stores.schema import keyword_id as keyword_key_id
from gleaner.text import fold
from gleaner_local.aws import ministack
from tests.table_pool import TablePool


@dataclass(slots=True)
class Keywords:
    """A keyword store and its look-up on one table."""

    client: Any
    table_name: str
    executor: ThreadPoolExecutor

    @property
    def table(self) -> Table:
        return Table(self.client, self.table_name)

    @property
    def store(self) -> KeywordStore:
        return KeywordStore(self.table)

    @property
    def lookup(self) -> KeywordLookup:
        return KeywordLookup(self.table, self.executor)

    def refuse_statements(self) -> None:
        """Have DynamoDB refuse to read partitions by a statement, as where the role may not send any."""
        refusal = SimpleNamespace(status_code=400), {"Error": {"Code": "AccessDeniedException"}}
        self.client.meta.events.register("before-call.dynamodb.ExecuteStatement", lambda **_: refusal, "refuse")

    def index(self, *keywords: str, query_id: str = "Q1", **use: Any) -> list[IndexedKeyword]:
        """Index keywords for a query."""
        values = {"kb_id": "default_kb", "session_id": None, "answer": None} | use
        return self.store.index(keywords, KeywordUse(query_id=query_id, **values), deadline=Deadline.after(20))

    def index_by_the_former_rules(self, keyword: str) -> None:
        """Index a keyword, and replace its look-up entries by those that version 0.1 wrote."""
        self.index(keyword)
        keyword_id = keyword_key_id(fold(keyword))
        entries = [item for item in self.items() if item["pk"].startswith("T#") and item["keyword_id"] == keyword_id]
        deletions = [self.table.delete({"pk": item["pk"], "sk": item["sk"]}) for item in entries]
        words = re.findall(r"[^\W_]+[+#]*", fold(keyword))
        stems = list(dict.fromkeys(Stemmer.Stemmer("english").stemWords(words)))
        keys = [(f"T#default_kb#{stem[:3]}", f"{stem}#{len(stems):02}#{keyword_id}") for stem in stems]
        keys += [(f"T#default_kb#{one} {two}", f"#{len(stems):02}#{keyword_id}") for one, two in pairwise(stems)]
        additions = [
            self.table.update(
                {"pk": partition, "sk": sort_key},
                expression="SET #keyword_id = :id, #keyword_text = :text",
                condition="attribute_not_exists(#pk)",
                values={":id": keyword_id, ":text": keyword},
            )
            for partition, sort_key in keys
        ]
        for actions in (deletions, additions):
            self.table.transact(actions, deadline=Deadline.after(20))

    def find(self, query: str, kb_id: str = "default_kb") -> list[str]:
        """Texts of the keywords found, best first."""
        return [m.keyword_text for m in self.lookup.find(kb_id, query, deadline=Deadline.after(20))]

    def items(self, prefix: str = "") -> list[dict[str, Any]]:
        """All items whose sort key begins with `prefix`."""
        pages = self.client.get_paginator("scan").paginate(TableName=self.table_name)
        items = [from_item(item) for page in pages for item in page["Items"]]
        return [item for item in items if item["sk"].startswith(prefix)]


def web_answer(result_id: str = "R1", **values: Any) -> WebAnswer:
    """A stored web answer."""
    return WebAnswer(
        **{
            "result_id": result_id,
            "kb_id": "default_kb",
            "query": "What is quantum computing used for?",
            "answer": "It is used for chemistry. [1]",
            "citations": (Citation(url="https://q.example/a", title="Quantum"),),
            "model": "m",
            "created_at": utc_now(),
        }
        | values
    )


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture
def keywords(dynamodb_url: str, table_pool: TablePool, executor: ThreadPoolExecutor) -> Iterator[Keywords]:
    """A keyword store in a table that only this test uses."""
    tables = table_pool.borrow()
    yield Keywords(ministack.admin_client(dynamodb_url), tables["KEYWORDS_TABLE"], executor)
    table_pool.give_back(tables)
