"""A tool: its description for the model, the check of its arguments, and what it does."""

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
_MAX_PROBLEMS = 5  # per rejection


# Titles, which pydantic derives from names, only cost tokens. llama.cpp turns a bound on a length into a repeated
# grammar rule, and refuses 2,000 repetitions (src/llama-grammar.cpp).
_NOT_OFFERED = ("title", "minLength", "maxLength")


class Arguments(BaseModel):
    """Arguments of a tool, without hidden characters. Unknown ones are ignored, because models add some."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, arguments: Any) -> Any:
        # Clean before validation: pydantic rejects lone surrogates, and lengths must count visible characters.
        return {name: _clean_value(value) for name, value in arguments.items()}


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One tool; `run` raises ToolCallRejected or ServiceUnavailable, which are reported to the model."""

    name: str
    arguments: type[A]
    run: Callable[[A, Workspace], JsonObject]
    summarize: Callable[[JsonObject], JsonObject]  # what of a result may be shown at once: ids and counts
    adapt: Callable[[ToolSpec, Workspace], ToolSpec] = lambda spec, _workspace: spec  # to the question at hand

    def spec(self) -> ToolSpec:
        """Return the tool as the model sees it."""
        schema = self.arguments.model_json_schema(schema_generator=_PlainSchema)
        parameters = {name: schema[name] for name in ("type", "properties", "required")}
        return ToolSpec(name=self.name, description=read_prompt(f"tool_{self.name}"), parameters=parameters)

    def parse(self, arguments: str) -> A:
        """Parse the arguments that the model wrote. The client has read JSON within JSON already; the rest is no guess.

        Raises ToolCallRejected, which says what is wrong and how to fix it.
        """
        try:
            return self.arguments.model_validate(_parse_json_object(arguments))
        except ValidationError as error:
            problems = _describe_problems(error).removesuffix(".")
            raise ToolCallRejected(f"The arguments are invalid: {problems}.", code=_choose_code(error)) from error


class _PlainSchema(GenerateJsonSchema):
    """Omits what a model has no use for. The checks remain: pydantic makes them, not the schema."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        plain = super().generate_inner(schema)
        for name in _NOT_OFFERED:
            plain.pop(name, None)
        return plain

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        """Leave null out: an optional parameter is left out instead, though null is understood, too."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """Leave a default of null out, for the same reason."""
        plain = super().default_schema(schema)
        if plain.get("default", ...) is None:
            del plain["default"]
        return plain

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def _clean_value(value: Any) -> Any:
    if isinstance(value, list):
        return [clean(item) if isinstance(item, str) else item for item in value]
    return clean(value) if isinstance(value, str) else value


def _parse_json_object(arguments: str) -> JsonObject:
    try:
        # Accept raw newlines in strings, which are unambiguous; reject NaN and Infinity, which are not JSON.
        value = json.loads(arguments, strict=False, parse_constant=_reject_constant)
    except RecursionError as error:
        raise ToolCallRejected(
            "The arguments are nested too deeply. Send a flat JSON object.", code=_INVALID
        ) from error
    except ValueError as error:
        raise ToolCallRejected(
            "The arguments are not valid JSON (cut off or malformed). Send one complete JSON object.", code=_INVALID
        ) from error
    if not isinstance(value, dict):
        raise ToolCallRejected(f"The arguments are not a JSON object but {type(value).__name__}.", code=_INVALID)
    return value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _choose_code(error: ValidationError) -> str:
    types = (problem["type"] for problem in error.errors(include_url=False, include_input=False, include_context=False))
    return next((code for code in types if code in CODES), _INVALID)


def _describe_problems(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}" for problem in problems[:_MAX_PROBLEMS]
    )
