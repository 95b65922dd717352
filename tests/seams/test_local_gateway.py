"""The local gateway's own error responses are those of the deployed API Gateway."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from gleaner_local.aws import api_gateway
from gleaner_local.aws.execution_environment import HandlerFailed, HandlerTooSlow
from gleaner_local.servers.asgi import AsgiServer
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import properties, synthesis

TOO_LARGE = b"x" * (api_gateway.MAX_BODY_BYTES + 1)


@pytest.mark.parametrize("cross_origin", [False, True])
@pytest.mark.parametrize(
    ("body", "failure", "name"),
    [
        (TOO_LARGE, HandlerFailed, "REQUEST_TOO_LARGE"),
        (b"", HandlerFailed, "INTEGRATION_FAILURE"),
        (b"", HandlerTooSlow, "INTEGRATION_TIMEOUT"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_response_matches_the_deployed_gateway(
    body: bytes, failure: type[HandlerFailed], name: str, *, cross_origin: bool
) -> None:
    def invoke(_event: dict[str, Any], _request_id: str) -> dict[str, Any]:
        raise failure

    server = AsgiServer(api_gateway.create_app(invoke, origins=["*"] if cross_origin else []))
    server.start()
    try:
        response = httpx.post(server.url, content=body)
    finally:
        server.stop()
    deployed = _deployed(name, cross_origin=cross_origin)
    request_id = response.headers["x-request-id"]
    expected_body = deployed["ResponseTemplates"]["application/json"].replace("$context.requestId", request_id)
    assert str(response.status_code) == deployed["StatusCode"]
    assert response.json() == json.loads(expected_body)
    for parameter, value in deployed["ResponseParameters"].items():
        expected = request_id if value == "context.requestId" else value.strip("'")
        assert response.headers[parameter.removeprefix("gatewayresponse.header.")] == expected
    assert ("access-control-allow-origin" in response.headers) == cross_origin


def _deployed(name: str, *, cross_origin: bool) -> dict[str, Any]:
    """The gateway response of this type in an environment with, or without, CORS origins."""
    environment = next(one.name for one in ENVIRONMENTS if bool(one.cors_origins) == cross_origin)
    responses = properties(synthesis().service[environment], "AWS::ApiGateway::GatewayResponse")
    return next(one for one in responses if one["ResponseType"] == name)
