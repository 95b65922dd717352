"""Where the files of a published directory are read."""

from __future__ import annotations

import pytest

from gleaner_documents.page_urls import is_base_url, page_url


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("moor.md", "https://docs.example/v2/moor/"),
        ("guide/moor.md", "https://docs.example/v2/guide/moor/"),
        ("guide/Moor.MDX", "https://docs.example/v2/guide/Moor/"),
        ("index.md", "https://docs.example/v2/"),
        ("guide/_index.md", "https://docs.example/v2/guide/"),
        ("guide/README.md", "https://docs.example/v2/guide/"),
        ("guide/index.html", "https://docs.example/v2/guide/"),
        ("guide/moor.html", "https://docs.example/v2/guide/moor.html"),
        ("fees 2026.pdf", "https://docs.example/v2/fees%202026.pdf"),
        ("README.txt", "https://docs.example/v2/README.txt"),
        ("a.b/v1.2.md", "https://docs.example/v2/a.b/v1.2/"),
        ("指南/港口#1?.md", "https://docs.example/v2/%E6%8C%87%E5%8D%97/%E6%B8%AF%E5%8F%A3%231%3F/"),
        ("a" * 2_000 + ".md", None),
    ],
)
@pytest.mark.parametrize("base", ["https://docs.example/v2", "https://docs.example/v2/"])
def test_the_address_of_a_file_follows_from_that_of_its_directory(base: str, path: str, url: str | None) -> None:
    assert page_url(base, path) == url


@pytest.mark.parametrize("value", ["https://docs.example", "http://127.0.0.1:8000/docs/", "https://例え.example/"])
def test_a_directory_may_be_published_at_any_plain_web_address(value: str) -> None:
    assert is_base_url(value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "docs",
            "docs.example/v2",
            "ftp://docs.example/",
            "javascript:alert(1)",
            "https://",
            "https://a b.example/",
        ),
        *(
            "https://docs.example/?v=2",
            "https://docs.example/#v2",
            "https://docs.example/?",
            "https://u:p@docs.example/",
        ),
        *("https://docs.example@evil.example/", "https://docs.example/" + "a" * 2_000, "https://[::1/"),
    ],
)
def test_other_addresses_are_refused(value: str) -> None:
    assert not is_base_url(value)
