"""Routes that list the models of OpenAI's API: the knowledge bases that the caller may ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel, Field

from gleaner.api.documents import INDEX_FAILURES
from gleaner.api.protocols.model_names import MAX_MODEL_NAME, ModelName, list_models, parse_model, unknown_model
from gleaner.api.request import Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.errors import StoreUnavailable, UnknownModel
from gleaner.knowledge.library import Library

_CREATED = 1_767_225_600  # 2026-01-01: clients want a number, and a knowledge base does not say when it was begun


class Model(BaseModel):
    """A model: a knowledge base, and how its answers are wanted."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="The same for all models.")
    owned_by: Literal["gleaner"] = "gleaner"


class ModelList(BaseModel):
    """The models that the caller may use."""

    object: Literal["list"] = "list"
    data: list[Model]


class ModelRoutes:
    """GET /v1/models and GET /v1/models/{model}."""

    def __init__(self, library: Library, current: Current, *, default_kb_id: str) -> None:
        self._library = library
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(Endpoint.LIST_MODELS, self._list, raises=(StoreUnavailable, *INDEX_FAILURES)),
            Route(Endpoint.SHOW_MODEL, self._show, raises=(UnknownModel, StoreUnavailable, *INDEX_FAILURES)),
        ]

    def _list(self) -> Response[ModelList]:
        if not self._current().caller.may_use_any():
            return ok(ModelList(data=[]))
        models = list_models(self._allowed(self._existing()), default_kb_id=self._default_kb_id)
        return ok(ModelList(data=[_to_model(str(name)) for name in models]))

    def _show(self, model: Annotated[str, Path(max_length=3 * MAX_MODEL_NAME)]) -> Response[Model]:
        name = unquote(model)  # clients encode colons, and not every gateway decodes a path
        if not self._may_use(parse_model(name)):
            raise unknown_model(name)
        return ok(_to_model(name))

    def _may_use(self, model: ModelName) -> bool:
        kb_id = model.kb_id or self._default_kb_id
        if model.is_plain:
            return self._current().caller.may_use_any()
        return bool(self._allowed([kb_id])) and (kb_id == self._default_kb_id or kb_id in self._existing())

    def _existing(self) -> set[str]:
        """The knowledge bases that can be asked; the default one may be empty, because it can learn from the web."""
        found = self._library.list_knowledge_bases(deadline=self._current().deadline)
        return {self._default_kb_id, *found}

    def _allowed(self, kb_ids: Iterable[str]) -> list[str]:
        limit = self._current().caller.kb_ids
        return [kb_id for kb_id in kb_ids if limit is None or kb_id in limit]


def _to_model(name: str) -> Model:
    return Model(id=name, created=_CREATED)
