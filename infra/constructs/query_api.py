"""The REST API in front of the query function."""

from __future__ import annotations

from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.admission import Admission
from infra.constructs.callers import Callers
from infra.constructs.gateway_responses import EXPOSED_HEADERS, add_gateway_responses
from infra.constructs.question_model import add_question_model
from infra.environments import Environment
from infra.retention import log_group

# What the runtime takes across origins.
_ALLOWED_HEADERS = [*apigateway.Cors.DEFAULT_HEADERS, "Idempotency-Key"]
_OPEN = "Open by design: it tells callers without credentials that the service is up"
_HEALTH = "/api/health/GET"
_DESCRIPTIONS = ("openapi.json", "swagger")
_DOCS = "Open by design: it describes the API, in environments that say so"


class QueryApi(Construct):
    """Routes everything to the function; checks callers, rates and the body of a question before."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        handler: lambda_.IFunction,
        callers: Callers,
    ) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._admission = Admission(self, "Admission", callers=callers, throttle=environment.throttle)
        self._integration = apigateway.LambdaIntegration(handler, allow_test_invoke=False)
        self.access_log = log_group(self, "AccessLog", environment=environment)
        self.api = self._rest_api()
        self._add_routes()
        add_gateway_responses(self.api, cors_origins=environment.cors_origins, authorizer=environment.authorizer)
        self._admission.limit(self.api)

    def _rest_api(self) -> apigateway.RestApi:
        environment = self._environment
        api = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"gleaner-{environment.name}",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            deploy_options=apigateway.StageOptions(
                stage_name=environment.name,
                throttling_rate_limit=environment.throttle.rate_per_second,
                throttling_burst_limit=environment.throttle.burst,
                method_options=_open_routes(environment),
                tracing_enabled=True,
                access_log_destination=apigateway.LogGroupLogDestination(self.access_log),
                access_log_format=_access_log_format(),
            ),
            default_cors_preflight_options=self._preflight(),
            # One setting of the whole account, which other APIs may rely on: it stays when the stack goes.
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN,
        )
        _acknowledge(api)
        return api

    def _preflight(self) -> apigateway.CorsOptions | None:
        origins = self._environment.cors_origins
        if not origins:
            return None
        return apigateway.CorsOptions(
            allow_origins=list(origins), allow_headers=_ALLOWED_HEADERS, expose_headers=list(EXPOSED_HEADERS)
        )

    def _add_routes(self) -> None:
        root = self.api.root
        paths = root.add_resource("api")
        health = paths.add_resource("health")
        chat = paths.add_resource("chat")
        question = chat.add_resource("query")
        self.health = self._open(health, _OPEN)
        self._guarded(
            question,
            "POST",
            request_models={"application/json": add_question_model(self.api)},
            request_validator=self.api.add_request_validator(
                "Validator", validate_request_body=True, validate_request_parameters=True
            ),
        )
        described = [root.add_resource(name) for name in _DESCRIPTIONS if self._environment.docs_routes]
        for description in described:
            self._open(description, _DOCS)
        # Whatever else there may be is the function's to answer, to a caller: it knows the paths, and says what is
        # there or which methods a path takes. API Gateway's own word for both is that credentials are missing.
        others = [root.add_resource("{proxy+}"), paths.add_resource("{proxy+}")]
        for resource in (root, paths, health, chat, question, *described, *others):
            self._guarded(resource, "ANY")

    def _guarded(self, resource: apigateway.IResource, http_method: str, **options: Any) -> None:
        method = resource.add_method(http_method, self._integration, **self._admission.method_options, **options)
        for rule, why in self._admission.accepted.items():
            acknowledge(method, rule, why)

    def _open(self, resource: apigateway.Resource, reason: str) -> apigateway.Method:
        method = resource.add_method("GET", self._integration, authorization_type=apigateway.AuthorizationType.NONE)
        for rule in ("AwsSolutions-APIG4", "AwsSolutions-COG4"):
            acknowledge(method, rule, reason)
        return method


def _open_routes(environment: Environment) -> dict[str, apigateway.MethodDeploymentOptions]:
    """Anybody may call these, so they get few of the function's environments. Health checks are counted apart."""
    rate = environment.throttle.open_rate_per_second
    described = [f"/{name}/GET" for name in _DESCRIPTIONS if environment.docs_routes]
    return {
        route: apigateway.MethodDeploymentOptions(
            throttling_rate_limit=rate, throttling_burst_limit=2 * rate, metrics_enabled=route == _HEALTH
        )
        for route in (_HEALTH, *described)
    }


def _access_log_format() -> apigateway.AccessLogFormat:
    fields = {
        "requestId": "$context.requestId",
        "ip": "$context.identity.sourceIp",
        "apiKeyId": "$context.identity.apiKeyId",
        "user": "$context.authorizer.claims.sub",
        "iamIdentity": "$context.identity.userArn",
        "requestTime": "$context.requestTime",
        "httpMethod": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "responseLength": "$context.responseLength",
        "responseLatency": "$context.responseLatency",
        "integrationLatency": "$context.integrationLatency",
        "error": "$context.error.responseType",  # its message may have quotes, which nothing here would escape
    }
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    return apigateway.AccessLogFormat.custom(f"{{{pairs}}}")


def _acknowledge(api: apigateway.RestApi) -> None:
    accepted = {
        "AwsSolutions-APIG3": "A web ACL costs a fixed sum a month; throttling, quota and the authorizer bound misuse.",
        "AwsSolutions-APIG6": "The access log has every request and its error. API Gateway's execution log would "
        "lie in a group that the stack cannot give a retention time.",
        "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
        "AmazonAPIGatewayPushToCloudWatchLogs]": "AWS's own policy for this one account-wide setting.",
    }
    for rule, reason in accepted.items():
        acknowledge(api, rule, reason)
