"""The REST API in front of the query function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.admission import Admission
from infra.constructs.callers import Callers
from infra.constructs.gateway_responses import EXPOSED_HEADERS, add_gateway_responses
from infra.constructs.mcp_client import scope_of
from infra.constructs.question_model import add_question_model
from infra.environment import Authorizer, Environment
from infra.retention import log_group

# The request headers that the runtime accepts across origins.
# The last are those of OpenAI's clients.
_ALLOWED_HEADERS = [
    *apigateway.Cors.DEFAULT_HEADERS,
    "Idempotency-Key",
    *("OpenAI-Organization", "OpenAI-Project", "OpenAI-Beta"),
    *(f"X-Stainless-{name}" for name in ("Arch", "Lang", "OS", "Package-Version", "Runtime", "Runtime-Version")),
    *(f"X-Stainless-{name}" for name in ("Helper-Method", "Retry-Count", "Timeout")),
    *("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"),
]
# Headers that pages may read, too, in the function's answers.
_FUNCTION_HEADERS = ("Retry-After", "Idempotent-Replayed", "x-should-retry")
_HEALTH_REASON = "Open by design: it tells callers without credentials that the service is up"
_HEALTH = "/api/health"
_OPEN_METHODS = ("GET", "HEAD")  # monitors send either
# Paths whose responses to POST are streamed while the function writes them. Each has a resource of its own, by which
# the function recognizes it: gleaner/runtime/response_stream.py.
_STREAMED = ("/api/chat/stream", "/api/sessions/{session_id}/chat/stream", "/v1/chat/completions")
_DESCRIPTIONS = ("openapi.json", "swagger")
_DOCS_REASON = "Open by design: it describes the API, in environments that enable it"
_RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
_METADATA = (
    _RESOURCE_METADATA,
    f"{_RESOURCE_METADATA}/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)
_METADATA_REASON = "Open by design: it says where users sign in, to clients that have no token yet"
_PAGE = "/"
_PAGE_FILE = "/page/{name}"
_PAGE_REASON = "Open by design: the page holds nothing, and the API that it calls is guarded"


class QueryApi(Construct):
    """Routes every request to the function, after checking the caller, the rate and the body of a question."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        handler: lambda_.IFunction,
        callers: Callers,
        authorizer_code: Path,
    ) -> None:
        super().__init__(scope, id)
        self._environment = environment
        # One permission for all methods: a policy takes 20,480 bytes, which one for each of them would exceed.
        self._integration = apigateway.LambdaIntegration(
            handler,
            scope_permission_to_method=False,
            timeout=Duration.seconds(environment.integration_timeout_seconds),
        )
        self._streamed = apigateway.LambdaIntegration(
            handler,
            scope_permission_to_method=False,
            response_transfer_mode=apigateway.ResponseTransferMode.STREAM,
            timeout=Duration.seconds(environment.query.timeout_seconds),
        )
        self.access_log = log_group(self, "AccessLog", environment=environment)
        self.api = self._rest_api()
        self._admission = Admission(
            self,
            "Admission",
            environment=environment,
            callers=callers,
            mcp_scope=scope_of(self.public_url) if environment.signs_in_to_mcp else None,
            authorizer_code=authorizer_code,
        )
        self._add_routes()
        self._allow_stage_only()
        add_gateway_responses(
            self.api,
            cors_origins=environment.cors_origins,
            authorizer=environment.authorizer,
            challenge=self._challenge(),
        )
        self._admission.limit(self.api)

    def _rest_api(self) -> apigateway.RestApi:
        environment = self._environment
        api = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"gleaner-{environment.name}",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            disable_execute_api_endpoint=True if environment.closes_default_endpoint else None,
            deploy_options=apigateway.StageOptions(
                stage_name=environment.name,
                throttling_rate_limit=environment.throttle.rate_per_second,
                throttling_burst_limit=environment.throttle.burst,
                method_options=_open_route_options(environment),
                tracing_enabled=True,
                access_log_destination=apigateway.LogGroupLogDestination(self.access_log),
                access_log_format=_access_log_format(),
            ),
            default_cors_preflight_options=self._preflight(),
            api_key_source_type=_key_source(environment.authorizer),
            # An account-wide setting that other APIs may rely on: it stays when the stack is deleted.
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN,
        )
        _acknowledge(api, environment)
        return api

    def _preflight(self) -> apigateway.CorsOptions | None:
        origins = self._environment.cors_origins
        if not origins:
            return None
        return apigateway.CorsOptions(
            allow_origins=list(origins),
            allow_headers=_ALLOWED_HEADERS,
            expose_headers=[*EXPOSED_HEADERS, *_FUNCTION_HEADERS],
        )

    def _challenge(self) -> str:
        """What MCP clients need to get credentials, with the whole address: it cannot stand at the root of the host."""
        if not self._environment.signs_in_to_mcp:
            return "Bearer"
        return f'Bearer resource_metadata="{self.public_url}{_METADATA[0]}", scope="{scope_of(self.public_url)}"'

    def _add_routes(self) -> None:
        root = self.api.root
        paths = root.add_resource("api")
        chat = paths.add_resource("chat")
        question = chat.add_resource("query")
        self._add_open(_HEALTH, _HEALTH_REASON)
        checked = self._check_body()
        self._add_guarded(question, "POST", self._integration, **checked)
        for name in _DESCRIPTIONS if self._environment.docs_routes else ():
            self._add_open(f"/{name}", _DOCS_REASON)
        for path in (_PAGE, _PAGE_FILE) if self._environment.chat_page else ():
            self._add_open(path, _PAGE_REASON)
        for path in _METADATA if self._environment.signs_in_to_mcp else ():
            self._add_open(path, _METADATA_REASON)
        for path in _STREAMED:
            options = checked if path.startswith("/api/") else {}  # the bodies of other doors have other forms
            self._add_guarded(root.resource_for_path(path), "POST", self._streamed, **options)
        root.add_resource("mcp")
        for parent in (root, paths, root.resource_for_path("/v1")):
            parent.add_resource("{proxy+}")
        # The function answers all other paths and methods, to authenticated callers only: it knows which paths exist
        # and which methods they take. API Gateway would report missing credentials for both, also for the paths of
        # resources that only lead to others.
        resources = (child for child in root.node.find_all() if isinstance(child, apigateway.Resource))
        for resource in (root, *resources):
            self._add_guarded(resource, "ANY", self._integration)

    def _allow_stage_only(self) -> None:
        """Narrow the permission to the stage: the construct also allows test calls, which no authorizer checks."""
        (permission,) = (child for child in self.api.node.children if isinstance(child, lambda_.CfnPermission))
        permission.source_arn = self.api.arn_for_execute_api(stage=self._environment.name)

    def _check_body(self) -> dict[str, Any]:
        """The options of a method that takes a question."""
        validator = self.api.add_request_validator(
            "Validator", validate_request_body=True, validate_request_parameters=True
        )
        return {"request_models": {"application/json": add_question_model(self.api)}, "request_validator": validator}

    def _add_guarded(
        self,
        resource: apigateway.IResource,
        http_method: str,
        integration: apigateway.Integration,
        **options: Any,
    ) -> None:
        method = resource.add_method(http_method, integration, **self._admission.options(resource.path), **options)
        for rule, reason in self._admission.accepted_rules.items():
            acknowledge(method, rule, reason)

    def _add_open(self, path: str, reason: str) -> None:
        resource = self.api.root.resource_for_path(path)
        for name in _OPEN_METHODS:
            method = resource.add_method(name, self._integration, authorization_type=apigateway.AuthorizationType.NONE)
            for rule in ("AwsSolutions-APIG4", "AwsSolutions-COG4"):
                acknowledge(method, rule, reason)

    @property
    def url(self) -> str:
        """The address of the API, without a final slash: callers append a path, and two slashes make another path.

        It names the stage instead of referring to it, so that what the function needs may depend on the address.
        """
        stack, name = Stack.of(self), self._environment.name
        return f"https://{self.api.rest_api_id}.execute-api.{stack.region}.{stack.url_suffix}/{name}"

    @property
    def public_url(self) -> str:
        """The address of the API as its clients see it, without a final slash."""
        return self._environment.address or self.url


def _key_source(authorizer: Authorizer) -> apigateway.ApiKeySourceType | None:
    """Where API Gateway reads the keys of callers; one place for the whole API."""
    return apigateway.ApiKeySourceType.AUTHORIZER if authorizer is Authorizer.API_KEY else None


def _open_route_options(environment: Environment) -> dict[str, apigateway.MethodDeploymentOptions]:
    """Throttle the open routes, so that they take little concurrency."""
    rate, throttle = environment.throttle.open_rate_per_second, environment.throttle
    rates = {_HEALTH: rate} | ({f"/{name}": rate for name in _DESCRIPTIONS} if environment.docs_routes else {})
    rates |= dict.fromkeys(_METADATA, rate) if environment.signs_in_to_mcp else {}
    rates |= {_PAGE: rate, _PAGE_FILE: throttle.page_rate_per_second} if environment.chat_page else {}
    return {
        f"{path}/{method}": apigateway.MethodDeploymentOptions(
            throttling_rate_limit=rate, throttling_burst_limit=2 * rate
        )
        for path, rate in rates.items()
        for method in _OPEN_METHODS
    }


def _access_log_format() -> apigateway.AccessLogFormat:
    fields = {
        # The three ids of a request: in the caller's X-Request-Id and the function's `request_id`, in the function's
        # `function_request_id`, and in X-Ray.
        "requestId": "$context.requestId",
        "functionRequestId": "$context.integration.requestId",
        "xrayTraceId": "$context.xrayTraceId",
        "ip": "$context.identity.sourceIp",
        "apiKeyId": "$context.identity.apiKeyId",
        "user": "$context.authorizer.claims.sub",
        "iamIdentity": "$context.identity.userArn",
        "requestTime": "$context.requestTime",
        "httpMethod": "$context.httpMethod",
        "path": "$context.path",
        "resourcePath": "$context.resourcePath",  # without the stage, and with the names of parameters
        "status": "$context.status",
        "responseLength": "$context.responseLength",
        "responseLatency": "$context.responseLatency",
        "integrationLatency": "$context.integrationLatency",
        "transferMode": "$context.integration.responseTransferMode",
        "timeToFirstContent": "$context.integration.timeToFirstContent",
        "error": "$context.error.responseType",  # not error.message: its quotes would not be escaped
    }
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    return apigateway.AccessLogFormat.custom(f"{{{pairs}}}")


def _acknowledge(api: apigateway.RestApi, environment: Environment) -> None:
    without_firewall = "A web ACL has a fixed monthly price; throttling, quota and the authorizer limit abuse."
    reasons = {} if environment.firewall else {"AwsSolutions-APIG3": without_firewall}
    reasons |= {
        "AwsSolutions-APIG6": "The access log records every request and its error. The stack cannot set the "
        "retention of API Gateway's execution log.",
        "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
        "AmazonAPIGatewayPushToCloudWatchLogs]": "AWS's own policy for this one account-wide setting.",
    }
    for rule, reason in reasons.items():
        acknowledge(api, rule, reason)
