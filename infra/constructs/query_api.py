"""The REST API in front of the query function."""

from __future__ import annotations

from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.admission import Admission
from infra.constructs.callers import Callers
from infra.constructs.gateway_responses import add_gateway_responses
from infra.constructs.question_model import add_question_model
from infra.environments import Environment

# What the runtime takes and gives across origins.
_ALLOWED_HEADERS = [*apigateway.Cors.DEFAULT_HEADERS, "Idempotency-Key"]
_EXPOSED_HEADERS = ["X-Query-Id", "X-Request-Id"]
_OPEN = "Open by design: it tells callers without credentials that the service is up"
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
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._admission = Admission(self, "Admission", callers=callers, throttle=environment.throttle)
        self._integration = apigateway.LambdaIntegration(handler, allow_test_invoke=False)
        self.access_log = logs.LogGroup(
            self, "AccessLog", retention=log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        self.api = self._rest_api()
        self._add_routes()
        add_gateway_responses(self.api, cors_origins=environment.cors_origins)
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
            allow_origins=list(origins), allow_headers=_ALLOWED_HEADERS, expose_headers=_EXPOSED_HEADERS
        )

    def _add_routes(self) -> None:
        root = self.api.root.add_resource("api")
        self._open(root.add_resource("health"), _OPEN)
        question = root.add_resource("chat").add_resource("query")
        self._guarded(
            question,
            "POST",
            request_models={"application/json": add_question_model(self.api)},
            request_validator=self.api.add_request_validator(
                "Validator", validate_request_body=True, validate_request_parameters=True
            ),
        )
        # Other methods get the function's own answer, which says what the path takes.
        self._guarded(question, "ANY")
        self._guarded(root.add_resource("{proxy+}"), "ANY")
        if self._environment.docs_routes:
            self._open(self.api.root.add_resource("openapi.json"), _DOCS)
            self._open(self.api.root.add_resource("swagger"), _DOCS)

    def _guarded(self, resource: apigateway.Resource, http_method: str, **options: Any) -> None:
        method = resource.add_method(http_method, self._integration, **self._admission.method_options, **options)
        for rule, why in self._admission.accepted.items():
            acknowledge(method, rule, why)

    def _open(self, resource: apigateway.Resource, reason: str) -> None:
        method = resource.add_method("GET", self._integration, authorization_type=apigateway.AuthorizationType.NONE)
        for rule in ("AwsSolutions-APIG4", "AwsSolutions-COG4"):
            acknowledge(method, rule, reason)


def _access_log_format() -> apigateway.AccessLogFormat:
    fields = {
        "requestId": "$context.requestId",
        "ip": "$context.identity.sourceIp",
        "apiKeyId": "$context.identity.apiKeyId",
        "user": "$context.authorizer.claims.sub",
        "requestTime": "$context.requestTime",
        "httpMethod": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "responseLength": "$context.responseLength",
        "responseLatency": "$context.responseLatency",
        "integrationLatency": "$context.integrationLatency",
        "error": "$context.error.message",
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
