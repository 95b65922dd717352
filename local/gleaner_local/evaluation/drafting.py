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
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.phrases import fold

_QUESTION_MARKS = ("?", "？", "؟")
_MIN_WORDS = 4  # of a sentence that says something
_MAX_PHRASES = 2  # that an answer must say
_MAX_SHOWN = 300  # characters of a sentence or heading
# What an answer cannot paraphrase: numbers with their unit, and names in code style.
_FACT = re.compile(r"`([^`\n]{2,40})`|(?<![\w.,-])\d+(?:[.,]\d+)*(?:\s?(?:%|[A-Za-z]{1,12}\b))?")
_END = " .,:;"
# What has numbers that say nothing: addresses, and the places of items in a list.
_NO_FACTS = re.compile(r"\b[a-z][a-z+.-]*://\S+|^\s*\(?\d{1,3}[.)]\s+", re.MULTILINE)
# Words behind a number that are no unit, in the languages of the handbook's cases that set spaces.
_NO_UNITS = frozenset(
    "a an and are as at by for from if in is of on or per than that the to was with "
    "als am an auf aus bei bis das dem den der die ein ist im in mit oder und von vom war zu".split()
)


@dataclass(slots=True)
class Drafts:
    """Draft cases of documents, and the files that could not be read."""

    cases: list[Case] = field(default_factory=list)
    skipped: list[UnreadableDocument] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)  # sections whose heading another one of the file has, too
    silent: int = 0  # sections that say nothing in a sentence


def draft_cases(paths: Sequence[Path]) -> Drafts:
    """A draft for each section with a heading of its own: the heading as the question, and facts that it must say."""
    scan = find_source_files(paths)
    drafts = Drafts(skipped=list(scan.unreadable))
    try:
        for file in scan.files:
            try:
                _draft_document(read_document_safely(file.source_file_path, file.read()), drafts)
            except NothingToRead:
                continue
            except UnreadableDocument as problem:
                drafts.skipped.append(problem)
    finally:
        stop_shared_process()
    return drafts


def _draft_document(document: Document, drafts: Drafts) -> None:
    headings = Counter(section.chapter for section in document.sections)
    for number, section in enumerate(document.sections):
        sentence = next(_iter_telling(section), None)
        if sentence is None:
            drafts.silent += 1
        elif section.chapter is not None and headings[section.chapter] > 1:
            drafts.ambiguous.append(f"{document.source_file_path}: {section.chapter}")
        else:
            drafts.cases.append(_draft_section(document.source_file_path, number, section, sentence))


def _draft_section(file: str, number: int, section: Section, sentence: str) -> Case:
    return Case(
        id=f"draft-{file}-{number}",
        query=_ask(section, sentence),
        expected_files=(file,),
        expected_chapters=(section.chapter,) if section.chapter and fold(section.chapter) else (),
        must_say=tuple((fact,) for fact in _facts(sentence)),
        draft=True,
        note=_shorten(sentence),
    )


def _iter_telling(section: Section) -> Iterator[str]:
    """The sentences that say something, those with facts first."""
    sentences = [s for s in split_sentences(section.text) if len(text.words(s)) >= _MIN_WORDS]
    yield from sorted(sentences, key=lambda sentence: not _facts(sentence))


def _ask(section: Section, sentence: str) -> str:
    """A heading that asks is the question; of another one, a person makes one, with the sentence before their eyes."""
    heading = _shorten((section.chapter or "").rpartition(" › ")[2])
    if heading.endswith(_QUESTION_MARKS):
        return heading
    return f"{heading}: {_shorten(sentence)}" if heading else _shorten(sentence)


def _shorten(words: str) -> str:
    """Also a "sentence" of thousands of words, which a table or a list without full stops is."""
    return text.collapse(words)[:_MAX_SHOWN].strip()


def _facts(sentence: str) -> list[str]:
    found = [_without_word(match[1] or match[0]).strip(_END) for match in _FACT.finditer(_NO_FACTS.sub(" ", sentence))]
    return list(dict.fromkeys(fact for fact in found if fold(fact)))[:_MAX_PHRASES]


def _without_word(fact: str) -> str:
    """A number without a word that is no unit: "42" of "42 of"."""
    number, _, word = fact.rpartition(" ")
    return number if word.lower() in _NO_UNITS and number[:1].isdecimal() else fact
