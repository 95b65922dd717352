"""What API Gateway takes as a question is what the function takes."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner.api.schemas import ChatQuery
from tests.infra.synthesis import NAMES, one, synthesis


@pytest.mark.parametrize("environment", NAMES)
def test_fields_are_the_functions(environment: str) -> None:
    gateway = one(synthesis().service[environment], "AWS::ApiGateway::Model")["Schema"]
    function = ChatQuery.model_json_schema()
    assert set(gateway["properties"]) == set(function["properties"])
    assert gateway["required"] == function["required"]
    assert gateway["additionalProperties"] is False
    assert function["additionalProperties"] is False


@pytest.mark.parametrize("environment", NAMES)
def test_types_and_choices_are_the_functions(environment: str) -> None:
    gateway = one(synthesis().service[environment], "AWS::ApiGateway::Model")["Schema"]
    function = ChatQuery.model_json_schema()
    for name, field in gateway["properties"].items():
        ours = _resolved(function, function["properties"][name])
        assert _types(field) == _types(ours), name
        assert sorted(field.get("enum", ())) == sorted(ours.get("enum", ())), name


def _resolved(document: dict[str, Any], field: dict[str, Any]) -> dict[str, Any]:
    reference = field.get("$ref")
    resolved: dict[str, Any] = document["$defs"][reference.rpartition("/")[2]] if reference else field
    return resolved


def _types(field: dict[str, Any]) -> set[str]:
    if "anyOf" in field:
        return {part["type"] for part in field["anyOf"]}
    return set(field["type"]) if isinstance(field["type"], list) else {field["type"]}
