"""Tells whether a message leans on the turns before it: as a follow-up, on something else, or as a correction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gleaner_local.extractive._languages import Language, find_language, tokenize
from gleaner_local.extractive._references import has_ending, join_tokens, refers_back
from gleaner_local.extractive._topics import find_names, topic_words

# A longer message, or one with more topic words, says by itself what it is about.
MAX_CHARS, MAX_TOPIC_WORDS = 400, 8
# A question with these many words or fewer that begins with a question word is incomplete: "Since when?"
MAX_INCOMPLETE = 2
MAX_FRAGMENT = 5  # words that name something without asking
MAX_UNSPACED_FRAGMENT = 8  # characters of the same in scripts without spaces
MIN_FULL_QUESTION = 2  # topic words of an "And what …?" that stands alone

_QUESTION_MARK = re.compile(r"[?？؟]\W*$")
_AFTER_CORRECTION = re.compile(r"\s*[,.;:!،，。、—–-]")


class Leaning(StrEnum):
    """How a message relates to the turns before it."""

    ALONE = "alone"  # it can be understood by itself
    CONTINUES = "continues"  # it asks more about the same
    INSTEAD = "instead"  # it asks the same about something else: "And the windmill?"
    CORRECTS = "corrects"  # it corrects what the last question was about: "No, the windmill."


@dataclass(frozen=True, slots=True)
class Message:
    """A message: how it leans, what it says without the words that show it, and whether a word refers back."""

    text: str
    leaning: Leaning
    refers_back: bool = False


@lru_cache(maxsize=1024)
def read_leaning(text: str, before: str = "") -> Message:
    """How `text` leans on earlier turns, of which `before` tells the language. Long messages stand alone."""
    if len(text) > MAX_CHARS or len(topic_words(text)) > MAX_TOPIC_WORDS:
        return Message(text, Leaning.ALONE)
    language = find_language(text, before)
    rest = _after_correction(text, language)
    if rest is not None and not _asks(rest, find_language(rest, before)):
        return Message(rest, Leaning.CORRECTS)
    return _read_question(text if rest is None else rest, language)


def _after_correction(text: str, language: Language) -> str | None:
    """What follows words such as "No, I meant"; None if the message does not correct."""
    rest = text.strip()
    corrected = False
    while (end := _beginning(rest, language.phrases("corrects"))) and end < len(rest):
        phrase, after = rest[:end], rest[end:]
        separator = _AFTER_CORRECTION.match(after)
        if separator:
            after = after[separator.end() :]
        elif "," in after and not corrected:  # "not the ferry, the windmill"
            after = after.rpartition(",")[2]
        elif len(tokenize(phrase)) == 1 and language.is_spaced and not corrected:
            break
        rest, corrected = after.strip(), True
    return rest if corrected and topic_words(rest) else None


def _read_question(text: str, language: Language) -> Message:
    refers = refers_back(text, language)
    if (rest := _something_else(text, language)) is not None:
        return rest
    if end := _beginning(text, language.phrases("continues")) or _prefix(text, language):
        return _read_continuation(text, text[end:].lstrip(" ,"), language, refers=refers)
    if refers or _is_incomplete(text, language) or _is_circumstance(text, language):
        return Message(text, Leaning.CONTINUES, refers)
    if _is_fragment(text, language):
        return Message(text, Leaning.INSTEAD)
    return Message(text, Leaning.CONTINUES if _lacks_subject(text, language) else Leaning.ALONE)


def _something_else(text: str, language: Language) -> Message | None:
    """Read "What about the windmill?" and the like."""
    end = _beginning(text, language.phrases("instead"))
    rest = text[end:].strip() if end else _without_end(text, language)
    if rest is None or not topic_words(rest) or _asks(rest, language):
        return None
    if "," in rest and contains_question(rest.partition(",")[2], language):  # "What about the tram, who drives it?"
        return Message(rest, Leaning.ALONE)
    leaning = Leaning.CONTINUES if _is_circumstance(rest, language) else Leaning.INSTEAD
    return Message(rest, leaning, refers_back(rest, language))


def _read_continuation(text: str, rest: str, language: Language, *, refers: bool) -> Message:
    """Read "And …": more about the same, the same about something else, or a question that stands alone."""
    if refers or not topic_words(rest) or _is_circumstance(rest, language):
        return Message(text, Leaning.CONTINUES, refers)
    if not _asks(rest, language):
        is_short = len(tokenize(rest)) <= MAX_FRAGMENT
        return Message(rest, Leaning.INSTEAD) if is_short else Message(text, Leaning.CONTINUES)
    is_full = len(topic_words(rest)) >= MIN_FULL_QUESTION or _defines(rest, language)
    return Message(rest, Leaning.ALONE) if is_full else Message(text, Leaning.CONTINUES)


def _is_incomplete(text: str, language: Language) -> bool:
    """Whether a question names no topic ("Why?", "How many are there?") or breaks off ("Since when?")."""
    tokens = tokenize(text)
    if not topic_words(text):
        return bool(tokens)
    has_copula = language.is_spaced and not language.drops_subjects  # "Где кафе?" needs none
    return has_copula and len(tokens) <= MAX_INCOMPLETE and _asks(text, language) and not find_names(text)


def _is_circumstance(text: str, language: Language) -> bool:
    """Whether the text is only a circumstance, such as "In winter?"."""
    tokens = tokenize(text)
    short = 0 < len(tokens) <= MAX_FRAGMENT
    return short and _beginning(text, language.phrases("places")) > 0 and not contains_question(text, language)


def _is_fragment(text: str, language: Language) -> bool:
    """Whether a question only names something: "The windmill?"."""
    if not _QUESTION_MARK.search(text):
        return False
    tokens, terms = tokenize(text), topic_words(text)
    if not language.is_spaced or language.name == "Korean":
        is_short = len(join_tokens(text)) <= MAX_UNSPACED_FRAGMENT
        return is_short and "".join(terms) == join_tokens(text) and not contains_question(text, language)
    nouns = [token for token in tokens if token not in language.phrases("articles")]
    return len(nouns) == len(terms) <= 1 or (len(nouns) < len(tokens) == len(terms) + 1 <= MAX_FRAGMENT)


def _lacks_subject(text: str, language: Language) -> bool:
    """Whether a question leaves its subject out, in languages that do so: "¿Cuándo murió?"."""
    begins = _beginning(text, language.phrases("asks"))
    if not language.drops_subjects or not begins or _defines(text, language) or find_names(text):
        return False
    rest = text[begins:]
    terms = topic_words(rest)
    tokens = tokenize(rest)
    if len(terms) > 1 or set(tokens) & set(language.phrases("articles")):
        return False
    word = tokenize(terms[0])[-1] if terms else ""
    if particles := language.phrases("particles"):
        names = tokens[:-1] if language.is_spaced else [join_tokens(rest)]
        return not any(
            has_ending(name, particles) or (not language.is_spaced and p in name) for name in names for p in particles
        )
    verbs, nouns = language.phrases("verbs"), language.phrases("nouns")
    return not (
        (verbs and not word.endswith(verbs)) or word.endswith(language.phrases("infinitives")) or word.startswith(nouns)
    )


def _asks(text: str, language: Language) -> bool:
    return _beginning(text, language.phrases("asks")) > 0


def contains_question(text: str, language: Language) -> bool:
    """Whether a word of `text` asks something."""
    if not language.is_spaced:
        return any(phrase in join_tokens(text) for phrase in language.phrases("asks"))
    padded = f" {' '.join(tokenize(text))} "
    return any(f" {phrase} " in padded for phrase in language.phrases("asks"))


def _defines(text: str, language: Language) -> bool:
    if not language.is_spaced:
        return any(phrase in join_tokens(text) for phrase in language.phrases("defines"))
    padded = f" {' '.join(tokenize(text))} "
    return any(f" {phrase} " in padded for phrase in language.phrases("defines"))


def _beginning(text: str, phrases: Sequence[str]) -> int:
    """The length of the phrase that `text` begins with, with the signs before it; 0 if there is none."""
    for phrase in phrases:
        pattern = r"[\W_]+".join(map(re.escape, phrase.split()))
        border = "" if _UNSPACED.match(phrase) else r"(?!\w)"
        if match := re.match(rf"[\W_]*{pattern}{border}", text, re.IGNORECASE):
            return match.end()
    return 0


_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


def _prefix(text: str, language: Language) -> int:
    """The length of "and" where it is a letter of the next word, as in Arabic and Hebrew."""
    letters = [phrase for phrase in language.phrases("continues") if len(phrase) == 1]
    tokens = tokenize(text)
    if not tokens or language.name not in ("Arabic", "Hebrew") or not tokens[0].startswith(tuple(letters)):
        return 0
    known = tokens[0][1:] in language.phrases("asks", "places")
    return text.index(tokens[0][0]) + 1 if known or len(tokens) <= MAX_INCOMPLETE else 0


def _without_end(text: str, language: Language) -> str | None:
    """The text without an ending such as 呢, which asks the same of something else."""
    bare = re.sub(r"\W+$", "", text)
    for ending in language.phrases("ends"):
        is_short = len(join_tokens(bare)) <= MAX_UNSPACED_FRAGMENT + len(ending)
        if bare.endswith(ending) and len(bare) > len(ending) and is_short and len(tokenize(bare)) <= MAX_FRAGMENT:
            return bare.removesuffix(ending).strip()
    return None
