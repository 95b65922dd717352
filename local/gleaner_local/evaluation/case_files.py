"""Reads and writes files of cases, one JSON object a line, and says what is wrong with a file."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gleaner_local.evaluation.cases import Case, InvalidCases
from gleaner_local.evaluation.foreign_formats import describe_foreign

_MAX_SHOWN_ERRORS = 5
_NO_FIELD = "there is no such field"


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
        fields = json.loads(line, object_pairs_hook=_to_object)
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


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ValueError for a name that is there twice, of which JSON would keep the last without a word."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{repeated} is there twice")
    return fields


def _describe(error: Any) -> str:
    field = ".".join(map(str, error["loc"])) or "the case"
    if error["type"] == "extra_forbidden":
        meant = difflib.get_close_matches(str(error["loc"][-1]), Case.model_fields, n=1)
        return f"{field}: {_NO_FIELD}{''.join(f', but {name}' for name in meant)}"
    message = error["msg"].removeprefix("Value error, ").replace("valid tuple", "list")  # as JSON calls it
    return f"{field}: {message}"


def _name(value: object) -> str:
    return "a list" if isinstance(value, list) else f"{json.dumps(value)[:20]}"


def _join(problems: Sequence[str]) -> str:
    more = len(problems) - _MAX_SHOWN_ERRORS
    rest = [f"and {more:,} more lines like these"] if more > 0 else []
    names = (
        [f"Fields of a case: {', '.join(Case.model_fields)}."] if any(_NO_FIELD in each for each in problems) else []
    )
    return "\n".join([*problems[:_MAX_SHOWN_ERRORS], *rest, *names])
