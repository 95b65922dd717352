"""Recognizes files of other evaluation programs, to say what their fields are called here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_QRELS = re.compile(
    r"^(query-id|query_id|qid)\t(corpus-id|doc_id|docid|pid)\t|^\S+\s+(0|Q0)\s+\S+\s+-?\d+\s*$|^\S+\t\S+\t-?\d+\s*$"
)
_CSV_COLUMNS = {"user_input", "question", "reference", "ground_truth", "response", "__expected", "query", "input"}


@dataclass(frozen=True, slots=True)
class _Format:
    """How the first object or line of a file shows where it is from, and what to do with it."""

    recognizes: Callable[[Any], bool]
    hint: str


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda first: isinstance(first, dict) and all(name in first for name in names)


# RAGAS 0.1 and 0.2 (docs.ragas.io, EvaluationDataset), SQuAD (rajpurkar.github.io/SQuAD-explorer), BEIR
# (github.com/beir-cellar/beir, "Load custom dataset"), the JSON reports of this command.
_OBJECTS = (
    _Format(
        lambda first: _has("samples")(first) and isinstance(first["samples"], list),
        "this is a data set of RAGAS, one JSON object with all samples: write a line for each, user_input as query, "
        "and what the answer needs from reference as must_say",
    ),
    _Format(
        _has("user_input"),
        "these are samples of RAGAS: rename user_input to query, and write what the answer needs from reference into "
        "must_say, and the file of each of reference_contexts into expected_files",
    ),
    _Format(
        lambda first: (
            _has("question")(first)
            and not _has("query")(first)
            and bool({"ground_truth", "ground_truths", "contexts", "answers", "answer"}.intersection(first))
        ),
        "these are questions of RAGAS or of a data set: rename question to query, and write what the answer needs from "
        "ground_truth or answers into must_say",
    ),
    _Format(
        lambda first: _has("data")(first) and isinstance(first["data"], list),
        "this is SQuAD, one JSON object with all articles: write a line for each of its qas, question as query, "
        "is_impossible as answerable false, answers as must_say",
    ),
    _Format(
        lambda first: _has("_id", "text")(first) or _has("id", "text")(first),
        "these are queries or documents of BEIR: rename text to query, and name the documents of its qrels in "
        "expected_files",
    ),
    _Format(
        _has("format", "figures", "cases"),
        "this is a report that --json wrote: name it with --baseline",
    ),
    _Format(
        lambda first: _has("vars")(first) or _has("prompts", "tests")(first) or _has("input", "expectedOutput")(first),
        "these are tests of promptfoo or of another program: write the question of each into query, and what its "
        "assertions expect into must_say and must_not_say",
    ),
)
# promptfoo.dev, "Configuration reference" and "Test cases": a configuration, or a list of tests in a file of its own.
_YAML = re.compile(
    r"(?:#.*\n|---.*\n|\s*\n)*(?:"
    r"(?:description|tags|env|prompts|providers|targets|tests|defaultTest|scenarios|evaluateOptions|outputPath|redteam):"
    r"|- +(?:vars|description|assert):)"
)


def describe_foreign(text: str) -> str:
    """What a file of another program is and how it becomes cases; empty if it is none that is known."""
    head = text.lstrip()
    first_line = head.partition("\n")[0]
    if _QRELS.match(first_line):
        return "these are relevance judgements (qrels): put them into expected_files of cases, one JSON object a line"
    if not head.startswith(("{", "[")):
        if _YAML.match(head):
            return "this is YAML, such as promptfoo's configuration: cases are one JSON object a line"
        return _describe_csv(first_line)
    first = _first_object(head, first_line)
    known = next((form.hint for form in _OBJECTS if form.recognizes(first)), "")
    return known or _describe_list(head) or _describe_long_object(head, first_line)


def _first_object(text: str, first_line: str) -> Any:
    try:
        first = json.loads(first_line)
    except (ValueError, RecursionError):
        first = _load(text)
    while isinstance(first, list) and first:
        first = first[0]
    return first


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _describe_list(text: str) -> str:
    is_list = text.startswith("[") and isinstance(_load(text), list)
    return "this is a JSON list: cases are one JSON object a line, without brackets and commas" if is_list else ""


def _describe_csv(first_line: str) -> str:
    columns = [column.strip().strip('"') for column in first_line.removeprefix("\ufeff").split(",")]
    if len(columns) < 2 or _CSV_COLUMNS.isdisjoint(columns):  # noqa: PLR2004 - one column is text
        return ""
    return (
        "this is CSV, as of RAGAS or promptfoo: write a JSON object for each row, the question as query, and what the "
        "answer needs as must_say"
    )


def _describe_long_object(text: str, first_line: str) -> str:
    """Otherwise each of its lines would be told as wrong."""
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return ""
    is_long = text.startswith("{") and end > len(first_line)
    return "this is one JSON object over several lines: write each case in one line" if is_long else ""
