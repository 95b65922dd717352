"""Proposes cases from the headings and sentences of documents, for a person to edit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gleaner import text
from gleaner.sentences import split_sentences
from gleaner_documents.model import Document, NothingToRead, Section, UnreadableDocument
from gleaner_documents.reading_process import read_document_safely, stop_shared_process
from gleaner_documents.source_files import find_source_files
from gleaner_local.evaluation.cases import Case, NonEmpty

_QUESTION_MARKS = ("?", "？", "؟")
_MIN_WORDS = 4  # of a sentence that says something
_MAX_PHRASES = 2  # that an answer must say
_MAX_NOTE = 300
# What an answer cannot paraphrase: numbers with their unit, names in code style, capitalized names.
_FACT = re.compile(r"`([^`\n]{2,40})`|\b\d[\d.,]*(?:\s?(?:%|[A-Za-z]{1,12}\b))?")
_END = " .,:;"


@dataclass(slots=True)
class Drafts:
    """Draft cases of documents, and the files that could not be read."""

    cases: list[Case] = field(default_factory=list)
    skipped: list[UnreadableDocument] = field(default_factory=list)


def draft_cases(paths: Sequence[Path]) -> Drafts:
    """A draft for each section with a heading of its own: the heading as the question, and facts that it must say."""
    scan = find_source_files(paths)
    drafts = Drafts(skipped=list(scan.unreadable))
    try:
        for file in scan.files:
            try:
                drafts.cases += _draft_document(read_document_safely(file.source_file_path, file.read()))
            except NothingToRead:
                continue
            except UnreadableDocument as problem:
                drafts.skipped.append(problem)
    finally:
        stop_shared_process()
    return drafts


def _draft_document(document: Document) -> Iterator[Case]:
    headings = Counter(section.chapter for section in document.sections)
    for number, section in enumerate(document.sections):
        sentence = next(_iter_telling(section), None)
        if sentence is None or (section.chapter is not None and headings[section.chapter] > 1):
            continue
        yield Case(
            id=f"draft-{document.source_file_path}-{number}",
            query=_ask(section, sentence),
            expected_files=(document.source_file_path,),
            expected_chapters=(section.chapter,) if section.chapter else (),
            must_say=tuple((fact,) for fact in _facts(sentence)),
            draft=True,
            note=text.collapse(sentence)[:_MAX_NOTE],
        )


def _iter_telling(section: Section) -> Iterator[str]:
    """The sentences that say something, those with facts first."""
    sentences = [s for s in split_sentences(section.text) if len(text.words(s)) >= _MIN_WORDS]
    yield from sorted(sentences, key=lambda sentence: not _facts(sentence))


def _ask(section: Section, sentence: str) -> NonEmpty:
    """A heading that asks is the question; of another one, a person makes one, with the sentence before their eyes."""
    heading = (section.chapter or "").rpartition(" › ")[2].strip()
    if heading.endswith(_QUESTION_MARKS):
        return heading
    return f"{heading}: {sentence}" if heading else sentence


def _facts(sentence: str) -> list[str]:
    found = [(match[1] or match[0]).strip(_END) for match in _FACT.finditer(sentence)]
    return list(dict.fromkeys(fact for fact in found if fact))[:_MAX_PHRASES]
