"""Redaction removes what looks like a secret and keeps ordinary technical text."""

from __future__ import annotations

import json
import math
import string
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ulid import ULID

from gleaner.guards import redaction
from gleaner.guards._secret_forms import RULES, Rule
from gleaner.guards.redaction import redact, redact_all, redact_json, redact_value
from tests.doubles.planted_secrets import FORMS, IN_CONTEXT

_TEXTS = [*FORMS.values(), *(text for text, _ in IN_CONTEXT), "word", "= 7"]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "My one is {}, what now?",
        "line\n{}\nline",
        "({})",
        '"{}"',
        "'{}'.",
        "a={};b",
        "http://h.example/x?v={}&w=1",
        "<{}>",
        "`{}`",
        "ключ {} ключ",
    ],
)
def test_a_secret_of_a_known_form_is_redacted_in_any_context(kind: str, frame: str) -> None:
    secret = FORMS[kind]
    assert secret not in redact(frame.format(secret))
    assert "[redacted: " in redact(frame.format(secret))


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT)
def test_a_secret_without_a_known_form_is_recognized_by_its_name(text: str, secret: str) -> None:
    before, after = text.split(secret)
    redacted = redact(text)
    assert "[redacted: " in redacted and before[:4] == redacted[:4]
    assert redacted.rpartition("]")[2] in ("", after)  # the end of the secret is gone, too


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT)
def test_text_around_a_secret_is_kept(text: str, secret: str) -> None:
    redacted = redact(f"before\n{text}\nafter")
    assert redacted.startswith("before\n") and redacted.endswith("\nafter")


@given(
    st.sampled_from(sorted(FORMS)),
    st.text(" \n.,:;!?()[]{}\"'<>", max_size=20),
    st.text(" \n.,;!?()\"'<>", max_size=20),
)
def test_no_punctuation_hides_a_secret(kind: str, before: str, after: str) -> None:
    secret = FORMS[kind]
    assert secret not in redact(f"word{before} {secret} {after}word")


@given(st.lists(st.sampled_from(_TEXTS), max_size=6))
def test_redaction_is_idempotent(parts: list[str]) -> None:
    once = redact("\n".join(parts))
    assert redact(once) == once


_ORDINARY = st.one_of(
    st.builds(lambda: str(ULID())),
    st.uuids().map(str),
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.replace(tzinfo=UTC).isoformat()),
    st.dates().map(str),
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.strftime("%d.%m.%Y %H:%M:%S,%f")),
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 9999)).map(lambda v: "v" + ".".join(map(str, v))),
    st.ip_addresses(v=4).map(lambda address: f"http://{address}:8080/path"),
    st.integers(-(10**12), 10**12).map(str),
    st.integers(0, 10**12).map(lambda number: f"{number:,}"),
    st.floats(allow_nan=False).map(repr),
    st.integers(0, 2**64).map(lambda number: f"0x{number:x}"),
    st.integers(0, 2**32).map(lambda number: f"{number:032b}"),
    st.integers(1_000_000_000_000, 1_999_999_999_999).map(str),  # milliseconds since 1970
    st.text(string.ascii_letters, min_size=1, max_size=30),
    st.binary(min_size=20, max_size=20).map(bytes.hex),
)


@given(st.lists(_ORDINARY, min_size=1, max_size=10), st.sampled_from([", ", "\n", " and ", "; "]))
def test_ordinary_technical_text_is_kept(words: list[str], separator: str) -> None:
    # Without separators that a card number may have: two numbers side by side can be one with a valid check digit.
    text = separator.join(words)
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"pi is {math.pi!r}, in full 3.14159265358979323846264338327950288419716939937510",
        "between 1914 and 1918, 2020-2021, ports 8000-8010, 10.0.0.0/16",
        "pip install openai==3.57.0 'pinecone>=10.2,<11'",
        "sk-learn compatible estimators, ghp, AKIA, eyJ, and xoxo",
        "What does the password field of a login form do? The password is required.",
        "A bearer token is sent in the Authorization header. Bearer authentication is simple.",
        "token = tokenizer.encode(text); the token: a unit of text",
        "password: str | None = None",
        "git clone git@github.com:owner/name.git",
        "npm install react@18.2.0 @types/node@20",
        "arn:aws:secretsmanager:us-east-1:111122223333:secret:gleaner/dev/api-keys-a1B2c3",
        "urn:gleaner:problem:validation-failed, query_id 01KB3Z9Q6M5T8W2X4Y7R0N1C3D",
        "1-5759e988-bd862e3fe1be46a994272793",
        "4111 1111 1111 1112 fails the check digit, and so does DE00 3704 0044 0532 0130 00",
        "E = mc² ≈ 8.98755179e+16 J/kg; 1 + 2 = 3; +5 °C",
        "```\nINFO 2026-11-28 01:57:17,123 x=1 y=2\n```",
        "https://host.example:8443/@user/post and ftp://host.example:2121/a@b",
        "chapter 01 section 02, 0800 and 0001 0010 0011",
        "https://pay.example/moor?berth=12&night=2 and http://192.0.2.7:8080/st, www.tide.example/id/12345678901234",
        "https://hotel.example/2024/10/12 https://docs.example/password/reset https://docs.example/api-keys#secret-two",
        "https://maps.example/@52.3702157,4.8951679,17z https://x.example/a/06-12-34-56-78 https://例え.example/港?番=0171",
    ],
)
def test_text_that_only_resembles_a_secret_is_kept(text: str) -> None:
    assert redact(text) == text


_OTHER_CASES = str.maketrans("skiSKI", "\u017f\u212a\u0131\u017f\u212a\u0130")  # equal for re.IGNORECASE


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern.pattern[:40])
@settings(max_examples=30)
@given(st.data())
def test_hints_and_shapes_never_skip_a_match(rule: Rule, data: st.DataObject) -> None:
    match = data.draw(st.from_regex(rule.pattern))
    cased = data.draw(st.sampled_from([match, match.upper(), match.lower(), match.translate(_OTHER_CASES)]))
    assert rule.may_match(cased.casefold()) or not rule.pattern.search(cased)


@given(
    st.lists(
        st.sampled_from([*FORMS.values(), *(text for text, _ in IN_CONTEXT)])
        | st.from_regex(r"\A[a-z]{1,9}[ .:=/_-]{1,2}[0-9]{1,6}\Z"),
        max_size=6,
    ),
    st.sampled_from(["", " ", "\n", "; ", "\\n"]),
)
def test_checking_hints_first_does_not_change_the_result(parts: list[str], separator: str) -> None:
    text = expected = separator.join(parts)
    for rule in RULES:
        expected = rule.pattern.sub(rule.replace, expected)
    assert redact(text) == expected


@given(st.text())
@example("[redacted: key]")
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(redact(text), str)


@given(st.sampled_from(sorted(FORMS)))
def test_json_escapes_do_not_hide_a_secret(kind: str) -> None:
    secret = FORMS[kind]
    escaped = "".join(f"\\u{ord(c):04x}" for c in secret)
    redacted = redact_json(f'{{"query": "see\\n{escaped}", "top_k": 5}}')
    assert json.loads(redacted)["top_k"] == 5
    assert secret not in json.loads(redacted)["query"] and escaped not in redacted


@pytest.mark.parametrize("kind", FORMS)
def test_a_secret_after_a_line_break_is_redacted_in_broken_or_double_encoded_json(kind: str) -> None:
    secret = FORMS[kind]
    encoded = json.dumps({"query": f"see\n{secret}\nthere"})
    for text in (encoded[:-1], json.dumps(encoded), encoded[: encoded.index("there")]):
        assert json.dumps(secret)[1:-1] not in redact_json(text)


def test_a_secret_under_the_first_of_two_duplicate_keys_is_redacted() -> None:
    secret = FORMS["openai key"]
    assert secret not in redact_json(f'{{"query": "{secret}", "query": "x"}}')


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _ORDINARY,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
        max_leaves=20,
    ),
    st.sampled_from([None, 2]),
)
def test_json_without_secrets_is_unchanged(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert redact_json(text) == text


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"a":' * 100_000, '{"a": NaN}', '{"a": "\\ud800"}', "{", "9" * 5000]
)
def test_invalid_json_without_secrets_is_unchanged(text: str) -> None:
    assert redact_json(text) == text


@pytest.mark.parametrize(
    "name", ["password", "db_password", "OPENAI_API_KEY", "client_secret", "token", "Authorization"]
)
def test_the_value_of_a_field_named_like_a_secret_is_redacted(name: str) -> None:
    assert redact_value({"a": [{name: "open sesame"}]}) == {"a": [{name: "[redacted: password]"}]}
    assert redact_value({name: 4096, "max_tokens": "many"}) == {name: 4096, "max_tokens": "many"}


@given(st.lists(st.sampled_from(_TEXTS) | st.text(max_size=20), max_size=6))
def test_the_texts_of_a_value_are_redacted_as_each_alone(texts: list[str]) -> None:
    alone = [redact(text) for text in texts]
    assert redact_value(texts) == redact_all(texts) == alone
    assert redact_value([{"a": text} for text in texts]) == [{"a": text} for text in alone]


def test_an_object_is_redacted_as_text() -> None:
    assert redact_value(ValueError(FORMS["openai key"])) == "[redacted: key]"


@pytest.mark.parametrize("secret", ["of-no-known-form", "ünï.cödé (7)"])
def test_a_protected_value_of_any_form_is_redacted(secret: str) -> None:
    assert redact(f"a{secret}b") == f"a{secret}b"
    redaction.protect([secret, None, "", "short"])
    assert redact(f"a{secret}b, short") == "a[redacted: key]b, short"
