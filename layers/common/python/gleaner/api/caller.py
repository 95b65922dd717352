"""Who is calling: taken from what API Gateway's authorizer established, never from the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gleaner.errors import NotAllowed

ANONYMOUS = "anonymous"
ADMIN_GROUP = "admin"  # of a Cognito user pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request; `id` tells apart callers of one kind and of different kinds."""

    id: str
    is_admin: bool = False
    kb_ids: frozenset[str] | None = None  # None: every knowledge base

    def require_admin(self) -> None:
        """Raises NotAllowed unless the caller is an admin."""
        if not self.is_admin:
            raise NotAllowed("This is for admins.")

    def require_knowledge_base(self, kb_id: str) -> None:
        """Raises NotAllowed unless the caller may use this knowledge base."""
        if self.kb_ids is not None and kb_id not in self.kb_ids:
            raise NotAllowed(f"You may not use the knowledge base {kb_id!r}. Name one of yours as kb_id.")


def caller_of(event: Mapping[str, Any], *, admins: frozenset[str], access: Mapping[str, frozenset[str]]) -> Caller:
    """The caller named by the authorizer part of a REST proxy event: Cognito, IAM or API key.

    `admins` are ids of callers who are admins; members of the Cognito group `admin` are, too. `access` limits
    the callers it names to some knowledge bases.
    """
    context = event.get("requestContext") or {}
    claims = (context.get("authorizer") or {}).get("claims") or {}
    identity = context.get("identity") or {}
    for kind, value in (
        ("cognito", claims.get("sub")),
        ("iam", identity.get("userArn")),
        ("key", identity.get("apiKeyId")),
    ):
        if value:
            caller_id = f"{kind}:{value}"
            grouped = kind == "cognito" and ADMIN_GROUP in _groups(claims)
            is_admin = grouped or caller_id in admins
            return Caller(id=caller_id, is_admin=is_admin, kb_ids=access.get(caller_id))
    return Caller(id=ANONYMOUS, kb_ids=access.get(ANONYMOUS))


def _groups(claims: Mapping[str, Any]) -> list[str]:
    # API Gateway writes the claim, a list in the token, as text: "[a b]" or "a,b".
    return str(claims.get("cognito:groups") or "").strip("[]").replace(",", " ").split()
