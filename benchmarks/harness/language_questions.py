"""Reads the questions of `language_questions/`: own small documents with invented facts in thirteen languages.

The documents in English, `en.txt`, are for the sessions of conversations.py alone.

A file holds one language. `= ` begins a document with its title, and every other line is a sentence of it. `? ` is a
question that the sentence above answers, `! ` a question that no document answers, and `~ ` what the web taught: a
question, a page's title, the answer, and another question for the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[1] / "language_questions"
LANGUAGES = ("zh", "ja", "ko", "hi", "th", "ar", "he", "ru", "de", "fr", "es", "tr", "vi")
_WITHOUT_SPACES = ("zh", "ja")


@dataclass(frozen=True, slots=True)
class Answerable:
    """A question, the title of the document that answers it, and the sentence that does."""

    question: str
    title: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Learned:
    """A web answer, the question it was fetched for, and another question for the same thing."""

    question: str
    title: str
    answer: str
    paraphrase: str


@dataclass(slots=True)
class LanguageQuestions:
    """The documents of a language by title, and the questions about them."""

    language: str
    documents: dict[str, str] = field(default_factory=dict)
    answerable: list[Answerable] = field(default_factory=list)
    unrelated: list[str] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)


def read_questions(language: str) -> LanguageQuestions:
    """The questions of a language, by its code."""
    questions = LanguageQuestions(language)
    separator = "" if language in _WITHOUT_SPACES else " "
    title = sentence = ""
    for line in (DIRECTORY / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        sign, _, rest = line.partition(" ")
        if sign == "=":
            title = rest
            questions.documents[title] = ""
        elif sign == "?":
            questions.answerable.append(Answerable(rest, title, sentence))
        elif sign == "!":
            questions.unrelated.append(rest)
        elif sign == "~":
            questions.learned.append(Learned(*rest.split(" | ")))
        else:
            sentence = line
            before = questions.documents[title]
            questions.documents[title] = f"{before}{separator if before else ''}{sentence}"
    return questions
