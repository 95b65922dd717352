"""Answers may link to the addresses in the owner's documents, in every form, and to no others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.guards._own_addresses import address_key, collect_addresses
from gleaner.guards.answer_text import AllowedLinks, remove_foreign_links
from tests.guards.renderers import find_active

# Every form in which documents hold addresses; what these programs write was looked at, not made up.
PASSAGE = """\
# Moorings › Addresses

The mooring portal is at https://pay.harbour.example/moor?berth=12&night=2 and takes cards (see http://192.0.2.7:8080/st).
The camera is at <http://[2001:db8::7]/cam>, the old site at www.tide.example/old. Charts: ftp://charts.example/a_(b).zip.
Write to [the master](mailto:master@harbour.example?subject=Berth) or office@harbour.example.

| Name | Address |
|---|---|
| Fees | https://fees.example/2026#night |
| Rules | [the rules](https://rules.example/r%C3%A9gles "Rules") |

- <https://list.example/one>
- `git clone https://git.example/tide.git`

门户在https://港口.example/泊位，可用卡付款。詳細はhttps://ja.example/koを見る。
"""
LINKS = AllowedLinks.of((), [PASSAGE, "https://docs.harbour.example/guide/moor/"])
HELD = (
    "https://pay.harbour.example/moor?berth=12&night=2",
    "http://192.0.2.7:8080/st",
    "http://[2001:db8::7]/cam",
    "www.tide.example/old",
    "ftp://charts.example/a_(b).zip",
    "https://fees.example/2026#night",
    "https://rules.example/r%C3%A9gles",
    "https://list.example/one",
    "https://git.example/tide.git",
    "https://港口.example/泊位",
    "https://ja.example/ko",
    "https://docs.harbour.example/guide/moor/",
)
FOREIGN = (
    "https://pay.harbour.example/moor?berth=12&night=2&data=secret",
    "https://pay.harbour.example/moor?berth=13&night=2",
    "https://pay.harbour.example/moor/secret?berth=12&night=2",
    "https://pay.harbour.example/",
    "https://pay.harbour.example/Moor?berth=12&night=2",
    "https://pay.harbour.example.evil.example/moor?berth=12&night=2",
    "https://pay.harbour.example@evil.example/moor?berth=12&night=2",
    "https://name:word@pay.harbour.example/moor?berth=12&night=2",  # pragma: allowlist secret
    "https://pаy.harbour.example/moor?berth=12&night=2",  # a Cyrillic letter
    "https://pay.harbour.example:8443/moor?berth=12&night=2",
    "https://fees.example/2026#secret",
    "https://list.example/one#secret",
    "https://rules.example/r%E9gles",
    "http://list.example/one",
    "http://192.0.2.8:8080/st",
    "www.tide.example/old?d=secret",
    "www.tide.example.evil.example/old",
    "ftp://charts.example/secret",
    "https://evil.example/?u=https://list.example/one",
    "//list.example/one/secret",
)


@pytest.mark.parametrize("address", HELD)
@pytest.mark.parametrize(
    "form", ["It is at {}.", "- {}", "| Name | {} |", "**{}** [kb-1]", "({})", "„{}“ says so", "`{}`"]
)
def test_an_address_of_a_passage_stays_in_every_form(address: str, form: str) -> None:
    answer = form.format(address)
    if "[" in address and "`" not in form:
        pytest.skip("no reader links an IP address of version 6 without angle brackets")
    assert address in remove_foreign_links(answer, LINKS)


@pytest.mark.parametrize("address", [address for address in HELD if not address.startswith("www.")])
@pytest.mark.parametrize("form", ["It is at <{}>.", "It is at [the page]({}).", "- [{}](<{}>)", '[it]({} "Title")'])
def test_an_address_of_a_passage_stays_as_a_link(address: str, form: str) -> None:
    cleaned = remove_foreign_links(form.replace("{}", address), LINKS)
    assert f"<{address}>" in cleaned or f"]({address})" in cleaned
    assert find_active(cleaned, _Allowed()) == []


@pytest.mark.parametrize("address", FOREIGN)
@pytest.mark.parametrize(
    ("form", "cleaned"),
    [
        ("The portal is at {} and takes cards.", "The portal is at […] and takes cards."),
        ("It is at <{}>.", "It is at […]."),
        ("[The portal]({}) takes cards.", "The portal takes cards."),
        ("| Portal | {} |", "| Portal | […] |"),
        ("- {}", "- […]"),
    ],
)
def test_another_address_goes_and_leaves_a_whole_sentence(address: str, form: str, cleaned: str) -> None:
    if "<" in form and not address.startswith(("http", "ftp")):
        pytest.skip("no link")
    assert remove_foreign_links(form.format(address), LINKS) == cleaned


@pytest.mark.parametrize(
    "target",
    [
        *("javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:alert(1)", "java&#115;cript:alert(1)"),
        *("mailto:master@harbour.example?subject=Berth&bcc=a@evil.example", "/moor", "file:///etc/passwd", "#top"),
        *(
            "https:list.example/one",
            "https:/list.example/one",
            "https:\\\\list.example\\one",
            "https://list.example\\one",
        ),
        *("http://list.example%2eevil.example/", "https://list%2Eexample/one", "https://xn--/one", "https://"),
    ],
)
def test_other_kinds_of_links_leave_their_text(target: str) -> None:
    cleaned = remove_foreign_links(f"See [the page]({target}) there.", LINKS)
    assert cleaned == "See the page there."


@pytest.mark.parametrize(
    ("answer", "cleaned"),
    [
        ("[the master](mailto:master@harbour.example?subject=Berth)",) * 2,
        ("[the master](mailto:master@harbour.example)",) * 2,
        ("[the office](mailto:office@harbour.example)",) * 2,
        ("Write to mailto:office@harbour.example.",) * 2,
        ("Write to <mailto:office@harbour.example>.", "Write to office@harbour.example."),
        ("Write to <office@harbour.example>.", "Write to office@harbour.example."),
        ("Write to <other@harbour.example>.", "Write to other@harbour.example."),
        (
            "Write to mailto:office@harbour.example?body=secret now",
            "Write to mailto: office@harbour.example?body=secret now",
        ),
    ],
)
def test_e_mail_addresses(answer: str, cleaned: str) -> None:
    assert remove_foreign_links(answer, LINKS) == cleaned


@pytest.mark.parametrize(
    "spelling",
    [
        *("HTTPS://LIST.example/one", "https://list.example:443/one", "https://list.example/%6Fne"),
        *("https://list.example/one/", "https://list.example./one", "https://fees.example/2026"),
        *("http://www.tide.example/old", "https://www.tide.example/old", "https://rules.example/r%c3%a9gles"),
        *("https://rules.example/régles", "https://xn--6orv52d.example/%E6%B3%8A%E4%BD%8D"),
        "https://pay.harbour.example/moor?berth=12&amp;night=2",
    ],
)
def test_another_spelling_is_the_same_address(spelling: str) -> None:
    assert remove_foreign_links(f"See [it]({spelling}).", LINKS) == f"See [it]({spelling})."


@pytest.mark.parametrize(
    ("answer", "cleaned"),
    [
        ("门户在https://港口.example/泊位，可用卡付款。", "门户在https://港口.example/泊位 ，可用卡付款。"),
        ("見るhttps://ja.example/koを。", "見るhttps://ja.example/ko を。"),
        ("門戶在https://evil.example/？，可用卡付款。", "門戶在[…]"),
        ("See https://list.example/one[kb-1]", "See https://list.example/one [kb-1]"),
        ("See [the page](https://list.example/one)[kb-1]", "See [the page](https://list.example/one) [kb-1]"),
        ("![photo](https://list.example/one) text", "photo text"),
        ("<img src=https://list.example/one> text", " text"),
        ("[https://list.example/one](https://evil.example/)", "https://list.example/one"),
        ("[https://evil.example/](https://list.example/one)", "[…](https://list.example/one)"),
        ("<https://evil.example/>(x)", "[…] (x)"),
        ("https://evil.example/: x", "[…] : x"),
    ],
)
def test_what_stands_beside_an_address(answer: str, cleaned: str) -> None:
    assert remove_foreign_links(answer, LINKS) == cleaned


def test_pages_of_the_web_are_compared_as_they_are() -> None:
    links = AllowedLinks.of({"https://list.example/one"})
    assert remove_foreign_links("At https://list.example/one.", links) == "At https://list.example/one."
    assert remove_foreign_links("At https://list.example/one/.", links) == "At […]."
    assert remove_foreign_links("[it](HTTPS://list.example/one)", links) == "it"


class _Allowed:
    """The addresses of the passage, however a renderer writes them."""

    def __init__(self) -> None:
        self._keys = collect_addresses([PASSAGE, "https://docs.harbour.example/guide/moor/"])

    def __contains__(self, address: object) -> bool:
        key = address_key(str(address))
        if key == "http://www":  # cmark links the lone letters "www."
            return True
        return key in self._keys or (key or "").removeprefix("http:") in self._keys


_PIECES = (
    *(address for address in HELD if "[" not in address),
    *FOREIGN,
    *(
        "[",
        "](",
        ")",
        "(",
        "]",
        "<",
        ">",
        "`",
        "```",
        "\n",
        "\n\n",
        " ",
        "|",
        "- ",
        "> ",
        "*",
        "_",
        "\\",
        "&amp;",
        "&#47;",
    ),
    *(
        ":",
        "?d=secret",
        "/secret",
        "#secret",
        "@evil.example",
        ".evil.example",
        "，",
        "港",
        "。",
        "»",
        "!",
        "mailto:",
        "www.",
    ),
    *(
        "https://",
        "http://",
        "//",
        "office@harbour.example",
        "[r]: ",
        "[x][r]",
        "[kb-1]",
        "<b>",
        "![x](",
        '"',
        "|---|---|\n",
    ),
)


@pytest.mark.slow
@settings(max_examples=2_500, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=16).map("".join))
def test_renderers_find_only_addresses_of_the_passage(answer: str) -> None:
    cleaned = remove_foreign_links(answer, LINKS)
    assert find_active(cleaned, _Allowed()) == []
    assert remove_foreign_links(cleaned, LINKS) == cleaned


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=16).map("".join))
def test_renderers_find_only_addresses_of_the_passage_in_a_few_answers(answer: str) -> None:
    assert find_active(remove_foreign_links(answer, LINKS), _Allowed()) == []
