"""Who is calling: taken from what API Gateway's authorizer established, never from the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request; `id` tells apart callers of one kind and of different kinds."""

    id: str


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller named by the authorizer part of a REST proxy event: Cognito, IAM or API key."""
    context = event.get("requestContext") or {}
    claims = (context.get("authorizer") or {}).get("claims") or {}
    identity = context.get("identity") or {}
    for kind, value in (
        ("cognito", claims.get("sub")),
        ("iam", identity.get("userArn")),
        ("key", identity.get("apiKeyId")),
    ):
        if value:
            return Caller(id=f"{kind}:{value}")
    return Caller(id=ANONYMOUS)
