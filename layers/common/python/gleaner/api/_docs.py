"""Routes that describe the API: an OpenAPI document, and a Swagger page that loads nothing from other hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from importlib.resources import files
from string import Template

from aws_lambda_powertools.event_handler import Response

from gleaner.api.request import JSON, Current
from gleaner.api.routes import Endpoint, Route
from gleaner.model import JsonObject

_HTML = "text/html"
# The browser blocks requests to other hosts, whatever the page's script tries to load.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # default-src does not cover these
)
_CACHING = {"Cache-Control": "no-cache"}  # the same for every caller, but new with every deployment
_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>$title</title><style>$style</style></head>
<body>
<div id="swagger-ui"></div>
<script>$script</script>
<script>
SwaggerUIBundle({dom_id: "#swagger-ui", url: "$url", validatorUrl: null, deepLinking: true})
</script>
</body>
</html>
""")


class DocsRoutes:
    """GET /openapi.json and GET /swagger."""

    def __init__(self, describe: Callable[[], JsonObject], current: Current) -> None:
        self._describe = describe
        self._current = current

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        document = {JSON: {"schema": {"type": "object"}}}
        page = {_HTML: {"schema": {"type": "string"}}}
        return (
            Route(Endpoint.OPENAPI, self._openapi, content=document),
            Route(Endpoint.SWAGGER, self._swagger, content=page),
        )

    @cached_property
    def _document(self) -> JsonObject:
        # Built on first use: few processes need it, and it would slow down every cold start.
        return self._describe()

    def _openapi(self) -> Response[str]:
        servers = [{"url": self._current().base_path or "/"}]
        return Response(200, JSON, json.dumps(self._document | {"servers": servers}), headers=dict(_CACHING))

    def _swagger(self) -> Response[str]:
        # The framework's own page for these files refers to a schema validator on the internet.
        assets = files("aws_lambda_powertools.event_handler.openapi.swagger_ui")
        page = _PAGE.substitute(
            title=self._document["info"]["title"],
            style=assets.joinpath("swagger-ui.min.css").read_text("utf-8"),
            script=assets.joinpath("swagger-ui-bundle.min.js").read_text("utf-8"),
            url=self._current().base_path + Endpoint.OPENAPI.path,
        )
        return Response(200, f"{_HTML}; charset=utf-8", page, headers=_CACHING | {"Content-Security-Policy": _POLICY})
