"""Requests of the Pinecone data plane: their shapes and the limits that the service puts on them."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from starlette.datastructures import QueryParams

from gleaner_local.index.embedded import TEXT_FIELD
from gleaner_local.index.filters import FilterInvalid, Predicate, compile_filter

MOST_UPSERTED = 96
MOST_BODY_BYTES = 2_000_000
MOST_FIELD_BYTES = 40 * 1024
MOST_TOP_K = 10_000
MOST_LISTED = 100
MOST_IDS = 1000

RecordId = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[\x01-\x7f]+$")]
FieldValue = Annotated[str | bool | int | float | list[str], Field(union_mode="smart")]
Ids = Annotated[list[RecordId], Field(min_length=1, max_length=MOST_IDS)]

Body = TypeVar("Body", bound=BaseModel)


class BadRequest(Exception):
    """The request cannot be served; the message says what to mend."""


class _Strict(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)


class SearchInputs(_Strict):
    """What to search for."""

    text: str = Field(min_length=1)


class SearchQuery(_Strict):
    """The query of a search; its names are in snake case on the wire, unlike those of the other requests."""

    model_config = ConfigDict(alias_generator=None)

    top_k: int = Field(ge=1, le=MOST_TOP_K)
    inputs: SearchInputs
    filter: dict[str, Any] | None = None


class SearchRequest(_Strict):
    """Body of a search by text. Vectors, ids, match terms and reranking are not served here."""

    query: SearchQuery
    fields: list[str] | None = None


class DeleteRequest(_Strict):
    """Body of a delete: exactly one way to say which records."""

    namespace: str = ""
    ids: Ids | None = None
    delete_all: bool = False
    filter: dict[str, Any] | None = None


class StatsRequest(_Strict):
    """Body of a count of records; like a serverless index, this one takes no filter."""


class ListRequest(_Strict):
    """Parameters of a listing of ids."""

    model_config = ConfigDict(strict=False)

    namespace: str = ""
    prefix: str = ""
    limit: int = Field(default=MOST_LISTED, ge=1, le=MOST_LISTED)
    pagination_token: str = ""


_FIELDS = TypeAdapter(dict[str, FieldValue], config=ConfigDict(strict=True))
_ID = TypeAdapter(RecordId)
_IDS = TypeAdapter(Ids)


def parse_body(shape: type[Body], body: bytes) -> Body:
    """The body in the given shape; an empty body is an empty object. Raises BadRequest."""
    try:
        return shape.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise BadRequest(_first(error)) from error


def parse_list(parameters: QueryParams) -> ListRequest:
    """The parameters of a listing. Raises BadRequest."""
    try:
        return ListRequest.model_validate(dict(parameters))
    except ValidationError as error:
        raise BadRequest(_first(error)) from error


def parse_ids(ids: list[str]) -> list[str]:
    """The ids of a fetch. Raises BadRequest."""
    try:
        return _IDS.validate_python(ids)
    except ValidationError as error:
        raise BadRequest(_first(error)) from error


def parse_records(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Id and fields of each line of an NDJSON body. Raises BadRequest; one bad record refuses all."""
    if len(body) > MOST_BODY_BYTES:
        raise BadRequest(f"The request is {len(body)} bytes long; the limit is {MOST_BODY_BYTES}.")
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= MOST_UPSERTED:
        raise BadRequest(f"A request holds 1 to {MOST_UPSERTED} records, not {len(lines)}.")
    return [_record(line) for line in lines]


def parse_filter(expression: dict[str, Any]) -> Predicate:
    """The predicate behind a filter. Raises BadRequest."""
    try:
        return compile_filter(expression)
    except FilterInvalid as error:
        raise BadRequest(str(error)) from error


def _record(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise BadRequest("A line of the request is not JSON.") from error
    if not isinstance(fields, dict):
        raise BadRequest("A line of the request is not a JSON object.")
    try:
        record_id = _ID.validate_python(fields.pop("_id", None) or fields.pop("id", None))
        checked = _FIELDS.validate_python(fields)
    except ValidationError as error:
        raise BadRequest(_first(error)) from error
    text = checked.get(TEXT_FIELD)
    if not isinstance(text, str) or not text:
        raise BadRequest(f"Missing or invalid field '{TEXT_FIELD}' for record ID '{record_id}'.")
    size = len(json.dumps(checked, ensure_ascii=False).encode())
    if size > MOST_FIELD_BYTES:
        raise BadRequest(f"Metadata size is {size} bytes, which exceeds the limit of {MOST_FIELD_BYTES} per record.")
    return record_id, checked


def _first(error: ValidationError) -> str:
    """The first fault, with its place but without the value."""
    fault = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else fault["msg"]
