"""Names of models: every knowledge base has one, and none has two meanings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.api.protocols.model_names import ModelName, list_models, parse_model
from gleaner.errors import UnknownModel
from gleaner.model import KB_ID_PATTERN

KB_IDS = st.from_regex(KB_ID_PATTERN, fullmatch=True) | st.sampled_from(["strict", "footnotes", "kb", "plain"])
MODELS = st.builds(ModelName, kb_id=st.none() | KB_IDS, is_strict=st.booleans(), has_footnotes=st.booleans())


@given(MODELS)
def test_a_name_means_the_model_that_it_was_made_of(model: ModelName) -> None:
    assert parse_model(str(model)) == model


@given(st.lists(KB_IDS, unique=True, min_size=1, max_size=5))
def test_every_listed_name_is_another_model(kb_ids: list[str]) -> None:
    models = list(list_models(kb_ids, default_kb_id=kb_ids[-1]))
    names = [str(model) for model in models]
    assert [parse_model(name) for name in names] == models
    assert len(set(names)) == len(names) == 4 * len(kb_ids) + 1
    assert (names[0], names[-1]) == ("gleaner", "gleaner-plain")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gleaner:strict", ModelName(is_strict=True)),
        ("gleaner:footnotes", ModelName(has_footnotes=True)),
        ("gleaner:strict:footnotes", ModelName(is_strict=True, has_footnotes=True)),
        ("gleaner:physics:strict", ModelName(kb_id="physics", is_strict=True)),
        ("gleaner:kb=physics", ModelName(kb_id="physics")),
        ("gleaner:kb=strict", ModelName(kb_id="strict")),
        ("gleaner:kb=footnotes:strict", ModelName(kb_id="footnotes", is_strict=True)),
        ("gleaner-plain", ModelName(is_plain=True)),
    ],
)
def test_suffixes_are_read_from_the_end(name: str, model: ModelName) -> None:
    assert parse_model(name) == model


@pytest.mark.parametrize(
    "name",
    [
        *("", "gpt-5.6", "gleaner:", "gleaner::strict", "gleaner:a:b", "gleaner:Physics", "gleaner:a.answers"),
        *("Gleaner", "gleaner-plain:strict", "gleaner:kb=", "gleaner:kb=kb=a", "gleaner:a\n", "gleaner:a/b"),
    ],
)
def test_other_names_are_no_models(name: str) -> None:
    with pytest.raises(UnknownModel, match="does not exist or you do not have access to it"):
        parse_model(name)


@given(st.text(max_size=40))
def test_any_text_is_a_model_or_refused(name: str) -> None:
    try:
        model = parse_model(f"gleaner:{name}")
    except UnknownModel:
        return
    assert parse_model(str(model)) == model
