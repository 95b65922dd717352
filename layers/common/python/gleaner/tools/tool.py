"""A tool: what the model is told of it, how its arguments are checked, and what it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from gleaner.errors import ToolCallRejected
from gleaner.model import JsonObject, ToolSpec
from gleaner.prompts import read_prompt
from gleaner.text import clean
from gleaner.tools.parameter_checks import CODES
from gleaner.tools.workspace import Workspace

_INVALID = "invalid_arguments"
_MOST_PROBLEMS = 5  # that one rejection names: enough to mend the call, and bounded


# Titles, which pydantic makes from names, only cost tokens. llama.cpp's server makes a repeated grammar rule of a bound
# on a length, and refuses 2,000 repetitions (src/llama-grammar.cpp).
_NOT_OFFERED = ("title", "minLength", "maxLength")


class Arguments(BaseModel):
    """Arguments of a tool, their texts cleaned of what is hidden. Unknown ones are ignored: models add some."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, arguments: Any) -> Any:
        # Before the types are checked: pydantic refuses lone surrogates, and lengths count what is seen.
        return {name: _cleaned(value) for name, value in arguments.items()}


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One tool; `run` raises ToolCallRejected or ServiceUnavailable, which the model is told in band."""

    name: str
    arguments: type[A]
    run: Callable[[A, Workspace], JsonObject]
    adapt: Callable[[ToolSpec, Workspace], ToolSpec] = lambda spec, _workspace: spec  # to the question at hand

    def spec(self) -> ToolSpec:
        """The tool as it is offered to the model."""
        schema = self.arguments.model_json_schema(schema_generator=_PlainSchema)
        return ToolSpec(name=self.name, description=read_prompt(f"tool_{self.name}"), parameters=schema)

    def parse(self, arguments: str) -> A:
        """The arguments that the model wrote; nothing is guessed.

        Raises ToolCallRejected, which says what is wrong and how to mend it.
        """
        try:
            return self.arguments.model_validate(_json_object(arguments))
        except ValidationError as error:
            problems = _problems(error).removesuffix(".")
            raise ToolCallRejected(f"The arguments are invalid: {problems}.", code=_code(error)) from error


class _PlainSchema(GenerateJsonSchema):
    """Schemas without what a model has no use for. The checks stay, since pydantic makes them, not the schema."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        plain = super().generate_inner(schema)
        for name in _NOT_OFFERED:
            plain.pop(name, None)
        return plain

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [clean(item) if isinstance(item, str) else item for item in value]
    return clean(value) if isinstance(value, str) else value


def _json_object(arguments: str) -> JsonObject:
    try:
        # Raw newlines in strings are unambiguous, so they pass; NaN and Infinity are not JSON.
        value = json.loads(arguments, strict=False, parse_constant=_reject_constant)
    except RecursionError as error:
        raise ToolCallRejected(
            "The arguments are nested too deeply. Send a flat JSON object.", code=_INVALID
        ) from error
    except ValueError as error:
        raise ToolCallRejected(
            "The arguments are not valid JSON (cut off or malformed). Send one complete JSON object.", code=_INVALID
        ) from error
    if isinstance(value, str):
        raise ToolCallRejected("The arguments are JSON encoded twice. Send the JSON object itself.", code=_INVALID)
    if not isinstance(value, dict):
        raise ToolCallRejected(f"The arguments are not a JSON object but {type(value).__name__}.", code=_INVALID)
    return value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _code(error: ValidationError) -> str:
    types = (problem["type"] for problem in error.errors(include_url=False, include_input=False, include_context=False))
    return next((code for code in types if code in CODES), _INVALID)


def _problems(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
        for problem in problems[:_MOST_PROBLEMS]
    )
