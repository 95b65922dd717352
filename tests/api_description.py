"""The description of the API as a test's witness: it says of every answer whether it was promised."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

_UNDESCRIBED = {404: "not-found", 405: "method-not-allowed"}  # of a path or method that is not described


class ApiDescription:
    """Checks answers against an OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._paths = [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "/*"), path) for path in document["paths"]]
        self._validator = cache(self._compile)

    def check(self, event: dict[str, Any], answer: dict[str, Any]) -> None:
        """Raises AssertionError unless the description promises `answer` to the request in `event`."""
        method, status = event["httpMethod"].lower(), answer["statusCode"]
        operation = self.document["paths"].get(self._template(event), {}).get(method)
        if operation is None:
            self._check_undescribed(method, answer)
            return
        assert str(status) in operation["responses"], f"{method} {event['path']} is not said to answer {status}"
        response = operation["responses"][str(status)]
        for name in response["headers"]:
            assert name in answer["multiValueHeaders"], f"the header {name} is missing"
        if "content" not in response:
            assert not answer["body"], f"{status} is said to have no body"
            return
        [content_type] = answer["multiValueHeaders"]["Content-Type"]
        media_type = content_type.partition(";")[0]
        assert media_type in response["content"], f"{status} is not said to be {media_type}"
        body = json.loads(answer["body"]) if media_type.endswith("json") else answer["body"]
        self._validator(json.dumps(response["content"][media_type]["schema"])).validate(body)

    def _check_undescribed(self, method: str, answer: dict[str, Any]) -> None:
        status = answer["statusCode"]
        if method == "options" and status == 204:  # a browser asks for permission: CORS, not an operation
            return
        assert status in _UNDESCRIBED, f"a path or method that is not described answered {status}"
        problem = json.loads(answer["body"])
        self._validator(json.dumps({"$ref": "#/components/schemas/Problem"})).validate(problem)
        assert problem["type"].endswith(_UNDESCRIBED[status])

    def _template(self, event: dict[str, Any]) -> str:
        stage = (event.get("requestContext") or {}).get("stage")
        path = event["path"].removeprefix(f"/{stage}") if stage else event["path"]
        return next((template for pattern, template in self._paths if pattern.fullmatch(path)), "")

    def _compile(self, schema: str) -> Draft202012Validator:
        return Draft202012Validator(json.loads(schema) | {"components": self.document["components"]})
