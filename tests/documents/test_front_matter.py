"""Front matter in YAML, TOML and JSON: what it says of the page, and what is text after all."""

from __future__ import annotations

import pytest

from gleaner_documents.model import Document
from gleaner_documents.readers._front_matter import read_front_matter
from gleaner_documents.reading import read_document


def read(content: str) -> Document:
    return read_document("a.md", content.encode())


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("---\ndate created: 2026-03-01\ntitle: Compost\n---\n", "Compost"),
        ("---\ntitle: Glass\ntags: [\n  a,\n  b\n]\n---\n", "Glass"),
        ("---\n\"title\": Well\n'og:type': article\ndotted.key: x\nclé: y\n---\n", "Well"),
        ("---\ntitle: 'Gardener''s rules'\n---\n", "Gardener's rules"),
        ('---\ntitle: "Pond" # in the menu\n---\n', "Pond"),
        ("---\ntitle: >-\n  Folded\n  title\n---\n", "Folded title"),
        ("---\n# a comment\nTitle: Upper\n...\n", "Upper"),
        ("---\ntitle: On\n---\n", "On"),
        ("---\ntitle: 2026-02-30\n---\n", "2026-02-30"),
        ("---\ntitle: !!python/object/apply:os.system [x]\nx: !ENV y\n---\n# H1\n", "H1"),
        ("<!-- generated -->\n---\ntitle: Shed\n---\n", "Shed"),
        ("\ufeff---\r\ntitle: Barn\r\n---\r\n", "Barn"),
        ('+++\ntitle = "Bee"\ndraft = true\n[menu]\nx = 1\n+++\n', "Bee"),
        ('{\n  "title": "Hedge"\n}\n\n', "Hedge"),
        (';;;\n{"title": "Fence"}\n;;;\n', "Fence"),
        ('---toml\ntitle = "Named"\n---\n', "Named"),
        ("---\ntitle: Boats: a guide\nweight: 3\n---\n", "Boats: a guide"),
        ("---\ntitle: {{ page.title }}\n---\n# Real\n", "Real"),
        ("---\ntitle:\n---\n# Real\n", "Real"),
        ("---\ntitle: Front\n---\n# Other\n", "Front"),
    ],
)
def test_the_title_of_the_page(front: str, title: str) -> None:
    document = read(f"{front}\nBody.")

    assert document.title == title
    assert [section.text for section in document.sections] == ["Body."]


@pytest.mark.parametrize(
    "content",
    [
        "---\nSome prose here.\n---\n\nMore.",
        "+++\nprose\n+++\n\nMore.",
        "{ braces } More.",
        "---\n- a\n- b\n---\nMore.",
    ],
)
def test_what_is_no_metadata_is_text(content: str) -> None:
    text = " ".join(section.text + (section.chapter or "") for section in read(content).sections)

    assert "More." in text
    assert any(word in text for word in ("prose", "braces", "- a"))


def test_description_and_address() -> None:
    document = read(
        "---\ntitle: Tyres\ndescription: |\n  When vans\n  change tyres.\n"
        "url: /tyres/\ncanonical_url: https://example.org/tyres\n---\n\nFrom November."
    )

    assert document.description == "When vans change tyres."
    assert document.source_url == "https://example.org/tyres"
    assert [section.text for section in document.sections] == ["When vans change tyres.\n\nFrom November."]


def test_a_relative_or_unsafe_address_is_none() -> None:
    assert read("---\nurl: /a/\npermalink: javascript:alert(1)\n---\nx").source_url is None


def test_an_anchor_bomb_does_not_multiply() -> None:
    levels = "\n".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 40))

    document = read(f"---\na0: &a0 [x]\n{levels}\ntitle: Bomb\n---\nBody.")

    assert document.title == "Bomb"


def test_deep_or_endless_metadata_does_not_crash() -> None:
    for front in ("title: " + "[" * 2_000, "{" * 2_000):
        assert "Body." in read(f"---\n{front}\n---\nBody.").sections[-1].text
        assert "Body." in read('{"a": ' + "[" * 2_000 + "\n\nBody.").sections[-1].text


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        *(("", "%A\n"), ("---\n", "-"), ("---\n", "- "), ("---\n", "{a:"), ("---\n", "("), ("---\n", "a: b\n")),
        *(("% a\n\n---\n", "a: b\n"), ("", "a: b\n"), ("{", '"a": {')),
    ],
)
def test_what_has_no_end_is_looked_through_in_linear_time(start: str, repeated: str) -> None:
    """Anything else would take minutes."""
    assert read_front_matter(start + repeated * 50_000).groups == ()


@pytest.mark.parametrize(
    ("content", "title", "text"),
    [
        ("% Sailing\n  in winter\n% Ann; Bob\n% 2026\n\nCast off.\n", "Sailing in winter", "Cast off."),
        ("Title: Sailing: a guide\nDate: 2026-01-02\nTags: a,\n  b\n\nCast off.\n", "Sailing: a guide", "Cast off."),
        ("% of boats that sail\nis 40.\n", "a.md", "% of boats that sail is 40."),
        ("Title: Sailing\nis the title of the book.\n", "a.md", "Title: Sailing is the title of the book."),
    ],
)
def test_metadata_without_fences(content: str, title: str, text: str) -> None:
    document = read(content)
    assert (document.title, [section.text for section in document.sections]) == (title, [text])
