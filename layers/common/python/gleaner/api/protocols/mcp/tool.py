"""A tool of the server: what clients are told of it, the check of its arguments, and the form of its result.

From server/tools.mdx of the specification of 2026-07-28. A result is sent twice, as structured content and as its JSON
in one text: clients before 2025-06-18 read the text alone, and so does ChatGPT where a tool declares no schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from gleaner.api import problems
from gleaner.api.invalid import invalid_fields, summary
from gleaner.errors import GleanerError
from gleaner.guards.redaction import redact
from gleaner.model import JsonObject


class Arguments(BaseModel):
    """Arguments of a tool. One that is unknown is refused: it is a misspelt one, or a model expects an effect of it."""

    model_config = ConfigDict(extra="forbid", strict=True)


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The only values that a parameter takes for the caller, and whether the tools that need one must be given it."""

    values: Sequence[str]
    is_required: bool


Choices = Mapping[str, Choice]  # by the name of the parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One tool. `run` may raise any GleanerError: the client's model reads what it says."""

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[BaseModel]
    run: Callable[[A], BaseModel]
    is_read_only: bool = True
    reaches_web: bool = False
    needs: Mapping[str, str] = field(default_factory=dict)  # parameters to require by choice, each with its words then

    def describe(self, choices: Choices) -> JsonObject:
        """The entry of the list of tools, with the only values that some parameters take."""
        schema = self.arguments.model_json_schema(schema_generator=_WithoutTitles)
        for name, choice in choices.items():
            if name in schema["properties"]:
                words = schema["properties"][name]["description"]
                if choice.is_required and name in self.needs:
                    schema["required"] = [*schema.get("required", ()), name]
                    words = self.needs[name]
                schema["properties"][name] = {"type": "string", "enum": list(choice.values), "description": words}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
            "outputSchema": self.result.model_json_schema(schema_generator=_WithoutTitles, mode="serialization"),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.is_read_only,
                "destructiveHint": False,
                "idempotentHint": self.is_read_only,
                "openWorldHint": self.reaches_web,
            },
        }

    def call(self, arguments: JsonObject) -> JsonObject:
        """The result of a call. What is wrong with the arguments, or fails, is a result that the model can act on."""
        try:
            checked = self.arguments.model_validate(arguments)
        except ValidationError as error:
            errors = [dict(one) | {"loc": ("arguments", *one["loc"])} for one in error.errors(include_url=False)]
            return _failure(f"The arguments are not valid. {summary(invalid_fields(errors), len(errors))}.")
        try:
            result = self.run(checked)
        except GleanerError as error:
            problems.log(error)
            return _failure(str(error))
        structured = result.model_dump(mode="json")
        return {"content": [_text(json.dumps(structured, ensure_ascii=False))], "structuredContent": structured}


class _WithoutTitles(GenerateJsonSchema):
    """Omits the titles, which pydantic derives from names: they only cost a model tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def _failure(message: str) -> JsonObject:
    return {"content": [_text(redact(message))], "isError": True}


def _text(value: str) -> JsonObject:
    return {"type": "text", "text": value}
