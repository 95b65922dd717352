"""Requests of the Pinecone data plane: their shapes and the limits of the service."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from starlette.datastructures import QueryParams

from gleaner_local.index.embedded import TEXT_FIELD
from gleaner_local.index.filters import FilterInvalid, Predicate, compile_filter

MAX_UPSERT_RECORDS = 96
MAX_BODY_BYTES = 2_000_000
MAX_FIELD_BYTES = 40 * 1024
MAX_TOP_K = 10_000
MAX_PAGE_SIZE = 100
MAX_IDS = 1000

RecordId = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[\x01-\x7f]+$")]
FieldValue = Annotated[str | bool | int | float | list[str], Field(union_mode="smart")]
Ids = Annotated[list[RecordId], Field(min_length=1, max_length=MAX_IDS)]

Body = TypeVar("Body", bound=BaseModel)


class BadRequest(Exception):
    """The request is invalid; the message says what to fix."""


class _Strict(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)


class SearchInputs(_Strict):
    """What to search for."""

    text: str = Field(min_length=1)


class SearchQuery(_Strict):
    """The query of a search; its wire names are in snake case, unlike those of the other requests."""

    model_config = ConfigDict(alias_generator=None)

    top_k: int = Field(ge=1, le=MAX_TOP_K)
    inputs: SearchInputs
    filter: dict[str, Any] | None = None


class SearchRequest(_Strict):
    """Body of a search by text. Vectors, ids, match terms and reranking are not supported here."""

    query: SearchQuery
    fields: list[str] | None = None


class DeleteRequest(_Strict):
    """Body of a delete: selects records in exactly one way."""

    namespace: str = ""
    ids: Ids | None = None
    delete_all: bool = False
    filter: dict[str, Any] | None = None


class StatsRequest(_Strict):
    """Body of a request for statistics; like a serverless index, this one accepts no filter."""


class ListRequest(_Strict):
    """Query parameters of a list of ids."""

    model_config = ConfigDict(strict=False)

    namespace: str = ""
    prefix: str = ""
    limit: int = Field(default=MAX_PAGE_SIZE, ge=1, le=MAX_PAGE_SIZE)
    pagination_token: str = ""


_FIELDS = TypeAdapter(dict[str, FieldValue], config=ConfigDict(strict=True))
_ID = TypeAdapter(RecordId)
_IDS = TypeAdapter(Ids)


def parse_body(shape: type[Body], body: bytes) -> Body:
    """Parse the body as `shape`; an empty body is an empty object. Raises BadRequest."""
    try:
        return shape.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise BadRequest(_describe_first(error)) from error


def parse_list(parameters: QueryParams) -> ListRequest:
    """Parse the query parameters of a list request. Raises BadRequest."""
    try:
        return ListRequest.model_validate(dict(parameters))
    except ValidationError as error:
        raise BadRequest(_describe_first(error)) from error


def parse_ids(ids: list[str]) -> list[str]:
    """Check the ids of a fetch request. Raises BadRequest."""
    try:
        return _IDS.validate_python(ids)
    except ValidationError as error:
        raise BadRequest(_describe_first(error)) from error


def parse_records(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Parse the id and fields of each line of an NDJSON body. Raises BadRequest if any record is invalid."""
    if len(body) > MAX_BODY_BYTES:
        raise BadRequest(f"The request is {len(body)} bytes long; the limit is {MAX_BODY_BYTES}.")
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= MAX_UPSERT_RECORDS:
        raise BadRequest(f"A request must hold 1 to {MAX_UPSERT_RECORDS} records, not {len(lines)}.")
    return [_parse_record(line) for line in lines]


def parse_filter(expression: dict[str, Any]) -> Predicate:
    """Compile a filter to a predicate. Raises BadRequest."""
    try:
        return compile_filter(expression)
    except FilterInvalid as error:
        raise BadRequest(str(error)) from error


def _parse_record(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise BadRequest("A line of the request is not JSON.") from error
    if not isinstance(fields, dict):
        raise BadRequest("A line of the request is not a JSON object.")
    try:
        record_id = _ID.validate_python(fields.pop("_id", None) or fields.pop("id", None))
        valid_fields = _FIELDS.validate_python(fields)
    except ValidationError as error:
        raise BadRequest(_describe_first(error)) from error
    text = valid_fields.get(TEXT_FIELD)
    if not isinstance(text, str) or not text:
        raise BadRequest(f"Missing or invalid field '{TEXT_FIELD}' for record ID '{record_id}'.")
    size = len(json.dumps(valid_fields, ensure_ascii=False).encode())
    if size > MAX_FIELD_BYTES:
        raise BadRequest(f"Metadata size is {size} bytes, which exceeds the limit of {MAX_FIELD_BYTES} per record.")
    return record_id, valid_fields


def _describe_first(error: ValidationError) -> str:
    """Describe the first error with its location but without the value."""
    first_error = error.errors(include_input=False, include_url=False)[0]
    location = ".".join(str(part) for part in first_error["loc"])
    return f"{location}: {first_error['msg']}" if location else first_error["msg"]
