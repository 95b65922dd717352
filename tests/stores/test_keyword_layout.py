"""Items have the compact form from some days after the first run that looked at all of the table."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from gleaner.model import utc_now
from gleaner.pruning._former_keywords import FormerKeywords
from gleaner.pruning.rules import PruneCounts, PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores.items import from_timestamp
from gleaner.stores.keyword_items import read_content
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.schema import LAYOUT_KEY
from tests.keyword_fixtures import Keywords, web_answer

DAYS = timedelta(days=7)


def prune(keywords: Keywords) -> None:
    rules = PruneRules(max_age_days=36_500, min_usage=0, hard_max_age_days=36_500)
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=DAYS)
    pruner.run(rules, by="test", dry_run=False, deadline=Deadline.after(20))


def layout_item(keywords: Keywords) -> dict[str, Any] | None:
    return keywords.table.get(LAYOUT_KEY, deadline=Deadline.after(20))


def compact_from(keywords: Keywords) -> datetime:
    item = layout_item(keywords)
    assert item is not None
    return from_timestamp(item["compact_from"])


def is_compact(keywords: Keywords) -> bool:
    return KeywordLayout(keywords.table).is_compact(deadline=Deadline.after(20))


@pytest.fixture
def of_an_earlier_version(keywords: Keywords) -> Keywords:
    change = keywords.table.update(
        LAYOUT_KEY, expression="REMOVE #compact_from, #compact_until", condition="attribute_exists(#pk)", values={}
    )
    keywords.table.write(change, deadline=Deadline.after(20))
    return keywords


def test_a_run_announces_the_compact_form_once(of_an_earlier_version: Keywords) -> None:
    keywords, earliest = of_an_earlier_version, utc_now() + DAYS
    before = layout_item(keywords)
    prune(keywords)
    announced = compact_from(keywords)
    assert earliest <= announced <= utc_now() + DAYS
    changed = {"compact_from", "compact_until"}
    assert {name: value for name, value in (layout_item(keywords) or {}).items() if name not in changed} == before
    assert not is_compact(keywords)
    prune(keywords)
    assert compact_from(keywords) == announced


def test_runs_prolong_the_compact_form(keywords: Keywords) -> None:
    before = (layout_item(keywords) or {})["compact_until"]
    prune(keywords)
    assert (layout_item(keywords) or {})["compact_until"] > before
    assert is_compact(keywords)


def test_it_ends_where_no_run_prolonged_it_and_is_announced_anew(keywords: Keywords) -> None:
    """As if an earlier version had taken over for some days, whose runs know nothing of it."""
    keywords.index("quantum computing", answer=web_answer())
    ended = keywords.table.update(
        LAYOUT_KEY,
        expression="SET #compact_until = :past",
        condition="attribute_exists(#pk)",
        values={":past": utc_now() - timedelta(minutes=1)},
    )
    keywords.table.write(ended, deadline=Deadline.after(20))
    assert not is_compact(keywords)
    [misplaced] = keywords.heads()  # an earlier version does not find it, and writes one where it looks for it
    beside = misplaced | {"pk": f"KW#{misplaced['keyword_id']}", "sk": "KEYWORD", "keyword_text": "Quantum Computing"}
    assert keywords.table.put_new(beside, deadline=Deadline.after(20))
    prune(keywords)
    assert compact_from(keywords) >= utc_now() + DAYS - timedelta(minutes=1)
    assert [head["keyword_text"] for head in keywords.heads()] == ["quantum computing"]
    assert keywords.find("quantum computing") == ["quantum computing"]


def test_a_table_without_a_layout_gets_one_with_the_same_delay(keywords: Keywords) -> None:
    keywords.index_by_entries("quantum computing")  # as the versions before posting lists did
    prune(keywords)
    assert layout_item(keywords) is None  # something was moved: the next run looks for more
    prune(keywords)
    assert compact_from(keywords) >= utc_now() + DAYS - timedelta(minutes=1)


@pytest.mark.parametrize("unfinished", [0, 1])
def test_a_run_that_did_not_look_at_all_announces_nothing(of_an_earlier_version: Keywords, unfinished: int) -> None:
    keywords, layout = of_an_earlier_version, KeywordLayout(of_an_earlier_version.table)
    former = FormerKeywords(
        keywords.table, iter_heads=lambda *_: iter(()), run_parts=lambda _: PruneCounts(unfinished=unfinished)
    )
    assert not layout.is_compact(deadline=Deadline.after(20))
    former.move(layout, PruneCounts(), deadline=Deadline.after(20))
    assert ("compact_from" in (layout_item(keywords) or {})) == (unfinished == 0)


def test_items_have_the_form_of_earlier_versions_until_then(of_an_earlier_version: Keywords) -> None:
    keywords = of_an_earlier_version
    keywords.index("quantum computing", answer=web_answer())
    [item] = keywords.items("ANSWER")
    assert item["answer"] == web_answer().answer and "content" not in item
    assert read_content(item) == (web_answer().answer, web_answer().citations)


def test_a_process_notes_the_compact_form_while_it_runs(of_an_earlier_version: Keywords) -> None:
    keywords, layout = of_an_earlier_version, of_an_earlier_version.layout
    assert not layout.is_compact(deadline=Deadline.after(20))
    keywords.write_compactly(True)
    assert not layout.is_compact(deadline=Deadline.after(20))  # it is not asked for each time
    lookup = KeywordLookup(keywords.table, keywords.executor, layout)
    assert lookup.find("default_kb", "quantum computing", deadline=Deadline.after(20)) == []  # reads it, too
    assert layout.is_compact(deadline=Deadline.after(20))
