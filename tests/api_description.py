"""Checks in every test that a response is one that the description of the API promises."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from gleaner.api.routes import is_of_openai
from tests.doubles.event_stream import read_parts

_PREFIXES = ("/test", "/v1/gleaner", "/v1", "/a/b")  # stages and base paths of custom domains in tests
_UNDESCRIBED = {404: "not-found", 405: "method-not-allowed"}  # responses to undescribed paths or methods


class ApiDescription:
    """Checks responses against an OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._paths = [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "/*"), path) for path in document["paths"]]
        self._validator = cache(self._compile)

    def check(self, event: dict[str, Any], response: dict[str, Any]) -> None:
        """Raises AssertionError unless the description promises `response` to the request in `event`."""
        method, status = event["httpMethod"].lower(), response["statusCode"]
        if method == "head":  # answered as GET, without a body; not described, like the preflight
            assert not response["body"]
            return
        operation = self.document["paths"].get(self._template(event), {}).get(method)
        if operation is None:
            self._check_undescribed(method, event["path"], response)
            return
        assert str(status) in operation["responses"], f"{method} {event['path']} is not described to answer {status}"
        description = operation["responses"][str(status)]
        for name in description["headers"]:
            if self.document["components"]["headers"][name]["required"]:
                assert name in response["multiValueHeaders"], f"the header {name} is missing"
        if "content" not in description:
            assert not response["body"], f"{status} is described to have no body"
            return
        [content_type] = response["multiValueHeaders"]["Content-Type"]
        media_type = content_type.partition(";")[0]
        assert media_type in description["content"], f"{status} is not described as {media_type}"
        schema = description["content"][media_type]["schema"]
        for body, body_schema in _bodies(response["body"], media_type, schema):
            self._validator(json.dumps(body_schema)).validate(body)

    def _check_undescribed(self, method: str, path: str, response: dict[str, Any]) -> None:
        status = response["statusCode"]
        if method == "options" and status == 204:  # a CORS preflight, not an operation
            return
        assert status in _UNDESCRIBED, f"an undescribed path or method answered {status}"
        problem = json.loads(response["body"])
        if is_of_openai(path) and "error" in problem:
            self._validator(json.dumps({"$ref": "#/components/schemas/ErrorResponse"})).validate(problem)
            assert problem["error"]["code"] == _UNDESCRIBED[status]
            return
        self._validator(json.dumps({"$ref": "#/components/schemas/Problem"})).validate(problem)
        assert problem["type"].endswith(_UNDESCRIBED[status])

    def _template(self, event: dict[str, Any]) -> str:
        for prefix in ("", *_PREFIXES):
            path = event["path"].removeprefix(prefix)
            if template := next((template for pattern, template in self._paths if pattern.fullmatch(path)), ""):
                return template
        return ""

    def _compile(self, schema: str) -> Draft202012Validator:
        return Draft202012Validator(json.loads(schema) | {"components": self.document["components"]})


def _bodies(body: str, media_type: str, schema: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """The decoded body with its schema; of a stream, the data of each event."""
    if media_type == "text/event-stream":
        [data] = [kind["contentSchema"] for kind in schema["properties"]["data"]["anyOf"] if "contentSchema" in kind]
        return [(part, data) for part in read_parts(body)]
    return [(json.loads(body) if media_type.endswith("json") else body, schema)]
