"""Sentences end where readers of each language see the end, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.sentences import sentence_slices, split_sentences

# "|" stands where a sentence ends.
SENTENCES = [
    ("en", 'Dr. Smith paid 3.50 to J. R. Doe.|"Why?" he asked.|See Fig. 2, e.g. there.'),
    ("en", "Version 2.3.1 is out.|Get 3.5 kg at www.example.org today."),
    ("en", "Wait... what?|Then… nothing came.|Really?!|Yes!!"),
    ("en", "No.|He left.|See No. 5 and pp. 3, 4."),
    ("en", "Apples, pears, etc.|The next one.|(It was closed.)|**Note.**|It rains."),
    ("en", "1. First comes this.|2. Second comes that."),
    ("de", "Das gilt z. B. am 3. Mai.|Danach nicht.|Siehe S. 12.|Umsatz: 3,5 Mio. Euro."),
    ("de", "Im 19. Jahrhundert war das so.|Es ist die 3. Auflage.|Es waren 3.|Dann ging er."),
    ("de", "„Ja.“|Er ging.|»Nein.«|Sie blieb.|Farben, Lacke usw.|Danach nichts."),
    ("fr", "M. Dupont est là.|Quoi ?|Il dit : « Oui. »|Puis il part avec Mme Petit."),
    ("es", "Hay puertos, p. ej. Vigo.|¿Cuándo abre?|¡Hoy!|Véase pág. 12 de la Dra. Ruiz."),
    ("it", "Il sig. Rossi arriva.|Il dott. Bianchi parte.|Mele, pere ecc.|Poi basta."),
    ("pt", "O Sr. Silva chegou.|Veja a pág. 4.|Foi embora?"),
    ("nl", "Dhr. Jansen komt, bijv. Vandaag.|Daarna niet."),
    ("pl", "Był np. Jan i prof. Kowalski.|W 1999 r.|Potem ul. Długa."),
    ("tr", "Sn. Yılmaz geldi.|Bkz. Şekil 3.|29. Ekim günü tatil.|Geldi mi?"),
    ("ru", "Он жил, т. е. Пётр, в доме.|Он родился в 1999 г.|Потом уехал на ул. Ленина.|См. рис. 3."),
    ("el", "Τι κάνεις;|Καλά είμαι."),
    ("hy", "Բարեւ։|Ինչպես ես։"),
    ("hi", "पुल खुला है।|नाव कब आती है?|श्लोक समाप्त॥|आगे।"),
    ("bn", "সেতু খোলা।নৌকা আসে।".replace("।", "।|").rstrip("|")),
    ("ar", "هل تفتح المكتبة؟|نعم، تفتح في 3.5 ساعة.|الجملة الثالثة!"),
    ("ur", "پل کھلا ہے۔|کشتی کب آتی ہے؟|آج۔"),
    ("am", "ሰላም።|እንዴት ነህ፧|ደህና።"),
    ("my", "တံတားဖွင့်သည်။|လှေလာသည်။"),
    ("km", "ស្ពានបើក។|ទូកមក។"),
    ("bo", "ཟམ་པ་ཡོད།|གྲུ་ཡོང་།"),
    ("th", "ห้องสมุดของเมืองเปิดทุกวัน|ร้านอาหารปิดวันอาทิตย์"),
    ("th", "คุณสมชาย ใจดี มา 3 คน"),
    ("zh", "桥开了。|船几点来？|他说：“走吧。”|她走了。|“好！”|价格是３．５元。"),
    ("zh", "他走了。|“好吧。”"),
    ("ja", "一文｡|二文｡|「行く。」|と言った。|本当（はい。）|次！"),
    ("ko", "다리가 열렸다.|배는 언제 오나?"),
]


@pytest.mark.parametrize(("language", "text"), SENTENCES)
def test_sentences_end_where_a_reader_sees_the_end(language: str, text: str) -> None:
    expected = text.split("|")
    space = "" if language in ("bn", "my", "km", "bo", "zh", "ja") else " "

    assert split_sentences(space.join(expected)) == expected


def test_a_line_break_ends_a_sentence() -> None:
    assert split_sentences("- one\n- two\n\nthree") == ["- one", "- two", "three"]


@given(st.text(st.sampled_from('aB1 .。।؟?!;»”“"\n)ก的г')))
@settings(max_examples=200)
def test_slices_are_the_text(text: str) -> None:
    assert "".join(sentence_slices(text)) == text
