"""Says in general words which question a web answer answers, without anything of the caller who asked it."""

from __future__ import annotations

from gleaner import text
from gleaner.guards.redaction import drop_placeholders, redact
from gleaner.knowledge._expiry import bound_hours
from gleaner.knowledge._question_form import read_question
from gleaner.knowledge.differences import holds_no_answer
from gleaner.model import WebAnswer
from gleaner.sentences import split_sentences

MAX_LENGTH = 200
_MIN_SHARE = 0.5  # of its words that the web query, the answer or its pages have
_QUESTION_MARKS = ("?", "？", "؟", "՞", "।?")


def is_worth_learning(answer: WebAnswer) -> bool:
    """Whether a web answer has sources, answers something, and was asked for something; small talk was not."""
    form = read_question(answer.query)
    asks_something = bool(form.content or form.numbers or form.kinds - {"method"})
    return bool(answer.citations) and asks_something and not holds_no_answer(answer.answer)


def choose_answered_question(proposed: object, answer: WebAnswer, asked: str) -> str:
    """Return what the model proposed, or the web query where that is missing or unfit.

    It is shown to all callers: it must be about the answer, and may hold no word that only the caller wrote.
    """
    if isinstance(proposed, str):
        question = text.collapse(text.clean(proposed))
        if (
            question
            and len(question) <= MAX_LENGTH
            and redact(question) == question
            and _is_about(question, answer, asked)
        ):
            return question
    return _shorten(_drop_statements(text.collapse(drop_placeholders(redact(text.clean(answer.query))))))


def choose_valid_hours(proposed: object, answer: WebAnswer) -> int | None:
    """Return how many hours an answer holds: what the model proposed, bounded by the words for time in its query."""
    hours = (
        int(proposed)
        if isinstance(proposed, int | float) and not isinstance(proposed, bool) and proposed >= 1
        else None
    )
    limits = [limit for limit in (hours, bound_hours(answer.query)) if limit is not None]
    return min(limits, default=None)


def _is_about(question: str, answer: WebAnswer, asked: str) -> bool:
    titles = (citation.title for citation in answer.citations)
    known = set(text.stems("\n".join((answer.query, answer.answer, *titles))))
    stems = set(text.stems(question))
    only_asked = set(text.stems(asked)) - known
    return bool(stems) and not stems & only_asked and len(stems & known) >= _MIN_SHARE * len(stems)


def _drop_statements(query: str) -> str:
    """Leave out the sentences around a question: they say who asks and why."""
    sentences = [sentence.strip() for sentence in split_sentences(query)]
    questions = [sentence for sentence in sentences if sentence.endswith(_QUESTION_MARKS)]
    return " ".join(questions) if questions else query


def _shorten(question: str) -> str:
    return question if len(question) <= MAX_LENGTH else question[:MAX_LENGTH].rsplit(" ", 1)[0]
