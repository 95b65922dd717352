"""A fake of Pinecone's control plane: a project with indexes, and scripted failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]

TEXT = {"text": {"type": "semantic_text", "model": "llama-text-embed-v2", "metric": "cosine"}}
AWS = {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1"}


@dataclass(slots=True)
class ControlPlane:
    """A project and the requests that it received; `failures` come first, `states` are those of a new index in turn."""

    indexes: dict[str, Json] = field(default_factory=dict)
    create_requests: list[Json] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def add_index(
        self, name: str, *, fields: Json | None = None, deployment: Json | None = None, host: str | None = None
    ) -> Json:
        """Add an index that is ready."""
        self.indexes[name] = {
            "name": name,
            "host": host or f"{name}-abc.svc.example.org",
            "status": {"ready": True, "state": "Ready"},
            "schema": {"fields": fields or TEXT},
            "deployment": deployment or AWS,
            "deletion_protection": "disabled",
            "tags": None,
        }
        return self.indexes[name]

    @property
    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/indexes", self._list),
                Route("/indexes/create-for-model", self._create, methods=["POST"]),
                Route("/indexes/{name}", self._describe),
            ]
        )

    async def _list(self, _request: Request) -> Response:
        return self._next_failure() or JSONResponse({"indexes": list(self.indexes.values())})

    async def _create(self, request: Request) -> Response:
        if failure := self._next_failure():
            return failure
        body = await request.json()
        self.create_requests.append(body)
        embed = body["embed"]
        fields = {
            embed["field_map"]["text"]: {"type": "semantic_text", "model": embed["model"], "metric": embed["metric"]}
        }
        deployment = {"deployment_type": "managed", "cloud": body["cloud"], "region": body["region"]}
        return JSONResponse(self.add_index(body["name"], fields=fields, deployment=deployment), status_code=201)

    async def _describe(self, request: Request) -> Response:
        index = self.indexes.get(request.path_params["name"])
        if index is None:
            return self._next_failure() or _error(404, "There is no such index.")
        if self.states:
            state = self.states.pop(0)
            return JSONResponse(index | {"status": {"ready": False, "state": state}, "host": None})
        return self._next_failure() or JSONResponse(index)

    def _next_failure(self) -> Response | None:
        return _error(*self.failures.pop(0)) if self.failures else None


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"code": "X", "message": message}, "status": status}, status_code=status)
