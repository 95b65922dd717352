"""Answers in languages other than English, from the embedded index by the extractive model.

`benchmarks/languages.py` asks far more questions, in thirteen languages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex

DOCUMENTS = {
    "zh": ["奥维港图书馆每周一上午九点开门。逾期一天要付两元罚款。", "灯塔高四十一米。守塔人每周三擦洗灯具。"],
    "hi": [
        "पुस्तकालय सोमवार को सुबह नौ बजे खुलता है। देर से लौटाने पर रोज़ दो रुपये जुर्माना लगता है।",
        "प्रकाशस्तंभ की ऊँचाई इकतालीस मीटर है। रखवाला हर बुधवार को दीपक साफ़ करता है।",
    ],
    "de": [
        "Die Bibliothek öffnet montags um neun Uhr. Die Mahngebühr beträgt zwei Euro pro Tag.",
        "Der Leuchtturm ist einundvierzig Meter hoch. Der Wärter putzt die Lampe jeden Mittwoch.",
    ],
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    embedded = EmbeddedIndex.open(tmp_path_factory.mktemp("index"))
    for language, documents in DOCUMENTS.items():
        embedded.upsert(language, [(str(number), {"text": text}) for number, text in enumerate(documents)])
    yield embedded
    embedded.close()


def ask(index: EmbeddedIndex, language: str, question: str) -> tuple[str, list[str]]:
    """The answer and its sources."""
    hits = index.search(language, question, top_k=5)
    chunks = [{"id": f"kb-{n}", "content": hit.fields["text"], "score": hit.score} for n, hit in enumerate(hits, 1)]
    return answer_from(chunks, question)


def answer_from(chunks: Sequence[Mapping[str, Any]], question: str) -> tuple[str, list[str]]:
    """The answer from these chunks and its sources."""
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": SEARCH, "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps({"chunks": chunks})},
    ]
    [call] = ExtractiveModel(Judge.installed()).next_calls(messages, [ANSWER])
    arguments = json.loads(call.arguments)
    return arguments["answer"], arguments["sources"]


@pytest.mark.parametrize(
    ("language", "question", "sentence"),
    [
        ("zh", "逾期每天罚款多少？", "逾期一天要付两元罚款。"),
        ("zh", "守塔人哪一天清洗灯具？", "守塔人每周三擦洗灯具。"),
        ("hi", "देर से लौटाने का जुर्माना कितना है?", "देर से लौटाने पर रोज़ दो रुपये जुर्माना लगता है।"),
        ("hi", "प्रकाशस्तंभ कितना ऊँचा है?", "प्रकाशस्तंभ की ऊँचाई इकतालीस मीटर है।"),
        ("de", "Wie hoch ist die Mahngebühr?", "Die Mahngebühr beträgt zwei Euro pro Tag."),
    ],
)
def test_the_sentence_that_answers_is_quoted(index: EmbeddedIndex, language: str, question: str, sentence: str) -> None:
    assert sentence in ask(index, language, question)[0]


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("zh", "北京有多少人口？"),
        ("hi", "दिल्ली की जनसंख्या कितनी है?"),
        ("de", "Wer ist der Bürgermeister von Hamburg?"),
    ],
)
def test_an_unrelated_question_is_refused(index: EmbeddedIndex, language: str, question: str) -> None:
    assert ask(index, language, question)[1] == []


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Köprü ne kadar uzun?", "Köprü kırk bir metre uzunluğundadır."),
        ("다리는 얼마나 긴가요?", "다리의 길이는 사십일 미터입니다."),
    ],
)
def test_of_weak_passages_one_that_leads_is_quoted(question: str, text: str) -> None:
    weak = {"id": "kb-1", "content": text, "score": 0.42}
    assert answer_from([weak], question)[1] == ["kb-1"]
    assert answer_from([weak, weak | {"id": "kb-2"}], question)[1] == []
