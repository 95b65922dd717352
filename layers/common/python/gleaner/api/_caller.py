"""Who is calling: taken from what API Gateway's authorizer established, never from the body."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gleaner.errors import NotAllowed

ANONYMOUS = "anonymous"
ADMIN_GROUP = "admin"  # of a Cognito user pool
_GROUPS = "cognito:groups"


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
            is_admin = caller_id in admins or (kind == "cognito" and _is_group_admin(event, claims))
            return Caller(id=caller_id, is_admin=is_admin, kb_ids=access.get(caller_id))
    return Caller(id=ANONYMOUS, kb_ids=access.get(ANONYMOUS))


def _is_group_admin(event: Mapping[str, Any], claims: Mapping[str, Any]) -> bool:
    """Whether the group `admin` is among the caller's, and not only a part of the name of another group.

    API Gateway writes the claim, a list in the token, as one text with commas between the groups (other gateways in
    brackets with spaces), and the name of a group may hold a comma itself. So the list is read from the token, which
    API Gateway has verified.
    """
    told = claims.get(_GROUPS)
    if told == ADMIN_GROUP:
        return True
    groups = _groups_of_token(event)
    # Were the header not the one that was verified, the claim would tell other groups.
    return ADMIN_GROUP in groups and told in (",".join(groups), f"[{' '.join(groups)}]")


def _groups_of_token(event: Mapping[str, Any]) -> list[str]:
    """The groups in the token that the request was sent with; none when it has no such token, or several."""
    many = event.get("multiValueHeaders") or {name: [value] for name, value in (event.get("headers") or {}).items()}
    tokens = [value for name, values in many.items() if name.lower() == "authorization" for value in values]
    try:
        [token] = tokens
        _, payload, _ = token.split(".")
        groups = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))[_GROUPS]
    except (ValueError, KeyError, TypeError, RecursionError):  # no token of this kind
        return []
    return [str(group) for group in groups] if isinstance(groups, list) else []
