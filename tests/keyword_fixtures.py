"""Keyword stores on ministack, which is exact under threads and faster than moto, whose transactions copy the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import Stemmer

from gleaner.model import Citation, WebAnswer, utc_now
from gleaner.pruning.rules import PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import KeywordUse, first_association
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.keyword_postings import Posting, read_list, removals
from gleaner.stores.keyword_stems import is_claim
from gleaner.stores.keywords import IndexedKeyword, KeywordStore
from gleaner.text import fold, stems
from gleaner_local.aws import ministack
from tests.stored_items import read_item
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
    def layout(self) -> KeywordLayout:
        return KeywordLayout(self.table)

    @property
    def store(self) -> KeywordStore:
        return KeywordStore(self.table, self.layout)

    @property
    def lookup(self) -> KeywordLookup:
        return KeywordLookup(self.table, self.executor, self.layout)

    def index(self, *keywords: str, query_id: str = "Q1", **use: Any) -> list[IndexedKeyword]:
        """Index keywords for a query."""
        return self.store.index(keywords, self.use(query_id=query_id, **use), deadline=Deadline.after(20))

    @staticmethod
    def use(**use: Any) -> KeywordUse:
        """What keywords are indexed for."""
        return KeywordUse(**{"kb_id": "default_kb", "session_id": None, "answer": None} | use)

    def write_compactly(self, is_compact: bool) -> None:
        """Let keywords be written in the compact form from now on, or no more."""
        announcement = self.table.update(
            schema.LAYOUT_KEY,
            expression="SET #compact_from = :from, #compact_until = :until",
            condition="",
            values={
                ":from": utc_now() + timedelta(days=-1 if is_compact else 1),
                ":until": utc_now() + timedelta(days=3),
            },
        )
        self.table.write(announcement, deadline=Deadline.after(20))

    def index_in_the_former_form(self, *keywords: str, with_claims: bool = True, **use: Any) -> list[IndexedKeyword]:
        """Index keywords as before there was a compact form, or as before there were claims."""
        self.write_compactly(False)
        indexed = self.index(*keywords, **use)
        self.write_compactly(True)
        if not with_claims:
            claims = [item for item in self.items("STEMS") if is_claim(item) and item["keyword_text"] in keywords]
            self.table.delete_many(
                [{"pk": item["pk"], "sk": item["sk"]} for item in claims], deadline=Deadline.after(20)
            )
        return indexed

    def index_by_the_former_rules(self, keyword: str, **use: Any) -> None:
        """Index a keyword as version 0.1 did: with look-up entries by its rules."""
        self.index_in_the_former_form(keyword, **use)
        words = re.findall(r"[^\W_]+[+#]*", fold(keyword))
        former_stems = list(dict.fromkeys(Stemmer.Stemmer("english").stemWords(words)))
        self.make_former(keyword, [use.get("kb_id", "default_kb")], former_stems)

    def index_by_entries(self, keyword: str, **use: Any) -> None:
        """Index a keyword as the versions before posting lists did: with a look-up entry for each stem."""
        self.index_in_the_former_form(keyword, **use)
        self.make_former(keyword, [use.get("kb_id", "default_kb")])

    def make_former(self, keyword: str, kb_ids: list[str], entry_stems: list[str] | None = None) -> None:
        """Make a keyword one of a version before posting lists, in a table that may have more of them."""
        found = entry_stems or stems(keyword)
        keyword_id = schema.former_keyword_id(fold(keyword))
        [head] = [item for item in self.heads() if item["keyword_id"] == keyword_id]
        keys = [
            (partition, sort_key)
            for kb_id in kb_ids
            for partition, sort_key in [
                *((f"T#{kb_id}#{stem[:3]}", f"{stem}#{len(found):02}#{keyword_id}") for stem in found),
                *((f"T#{kb_id}#{one} {two}", f"#{len(found):02}#{keyword_id}") for one, two in pairwise(found)),
            ]
        ]
        additions = [
            self.table.update(
                {"pk": partition, "sk": sort_key},
                expression="SET #keyword_id = :id, #keyword_text = :text",
                condition="attribute_not_exists(#pk)",
                values={":id": keyword_id, ":text": keyword},
            )
            for partition, sort_key in keys
        ]
        former_head = self.table.update(
            schema.keyword_key(keyword_id),
            expression="REMOVE #has_entries, #newest_answers DELETE #listed_in :kb_ids",
            condition="attribute_exists(#pk)",
            values={":kb_ids": set(kb_ids)},
        )
        for actions in (list(removals(self.table, head, kb_ids)), [former_head, *additions]):
            self.table.transact(actions, deadline=Deadline.after(20))
        self.table.delete_many([schema.LAYOUT_KEY], deadline=Deadline.after(20))

    def words(self) -> list[tuple[str, Posting]]:
        """`words_of` all items."""
        return words_of(self.items())

    def find(self, query: str, kb_id: str = "default_kb") -> list[str]:
        """Texts of the keywords found, best first."""
        return [m.keyword_text for m in self.lookup.find(kb_id, query, deadline=Deadline.after(20))]

    def heads(self) -> list[dict[str, Any]]:
        """`heads_of` all items."""
        return heads_of(self.items())

    def id_of(self, keyword_text: str) -> str:
        """The id of the keyword with this text."""
        [keyword_id] = [head["keyword_id"] for head in self.heads() if head["keyword_text"] == keyword_text]
        return str(keyword_id)

    def associations(self) -> list[dict[str, Any]]:
        """`associations_of` all items."""
        return associations_of(self.items())

    def items(self, prefix: str = "") -> list[dict[str, Any]]:
        """All items whose sort key begins with `prefix`, without the one that every new table has."""
        pages = self.client.get_paginator("scan").paginate(TableName=self.table_name)
        items = [read_item(item) for page in pages for item in page["Items"]]
        return [item for item in items if item["sk"].startswith(prefix) and item["pk"] != schema.LAYOUT_KEY["pk"]]


def claim_stems(keywords: Keywords) -> None:
    """Run pruning as it runs before the compact form is written, so that keywords from before claims get theirs."""
    keywords.write_compactly(False)
    rules = PruneRules(max_age_days=36_500, min_usage=0, hard_max_age_days=36_500)
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=7))
    pruner.run(rules, by="test", dry_run=False, deadline=Deadline.after(20))
    keywords.write_compactly(True)


def heads_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All keywords."""
    return [item for item in items if "usage_count" in item]


def associations_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All associations with a query that taught a keyword, those that heads hold as their items would be."""
    held = [first_association(head) for head in heads_of(items)]
    return [*filter(None, held), *(item for item in items if item["sk"].startswith("A#"))]


def words_of(items: list[dict[str, Any]]) -> list[tuple[str, Posting]]:
    """All that makes keywords findable: the partitions of lists and of look-up entries, and what is in them."""
    listed = [(item["pk"], posting) for item in items if item["sk"] == "POSTINGS" for posting in read_list(item)]
    return listed + [(item["pk"], Posting.of_entry(item)) for item in items if item["pk"].startswith("T#")]


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
