"""Keywords stored before marks and scripts without spaces were heeded are found."""

from __future__ import annotations

import pytest

from tests.keyword_fixtures import Keywords


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
    keywords.index_by_the_former_rules(keyword)
    assert keywords.find(query) == [keyword]
