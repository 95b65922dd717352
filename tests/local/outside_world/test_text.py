"""Package descriptions become sections of plain sentences with the address of the project."""

from __future__ import annotations

from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.outside_world._markdown_text import markdown_sections
from gleaner_local.outside_world._rst_text import rst_sections
from gleaner_local.outside_world.descriptions import Section, project_url
from gleaner_local.outside_world.library import Library

MARKDOWN = """<p align="center"><img src="logo.png"> A small tool </p>

[![build](https://ci.example/b.svg)](https://ci.example)

# Tool

Tool reads [files](https://x.example/f) and `bytes`,
also large ones.

```python
import tool
```

## Features

* Fast <b>start</b>
* No dependencies

| a | b |
|---|---|
| 1 | 2 |
"""

RST = """.. image:: https://ci.example/b.svg
   :target: https://ci.example

====
Tool
====

|build| Tool reads `files <https://x.example/f>`_ and ``bytes``, see :class:`tool.Reader`.
Use it like this::

    import tool

    tool.read()

After the code.

Features
--------

* *Fast* start
* No dependencies

.. code-block:: python

   more()
"""


def test_markdown_becomes_plain_sentences() -> None:
    assert list(markdown_sections(MARKDOWN)) == [
        ("", "A small tool"),
        ("Tool", "Tool reads files and `bytes`, also large ones."),
        ("Features", "Fast start\n\nNo dependencies"),
    ]


def test_restructured_text_becomes_plain_sentences() -> None:
    assert list(rst_sections(RST)) == [
        ("Tool", "Tool reads files and `bytes`, see tool.Reader. Use it like this:\n\nAfter the code."),
        ("Features", "Fast start\n\nNo dependencies"),
    ]


@given(st.text(alphabet=st.sampled_from("ab .:`_*|#-=+<>[]()\n\t"), max_size=300))
def test_no_section_of_any_text_is_empty(text: str) -> None:
    for _, content in [*markdown_sections(text), *rst_sections(text)]:
        assert content.strip()


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        (
            [("Project-URL", "Source, https://s.example"), ("Project-URL", "Homepage, https://h.example")],
            "https://h.example",
        ),
        ([("Home-page", "https://old.example"), ("Project-URL", "Funding, https://f.example")], "https://old.example"),
        ([("Project-URL", "Homepage, ftp://h.example")], "https://pypi.org/project/tool/"),
        ([], "https://pypi.org/project/tool/"),
    ],
)
def test_the_address_is_the_best_url_of_the_metadata(headers: list[tuple[str, str]], url: str) -> None:
    metadata = Message()
    metadata["Name"] = "tool"
    for name, value in headers:
        metadata[name] = value
    assert project_url(metadata) == url


SECTIONS = [
    Section("yamlio", "yamlio", "https://y.example", "yamlio: A YAML parser for Python."),
    Section("yamlio", "yamlio - Speed", "https://y.example", "The YAML parser is written in C for Python users."),
    Section("webby", "webby", "https://w.example", "webby: A web framework for Python."),
]


def test_the_introduction_of_a_package_comes_first_and_each_address_once() -> None:
    hits = Library(lambda: SECTIONS).search("What is yamlio, the YAML parser for Python?", limit=5)
    assert [hit.section.title for hit in hits] == ["yamlio"]


@pytest.mark.parametrize("question", ["Is there a TOML parser for Python?", "Who wrote Moby Dick?", "", "of the"])
def test_a_section_without_the_rarest_word_is_no_answer(question: str) -> None:
    assert Library(lambda: SECTIONS).search(question, limit=5) == []
