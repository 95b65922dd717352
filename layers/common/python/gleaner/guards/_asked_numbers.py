"""Whether an answer lacks the number that its question asks for, in the languages of function_words.txt."""

from __future__ import annotations

import re
import unicodedata

from gleaner import text
from gleaner.guards.numbers import NUMBER_WORDS

# By language: how a question asks how many, how old or in which year, and words for numbers and quantities, often only
# how they begin. "How much", "how long" and "how often" are not listed: "free", "until Friday" and "daily" answer them.
_LANGUAGES = (
    (
        r"\bhow (?:many|old|tall)\b|\b(?:what|which) (?:year|percentage)\b",
        r"\b(?:no|none|nobody|any|all|both|every|unlimited|dozens?|half|once|twice|several|single|one|as many)\b",
    ),
    (
        r"\bwie ?viele\b|\bwie alt\b|\bwelche[ms] jahr\b",
        r"\b(?:kein|alle|beide|beliebig|ein|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|halb"
        r"|tausend|\w+(?:zehn|zig)\b)",
    ),
    (
        r"\bcombien d(?!e temps)|\bquel(?:le)? (?:année|âge|pourcentage)\b",
        r"\b(?:aucun|tous|toutes|une?\b|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|dou|trei|quator|quin|seiz|ving"
        r"|trente|quarante|soixante|cent|mill|moitié)",
    ),
    (
        r"\bcuánt[oa]s\b|\bqué (?:año|porcentaje)\b",
        r"\b(?:ning|tod|amb|un[oa]?\b|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince"
        r"|dieci|veint|trein|cuaren|cincuen|sesen|seten|ochen|noven|cien|mil|mitad)",
    ),
    (
        r"\bkaç\b|\bhangi yıl",
        r"\b(?:hiç|tüm|bütün|bir|iki|üç|dört|beş|altı|yedi|sekiz|dokuz|on|yirmi|otuz|kırk|elli|yüz|bin|yarı|her)",
    ),
    (
        r"\bсколько (?!времени|стоит)|\bкаком году\b",
        r"\b(?:ни|все|оба|обе|один|одн|дв|тр[иеё]|четыр|пят|шест|сем|восем|восьм|девят|десят|сорок|сто|сот|тысяч|пол)",
    ),
    (
        r"(?<!\w)كم (?!مرة|من الوقت|تكلف|سعر|ثمن)|\bأي (?:عام|سنة)\b",
        r"(?:لا|كل|واحد|[اإ]ثن|ثلاث|ثلث|[أا]ربع|خمس|\bست|سبع|ثمان|تسع|عشر|مئ|مائ|[أا]لف|آلاف|نصف)",
    ),
    (
        r"\bכמה (?!זמן)|\bאיזו שנה\b",
        "אף|כל|שני|שתי|שלוש|ארבע|חמש|חמיש|שש|שיש|שבע|שמונ|תשע|עשר|עשיר|מאה|מאות|אלף|אחד|אחת|חצי",
    ),
    (
        "कितन[ेी](?! समय)|किस (?:वर्ष|साल)",
        "कोई|सभी|दोनों|एक|दो|तीन|चार|पाँच|पांच|छह|छः|सात|आठ|नौ|दस|बारह|बीस|तीस|चालीस|पचास|सौ|हज़ार|हजार|आध",
    ),
    (
        "几[个個名次位条條天年本]|幾[個名次位條天年本]|多少[个個名次位条條人年本]|哪一?年",
        "[两兩半双雙全]|所有|没有|沒有",
    ),
    ("何[人個件回年本台冊枚]|いくつ", "ひと|ふた|すべて|全|半"),
    (
        "몇 ?(?:개|명|사람|번|살|권|대|마리|가지)",
        "십|없|모두|하나|한|둘|두|셋|세|넷|네|다섯|여섯|일곱|여덟|아홉|열|스무|스물|서른|마흔|백|천|반",
    ),
    ("กี่|ปีใด|ปีไหน", "หนึ่ง|สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ|ร้อย|พัน|ครึ่ง|ทั้งหมด|ไม่"),
)
_MARK = re.compile(r"\[(?:kb|web)-\d+\]")


def lacks_number(question: str, answer: str) -> bool:
    """Whether `question` asks for a number, and `answer` states neither one nor a quantity such as all or none."""
    folded = text.fold(question)
    numbers = [numbers for asking, numbers in _LANGUAGES if re.search(asking, folded)]
    if not numbers:
        return False
    plain = text.fold(_MARK.sub("", answer))
    if any(unicodedata.numeric(character, None) is not None for character in plain):  # digits, 三, Ⅳ
        return False
    return NUMBER_WORDS.isdisjoint(text.words(plain)) and not re.search("|".join(numbers), plain)
