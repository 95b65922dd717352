"""Makes a question self-contained: the topic comes from earlier turns only where the question cannot stand alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.small_talk import recognize, without_small_talk
from gleaner.text import cut_phrases, find_stop_words, find_words, fold, stem, words
from gleaner_local.extractive._languages import find_language
from gleaner_local.extractive._leaning import Leaning, Message, contains_question, read_leaning
from gleaner_local.extractive._topics import topic_words

MAX_QUERY_CHARS = 2000
MAX_ADDED_TERMS = 8
MAX_ADDED_NAMES = 2
# Limits of a reworded query. A longer term is not a word but encoded data.
MAX_TERM_CHARS, MAX_TERMS = 20, 40

_CAPITALIZED = r"[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*"
_NAME = re.compile(r"`[^`]+`|\b\w+_\w+\b|\b[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)+")


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as it is understood in its conversation.

    `text` scores sentences, and `terms` come from earlier turns. `asked` is the question that tells the kind of answer:
    an earlier one if `text` only names something. The answer must be about the words of `required`; `said` are the
    answers before, as far as the topic goes back.
    """

    text: str
    asked: str
    terms: tuple[str, ...] = ()
    required: str = ""
    said: str = ""

    @property
    def query(self) -> str:
        """What to search for: the question and its terms, at most 2,000 characters."""
        return _shorten(" ".join((self.text, *self.terms)))


def understand(question: str, earlier: Sequence[tuple[str, str]]) -> Reading:
    """Read `question` after the turns in `earlier`, which holds (role, text)."""
    reading: Reading | None = None
    answer = ""
    for role, text in (*earlier, ("user", question)):
        if role == "user":
            reading = _read(text, reading, answer)
            answer = ""
        else:
            answer = answer or text
    return reading or Reading(question, question)


def standalone_query(question: str, earlier: Sequence[tuple[str, str]]) -> str:
    """A search query for `question`, at most 2,000 characters; a self-contained question is returned unchanged."""
    return understand(question, earlier).query


def reword(query: str) -> str:
    """Ask about the topic words of a refused query, without its code, addresses and instructions."""
    pieces = dict.fromkeys(fold(piece) for word in find_words(query) for piece in cut_phrases(word))
    no_topics = find_stop_words(words(query))
    topic = [piece for piece in pieces if len(piece) <= MAX_TERM_CHARS and piece not in no_topics][:MAX_TERMS]
    return f"What is known about {' '.join(topic) or 'this'}?"


def _read(text: str, before: Reading | None, answer: str) -> Reading:
    """Read a message after the last reading and the answer to it."""
    if recognize(text) is not None:
        return before or Reading(text, text)
    if before is None or not (topic_words(before.text) or before.terms):
        question = without_small_talk(text)
        return Reading(question, question)
    message = read_leaning(text.strip(), before.asked)
    if message.leaning is not Leaning.CORRECTS:
        message = read_leaning(without_small_talk(text), before.asked)
    match message.leaning:
        case Leaning.ALONE:
            return Reading(message.text, message.text)
        case Leaning.CONTINUES:
            names = _find_names(answer) if message.refers_back else []
            return _continue(message, before, names, answer)
        case Leaning.INSTEAD | Leaning.CORRECTS:
            return _replace(message, before)


def _continue(message: Message, before: Reading, names: Sequence[str], answer: str) -> Reading:
    terms = _without_known([*_terms_of(before), *names[:MAX_ADDED_NAMES]], message.text)
    asks = contains_question(message.text, find_language(message.text, before.asked))
    said = f"{before.said}\n{answer}" if before.said else answer
    return Reading(message.text, message.text if asks else before.asked, terms, said=said)


def _replace(message: Message, before: Reading) -> Reading:
    """Ask the earlier question about something else: in its place if that can be told, else beside it."""
    corrects = message.leaning is Leaning.CORRECTS
    exchanged = _exchange(message.text, before.asked, corrects=corrects)
    if exchanged is not None:
        return Reading(exchanged, exchanged, required=message.text)
    terms = () if corrects else _without_known(_terms_of(before), message.text)
    return Reading(message.text, before.asked, terms, required=message.text)


def _exchange(new: str, question: str, *, corrects: bool) -> str | None:
    """`question` about `new` if it has one thing of the same form: one noun with an article, or one name.

    A correction also replaces the name that tells which thing was meant: "the ferry to Lona".
    """
    phrase = new.strip(" ?!.").removesuffix(" one")
    language = find_language(question)
    articles = "|".join(map(re.escape, language.phrases("articles")))
    noun = rf"\b(?:{articles})[ '’]\w+"
    if articles and len(re.findall(noun, question, re.IGNORECASE)) == 1 and re.match(noun, phrase, re.IGNORECASE):
        prepositions = "|".join(map(re.escape, language.phrases("describes"))) if corrects else ""
        description = rf"(?: (?:{prepositions}) (?-i:{_CAPITALIZED}))?" if prepositions else ""
        return re.sub(noun + description, lambda _: phrase, question, flags=re.IGNORECASE)
    names = re.findall(rf"(?<=[\w,] ){_CAPITALIZED}", question)
    bare = re.sub(rf"^(?:{articles})[ '’]", "", phrase, flags=re.IGNORECASE) if articles else phrase
    if len(names) == 1 and bare[:1].isupper():
        return question.replace(names[0], bare)
    return None


def _terms_of(reading: Reading) -> list[str]:
    """The topic of a reading: its own words, and those that came from earlier turns."""
    return [*topic_words(reading.text), *(() if reading.required else reading.terms)]


def _without_known(terms: Sequence[str], text: str) -> tuple[str, ...]:
    """The first terms with a word that `text` lacks."""
    stems = {stem(word) for word in words(text)}
    new: list[str] = []
    for term in terms:
        own = {stem(word) for word in words(term)}
        if not own <= stems:
            new.append(term)
            stems |= own
    return tuple(new[: MAX_ADDED_TERMS + MAX_ADDED_NAMES])


def _find_names(answer: str) -> list[str]:
    return list(dict.fromkeys(name.strip("`") for name in _NAME.findall(answer)))


def _shorten(text: str) -> str:
    """Cut `text` to the limit of a query: keep its beginning and its end, where a question usually is."""
    text = " ".join(text.split())
    if len(text) <= MAX_QUERY_CHARS:
        return text
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}"
