"""Tells whether a word of a question refers to something that the question does not name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from gleaner_local.extractive._languages import Language, tokenize
from gleaner_local.extractive._topics import find_names, topic_words

# A short question whose word ends in a pronoun refers back with it, as in Arabic.
MAX_TOPIC_WORDS = 2
_POSSESSIVES = frozenset({"its", "their", "his", "her"})


def refers_back(text: str, language: Language) -> bool:
    """Whether a word of `text` refers to something that `text` does not name."""
    if not language.is_spaced:
        plain = join_tokens(text)
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
    return bool(endings) and len(topic_words(text)) <= MAX_TOPIC_WORDS and any(has_ending(t, endings) for t in tokens)


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
    named = named or any(name.casefold() in before for name in find_names(text))
    return named and (language.name != "English" or word in _POSSESSIVES)


def has_ending(token: str, endings: Sequence[str]) -> bool:
    """Whether a word has one of the endings after at least one letter."""
    return any(token.endswith(ending) and len(token) >= len(ending) + 1 for ending in endings)


def join_tokens(text: str) -> str:
    """The letters and digits of `text`, for scripts without spaces between words."""
    return "".join(tokenize(text))
