"""The estimate of tokens against the counts of tokenizers."""

from __future__ import annotations

from pathlib import Path

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS, chunk_document
from gleaner_documents.reading import read_document
from gleaner_local.ingestion.embedding_tokens import ERROR, MAX_TOKENS, estimate_tokens

DOCS = Path(__file__).resolve().parents[3] / "docs"

# The beginning of the Universal Declaration of Human Rights, with the tokens that the tokenizer of Llama 3 counts
# (llama3-tokenizer-js 1.2.0, without the mark of the beginning), which were counted once.
DECLARATION = [
    (
        "en",
        36,
        "Whereas recognition of the inherent dignity and of the equal and inalienable rights of "
        "all members of the human family is the foundation of freedom, justice and peace in the "
        "world,",
    ),
    (
        "de",
        58,
        "Da die Anerkennung der angeborenen Würde und der gleichen und unveräußerlichen Rechte "
        "aller Mitglieder der Gemeinschaft der Menschen die Grundlage von Freiheit, Gerechtigkeit "
        "und Frieden in der Welt bildet,",
    ),
    (
        "fr",
        57,
        "Considérant que la reconnaissance de la dignité inhérente à tous les membres de la "
        "famille humaine et de leurs droits égaux et inaliénables constitue le fondement de la "
        "liberté, de la justice et de la paix dans le monde,",
    ),
    (
        "es",
        51,
        "Considerando que la libertad, la justicia y la paz en el mundo tienen por base el "
        "reconocimiento de la dignidad intrínseca y de los derechos iguales e inalienables de "
        "todos los miembros de la familia humana;",
    ),
    (
        "ru",
        55,
        "Принимая во внимание, что признание достоинства, присущего всем членам человеческой "
        "семьи, и равных и неотъемлемых прав их является основой свободы, справедливости и "
        "всеобщего мира; и",
    ),
    (
        "ar",
        45,
        "لمّا كان الاعتراف بالكرامة المتأصلة في جميع أعضاء الأسرة البشرية وبحقوقهم المتساوية "
        "الثابتة هو أساس الحرية والعدل والسلام في العالم.",
    ),
    (
        "hi",
        73,
        "चूंकि मानव परिवार के सभी सदस्यों के जन्मजात गौरव और समान तथा अविच्छिन्न अधिकार की "
        "स्वीकृति ही विश्व-शान्ति, न्याय और स्वतन्त्रता की बुनियाद है,",
    ),
    (
        "zh",
        40,
        "鉴于对人类家庭所有成员的固有尊严及其平等的和不移的权利的承认,乃是世界自由、正义与和平的基础,",
    ),
    (
        "ja",
        51,
        "人類社会のすべての構成員の固有の尊厳と平等で譲ることのできない権利とを承認することは、世界における自由、正義及び平和の基礎であるので、",
    ),
    (
        "ko",
        40,
        "모든 인류 구성원의 천부의 존엄성과 동등하고 양도할 수 없는 "
        "권리를 인정하는 것이 세계의 자유, 정의 및 평화의 기초이며,",
    ),
    (
        "th",
        81,
        "โดยที่การยอมรับนับถือเกียรติศักดิ์ประจำตัว และสิทธิเท่าเทียมกันและโอนมิได้ของบรรดา "
        "สมาชิก ทั้ง หลายแห่งครอบครัว มนุษย์เป็นหลักมูลเหตุแห่งอิสรภาพ ความยุติธรรม "
        "และสันติภาพในโลก",
    ),
    (
        "he",
        116,
        "הואיל והכרה בכבוד הטבעי אשר לכל בני משפחת האדם ובזכויותיהם השוות והבלתי נפקעות הוא יסוד "
        "החופש, הצדק והשלום בעולם.",
    ),
    (
        "ta",
        311,
        "மனிதக் குடும்பத்தினைச் சேர்ந்த யாவரதும் உள்ளார்ந்த மரியாதையையும், அவர்கள் யாவரதும் "
        "சமமான, மாற்றத்திற்குட்படுத்த முடியாத உரிமைகளையும் அங்கீகரித்தலே உலகத்தில் சுதந்திரம், "
        "நீதி, அமைதி என்பவற்றுக்கு அடிப்படையாகவுள்ளதாதலாலும்,",
    ),
]


@pytest.mark.parametrize(("tokens", "text"), [row[1:] for row in DECLARATION], ids=[row[0] for row in DECLARATION])
def test_large_languages_are_estimated_within_the_error(tokens: int, text: str) -> None:
    assert estimate_tokens(text) - 3 == pytest.approx(tokens, rel=ERROR)


def test_the_handbook_is_estimated_within_the_error() -> None:
    # Llama 3's vocabulary continues this one, and agrees with it about English.
    encoding = bpe_openai.get_encoding("cl100k_base")
    for file in sorted(DOCS.glob("0[358]*.md")):
        document = read_document(file.name, file.read_bytes())
        texts = [chunk.text for chunk in chunk_document(document, DEFAULT_CHUNK_SETTINGS)]
        estimated = sum(estimate_tokens(text) - 3 for text in texts)
        assert estimated == pytest.approx(sum(len(encoding.encode(text)) for text in texts), rel=ERROR / 2), file.name


@given(st.text())
def test_every_text_has_some_tokens_and_no_more_than_are_embedded(text: str) -> None:
    assert 3 <= estimate_tokens(text) <= MAX_TOKENS


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_longer_text_has_no_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n\n{other}") >= max(estimate_tokens(one), estimate_tokens(other)) - 1
