"""Groups of documents: what sidecars, metadata and front matter may say, and that a slip never opens a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.groups import (
    MAX_GROUP_CHARS,
    MAX_GROUPS,
    MAX_GROUPS_BYTES,
    NOBODY,
    Groups,
    InvalidGroups,
    check_groups,
    common_groups,
    may_read,
    read_header,
    read_stored_groups,
    write_header,
)
from gleaner.upload_metadata import UploadMetadata, mark_groups
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS
from gleaner_documents.groups import (
    MAX_SIDECAR_BYTES,
    combine_groups,
    document_beside,
    read_sidecar,
    read_upload,
    sidecar_of,
)
from gleaner_documents.model import UnclearRights
from gleaner_documents.plan import content_hash
from gleaner_documents.reading import read_document
from gleaner_documents.reading_process import read_document_safely
from gleaner_documents.source_files import find_source_files
from tests.examples import examples

NAMES = st.text(
    st.characters(categories=("L", "M", "S", "N", "P"), exclude_characters="\x00"), min_size=1, max_size=MAX_GROUP_CHARS
)
LISTS = st.lists(NAMES, min_size=1, max_size=5)


NEAR_NAMES = (
    *("group", "Group", "grups", "gropus", "groupss", "croups", "roups", "GROUPE", "acl", "access", "g-roups"),
    *("allowed_groups", "access-groups"),
)


@given(groups=LISTS)
@settings(max_examples=examples(60, 1000))
def test_every_name_of_a_user_pool_survives_each_way_to_name_it(groups: list[str]) -> None:
    expected = tuple(sorted(set(groups)))
    header = write_header(groups)
    assert header.isascii()
    assert header.isprintable()
    assert read_header(header) == expected
    assert read_sidecar("a.md", json.dumps({"groups": groups}).encode()) == expected
    front = f"---\ntitle: Plan\ngroups: {json.dumps(groups)}\n---\ntext".encode()
    assert read_document("a.md", front).groups == expected


@pytest.mark.parametrize(
    "front",
    [
        '---\ngroups: [hr, "board"]\n---\n',
        "---\nTitle: a\nGroups:\n  - board\n  - hr\n---\n",
        '+++\ngroups = ["hr", "board"]\n+++\n',
        '{\n "groups": ["hr", "board"]\n}\n\n',
        ';;;\n{"groups": ["hr", "board"]}\n;;;\n',
        'title: Plan\ngroups: ["hr", "board"]\n\n',
        "---\n<<: {groups: [hr, board]}\ntitle: a\n---\n",
        "---\nshared: &shared\n  tags: [a]\n<<: [*shared, {groups: [hr, board]}]\n---\n",
        "---\n<<: {groups: [all]}\ngroups: [hr, board]\n---\n",
        "%YAML 1.2\n---\ngroups: [hr, board]\n---\n",
        "%YAML 1.2\n%TAG ! tag:example.org,2026:\n---\ngroups: [hr, board]\n...\n",
        "---\n? groups\n: [hr, board]\n---\n",
        '---\n"gro\\x75ps": [hr, board]\n---\n',
        "---\n{title: a, groups: [hr, board]}\n---\n",
    ],
)
def test_front_matter_of_every_language_names_groups(front: str) -> None:
    assert read_document("a.md", f"{front}# Plan\n\nText.".encode()).groups == ("board", "hr")


@pytest.mark.parametrize(
    "front",
    [
        "---\ngroups: hr\n---\n",
        "---\ngroups: hr, board\n---\n",
        "---\ngroups:\n---\n",
        "---\ngroups: []\n---\n",
        "---\ngroups: [hr, '']\n---\n",
        "---\ngroups: ['h r']\n---\n",
        "---\ngroups: {a: b}\n---\n",
        "---\ntitle: Boats: a guide\ngroups: [hr]\n---\n",
        "---\nThis is no metadata\ngroups: [hr]\n---\n",
        "---\ntitle: never closed\ngroups: [hr]\n",
        "---\ngroups: [hr\n---\n",
        "+++\ngroups = [1]\n+++\n",
        '+++\ntitle = "a"\ngroups = "hr"\n+++\n',
        '{\n"groups": ["hr",]\n}\n\n',
        "title: Plan\ngroups: hr\n\n",
        *(f"---\ntitle: a\n{name}: [hr]\n---\n" for name in NEAR_NAMES),
        *(f"---\n{name}: hr\n---\n" for name in NEAR_NAMES if name.lower() not in ("group", "access")),
        "+++\ngroup = ['hr']\n+++\n",
        "+++\n[groups]\nread = ['hr']\n+++\n",
        "+++\n[extra]\ngroups = ['hr']\n+++\n",
        "+++\ntitle = a\n[groups]\nread = x\n+++\n",
        "---\nparams:\n  more: {groups: [hr]}\n---\n",
        "---\ngroups: [hr]\ngroups: [staff]\n---\n",
        "---\ngroups: [hr]\nGroups: [staff]\n---\n",
        "---\n<<: {<<: {groups: hr}}\n---\n",
        '{"groups": ["hr"], "groups": ["staff"]}\n\n',
        '{"groups": ["hr"]} and text\n\n',
        '{"title": "a", "groups": ["hr"]\n\n',
        "{title: a, groups: [hr]}\n\n",
        '{\n"title": "a",\n\n"groups": ["hr",],\n}\n\n',
        "---\n- groups: [hr]\n---\n",
        "---\ntitle: never closed\n\ngroups: [hr]\n\n",
        "--- # of the page\ngroups: [hr]\n---\n",
        "---\n" + "".join(f"key{number}: value\n" for number in range(6_000)) + "groups: [hr]\n---\n",
        'groups: ["hr"]\ntitle: Plan\n\n',
        'author: Ann\ngroups: ["hr"]\n\n',
        "% Plan\n% Ann\n\n---\ngroups: [hr]\n---\n",
        "%YAML 1.2\n---\ngroups: [hr]\n",
    ],
)
def test_a_slip_in_front_matter_skips_the_document(front: str) -> None:
    with pytest.raises(UnclearRights, match=r"^a\.md: "):
        read_document("a.md", f"{front}# Plan\n\nText.".encode())


@pytest.mark.parametrize(
    "text",
    [
        *("---\n\nGroups: two.\n", "# Groups\n\ngroups: no metadata\n", "---\nA rule.\n", "Groups: two of them.\n"),
        *(
            "---\ngroup: navigation\n---\ntext",
            "---\ngroup:\n  title: Data\n---\ntext",
            "---\naccess: public\n---\ntext",
        ),
        *("---\ntags: [groups, group]\naudience: [hr]\n---\ntext", "---\nspec: {groups: [{name: x}]}\n---\ntext"),
        *("---\ngrounds: coffee\nprops: {}\ncrop: x\n---\ntext", "---\nA rule\n\ngroups: [of text]\n\nmore\n"),
    ],
)
def test_text_that_is_no_metadata_restricts_nothing(text: str) -> None:
    assert read_document("a.md", text.encode()).groups == ()


def notebook(*cells: tuple[str, str], **metadata: Any) -> str:
    return json.dumps(
        {"cells": [{"cell_type": kind, "source": source} for kind, source in cells], "metadata": metadata}
    )


TEXT_CELL = ("markdown", "# Plan\n\nText.")
META = "<html><head><meta name=\"{}\" content='{}'></head><body><h1>Plan</h1><p>Text.</p></body></html>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", META.format("groups", '["hr", "board"]')),
        ("a.html", META.format("Groups", "[&quot;board&quot;, &quot;hr&quot;]")),
        ("a.html", META.format("groups", '["hr", "board"]').replace("name=", "property=")),
        ("a.rst", ':groups: ["hr", "board"]\n\nPlan\n====\n\nText.\n'),
        ("a.rst", '.. _plan:\n\n====\nPlan\n====\n\n:Author: Ann\n:Groups: ["hr", "board"]\n\nText.\n'),
        ("a.rst", '.. A comment\n   of two lines\n\nPlan\n----\n:groups: ["board", "hr"]\n\nText.\n'),
        ("a.ipynb", notebook(TEXT_CELL, groups=["hr", "board"])),
        ("a.ipynb", notebook(("raw", "---\ngroups: [hr, board]\n---"), TEXT_CELL)),
        ("a.ipynb", notebook(("raw", "+++\ngroups = ['hr', 'board']\n+++"), TEXT_CELL, groups=["board", "hr"])),
    ],
)
def test_other_formats_name_groups_in_their_metadata(name: str, content: str) -> None:
    document = read_document(name, content.encode())
    assert document.groups == ("board", "hr")
    assert "Text." in document.sections[-1].text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", META.format("groups", "hr")),
        ("a.html", META.format("groups", "")),
        ("a.html", META.format("group", '["hr"]')),
        ("a.html", META.format("groups", '["hr"]').replace("<h1>", '<meta name="groups" content="[]"><h1>')),
        ("a.rst", ":groups: hr, board\n\nText.\n"),
        ("a.rst", "Plan\n====\n\n:groups:\n   - hr\n\nText.\n"),
        ("a.rst", "Plan\n====\n\n:group: [hr]\n\nText.\n"),
        ("a.ipynb", notebook(TEXT_CELL, groups="hr")),
        ("a.ipynb", notebook(TEXT_CELL, gleaner={"groups": ["hr"]})),
        ("a.ipynb", notebook(("raw", "---\ngroups: [hr]\n---"), TEXT_CELL, groups=["board"])),
        ("a.ipynb", notebook(("raw", "%YAML 1.2\n---\ngroups: hr\n---"), TEXT_CELL)),
    ],
)
def test_a_slip_in_the_metadata_of_other_formats_skips_the_document(name: str, content: str) -> None:
    with pytest.raises(UnclearRights, match=rf"^{name}: (names|has) "):
        read_document(name, content.encode())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", META.format("keywords", "groups, group")),
        ("a.rst", "Plan\n====\n\nText.\n\n:groups: of a list further down\n"),
        ("a.rst", ".. py:function:: f(groups)\n\n   :groups: how many\n\nText.\n"),
        ("a.ipynb", notebook(TEXT_CELL, kernelspec={"name": "python3"})),
        ("a.txt", "groups: no metadata in plain text\n"),
    ],
)
def test_what_other_formats_say_elsewhere_restricts_nothing(name: str, content: str) -> None:
    assert read_document(name, content.encode()).groups == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hr",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"group": ["hr"]}',
        b'{"groups": "hr"}',
        b'{"groups": null}',
        b'{"groups": []}',
        b'{"groups": [" hr"]}',
        b'{"groups": [["hr"]]}',
        b'{"groups": ["hr"], "expires": 1}',
        b'{"groups": ["\\u0000"]}',
        b"[" * 100_000,
        b'{"groups": ["hr"]}' + b" " * MAX_SIDECAR_BYTES,
        json.dumps({"groups": ["g" * (MAX_GROUP_CHARS + 1)]}).encode(),
        json.dumps({"groups": [f"g{number}" for number in range(MAX_GROUPS + 1)]}).encode(),
        json.dumps({"groups": [str(n) + "字" * 100 for n in range(MAX_GROUPS_BYTES // 300)]}).encode(),
    ],
)
def test_a_slip_in_a_sidecar_or_upload_skips_the_document(data: bytes) -> None:
    with pytest.raises(UnclearRights) as raised:
        read_sidecar("docs/a.pdf", data)
    assert raised.value.source_file_path == "docs/a.pdf"
    assert raised.value.reason.startswith("docs/a.pdf.gleaner.json ")


@pytest.mark.parametrize("header", ["", "hr", "[]", "%ff", '["a b"]', '{"groups": ["hr"]}', '["100%ff"]'])
def test_metadata_of_an_upload_that_cannot_be_read_skips_the_document(header: str) -> None:
    with pytest.raises(UnclearRights):
        read_upload("a.pdf", {"groups": header})
    with pytest.raises(UnclearRights):
        read_upload("a.pdf", {"groups-kept": header})
    assert read_upload("a.pdf", {}) == UploadMetadata()


@given(groups=LISTS.map(check_groups), kept=st.lists(NAMES, max_size=5))
@settings(max_examples=examples(60, 1000))
def test_metadata_says_what_was_written(groups: Groups, kept: list[str]) -> None:
    written = UploadMetadata(groups=groups, kept=tuple(sorted(set(kept))), replaces=mark_groups(kept), upload_id="U")
    metadata = written.write()
    assert "".join(metadata.values()).isascii()
    assert read_upload("a.pdf", metadata) == written
    assert (mark_groups(groups) == written.replaces) == (set(groups) == set(kept))


def test_the_sidecar_counts_before_the_upload_and_that_before_the_document() -> None:
    named: dict[str, Groups] = {"sidecar": ("a",), "upload": ("b",), "front_matter": ("c",), "kept": ("d",)}
    for place, groups in list(named.items()):
        assert combine_groups(**named) == groups
        named[place] = ()
    assert combine_groups(**named) == ()


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("report.pdf.gleaner.json", "report.pdf"),
        ("kb/docs/a.md.GLEANER.json", "kb/docs/a.md"),
        (".gleaner.json", None),
        ("docs/.gleaner.json", None),
        ("report.pdf", None),
        ("gleaner.json", None),
    ],
)
def test_a_sidecar_is_recognized_by_its_name(name: str, document: str | None) -> None:
    assert document_beside(name) == document


@given(
    acl=st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.one_of(st.just(""), st.integers())))
)
@settings(max_examples=examples(40, 500))
def test_what_cannot_be_read_of_a_stored_record_is_nobodys(acl: object) -> None:
    groups = read_stored_groups({"acl": acl})
    assert groups == NOBODY
    assert not may_read(groups, ["", "hr", str(acl)])


@given(restrictions=st.lists(st.lists(st.sampled_from("abcd"))), own=st.sets(st.sampled_from("abcd"), max_size=1))
@settings(max_examples=examples(60, 1000))
def test_what_rests_on_several_texts_is_read_by_those_who_may_read_each(
    restrictions: list[list[str]], own: set[str]
) -> None:
    assert may_read(common_groups(restrictions), own) == all(may_read(groups, own) for groups in restrictions)


def test_nobody_stays_nobody() -> None:
    assert common_groups([NOBODY, ("hr",)]) == common_groups([("a",), ("b",)]) == common_groups([NOBODY]) == NOBODY


def test_an_empty_list_of_groups_is_refused_since_it_may_mean_everybody() -> None:
    with pytest.raises(InvalidGroups, match="leave it out"):
        check_groups([])


def test_groups_are_part_of_a_document_s_version() -> None:
    version = content_hash(b"text", DEFAULT_CHUNK_SETTINGS)
    assert version == content_hash(b"text", DEFAULT_CHUNK_SETTINGS, groups=())
    versions = [
        content_hash(b"text", DEFAULT_CHUNK_SETTINGS, groups=groups) for groups in (["hr"], ["board"], ["hr,x"])
    ]
    assert len({version, *versions}) == 4


def test_the_reading_process_tells_the_groups() -> None:
    assert read_document_safely("a.md", b"---\ngroups: [hr]\n---\ntext").groups == ("hr",)
    with pytest.raises(UnclearRights, match="list of names"):
        read_document_safely("a.md", b"---\ngroups: hr\n---\ntext")


def test_sidecars_are_neither_documents_nor_left_out(tmp_path: Path) -> None:
    for name in ("a.md", "picture.png", "c.md"):
        (tmp_path / name).write_text("text")
    for name in ("a.md", "picture.png"):
        (tmp_path / sidecar_of(name)).write_text('{"groups": ["hr"]}')
    found = find_source_files([tmp_path], root="docs")
    assert [(file.source_file_path, file.read_groups()) for file in found.files] == [
        ("docs/a.md", ("hr",)),
        ("docs/c.md", ()),
    ]
    assert found.left_out == {".png": 1}
    assert found.unreadable == []


@pytest.mark.parametrize("name", ["a.gleaner.json", "b.md.gleaner.json", "a.md.Gleaner.json"])
def test_a_sidecar_that_restricts_no_file_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / name).write_text('{"groups": ["hr"]}')
    [problem] = find_source_files([tmp_path], root="docs").unreadable
    assert problem.source_file_path == f"docs/{name}"
    assert "restricts no file" in problem.reason


def test_a_sidecar_that_cannot_be_opened_skips_its_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / sidecar_of("a.md")).mkdir()
    [file] = find_source_files([tmp_path / "a.md"]).files
    with pytest.raises(UnclearRights, match="cannot be read"):
        file.read_groups()


def test_a_sidecar_on_a_drive_that_is_gone_skips_its_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / sidecar_of("a.md")).symlink_to(tmp_path / "unmounted" / "a.json")
    scan = find_source_files([tmp_path])
    with pytest.raises(UnclearRights, match=r"a\.md\.gleaner\.json cannot be read"):
        scan.files[0].read_groups()
    (tmp_path / "unmounted").mkdir()
    (tmp_path / "unmounted" / "a.json").write_text('{"groups": ["hr"]}')
    assert scan.files[0].read_groups() == ("hr",)
