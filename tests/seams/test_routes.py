"""API Gateway names only routes that the function serves, passes all of them on, and streams what the function does."""

from __future__ import annotations

import re
from typing import Any

from gleaner.api import app
from gleaner.api.routes import Endpoint
from gleaner.runtime import response_stream
from infra.environment import Environment
from tests.infra.synthesis import EVERY, properties, synthesis

# The paths of the gateway have parameters in braces.
STREAMED = {(method, re.sub(r"{(\w+)}", r"<\1>", path)) for method, path in response_stream.STREAMED}
ROUTES = {(endpoint.method, endpoint.path) for endpoint in Endpoint}
HEADS = {("HEAD", path) for method, path in ROUTES if method == "GET"}  # answered as GET
DOCS = {Endpoint.OPENAPI.path, Endpoint.SWAGGER.path}
METADATA = {
    endpoint.path
    for endpoint in (
        Endpoint.PROTECTED_RESOURCE,
        Endpoint.PROTECTED_RESOURCE_OF_MCP,
        Endpoint.AUTHORIZATION_SERVER,
        Endpoint.OPENID_CONFIGURATION,
    )
}
PAGE = {Endpoint.PAGE.path, Endpoint.PAGE_FILE.path}


@EVERY
def test_methods_of_the_gateway_are_routes_of_the_function(environment: Environment) -> None:
    methods = gateway_methods(environment)
    named = {(method, re.sub(r"{(\w+)}", r"<\1>", path)) for method, path in methods if method != "ANY"}
    expected = {endpoint.path for endpoint in (Endpoint.ASK, Endpoint.HEALTH)} | {path for _, path in STREAMED}
    expected |= DOCS if environment.docs_routes else set()
    expected |= PAGE if environment.chat_page else set()
    expected |= METADATA if environment.signs_in_to_mcp else set()
    assert {path for _, path in named} == expected
    assert named <= ROUTES | HEADS


def test_the_routes_that_stream_are_the_methods_that_stream() -> None:
    assert {(endpoint.method, endpoint.path) for endpoint in Endpoint if endpoint.streams} == STREAMED


@EVERY
def test_the_gateway_streams_the_methods_that_the_function_streams(environment: Environment) -> None:
    template = synthesis().service[environment.name]
    streamed = {
        (method["HttpMethod"], full_path(template, method["ResourceId"]))
        for method in properties(template, "AWS::ApiGateway::Method")
        if method["Integration"].get("ResponseTransferMode") == "STREAM"
    }
    assert streamed == response_stream.STREAMED


def test_pages_may_send_and_read_the_same_headers_by_both() -> None:
    methods = properties(synthesis().service["dev"], "AWS::ApiGateway::Method")
    preflight = next(method for method in methods if method["HttpMethod"] == "OPTIONS")
    [response] = preflight["Integration"]["IntegrationResponses"]
    deployed = {name.rpartition(".")[2]: value.strip("'") for name, value in response["ResponseParameters"].items()}
    own = app._cors(["https://a.example"])
    assert own is not None
    # API Gateway answers preflights of all methods; the function says what it takes itself.
    told = own.to_dict("https://a.example")
    for name in ("Access-Control-Allow-Headers", "Access-Control-Expose-Headers"):
        gateway, function = (set(one[name].lower().split(",")) for one in (deployed, told))
        assert function <= gateway | {"x-amz-security-token"}, name


@EVERY
def test_every_route_reaches_the_function(environment: Environment) -> None:
    methods = gateway_methods(environment)
    for method, path in ROUTES:
        parent = "/api/{proxy+}" if path.startswith("/api/") else "/{proxy+}"
        assert methods & {(method, path), ("ANY", path), ("ANY", parent)}, f"{method} {path}"


def gateway_methods(environment: Environment) -> set[tuple[str, str]]:
    """Methods and paths of the deployed API, without CORS preflights."""
    template = synthesis().service[environment.name]
    methods = properties(template, "AWS::ApiGateway::Method")
    return {
        (method["HttpMethod"], full_path(template, method["ResourceId"]) or "/")
        for method in methods
        if method["HttpMethod"] != "OPTIONS"
    }


def full_path(template: dict[str, Any], resource_id: dict[str, Any]) -> str:
    if "Ref" not in resource_id:
        return ""
    resource = template["Resources"][resource_id["Ref"]]["Properties"]
    return f"{full_path(template, resource['ParentId'])}/{resource['PathPart']}"
