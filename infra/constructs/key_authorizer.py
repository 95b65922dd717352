"""The authorizers through which API Gateway finds the API key of a request, in either of two headers."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from infra.constructs.python_function import PythonFunction
from infra.environment import Environment, Function

_SIZE = Function(memory_mb=128, timeout_seconds=5)
# What API Gateway allows as the value of a key. It answers 401 to anything else and does not invoke the function.
_KEY = r"[!-~]{20,128}"
# The function hands the key on unjudged, and API Gateway looks the key up at every request. So a result is never stale.
_CACHED = Duration.hours(1)


class KeyAuthorizer(Construct):
    """Reads the key from `x-api-key` or, for clients that can send nothing else, from `Authorization: Bearer`.

    Each header has an authorizer of its own, because API Gateway caches a result only if all headers that identify it
    are present.
    """

    def __init__(self, scope: Construct, id: str, *, environment: Environment, code: Path) -> None:
        super().__init__(scope, id)
        python = PythonFunction(
            self,
            "Python",
            environment=environment,
            description=f"Gleaner {environment.name}: hands API keys on to API Gateway",
            code=code,
            size=_SIZE,
        )
        self.log_group = python.log_group
        self._function = python.function
        self.of_header = self._authorizer("Header", "x-api-key", f"^{_KEY}$")
        self.of_bearer = self._authorizer("Bearer", "Authorization", f"^[Bb][Ee][Aa][Rr][Ee][Rr] +{_KEY}$")

    def _authorizer(self, id: str, header: str, expression: str) -> apigateway.TokenAuthorizer:
        return apigateway.TokenAuthorizer(
            self,
            id,
            handler=self._function,
            identity_source=apigateway.IdentitySource.header(header),
            validation_regex=expression,
            results_cache_ttl=_CACHED,
        )
