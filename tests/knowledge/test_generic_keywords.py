"""Keywords that name a topic are accepted, and those that name none are refused with a reason."""

from __future__ import annotations

import pytest

from gleaner.knowledge.learning import check_keywords

GOOD = (
    "Starlette|DynamoDB transactions|photosynthesis|customer service|heart attack|ferry ticket|C#|k8s|SELECT|iOS 17|"
    "Python 3.12|open source|real estate|machine learning|time zone|Rust|Excel|Windows 11|public key|light year|"
    "wireless|mortgage|GPT-4|5G|COVID-19|New York|passport renewal|power plant|unit test|vacation policy|"
    "Fahrkarte|Steuererklärung|Krankenversicherung Selbstständige|crème brûlée|permis de conduire|"
    "tortilla de patatas|imposta sul reddito|日本料理|量子计算|機械学習|налоговая декларация|भारतीय रेल|양자 컴퓨터|"
    "gelir vergisi|ضريبة الدخل"
).split("|")
TOO_GENERIC = (
    "ideal|shines|services|Services|beautiful|quickly|best practices|new features|good idea|important information|"
    "various options|version 3|March 2024|helpful|easily|people|the company|things to know|main advantages|running|"
    "interesting|reliable|possible|year 2024|useful tips|the answer|"
    "wichtig|Dienste|Möglichkeiten|idéal|meilleur|problème|importante|servicios|важный|услуги|重要|服务|サービス|서비스|"
    "hizmetler|جديد"
).split("|")
NUMBERS = ("2024", "1999", "42", "1.5", "10 %", "2024-2025", "٢٠٢٤", "１２３")


@pytest.mark.parametrize("keyword", GOOD)
def test_a_name_of_a_topic_is_accepted(keyword: str) -> None:
    assert check_keywords([keyword]) == ([keyword], [])


@pytest.mark.parametrize("keyword", TOO_GENERIC)
def test_a_keyword_that_names_no_topic_is_refused(keyword: str) -> None:
    valid, [rejected] = check_keywords([keyword])
    assert not valid and "too generic" in rejected.reason


@pytest.mark.parametrize("keyword", NUMBERS)
def test_a_bare_number_is_refused(keyword: str) -> None:
    valid, [rejected] = check_keywords([keyword])
    assert not valid and "number or a year" in rejected.reason


def test_near_duplicates_in_one_call_merge_into_the_first() -> None:
    assert check_keywords(["ferry ticket", "Ferry tickets", "my ferry ticket"]) == (["ferry ticket"], [])
