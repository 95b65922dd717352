"""Keywords stored before marks and scripts without spaces were heeded are found, pruned and restored."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import Stemmer

from gleaner import text
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from tests.keyword_fixtures import Keywords

KB_ID = "default_kb"


def store_by_the_former_rules(keywords: Keywords, keyword: str) -> None:
    """Replace a keyword's look-up entries by those that earlier versions wrote."""
    keyword_id = schema.keyword_id(text.fold(keyword))
    keywords.index(keyword)
    table = keywords.table
    present = [item for item in keywords.items() if item["pk"].startswith("T#") and item["keyword_id"] == keyword_id]
    deadline = Deadline.after(20)
    table.transact([table.delete({"pk": item["pk"], "sk": item["sk"]}) for item in present], deadline=deadline)
    words = re.findall(r"[^\W_]+[+#]*", text.fold(keyword))
    stems = list(dict.fromkeys(Stemmer.Stemmer("english").stemWords(words)))
    keys = [(f"T#{KB_ID}#{stem[:3]}", f"{stem}#{len(stems)}#{keyword_id}") for stem in stems]
    keys += [(f"T#{KB_ID}#{one} {two}", f"#{len(stems)}#{keyword_id}") for one, two in pairwise(stems)]
    values = {":id": keyword_id, ":text": keyword}
    for partition, sort_key in keys:
        expression, condition = "SET #keyword_id = :id, #keyword_text = :text", "attribute_not_exists(#pk)"
        key = {"pk": partition, "sk": sort_key}
        put = table.update(key, expression=expression, condition=condition, values=values)
        table.transact([put], deadline=deadline)


@pytest.mark.parametrize(
    ("keyword", "query"),
    [
        ("港口图书馆", "港口图书馆"),
        ("港口图书馆", "请问港口图书馆周一几点开门？"),
        ("港口图书馆开放时间", "港口图书馆的开放时间"),
        ("灯台", "灯台はどこですか"),
        ("पुस्तकालय", "पुस्तकालय कब खुलता है?"),
        ("ห้องสมุด", "ห้องสมุดเปิดกี่โมง"),
        ("도서관은", "도서관은 언제 여나요"),
        ("Öffnungszeiten", "Wie sind die Öffnungszeiten?"),
        ("café crème", "Combien coûte un café crème ?"),
        ("مَكتبة", "متى تفتح مَكتبة الميناء"),
        ("machine learning", "What is machine learning?"),
    ],
)
def test_a_keyword_of_an_earlier_version_is_found(keywords: Keywords, keyword: str, query: str) -> None:
    store_by_the_former_rules(keywords, keyword)
    assert keywords.find(query) == [keyword]
