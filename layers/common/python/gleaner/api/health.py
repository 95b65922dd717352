"""The route of health checks."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from gleaner.api.request import ok
from gleaner.api.routes import Endpoint, Route


class Health(BaseModel):
    """The service is up."""

    status: str


def health() -> Response[Health]:
    """Answer without calling any other service: it only shows that this one is running."""
    return ok(Health(status="ok"))


ROUTES = [Route(Endpoint.HEALTH, health)]
