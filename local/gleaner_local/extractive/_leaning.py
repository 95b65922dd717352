"""Tells whether a message leans on the turns before it: as a follow-up, on something else, or as a correction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from gleaner.text import cut_phrases, find_stop_words, find_words, stem, words
from gleaner_local.extractive._languages import Language, find_language, tokenize
from gleaner_local.extractive._word_lists import read_words

# A longer message, or one with more topic words, says by itself what it is about.
MAX_CHARS, MAX_TOPIC_WORDS = 400, 8
# A question with these many words or fewer that begins with a question word is incomplete: "Since when?"
MAX_INCOMPLETE = 2
MAX_FRAGMENT = 5  # words that name something without asking
MAX_UNSPACED_FRAGMENT = 8  # characters of the same in scripts without spaces
MIN_FULL_QUESTION = 2  # topic words of an "And what …?" that stands alone

_ASKING_STEMS = frozenset(stem(word) for word in read_words("asking"))
_QUESTION_MARK = re.compile(r"[?？؟]\W*$")
_AFTER_CORRECTION = re.compile(r"\s*[,.;:!،，。、—–-]")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w'’-]+")
_POSSESSIVES = frozenset({"its", "their", "his", "her"})


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


@lru_cache(maxsize=4096)
def topic_words(text: str) -> tuple[str, ...]:
    """The words of `text` that carry a topic, in their original spelling."""
    no_topics = find_stop_words(words(text)) | find_language(text).function_words
    candidates = [piece for word in _find_terms(text) for piece in cut_phrases(word.strip(".-'’"))]
    return tuple(word for word in candidates if not _says_nothing(words(word), no_topics))


def has_name(text: str) -> bool:
    """Whether a word within `text` begins with a capital letter."""
    return _NAME.search(text) is not None


def _find_terms(text: str) -> list[str]:
    return [term for word in re.findall(r"\S+", text) for term in _join_words(word)]


def _join_words(word: str) -> list[str]:
    """`index_keywords` and "property-based" are one term; other signs separate terms."""
    return re.findall(r"(?:\w+[-_.+#'’]*)+", word) if word.isascii() else find_words(word)


def _says_nothing(folded: Sequence[str], no_topics: frozenset[str]) -> bool:
    return all(word in no_topics or stem(word) in _ASKING_STEMS for word in folded)


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


def refers_back(text: str, language: Language) -> bool:
    """Whether a word of `text` refers to something that `text` does not name."""
    if not language.is_spaced:
        plain = _joined(text)
        for phrase in language.phrases("neutral"):
            plain = plain.replace(phrase, " ")
        return any(phrase in plain for phrase in language.phrases("refers"))
    padded = f" {' '.join(tokenize(text))} "
    for phrase in language.phrases("neutral"):
        padded = padded.replace(f" {phrase} ", " … ")
    tokens = padded.split()
    referring = frozenset(language.phrases("refers"))
    if any(token in referring and not _is_named_before(tokens, n, text, language) for n, token in enumerate(tokens)):
        return True
    several = (phrase for phrase in referring if " " in phrase)
    if any(f" {phrase} " in padded for phrase in several) or _ends_with_one(tokens):
        return True
    endings = language.phrases("suffixes")
    return bool(endings) and len(topic_words(text)) <= MAX_INCOMPLETE and any(_has_ending(t, endings) for t in tokens)


def _ends_with_one(tokens: Sequence[str]) -> bool:
    """Whether "one" at the end refers back; in "the Porto one" the word before it says which."""
    return tokens[-1:] in (["one"], ["ones"]) and not topic_words(" ".join(tokens[-2:-1]))


def _is_named_before(tokens: Sequence[str], position: int, text: str, language: Language) -> bool:
    """Whether the word at `position` refers to a noun before it in the same question, or is no reference there."""
    word, before = tokens[position], tokens[:position]
    if language.name == "German" and before and re.search(rf"(?<=\w )\b{word.capitalize()}\b", text):
        return True  # "Sie" and "Ihr" are polite
    if word == "that" and language.name == "English":
        return position < len(tokens) - 1 and bool(topic_words(" ".join(before)))  # "the tool that prunes"
    joined = [n for n, other in enumerate(before) if other in language.phrases("joins")]
    if any(topic_words(" ".join(before[:n])) for n in joined):
        return True
    articles = language.phrases("articles")
    named = any(a in articles and topic_words(b) for a, b in pairwise(before))
    named = named or any(name.casefold() in before for name in _NAME.findall(text))
    return named and (language.name != "English" or word in _POSSESSIVES)


def _is_incomplete(text: str, language: Language) -> bool:
    """Whether a question names no topic ("Why?", "How many are there?") or breaks off ("Since when?")."""
    tokens = tokenize(text)
    if not topic_words(text):
        return bool(tokens)
    has_copula = language.is_spaced and not language.drops_subjects  # "Где кафе?" needs none
    return has_copula and len(tokens) <= MAX_INCOMPLETE and _asks(text, language) and not has_name(text)


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
        is_short = len(_joined(text)) <= MAX_UNSPACED_FRAGMENT
        return is_short and "".join(terms) == _joined(text) and not _asks(text, language)
    nouns = [token for token in tokens if token not in language.phrases("articles")]
    return len(nouns) == len(terms) <= 1 or (len(nouns) < len(tokens) == len(terms) + 1 <= MAX_FRAGMENT)


def _lacks_subject(text: str, language: Language) -> bool:
    """Whether a question leaves its subject out, in languages that do so: "¿Cuándo murió?"."""
    begins = _beginning(text, language.phrases("asks"))
    if not language.drops_subjects or not begins or _defines(text, language) or has_name(text):
        return False
    rest = text[begins:]
    terms = topic_words(rest)
    tokens = tokenize(rest)
    if len(terms) > 1 or set(tokens) & set(language.phrases("articles")):
        return False
    word = tokenize(terms[0])[-1] if terms else ""
    if particles := language.phrases("particles"):
        names = tokens[:-1] if language.is_spaced else [_joined(rest)]
        return not any(
            _has_ending(name, particles) or (not language.is_spaced and p in name) for name in names for p in particles
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
        return any(phrase in _joined(text) for phrase in language.phrases("asks"))
    padded = f" {' '.join(tokenize(text))} "
    return any(f" {phrase} " in padded for phrase in language.phrases("asks"))


def _defines(text: str, language: Language) -> bool:
    if not language.is_spaced:
        return any(phrase in _joined(text) for phrase in language.phrases("defines"))
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
        is_short = len(_joined(bare)) <= MAX_UNSPACED_FRAGMENT + len(ending)
        if bare.endswith(ending) and len(bare) > len(ending) and is_short and len(tokenize(bare)) <= MAX_FRAGMENT:
            return bare.removesuffix(ending).strip()
    return None


def _has_ending(token: str, endings: Sequence[str]) -> bool:
    return any(token.endswith(ending) and len(token) >= len(ending) + 1 for ending in endings)


def _joined(text: str) -> str:
    return "".join(tokenize(text))
