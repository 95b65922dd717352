"""Cases: questions with what is expected of their answers, one JSON object a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from gleaner.api.schemas import MAX_QUERY, ChapterOrigin, KbId, SelectedText
from gleaner.model import Answered, Grounding
from gleaner_local.evaluation.foreign_formats import describe_foreign

_ID_LENGTH = 12
_MAX_SHOWN_ERRORS = 5

NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Question = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY, strip_whitespace=True)]


def _to_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[NonEmpty, ...], BeforeValidator(_to_list)]
# A text, or several of which one is enough, as in [["two", "2"], "crowns"].
Required = Annotated[tuple[Texts, ...], BeforeValidator(_to_list)]


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
    expected_files: Texts = ()
    expected_chapters: Texts = ()
    must_say: Required = ()
    must_not_say: Texts = ()
    must_not_leak: Texts = Field(default=(), description="Stands neither in the answer nor in the arguments of a tool.")
    answered: Annotated[tuple[Answered, ...], BeforeValidator(_to_list)] = ()
    tools: tuple[NonEmpty, ...] = Field(default=(), description="The tools that are called, in order.")
    planted_passages: tuple[PlantedPassage, ...] = ()
    planted_pages: tuple[PlantedPage, ...] = ()
    draft: bool = Field(default=False, description="Not read by a person yet: not asked.")
    note: str = ""

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.chapter_origin is not None and self.selected_text is None:
            raise ValueError("chapter_origin needs selected_text")
        if not self.answerable and (self.expected_files or self.expected_chapters or self.must_say):
            raise ValueError("a case with answerable false expects no files, chapters or words of an answer")
        if (self.planted_passages or self.planted_pages) and not self.must_not_leak:
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


def read_cases(path: Path) -> list[Case]:
    """Read a file of cases, with or without a byte order mark, with any line ends. Empty lines are skipped.

    A case without an id gets one of its content. Raises InvalidCases, which names each line that is wrong.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidCases(f"{path} is not UTF-8 text (byte {error.start}).") from error
    except OSError as error:
        raise InvalidCases(f"{path} cannot be read: {error.strerror}.") from error
    if hint := describe_foreign(text):
        raise InvalidCases(f"{path}: {hint}")
    cases: list[Case] = []
    problems: list[str] = []
    lines: dict[str, int] = {}
    for number, line in _iter_lines(text):
        try:
            case = _read_case(line)
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
            continue
        if case.id in lines:
            problems.append(f"{path}:{number}: the id {case.id!r} is that of line {lines[case.id]}, too")
        lines.setdefault(case.id, number)
        cases.append(case)
    if problems:
        raise InvalidCases(_join(problems))
    if not cases:
        raise InvalidCases(f'{path} holds no case. A case is a line such as {{"query": "How long …?"}}.')
    return cases


def format_case(case: Case) -> str:
    """A case as a line of a file, without the fields that have their default."""
    fields = case.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(fields, ensure_ascii=False)


def _iter_lines(text: str) -> Iterator[tuple[int, str]]:
    # JSON may hold U+2028, at which str.splitlines would cut, too.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.strip():
            yield number, line


def _read_case(line: str) -> Case:
    """Raises ValueError that says what is wrong, in one line."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("no case: its JSON is nested too deeply") from None
    if not isinstance(fields, dict):
        raise ValueError(f"no case: a JSON object is needed, not {_name(fields)}")  # noqa: TRY004 - one error for all
    try:
        case = Case.model_validate(fields)
    except ValidationError as error:
        raise ValueError("; ".join(map(_describe, error.errors()))) from None
    return case if case.id else case.model_copy(update={"id": case.digest})


def _describe(error: Any) -> str:
    field = ".".join(map(str, error["loc"])) or "the case"
    if error["type"] == "extra_forbidden":
        return f"{field}: there is no such field; {', '.join(Case.model_fields)} exist"
    message = error["msg"].removeprefix("Value error, ").replace("valid tuple", "list")  # as JSON calls it
    return f"{field}: {message}"


def _name(value: object) -> str:
    return "a list" if isinstance(value, list) else f"{json.dumps(value)[:20]}"


def _join(problems: Sequence[str]) -> str:
    more = len(problems) - _MAX_SHOWN_ERRORS
    rest = [f"and {more:,} more lines like these"] if more > 0 else []
    return "\n".join([*problems[:_MAX_SHOWN_ERRORS], *rest])
