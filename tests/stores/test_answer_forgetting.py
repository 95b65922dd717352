"""Forgetting stored web answers: completeness, bars of pages, repeats and interruptions."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from gleaner.errors import AnswerForgotten, StoreUnavailable, UnknownAnswer
from gleaner.model import Citation, utc_now
from gleaner.pruning.rules import PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores.answer_forgetting import AnswerForgetting, ForgottenAnswer
from gleaner.stores.dynamodb import ConditionFailed
from gleaner.stores.forgotten_pages import MAX_LISTED_BARS, bar_pages, list_bar
from gleaner.stores.items import to_item
from gleaner.stores.keyword_catalog import KeywordCatalog
from gleaner.stores.schema import listed_bar
from tests.keyword_fixtures import Keywords, web_answer

PAGE = "https://q.example/a"
OTHER_PAGES = (Citation(url="https://r.example/b", title="Another"),)


def forget(keywords: Keywords, answer_id: str = "R1") -> ForgottenAnswer:
    return AnswerForgetting(keywords.table).forget(answer_id, by="key:admin", deadline=Deadline.after(20))


def answers(keywords: Keywords, *result_ids: str) -> set[str]:
    return {answer.result_id for answer in keywords.store.get_answers(result_ids, deadline=Deadline.after(20))}


def results(keywords: Keywords, query: str) -> set[str]:
    matches = keywords.lookup.find("default_kb", query, deadline=Deadline.after(20))
    return {result_id for match in matches for result_id in match.result_ids}


def pages(*urls: str) -> tuple[Citation, ...]:
    return tuple(Citation(url=url, title="Page") for url in urls)


def bars(keywords: Keywords) -> list[dict[str, Any]]:
    return [item for item in keywords.items("BAR") if item["sk"] == "BAR"]


def prune(keywords: Keywords, *, grace_days: float = 0.0) -> None:
    rules = PruneRules(max_age_days=36_500, min_usage=0, hard_max_age_days=36_500)
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=grace_days))
    pruner.run(rules, by="test", dry_run=False, deadline=Deadline.after(20))


def test_an_answer_goes_from_under_all_its_keywords_and_others_stay(keywords: Keywords) -> None:
    keywords.index("quantum computing", "chemistry", answer=web_answer())
    keywords.index("quantum computing", query_id="Q2", answer=web_answer("R2", citations=OTHER_PAGES))
    report = forget(keywords)
    assert (report.keyword_count, report.pages, report.kb_id) == (2, (PAGE,), "default_kb")
    assert report.barred_until > report.forgotten_at
    assert answers(keywords, "R1", "R2") == {"R2"}
    assert (results(keywords, "quantum computing"), results(keywords, "chemistry")) == ({"R2"}, set())
    catalog = KeywordCatalog(keywords.table, keywords.executor)
    details = catalog.get(keywords.id_of("quantum computing"), deadline=Deadline.after(20))
    assert [item.perplexity_result_id for item in details.associations] == ["R2"]
    assert [answer.result_id for answer in details.answers] == ["R2"]
    # Nothing of its text is left.
    assert "chemistry. [1]" not in str([item for item in keywords.items() if "R1" in item["pk"]])


def test_a_repeated_call_reports_the_same(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    assert forget(keywords) == forget(keywords) == forget(keywords)


def test_an_unknown_answer_is_reported(keywords: Keywords) -> None:
    with pytest.raises(UnknownAnswer):
        forget(keywords, "R9")


@pytest.mark.parametrize(
    "url",
    [
        PAGE,
        "http://q.example/a",
        "https://www.q.example/a/",
        "https://Q.EXAMPLE/a#section",
        "https://q.example:443/a?utm_source=perplexity",
        "https://q.example./a",
    ],
)
def test_nothing_is_learned_from_its_pages(keywords: Keywords, url: str) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    with pytest.raises(AnswerForgotten):
        keywords.index("python packaging", query_id="Q2", answer=web_answer("R2", citations=OTHER_PAGES + pages(url)))
    assert (keywords.find("python packaging"), answers(keywords, "R2")) == ([], set())


def test_nothing_is_learned_from_its_pages_in_the_form_of_earlier_versions(keywords: Keywords) -> None:
    keywords.write_compactly(False)
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    with pytest.raises(AnswerForgotten):
        keywords.index("python packaging", query_id="Q2", answer=web_answer("R2"))
    keywords.index("python packaging", query_id="Q3", answer=web_answer("R3", citations=OTHER_PAGES))
    assert answers(keywords, "R2", "R3") == {"R3"}


def test_a_page_is_barred_also_if_the_list_of_bars_is_full(keywords: Keywords) -> None:
    many = [f"https://site{number}.example/" for number in range(MAX_LISTED_BARS)]
    for start in range(0, len(many), 40):
        result_id = f"many{start}"
        keywords.index(
            "many pages", query_id=result_id, answer=web_answer(result_id, citations=pages(*many[start:][:40]))
        )
        forget(keywords, result_id)
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    store = keywords.store  # which is to remember that the list is full
    for number, url in enumerate([PAGE, many[0], many[-1]]):
        use = keywords.use(query_id=f"Q{number}", answer=web_answer(f"A{number}", citations=pages(url)))
        with pytest.raises(AnswerForgotten):
            store.index(["python packaging"], use, deadline=Deadline.after(20))
    use = keywords.use(query_id="Q9", answer=web_answer("A9", citations=OTHER_PAGES))
    assert [one.keyword_text for one in store.index(["python packaging"], use, deadline=Deadline.after(20))]


def test_runs_list_no_more_bars_than_a_list_takes_and_none_that_have_ended(keywords: Keywords) -> None:
    urls = [f"https://site{number}.example/" for number in range(MAX_LISTED_BARS + 20)]
    for start in range(0, len(urls), 35):
        result_id, citations = f"many{start}", pages(*urls[start:][:35])
        keywords.index("many pages", query_id=result_id, answer=web_answer(result_id, citations=citations))
        forget(keywords, result_id)
    before = keywords.items("BARS")
    prune(keywords)
    assert keywords.items("BARS") == before
    end_bars(keywords)
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    assert all(len(item) < len(old) - 20 for item, old in zip(keywords.items("BARS"), before, strict=True))
    with pytest.raises(AnswerForgotten):
        keywords.index("python packaging", query_id="Q2", answer=web_answer("R2"))


def test_a_run_does_not_shorten_a_bar_that_is_renewed(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    [read_before] = bars(keywords)
    key = {"pk": read_before["pk"], "sk": read_before["sk"]}
    until = utc_now() + timedelta(days=200)
    renewal = bar_pages(keywords.table, [key], until=until, listed={})
    keywords.table.transact(renewal, deadline=Deadline.after(20))
    with pytest.raises(ConditionFailed):
        keywords.table.transact(list_bar(keywords.table, read_before, {}), deadline=Deadline.after(20))
    assert {item[listed_bar(key)] for item in keywords.items("BARS")} == {math.ceil(until.timestamp())}


def test_the_checks_fit_into_a_transaction_also_if_the_list_turns_out_full(keywords: Keywords) -> None:
    urls = [f"https://site{number}.example/" for number in range(MAX_LISTED_BARS)]
    for start in range(0, len(urls), 40):
        result_id, citations = f"many{start}", pages(*urls[start:][:40])
        keywords.index("many pages", query_id=result_id, answer=web_answer(result_id, citations=citations))
        forget(keywords, result_id)
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    topics = [f"{chr(97 + number) * 3} {chr(97 + number) * 4} topic w{number}" for number in range(20)]
    citations = pages(*(f"https://other{number}.example/" for number in range(10)))
    use = keywords.use(query_id="Q9", answer=web_answer("R9", citations=citations), caller="ann")
    assert len(keywords.store.index(topics, use, deadline=Deadline.after(20))) == 20


def test_bars_of_earlier_versions_are_kept_by_later_ones(keywords: Keywords) -> None:
    """Earlier versions did not list bars. Runs do it for them."""
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    for item in keywords.items("BARS"):
        keywords.client.delete_item(TableName=keywords.table_name, Key=_key(item))
    prune(keywords)
    with pytest.raises(AnswerForgotten):
        keywords.index("python packaging", query_id="Q2", answer=web_answer("R2"))


@pytest.mark.parametrize("url", ["https://q.example/b", "https://q.example/a?id=2", "https://sub.q.example/a"])
def test_other_pages_are_learned_from(keywords: Keywords, url: str) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    keywords.index("python packaging", query_id="Q2", answer=web_answer("R2", citations=pages(url)))
    assert results(keywords, "python packaging") == {"R2"}


def test_a_running_query_does_not_bring_it_back(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    for key in bars(keywords):
        keywords.client.delete_item(TableName=keywords.table_name, Key=_key(key))
    with pytest.raises(AnswerForgotten):
        keywords.index("python packaging", answer=web_answer())
    assert answers(keywords, "R1") == set()


def test_an_answer_of_another_knowledge_base_is_still_told_apart(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    with pytest.raises(StoreUnavailable):
        keywords.index("quantum computing", query_id="Q2", kb_id="other", answer=web_answer(kb_id="other"))


def test_a_page_may_be_learned_from_when_its_bar_has_ended(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    end_bars(keywords)
    keywords.index("python packaging", query_id="Q2", answer=web_answer("R2"))
    assert results(keywords, "python packaging") == {"R2"}


def test_pruning_deletes_what_is_left_of_it(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    forget(keywords)
    prune(keywords, grace_days=1)
    assert (len(keywords.items("ANSWER")), len(bars(keywords))) == (1, 1)
    prune(keywords)
    assert (len(keywords.items("ANSWER")), len(bars(keywords))) == (0, 1)  # the bar has not ended
    end_bars(keywords)
    prune(keywords)
    assert bars(keywords) == []
    with pytest.raises(UnknownAnswer):
        forget(keywords)


def test_a_keyword_that_is_pruned_or_restored_afterwards_leads_to_no_text(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=7))
    pruner.prune_one(keywords.id_of("quantum computing"), by="test", deadline=Deadline.after(20))
    forget(keywords)
    assert pruner.restore_one(keywords.id_of("quantum computing"), deadline=Deadline.after(20))
    assert answers(keywords, "R1") == set()
    pruner.prune_one(keywords.id_of("quantum computing"), by="test", deadline=Deadline.after(20))
    assert keywords.find("quantum computing") == []


def test_an_interrupted_call_is_resumed(keywords: Keywords) -> None:
    """The process is killed after each write in turn."""
    names = [f"topic number{number}" for number in range(3)]
    for kill_after in range(1, 4):
        answer_id = f"R{kill_after}"
        citations = pages(f"https://site{kill_after}.example/a")
        keywords.index(*names, query_id=f"Q{kill_after}", answer=web_answer(answer_id, citations=citations))
        with pytest.raises(KeyboardInterrupt):
            _kill_after(keywords, kill_after - 1, answer_id)
        report = forget(keywords, answer_id)
        assert report.keyword_count == 3
        assert answers(keywords, answer_id) == set()
        assert answer_id not in results(keywords, names[0])


def test_concurrent_calls_and_queries_agree(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())

    def learn(number: int) -> None:
        try:
            keywords.index(f"topic number{number}", query_id=f"Q{number}", answer=web_answer())
        except AnswerForgotten:
            return

    with ThreadPoolExecutor(8) as threads:
        learning = [threads.submit(learn, number) for number in range(6)]
        forgetting = [threads.submit(forget, keywords) for _ in range(2)]
        for future in (*learning, *forgetting):
            future.result()
    assert answers(keywords, "R1") == set()
    forget(keywords)
    assert not [item for item in keywords.associations() if item.get("perplexity_result_id") == "R1"]


def end_bars(keywords: Keywords) -> None:
    """Make all bars end a year ago."""
    for item in bars(keywords):
        keywords.client.update_item(
            TableName=keywords.table_name,
            Key=_key(item),
            UpdateExpression="SET barred_until = :past, last_used_at = :past",
            ExpressionAttributeValues={":past": {"S": "2020-01-01T00:00:00.000000+00:00"}},
        )
    for item in keywords.items("BARS"):
        ended = {name: 1_577_836_800 for name, value in item.items() if isinstance(value, int)}
        keywords.client.put_item(TableName=keywords.table_name, Item=to_item(item | ended))


def _key(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"S": item[name]} for name in ("pk", "sk")}


def _kill_after(keywords: Keywords, writes: int, answer_id: str) -> None:
    """Forget, but raise KeyboardInterrupt before the transaction that follows so many."""
    count = 0

    def interrupt(**_: Any) -> None:
        nonlocal count
        if count == writes:
            raise KeyboardInterrupt
        count += 1

    event = "before-parameter-build.dynamodb.TransactWriteItems"
    keywords.client.meta.events.register(event, interrupt, unique_id="interrupt")
    try:
        forget(keywords, answer_id)
    finally:
        keywords.client.meta.events.unregister(event, unique_id="interrupt")
