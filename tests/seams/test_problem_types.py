"""The handbook lists the problem types of the function and of API Gateway."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gleaner.api import problems
from tests.conftest import Client
from tests.infra.synthesis import ALL_NAMES, resources, synthesis

CHAPTER = Path(__file__).parents[2] / "docs" / "08-http-api.md"
ROW = re.compile(r"^\| `([a-z-]+)` \| (\d{3}) \|", re.MULTILINE)

Kinds = set[tuple[str, int]]


def of_handbook(heading: str) -> Kinds:
    """The slugs and statuses of the table under a heading of the handbook."""
    section = CHAPTER.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return {(slug, int(status)) for slug, status in ROW.findall(section)}


def of_function() -> Kinds:
    constants = {value for name, value in vars(problems).items() if name.isupper() and isinstance(value, tuple)}
    own = {kind for kind in constants if len(kind) == 2 and isinstance(kind[1], str)}
    return {(slug, status.value) for status, slug in own | set(problems.TABLE.values())}


def of_gateway() -> Kinds:
    return {(slug, status.value) for status, slug in problems.OF_GATEWAY}


def of_template(template: dict[str, Any]) -> Kinds:
    properties = [item["Properties"] for item in resources(template, "AWS::ApiGateway::GatewayResponse").values()]
    documents = [(json.loads(item["ResponseTemplates"]["application/json"]), item["StatusCode"]) for item in properties]
    return {(document["type"].removeprefix(problems.TYPE_PREFIX), int(status)) for document, status in documents}


def test_the_handbook_lists_the_types_of_the_function() -> None:
    assert of_handbook("Which problem types are there?") == of_function()


def test_the_handbook_lists_the_types_of_api_gateway() -> None:
    assert of_handbook("Which errors does API Gateway answer by itself?") == of_gateway()


@pytest.mark.parametrize("environment", ALL_NAMES)
def test_api_gateway_uses_no_other_type(environment: str) -> None:
    types = of_template(synthesis().service[environment])
    assert types and types <= of_gateway() | of_function()
    assert {slug for slug, _ in of_gateway() - of_function()} - {"unauthorized"} <= {slug for slug, _ in types}


def test_the_openapi_document_lists_the_types_of_api_gateway(client: Client) -> None:
    _, document = client.request("GET", "/openapi.json")
    for operations in document["paths"].values():
        for operation in operations.values():
            for slug, status in of_gateway():
                assert problems.TYPE_PREFIX + slug in str(operation["responses"][str(status)])
