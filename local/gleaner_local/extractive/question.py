"""Analyses a question: its words with their weights, and the kind of answer that it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gleaner.text import beginnings, english_stop_words, find_stop_words, fold, stem, words
from gleaner_local.extractive._word_lists import read_words

# Verbs and nouns that ask for something without naming a topic, matched by stem.
_ASKING_STEMS = frozenset(stem(word) for word in read_words("asking"))
# Function words, which carry no meaning. Other stop words ("web", "answer", "first") carry a little.
_FUNCTION_WORDS = read_words("grammar")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w'’.-]*\w|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*|`[^`]+`")
# German writes every noun with a capital.
_GERMAN = re.compile(
    r"\b(der|die|das|den|dem|des|eine?[nmrs]?|ist|sind|wann|wie|wo|wer|wird|werden|kann|gibt|und|im|am|zum|zur|vom|"
    r"welche[nmrs]?|ich)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
# The measure that is asked for: the answer gives it with a unit, seldom in the same word ("weighs 910 kilograms").
_MEASURE = re.compile(
    r"\b(?:how (?P<en>old|far|large|big|high|tall|fast|heavy|deep|wide|thick|hot|cold|steep|loud|expensive)"
    r"|wie (?P<de>alt|weit|groß|gross|hoch|schnell|schwer|tief|breit|dick|heiß|heiss|kalt|steil|laut|teuer))\b"
)
_LETTER = re.compile(r"[^\W\d\u2e80-\uffff]")  # not a character that is a word, as in Chinese

NAME_WEIGHT = 1.5
NUMBER_WEIGHT = 1.6
COMMON_WEIGHT = 0.5
ASKING_WEIGHT = 0.35
MIN_START = 4  # letters of a word that its inflections share
MAX_EARLIER_SHARE = 0.4  # the weight of all words from earlier turns, as a share of the question's own


class AnswerKind(StrEnum):
    """What the answer must contain."""

    NUMBER = "number"
    DATE = "date"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    DEFINITION = "definition"
    ADDRESS = "address"
    METHOD = "method"
    OPEN = "open"


_KINDS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    (
        AnswerKind.DATE,
        re.compile(r"\b(when|what year|which year|what date|which date|what day|what month|since when)\b"),
    ),
    (
        AnswerKind.METHOD,
        re.compile(
            r"\b(how (do|can|should|must|would) (i|you|we|one|they)\b|how to\b|(what|which) (\w+ )?"
            r"(command|flag|option|setting|function|method|extensions?)\b)"
        ),
    ),
    (
        AnswerKind.NUMBER,
        re.compile(
            r"\b(how (many|much|long|old|far|large|big|high|tall|fast|often|heavy|deep|wide|thick|hot|cold|steep|loud"
            r"|expensive)|what (number|percentage|percent|amount|fraction|share|size|age|rate|limit)"
            r"|at what (age|rate|speed))\b"
        ),
    ),
    (
        AnswerKind.PERSON,
        re.compile(r"\b(who|whom|whose|what (person|man|woman|author|leader|player|king|president))\b"),
    ),
    (
        AnswerKind.ADDRESS,
        re.compile(
            r"\b((what|which) ([\w-]+ )?(address|url|link|website|site)|(address|url|link) (of|for|to)"
            r"|(what|where) (is|are) the [\w -]{0,40}(address|url|link|website))\b"
        ),
    ),
    (AnswerKind.PLACE, re.compile(r"\b(where|(what|which) (city|country|place|state|town|river|region|island))\b")),
    (AnswerKind.REASON, re.compile(r"\b(why|what (caused|causes|reason))\b")),
    (
        AnswerKind.DEFINITION,
        re.compile(r"^\W*(what (is|are|was|were|does)\b(?! the (difference|best))|define\b|explain\b)"),
    ),
)
# A question for one of these has another answer than the one before, even if it names no topic: "And where is it?"
_SPECIFIC = (AnswerKind.NUMBER, AnswerKind.DATE, AnswerKind.PERSON, AnswerKind.PLACE, AnswerKind.REASON)
_CUES = {
    AnswerKind.METHOD: re.compile(r"`"),
    AnswerKind.ADDRESS: re.compile(r"(?:https?|ftp)://|\bwww\.|[\w.]@\w", re.IGNORECASE),
    # "X is …", "X means …" and "X: …" at the beginning of a sentence.
    AnswerKind.DEFINITION: re.compile(r"^[^.,;:]{1,60}?(?:\s(?:is|are|was|were|means|refers to)\s|:\s)"),
    AnswerKind.NUMBER: re.compile(
        r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|"
        r"billion|half|third|quarter|twice|once|several|none|no)\b",
        re.IGNORECASE,
    ),
    AnswerKind.DATE: re.compile(
        r"\b(1[0-9]{3}|20[0-9]{2})s?\b|\b(January|February|March|April|May|June|July|August|September|October|"
        r"November|December|century|decade|BC|AD|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|"
        r"spring|summer|autumn|winter|after|before|until|daily|every)\b"
    ),
    AnswerKind.PERSON: re.compile(r"(?<=[a-z,] )[A-ZÀ-Þ][\w'’-]+|^[A-ZÀ-Þ][\w'’-]+ [A-ZÀ-Þ][\w'’-]+"),
    AnswerKind.PLACE: re.compile(r"\b(?:in|at|from|near|of|to|into|on|under) (?:the )?(?:[A-ZÀ-Þ]|`)"),
    AnswerKind.REASON: re.compile(
        r"\b(because|since|due to|so that|therefore|as a result|in order to|caused?|leads? to|led to|reason)\b",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the scorers. `weights` is by stem, before rarity; `order` is the sequence of stems.

    `beginnings` says how inflections of its words begin, by stem; it is empty if stems tell them. `names` are the stems
    of proper names, as far as capitals tell them. `required` are the stems of which an answer must have one, if it is
    not empty: "And the windmill?" is not answered by the ferry. What was `said` before is a worse answer to a
    follow-up. One that names nothing itself `needs_kind`: "And where is it?" is answered by a place alone. `measures`
    are the stems of what such a question asks for: "How high is it?" is answered by what says "high", if anything does.
    """

    text: str
    order: tuple[str, ...]
    weights: dict[str, float]
    kind: AnswerKind
    beginnings: dict[str, str]
    names: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    said: str = ""
    needs_kind: bool = False
    measures: frozenset[str] = frozenset()

    @property
    def has_topic(self) -> bool:
        """Whether any word names a topic; "explain this" has none."""
        return any(weight > COMMON_WEIGHT for weight in self.weights.values())

    @property
    def only_asks(self) -> bool:
        """Whether it asks for something without saying more: "explain this", but not "thanks"."""
        return all(weight <= ASKING_WEIGHT for weight in self.weights.values())


def read_question(
    text: str, *, asked: str | None = None, terms: Sequence[str] = (), required: str = "", said: str = ""
) -> Question:
    """Analyse the question in `text`.

    `terms` are words from earlier turns: they tell what the question is about, not what it asks for, so that they weigh
    little unless the question has no topic. `asked` is the question that tells the kind of answer, if it is another.
    An answer must have one of the topic words of `required`. `said` is the answer before, which need not be repeated.
    """
    kind = _kind(fold(asked or text))
    weights = _weigh_words(text)
    own = _topic_of(weights)
    needs_kind = bool(terms) and not own and kind in _SPECIFIC
    if terms and not own:  # "How high is it?": common words are all that it asks for
        weights = {key: 1.0 if weight == COMMON_WEIGHT else weight for key, weight in weights.items()}
        own = _topic_of(weights)
    earlier = _weigh_words(" ".join(terms))
    share = min(1.0, MAX_EARLIER_SHARE * sum(weights.values()) / (sum(earlier.values()) or 1.0)) if own else 1.0
    for key, weight in earlier.items():
        weights.setdefault(key, share * weight)
    order = tuple(stem(word) for word in words(text) if stem(word) in weights)
    starts = {**beginnings(" ".join(terms)), **beginnings(text)}
    if any(start != key for key, start in starts.items()):  # "fundó" and "fundado" differ in their last vowel
        starts = {key: _without_ending(start) for key, start in starts.items()}
    inflected = {key: start for key, start in starts.items() if start != key and key in weights}
    must_have = _topic_of(_weigh_words(required)) & weights.keys()
    return Question(
        text,
        order,
        weights,
        kind,
        inflected,
        names=frozenset(key for key in _names_of(text) if weights.get(key) == NAME_WEIGHT and not _GERMAN.search(text)),
        required=must_have,
        said=said if own or needs_kind else "",
        needs_kind=needs_kind,
        measures=_measures_of(text) if needs_kind else frozenset(),
    )


def _without_ending(start: str) -> str:
    """The start of a short word without its last vowels, unless little is left."""
    shorter = start.rstrip("aeiou")
    return shorter if len(shorter) >= MIN_START and start.isascii() else start


def _topic_of(weights: Mapping[str, float]) -> frozenset[str]:
    return frozenset(key for key, weight in weights.items() if weight > COMMON_WEIGHT)


def _names_of(text: str) -> set[str]:
    return {stem(word) for name in _NAME.findall(text) for word in words(name)}


def _measures_of(text: str) -> frozenset[str]:
    return frozenset(stem(match["en"] or match["de"]) for match in _MEASURE.finditer(fold(text)))


def _weigh_words(text: str) -> dict[str, float]:
    names = _names_of(text)
    measures = _measures_of(text)
    function_words = _FUNCTION_WORDS | (find_stop_words(words(text)) - english_stop_words())
    weights: dict[str, float] = {}
    for word in words(text):
        if word in function_words or _LETTER.fullmatch(word):
            continue
        key = stem(word)
        weights.setdefault(key, ASKING_WEIGHT if key in measures else _weight(word, key, is_name=key in names))
    return weights


def fits(kind: AnswerKind, sentence: str) -> bool:
    """Whether a sentence contains what the kind of answer requires; any sentence does for an open question."""
    cue = _CUES.get(kind)
    return cue is None or cue.search(sentence) is not None


def _weight(word: str, key: str, *, is_name: bool) -> float:
    if _NUMBER.search(word):
        return NUMBER_WEIGHT
    if is_name:
        return NAME_WEIGHT
    if key in _ASKING_STEMS:
        return ASKING_WEIGHT
    return COMMON_WEIGHT if word in english_stop_words() else 1.0


def _kind(folded: str) -> AnswerKind:
    for kind, pattern in _KINDS:
        if pattern.search(folded):
            return kind
    return AnswerKind.OPEN
