"""Chat completions with any part missing or of the wrong type."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._chat_completion import NotACompletion, read_turn
from gleaner.clients._retry_after import parse_retry_after
from gleaner.model import utc_now
from tests.doubles.scripted_model import calls, search

COMPLETION = calls(search("a"), search("b")) | {"error": None}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
Path = tuple[Any, ...]


def list_paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*prefix, key)
        yield from list_paths(part, (*prefix, key))


@given(path=st.sampled_from(list(list_paths(COMPLETION))), value=ANY_JSON, removed=st.booleans())
def test_any_part_may_be_missing_or_have_any_type(path: Path, value: Any, removed: bool) -> None:
    answer = copy.deepcopy(COMPLETION)
    parent: Any = answer
    for key in path[:-1]:
        parent = parent[key]
    if removed:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    try:
        turn = read_turn(json.dumps(answer).encode())
    except NotACompletion:
        assert path in (("choices",), ("choices", 0)) or path[:3] == ("choices", 0, "message") or path == ("error",)
        return
    ids = [call.id for call in turn.tool_calls]
    assert len(set(ids)) == len(ids) and all(ids)
    for text in (turn.content, turn.finish_reason, turn.model, *ids, *(call.arguments for call in turn.tool_calls)):
        text.encode()
    assert min(turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cached_input_tokens) >= 0


@given(st.binary(max_size=50) | ANY_JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_else_raises_not_a_completion(body: bytes) -> None:
    with pytest.raises(NotACompletion):
        read_turn(body)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), (" 0.25 ", 0.25), ("-1", 0.0), ("", None), ("soon", None), ("inf", None), ("nan", None)],
)
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": header}) == seconds


def test_retry_after_as_a_date() -> None:
    seconds = parse_retry_after({"retry-after": format_datetime(utc_now() + timedelta(hours=1), usegmt=True)})
    assert seconds is not None and 3500 < seconds <= 3600
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert parse_retry_after({}) is None
