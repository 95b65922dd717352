"""Messages and keys from outside: what they hint at, or why they are ignored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.document_files import document_id
from gleaner_documents.loading.hints import Hint, NotAHint, read_hint
from gleaner_documents.loading.object_names import NotADocument, ObjectName, make_key, read_key
from gleaner_documents.model import FileNotReadable

# docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
CREATED = {
    "version": "0",
    "id": "17793124-05d4-b198-2fde-7ededc63b103",
    "detail-type": "Object Created",
    "source": "aws.s3",
    "account": "111122223333",
    "time": "2021-11-12T00:00:00Z",
    "region": "ca-central-1",
    "resources": ["arn:aws:s3:::amzn-s3-demo-bucket1"],
    "detail": {
        "version": "0",
        "bucket": {"name": "amzn-s3-demo-bucket1"},
        "object": {
            "key": "handbook/a b+c%2B.md",
            "size": 5,
            "etag": "b1946ac92492d2347c6235b4d2611184",  # pragma: allowlist secret
            "version-id": "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e",
            "sequencer": "617f08299329d189",  # pragma: allowlist secret
        },
        "request-id": "N4N7GDK58NMKJ12R",
        "requester": "123456789012",
        "source-ip-address": "1.2.3.4",
        "reason": "PutObject",
    },
}
DELETED = {
    "version": "0",
    "detail-type": "Object Deleted",
    "source": "aws.s3",
    "detail": {
        "version": "0",
        "bucket": {"name": "amzn-s3-demo-bucket1"},
        "object": {"key": "handbook/a b+c%2B.md", "sequencer": "617f0837b476e463"},  # pragma: allowlist secret
        "reason": "DeleteObject",
        "deletion-type": "Delete Marker Created",
    },
}
FOLLOW_UP = {"bucket": "amzn-s3-demo-bucket1", "key": "handbook/a b+c%2B.md"}


@pytest.mark.parametrize("message", [CREATED, DELETED, FOLLOW_UP])
def test_a_key_is_taken_as_it_stands(message: dict[str, object]) -> None:
    assert read_hint(json.dumps(message)) == Hint("amzn-s3-demo-bucket1", "handbook/a b+c%2B.md")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no JSON",
        "[" * 100_000,
        "[]",
        "null",
        '"text"',
        '{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"}',
        '{"Records": [{"s3": {"bucket": {"name": "b"}, "object": {"key": "k"}}}]}',
        '{"detail": {"bucket": "b", "object": "k"}}',
        '{"detail": {"bucket": {"name": "b"}, "object": {"key": 1}}}',
        '{"bucket": "b", "key": ""}',
        '{"bucket": ["b"], "key": "k"}',
    ],
)
def test_what_names_no_object_is_no_hint(body: str) -> None:
    with pytest.raises(NotAHint):
        read_hint(body)


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_message_raises_anything_else(body: str) -> None:
    try:
        read_hint(body)
    except NotAHint:
        return


@pytest.mark.parametrize(
    ("key", "name", "has_objection"),
    [
        ("handbook/docs/a.md", ObjectName("handbook", "docs/a.md"), False),
        ("handbook/ä ö+%2B&?#.md", ObjectName("handbook", "ä ö+%2B&?#.md"), False),
        ("handbook/日本語/b.PDF", ObjectName("handbook", "日本語/b.PDF"), False),
        ("handbook/a.md.gleaner.json", ObjectName("handbook", "a.md"), False),
        ("handbook/a.json", ObjectName("handbook", "a.json"), True),
        ("handbook/../other/a.md", ObjectName("handbook", "../other/a.md"), True),
        ("handbook/x/./a.md", ObjectName("handbook", "x/./a.md"), True),
        ("handbook//a.md", ObjectName("handbook", "/a.md"), True),
        ("handbook/.git/a.md", ObjectName("handbook", ".git/a.md"), True),
        ("handbook/資料\u3000最終.md", ObjectName("handbook", "資料\u3000最終.md"), False),
        ("handbook/a\u202f3.md", ObjectName("handbook", "a\u202f3.md"), False),  # as macOS names screenshots
        ("handbook/Gro\u0308ße/a.md", ObjectName("handbook", "Gro\u0308ße/a.md"), True),
    ],
)
def test_a_key_names_a_document(key: str, name: ObjectName, has_objection: bool) -> None:
    found = read_key(key)
    assert (found.kb_id, found.source_file_path) == (name.kb_id, name.source_file_path)
    assert (found.objection is not None) == has_objection
    assert found.key == key.removesuffix(".gleaner.json")


@pytest.mark.parametrize(
    "key",
    [
        "a.md",
        "/a.md",
        "Handbook/a.md",
        "hand book/a.md",
        "handbook.answers/a.md",
        "handbook",
        "handbook/",
        "handbook/docs/",
        "handbook/a\nb.md",
        "handbook/a\x00b.md",
        "handbook/a\u202eb.md",
        "handbook/\ud800.md",
        "handbook/" + "ü" * 512 + ".md",
    ],
)
def test_other_objects_are_no_documents(key: str) -> None:
    with pytest.raises(NotADocument) as ignored:
        read_key(key)
    assert str(ignored.value).endswith(".")


def test_a_sidecar_in_either_form_is_about_the_document_of_the_composed_name() -> None:
    name = read_key("handbook/Größe.md")
    assert name.sidecar_keys == ["handbook/Größe.md.gleaner.json", "handbook/Gro\u0308ße.md.gleaner.json"]
    assert [read_key(key) for key in name.sidecar_keys] == [name, name]
    assert read_key("handbook/a.md").sidecar_keys == ["handbook/a.md.gleaner.json"]


def test_a_sidecar_of_a_key_of_full_length_is_not_asked_for() -> None:
    key = make_key("handbook", "a" * 1_012 + ".md")
    assert len(key) == 1_024
    assert read_key(key).sidecar_keys == []
    with pytest.raises(FileNotReadable, match=r"1,025 of at most 1,024 bytes"):
        make_key("handbook", "a" * 1_013 + ".md")


def test_a_name_that_grows_when_it_is_composed_stays_within_the_length_of_a_key() -> None:
    letters = "\u0958" * 330  # of 3 bytes, composed of 6: the composition of U+0958 is excluded
    with pytest.raises(NotADocument):
        read_key(f"handbook/{letters}.md.gleaner.json")


@given(st.text(st.characters(exclude_categories=())))
def test_every_document_has_an_id(path: str) -> None:
    try:
        name = read_key(f"handbook/{path}")
    except NotADocument:
        return
    assert document_id(name.source_file_path).isascii()
