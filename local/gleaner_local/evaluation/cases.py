"""Cases: questions with what is expected of their answers."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from gleaner.api.schemas import MAX_QUERY, ChapterOrigin, KbId, SelectedText
from gleaner.model import Answered, Grounding
from gleaner.tools.registry import TOOLS
from gleaner_local.evaluation.phrases import fold

_ID_LENGTH = 12

NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Question = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY, strip_whitespace=True)]


def _to_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_phrase(value: str) -> str:
    if not fold(value):
        raise ValueError("it consists of marks that do not count, so every text would hold it")
    return value


def _check_file(value: str) -> str:
    if not file_parts(value):
        raise ValueError("it names no file")
    return value


def _check_tool(value: str) -> str:
    if value not in TOOLS:
        raise ValueError(f"there is no such tool; {', '.join(TOOLS)} exist")
    return value


def file_parts(file: str) -> list[str]:
    """The parts of a path as they are compared: without those that name nothing, as in "./a//b", and in one form.

    Some systems store the letters of a name and their accents apart (NFD), and people write them together.
    """
    return [part for part in unicodedata.normalize("NFC", file).split("/") if part not in ("", ".")]


Texts = Annotated[tuple[NonEmpty, ...], BeforeValidator(_to_list)]
Phrase = Annotated[NonEmpty, AfterValidator(_check_phrase)]
Phrases = Annotated[tuple[Phrase, ...], BeforeValidator(_to_list)]
Files = Annotated[tuple[Annotated[NonEmpty, AfterValidator(_check_file)], ...], BeforeValidator(_to_list)]
Tools = tuple[Annotated[NonEmpty, AfterValidator(_check_tool)], ...]
# A text, or several of which one is enough, as in [["two", "2"], "crowns"].
Choices = Annotated[tuple[Phrase, ...], BeforeValidator(_to_list), Field(min_length=1)]
Required = Annotated[tuple[Choices, ...], BeforeValidator(_to_list)]


class InvalidCases(Exception):
    """A file of cases cannot be used; the message names the file and each line with what is wrong there."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlantedPassage(_Strict):
    """A document that is put into the knowledge base for the case."""

    title: NonEmpty
    text: NonEmpty


class PlantedPage(PlantedPassage):
    """A page that the local web search finds for the case."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+\S*$")]


class Case(_Strict):
    """A question, and what is expected of its answer.

    An expected file matches the file of a passage from its end ("keywords.md" is "docs/keywords.md"), an expected
    chapter one heading or more in its path. With both, a passage has to match one of each.
    """

    id: NonEmpty = ""
    query: Question
    kb_id: KbId | None = None
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")] | None = None
    tags: Texts = ()
    turns: tuple[Question, ...] = Field(default=(), description="Earlier questions of the session, in order.")
    selected_text: SelectedText | None = None
    chapter_origin: ChapterOrigin | None = None
    grounding: Literal["open", "strict"] = "open"
    fresh: bool = False
    answerable: bool = Field(default=True, description="Whether the documents, or the selection, answer it.")
    from_web: bool = Field(default=False, description="The answer is on the web, and not in the documents.")
    expected_files: Files = ()
    expected_chapters: Phrases = ()
    must_say: Required = ()
    must_not_say: Phrases = ()
    must_not_leak: Phrases = Field(
        default=(), description="Stands neither in the answer nor in the arguments of a tool."
    )
    answered: Annotated[tuple[Answered, ...], BeforeValidator(_to_list)] = ()
    tools: Tools = Field(default=(), description="The tools that are called, in order.")
    planted_passages: tuple[PlantedPassage, ...] = ()
    planted_pages: tuple[PlantedPage, ...] = ()
    draft: bool = Field(default=False, description="Not read by a person yet: not asked.")
    note: str = ""

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.chapter_origin is not None and self.selected_text is None:
            raise ValueError("chapter_origin needs selected_text")
        if not self.answerable and (self.expected_files or self.expected_chapters or self.must_say):
            raise ValueError(
                "a case with answerable false expects no files, chapters or words of an answer; "
                "what the web answers is answerable and from_web"
            )
        if self.from_web and (not self.answerable or self.expects_places or not self.may_use_the_web):
            raise ValueError("a case with from_web is answerable, may use the web, and expects no files or chapters")
        holds_orders = self.planted_passages or (self.planted_pages and not self.from_web)
        if holds_orders and not self.must_not_leak:
            raise ValueError("a case with planted texts names in must_not_leak what may not come of them")
        return self

    @property
    def digest(self) -> str:
        """A hash of all that is asked and expected: two runs compare a case only if it is the same."""
        ignored = {"id", "language", "tags", "note", "draft"}
        # Without defaults, so that a field that is new in another version leaves the rest comparable.
        fields = self.model_dump(mode="json", exclude=ignored, exclude_defaults=True)
        return f"case-{hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:_ID_LENGTH]}"

    @property
    def may_use_the_web(self) -> bool:
        """Whether the answer may depend on what other questions taught, or teach others."""
        return self.grounding == Grounding.OPEN.value and self.selected_text is None

    @property
    def expects_places(self) -> bool:
        """Whether it says which passages answer it."""
        return bool(self.expected_files or self.expected_chapters)

    def body(self, query: str) -> dict[str, object]:
        """The fields of a request that asks `query`, which is the case's question or one of its earlier turns."""
        fields: dict[str, object] = {
            "query": query,
            "kb_id": self.kb_id,
            "grounding": self.grounding,
            "fresh": self.fresh or None,
        }
        if self.selected_text is not None:
            fields |= {
                "mode": "selected_text",
                "selected_text": self.selected_text,
                "chapter_origin": self.chapter_origin,
            }
        return {name: value for name, value in fields.items() if value is not None}
