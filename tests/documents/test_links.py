"""How readers write links: with their addresses, where people can follow them."""

from __future__ import annotations

import pytest

from gleaner_documents.readers._links import link_text

BASE = "https://docs.harbour.example/guide/moor/"


@pytest.mark.parametrize(
    ("text", "address", "written"),
    [
        (
            "the print page",
            "https://print.example/q?a=1&b=2#top",
            "[the print page](https://print.example/q?a=1&b=2#top)",
        ),
        ("the\n  print page", " https://print.example/q\n", "[the print page](https://print.example/q)"),
        ("files", "ftp://ftp.example/a.zip", "[files](ftp://ftp.example/a.zip)"),
        ("the router", "HTTP://192.0.2.1:8080/", "[the router](http://192.0.2.1:8080/)"),
        ("the router", "http://[2001:db8::1]/", "[the router](http://[2001:db8::1]/)"),
        ("the master", "mailto:master@harbour.example", "[the master](mailto:master@harbour.example)"),
        ("Tide (sea)", "https://w.example/Tide_(sea)", "[Tide (sea)](https://w.example/Tide_(sea))"),
        ("odd", "https://w.example/a)b", "[odd](https://w.example/a%29b)"),
        ("odd", "https://w.example/a b|c<d>", "[odd](https://w.example/a%20b%7Cc%3Cd%3E)"),
        ("see [1]", "https://w.example/a", "see [1] <https://w.example/a>"),
        ("港口", "https://例え.example/港", "[港口](https://例え.example/港)"),
    ],
)
def test_an_absolute_address_stands_behind_its_text(text: str, address: str, written: str) -> None:
    assert link_text(text, address, None) == written


@pytest.mark.parametrize(
    ("text", "address", "written"),
    [
        ("https://print.example/q", "https://print.example/q", "<https://print.example/q>"),
        ("print.example", "https://print.example/", "<https://print.example/>"),
        ("www.print.example/q", "http://www.print.example/q", "<http://www.print.example/q>"),
        ("master@harbour.example", "mailto:master@harbour.example", "master@harbour.example"),
    ],
)
def test_an_address_that_is_its_own_text_is_written_once(text: str, address: str, written: str) -> None:
    assert link_text(text, address, None) == written


@pytest.mark.parametrize(
    "address",
    [
        *(
            "",
            "#berths",
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            " \x01javascript:alert(1)",
            "data:text/html,x",
        ),
        *("vbscript:x", "file:///etc/passwd", "tel:+4755010203"),
        "https://name:secret@harbour.example/",  # pragma: allowlist secret
        *("https://good.example@evil.example/", "https://", "http://[::1", "https://harbour.example:port/", "mailto:"),
        *("../fees.md", "/fees", "//cdn.example/x", "https://harbour.example/" + "a" * 2_000),
    ],
)
def test_only_the_text_stays_where_nobody_can_follow_the_address(address: str) -> None:
    assert link_text("the berths", address, None) == "the berths"


@pytest.mark.parametrize(
    ("address", "absolute"),
    [
        ("../fees.html#2", "https://docs.harbour.example/guide/fees.html#2"),
        ("/fees", "https://docs.harbour.example/fees"),
        ("?berth=3", "https://docs.harbour.example/guide/moor/?berth=3"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://print.example/", "https://print.example/"),
    ],
)
def test_a_relative_address_is_resolved_against_the_address_of_the_page(address: str, absolute: str) -> None:
    assert link_text("here", address, BASE) == f"[here]({absolute})"


@pytest.mark.parametrize("address", ["#berths", "javascript:alert(1)", "data:text/html,x", ""])
def test_a_base_makes_no_address_of_a_fragment_or_a_script(address: str) -> None:
    assert link_text("here", address, BASE) == "here"


def test_a_link_without_text_leaves_nothing() -> None:
    assert link_text(" \n", "https://print.example/", BASE) == ""
