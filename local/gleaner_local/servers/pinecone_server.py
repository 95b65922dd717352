"""Serves the data plane of a Pinecone record index locally: it takes text and embeds it itself."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.index.embedder import DIMENSIONS, EmbeddingStopped, unit_mean
from gleaner_local.index.store import StoredRecord
from gleaner_local.servers._pinecone_requests import (
    BadRequest,
    DeleteRequest,
    SearchRequest,
    StatsRequest,
    parse_body,
    parse_filter,
    parse_ids,
    parse_list,
    parse_records,
)

DEFAULT_NAMESPACE = "__default__"
STOP_SECONDS = 30.0  # for a request that is told to stop; the model is loaded, or a batch embedded, to the end
# Pinecone's error responses contain gRPC codes (google.rpc.Code).
_INVALID_ARGUMENT, _NOT_FOUND, _UNIMPLEMENTED, _UNAVAILABLE, _UNAUTHENTICATED = 3, 5, 12, 14, 16


class _Call(NamedTuple):
    """The input of an operation."""

    records: EmbeddedIndex
    path: Mapping[str, str]
    parameters: QueryParams
    body: bytes


def create_app(index: EmbeddedIndex) -> Starlette:
    """Create the data plane of one index. Any API key is accepted, but there must be one, as at Pinecone."""

    def route(method: str, path: str, answer: Callable[[_Call], Response]) -> Route:
        async def endpoint(request: Request) -> Response:
            if not request.headers.get("api-key"):
                return _failure(401, _UNAUTHENTICATED, "Unauthorized: the Api-Key header is missing.")
            call = _Call(index, request.path_params, request.query_params, await request.body())
            return await run_in_threadpool(answer, call)

        return Route(path, endpoint, methods=[method])

    return Starlette(
        routes=[
            route("POST", "/records/namespaces/{namespace:path}/upsert", _upsert),
            route("POST", "/records/namespaces/{namespace:path}/search", _search),
            route("GET", "/vectors/list", _list),
            route("GET", "/vectors/fetch", _fetch),
            route("POST", "/vectors/delete", _delete),
            route("POST", "/describe_index_stats", _stats),
            route("GET", "/namespaces", _namespaces),
        ],
        exception_handlers={
            BadRequest: _handle_bad_request,
            EmbeddingStopped: _handle_stop,
            HTTPException: _handle_http_error,
        },
    )


def _upsert(call: _Call) -> Response:
    call.records.upsert(call.path["namespace"], parse_records(call.body))
    return Response(status_code=201)


def _search(call: _Call) -> Response:
    request = parse_body(SearchRequest, call.body)
    results = call.records.search(
        call.path["namespace"],
        request.query.inputs.text,
        top_k=request.query.top_k,
        matches=parse_filter(request.query.filter) if request.query.filter else None,
    )
    hits = [
        {"_id": hit.id, "_score": hit.score, "fields": _select_fields(hit.fields, request.fields)} for hit in results
    ]
    usage = {"read_units": 1, "embed_total_tokens": len(request.query.inputs.text) // 4}
    return JSONResponse({"result": {"hits": hits}, "usage": usage})


def _list(call: _Call) -> Response:
    request = parse_list(call.parameters)
    ids = call.records.list_ids(
        _namespace_or_default(request.namespace),
        prefix=request.prefix,
        after=_decode_token(request.pagination_token),
        limit=request.limit + 1,
    )
    page = ids[: request.limit]
    answer: dict[str, Any] = {
        "vectors": [{"id": record_id} for record_id in page],
        "namespace": request.namespace,
        "usage": {"readUnits": 1},
    }
    if len(ids) > request.limit:
        answer["pagination"] = {"next": base64.urlsafe_b64encode(page[-1].encode()).decode()}
    return JSONResponse(answer)


def _fetch(call: _Call) -> Response:
    namespace = call.parameters.get("namespace", "")
    records = call.records.fetch(_namespace_or_default(namespace), parse_ids(call.parameters.getlist("ids")))
    vectors = {record.id: _to_vector(record) for record in records}
    return JSONResponse({"vectors": vectors, "namespace": namespace, "usage": {"readUnits": 1}})


def _delete(call: _Call) -> Response:
    request = parse_body(DeleteRequest, call.body)
    if (request.ids is not None) + request.delete_all + (request.filter is not None) != 1:
        raise BadRequest("Select the records by exactly one of ids, deleteAll and filter.")
    matches = parse_filter(request.filter) if request.filter is not None else None
    namespace = _namespace_or_default(request.namespace)
    if namespace not in call.records.counts():
        return _failure(404, _NOT_FOUND, "Namespace not found")
    if request.ids is not None:
        call.records.delete(namespace, request.ids)
    elif matches is not None:
        call.records.delete_matching(namespace, matches)
    else:
        call.records.delete_all(namespace)
    return JSONResponse({})


def _stats(call: _Call) -> Response:
    parse_body(StatsRequest, call.body)
    counts = call.records.counts()
    return JSONResponse(
        {
            "namespaces": {name: {"vectorCount": count} for name, count in counts.items()},
            "dimension": DIMENSIONS,
            "indexFullness": 0.0,
            "totalVectorCount": sum(counts.values()),
            "metric": "cosine",
            "vectorType": "dense",
        }
    )


def _namespaces(call: _Call) -> Response:
    namespaces = [{"name": name, "record_count": str(count)} for name, count in sorted(call.records.counts().items())]
    return JSONResponse({"namespaces": namespaces, "total_count": len(namespaces)})


def _select_fields(fields: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    if names is None or names == ["*"]:
        return fields
    return {name: value for name, value in fields.items() if name in names}


def _to_vector(record: StoredRecord) -> dict[str, Any]:
    """Convert a record to a dense vector or, if it was not embedded, to the sparse vector of its terms."""
    vector: dict[str, Any] = {"id": record.id, "metadata": record.fields}
    if len(record.vectors):
        vector["values"] = unit_mean(record.vectors).tolist()
    else:
        vector["sparseValues"] = {
            "indices": record.terms.keys.tolist(),
            "values": record.terms.counts.astype(float).tolist(),
        }
    return vector


def _namespace_or_default(namespace: str) -> str:
    return namespace or DEFAULT_NAMESPACE


def _decode_token(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise BadRequest("Invalid pagination token.") from error


def _failure(status: int, code: int, message: str) -> Response:
    return JSONResponse({"code": code, "message": message, "details": []}, status_code=status)


def _handle_bad_request(_request: Request, error: Exception) -> Response:
    return _failure(400, _INVALID_ARGUMENT, str(error))


def _handle_stop(_request: Request, _error: Exception) -> Response:
    return _failure(503, _UNAVAILABLE, "The index is being closed.")


def _handle_http_error(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _failure(status, _UNIMPLEMENTED, "This operation is not supported here.")
