"""Places that cases expect, and passages from them."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import pytest

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source, read_parts
from gleaner_local.evaluation.matching import expected_places, places_of
from gleaner_local.evaluation.measuring import measure
from tests.doubles.answering_service import answer, parts, passage

NFC = unicodedata.normalize("NFC", "Gebühren.md")


def case(**fields: Any) -> Case:
    return Case.model_validate({"query": "How long may a keyword be?"} | fields)


@pytest.mark.parametrize(
    ("fields", "place", "expected"),
    [
        ({"expected_files": ["keywords.md"]}, {}, True),
        ({"expected_files": ["./docs//keywords.md"]}, {}, True),
        ({"expected_files": ["/docs/keywords.md"]}, {}, True),
        ({"expected_files": ["words.md"]}, {}, False),
        ({"expected_files": ["other/docs/keywords.md"]}, {}, False),
        ({"expected_files": [NFC]}, {"source_file_path": "docs/" + unicodedata.normalize("NFD", NFC)}, True),
        ({"expected_files": [unicodedata.normalize("NFD", NFC)]}, {"source_file_path": "docs/" + NFC}, True),
        ({"expected_chapters": ["Length"]}, {}, True),
        ({"expected_chapters": ["Keywords > Length"]}, {}, True),
        ({"expected_chapters": ["Keywords › `length`"]}, {}, True),
        ({"expected_chapters": ["Length › Keywords"]}, {}, False),
        ({"expected_chapters": ["a > b"]}, {"chapter": "When is a > b?"}, False),
        ({"expected_chapters": ["When is a > b?"]}, {"chapter": "Logic › When is a > b?"}, True),
        ({"expected_files": ["other.md"], "expected_chapters": ["Length"]}, {}, False),
        ({"expected_files": ["keywords.md"]}, {"source_type": "external"}, False),
    ],
)
def test_a_passage_is_from_an_expected_place(fields: dict[str, Any], place: dict[str, Any], expected: bool) -> None:
    assert bool(places_of(Source.model_validate(passage(**place)), case(**fields))) is expected


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"expected_files": ["w.md", "w.md"]}, 1),
        ({"expected_files": ["w.md", "docs/w.md"]}, 1),
        ({"expected_files": ["docs/w.md", "./w.md"]}, 1),
        ({"expected_files": ["a/w.md", "b/w.md"]}, 2),
        ({"expected_chapters": ["Length", "Keywords › Length"]}, 1),
        ({"expected_chapters": ["Keywords", "Length"]}, 2),
    ],
)
def test_a_place_within_another_is_expected_once(fields: dict[str, Any], count: int) -> None:
    assert len(expected_places(case(**fields))) == count


@pytest.mark.parametrize(
    "fields",
    [
        {"expected_files": ["keywords.md", "docs/keywords.md"]},
        {"expected_chapters": ["Keywords", "Length"]},
    ],
)
def test_one_passage_from_all_expected_places_is_complete(fields: dict[str, Any]) -> None:
    values = measure(case(**fields), read_parts(parts(answer())), None).values
    assert (values["citation_recall"], values["ndcg"]) == (1.0, 1.0)


def test_places_that_are_not_reached_count_against_the_ranking() -> None:
    found = [passage(1, chapter="Other"), passage(2), passage(3, chapter="Keywords")]
    expected = case(expected_chapters=["Keywords", "Length", "Spelling"])
    values = measure(expected, read_parts(parts(answer(), found=found)), None).values
    assert values["ndcg"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
