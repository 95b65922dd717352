"""Files of cases: what is read, and what is said of a file that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.evaluation.case_files import format_case, read_cases
from gleaner_local.evaluation.cases import Case, InvalidCases, file_parts
from gleaner_local.evaluation.phrases import fold

GOOD = {"query": "How long may a keyword be?", "must_say": ["50"]}
# As these programs write them: docs.ragas.io (EvaluationDataset, and the samples of 0.1), promptfoo.dev
# (configuration), github.com/beir-cellar/beir (custom data sets), rajpurkar.github.io/SQuAD-explorer.
FOREIGN = {
    "RAGAS": json.dumps({"user_input": "How?", "retrieved_contexts": ["a"], "response": "So.", "reference": "So."}),
    "RAGAS or of a data set": json.dumps(
        {"question": "How?", "contexts": ["a"], "answer": "So.", "ground_truth": "So."}
    ),
    "SQuAD": json.dumps({"version": "v2.0", "data": [{"title": "T", "paragraphs": []}]}),
    "BEIR": json.dumps({"_id": "q1", "text": "How?", "metadata": {}}),
    "qrels": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
    "relevance": "1 0 doc7 1\n1 0 doc9 0\n",
    "promptfoo's": "description: mine\nprompts:\n  - 'Answer {{q}}'\nproviders: [openai]\ntests:\n  - vars: {q: a}\n",
    "promptfoo or": json.dumps({"vars": {"question": "How?"}, "assert": [{"type": "contains", "value": "so"}]}),
    "set of RAGAS": json.dumps({"samples": [{"user_input": "How?", "response": "So.", "reference": "So."}]}),
    "(qrels)": "q1\td1\t1\nq1\td2\t0\n",
    "this is YAML": "---\n# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json\nprompts: [a]\n",
    "YAML, such": "env:\n  OPENAI_API_KEY: k\nprompts: [a]\n",
    "YAML, such as": "- vars:\n    question: How?\n  assert:\n    - type: contains\n      value: so\n",
    "CSV": "question,__expected\nHow?,contains:so\n",
    "this is CSV": "user_input,retrieved_contexts,response,reference\nHow?,\"['a']\",So.,So.\n",
    "one JSON object over several lines": json.dumps(GOOD, indent=2),
    "over several lines": json.dumps(GOOD, indent=2) + "\n" + json.dumps(GOOD, indent=2),
    "list": json.dumps([GOOD], indent=2),
    "--baseline": json.dumps({"format": 1, "figures": {}, "cases": []}),
}


def write(path: Path, *lines: Any, before: str = "", end: str = "\n") -> Path:
    text = end.join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_bytes((before + text + end).encode())
    return path


@pytest.mark.parametrize("before", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_and_line_ends_of_every_system_are_read(tmp_path: Path, before: str, end: str) -> None:
    file = write(tmp_path / "a.jsonl", GOOD, "", GOOD | {"query": "多长？\u2028"}, before=before, end=end)
    assert [case.query for case in read_cases(file)] == [GOOD["query"], "多长？"]


def test_each_wrong_line_is_named_with_its_file_and_what_is_wrong(tmp_path: Path) -> None:
    lines = [GOOD, "{not json", {"query": ""}, GOOD | {"expekted": "a"}, [1], GOOD | {"kb_id": "A B"}]
    file = write(tmp_path / "a.jsonl", *lines)
    with pytest.raises(InvalidCases) as error:
        read_cases(file)
    *told, _names = str(error.value).splitlines()
    assert [line.split(" ")[0] for line in told] == [f"{file}:{number}:" for number in range(2, 7)]
    for line, reason in zip(
        told, ("no JSON", "query", "expekted: there is no such field", "not a list", "kb_id"), strict=True
    ):
        assert reason in line


def test_a_name_that_is_there_twice_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"query": "A?", "must_say": "1", "must_say": "2"}\n{"query": "B?", "selected_text": "a"}\n')
    with pytest.raises(InvalidCases, match=r":1: must_say is there twice$"):
        read_cases(file)


def test_unknown_fields_are_told_with_what_may_be_meant_and_all_names_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", *(GOOD | {"id": f"{n}", "expected_file": "a"} for n in range(3)))
    with pytest.raises(InvalidCases) as error:
        read_cases(file)
    *lines, names = str(error.value).splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "expected_file: there is no such field, but expected_files"
    ] * 3
    assert names.startswith("Fields of a case: id, query, ")


def test_ids_are_unique_and_a_repeated_case_is_told_with_both_lines(tmp_path: Path) -> None:
    same = write(tmp_path / "a.jsonl", GOOD, GOOD | {"query": "Another?"}, GOOD)
    with pytest.raises(InvalidCases, match=r":3: the id .* is that of line 1"):
        read_cases(same)
    named = write(tmp_path / "b.jsonl", GOOD | {"id": "x"}, GOOD | {"id": "x", "query": "Another?"})
    with pytest.raises(InvalidCases, match="'x' is that of line 1"):
        read_cases(named)


def test_ten_thousand_lines_are_read_and_many_errors_are_shortened(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", *({"query": f"Question {number}?"} for number in range(10_000)))
    assert len(read_cases(file)) == 10_000
    with pytest.raises(InvalidCases, match="9,995 more lines"):
        read_cases(write(tmp_path / "b.jsonl", *(["[]"] * 10_000)))


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_programs_are_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidCases) as error:
        read_cases(write(tmp_path / "a.jsonl", FOREIGN[name]))
    assert name in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xff\xfeq\x00"])
def test_a_file_without_cases_or_in_another_encoding_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(InvalidCases, match=r"holds no case|not UTF-8"):
        read_cases(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"answerable": False, "must_say": ["a"]}, "expects no files"),
        ({"answerable": False, "must_say": ["a"]}, "what the web answers is answerable and from_web"),
        ({"from_web": True, "answerable": False}, "with from_web is answerable"),
        ({"from_web": True, "expected_files": "a.md"}, "with from_web is answerable"),
        ({"from_web": True, "grounding": "strict"}, "may use the web"),
        ({"from_web": True, "selected_text": "A."}, "may use the web"),
        ({"chapter_origin": "A"}, "needs selected_text"),
        ({"planted_passages": [{"title": "t", "text": "t"}]}, "must_not_leak"),
        (
            {"planted_pages": [{"title": "t", "text": "t", "url": "ftp://a"}], "must_not_leak": ["a"]},
            "planted_pages.0.url",
        ),
        ({"must_say": ["**"]}, "must_say.0.0: it consists of marks"),
        ({"must_say": [[]]}, "must_say.0: "),
        ({"must_not_say": ["_"]}, "must_not_say.0: it consists of marks"),
        ({"must_not_leak": "`"}, "must_not_leak.0: it consists of marks"),
        ({"expected_chapters": "**"}, "expected_chapters.0: it consists of marks"),
        ({"expected_files": ["/"]}, "expected_files.0: it names no file"),
        ({"expected_files": "./"}, "expected_files.0: it names no file"),
        ({"tools": ["knowledge_base_serach"]}, "tools.0: there is no such tool; knowledge_base_search,"),
    ],
)
def test_a_case_that_contradicts_itself_is_refused(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidCases, match=reason):
        read_cases(write(tmp_path / "a.jsonl", {"query": "How?"} | fields))


NAMES = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=20).filter(
    lambda text: text.strip() == text != ""
)


@given(
    query=NAMES,
    must_say=st.lists(st.lists(NAMES.filter(fold), min_size=1, max_size=2), max_size=3),
    files=st.lists(NAMES.filter(file_parts), max_size=2),
)
def test_a_written_case_is_read_as_the_same_case(
    tmp_path_factory: pytest.TempPathFactory, query: str, must_say: list[list[str]], files: list[str]
) -> None:
    case = Case.model_validate({"id": "a", "query": query, "must_say": must_say, "expected_files": files})
    line = format_case(case)
    assert "\n" not in line
    assert Case.model_validate(json.loads(line)) == case
    assert Case.model_validate(json.loads(line) | {"note": "n", "tags": ["t"], "id": "b"}).digest == case.digest
