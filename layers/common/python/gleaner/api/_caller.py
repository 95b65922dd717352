"""Identifies the caller from what API Gateway's authorizer established, never from the body."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gleaner.errors import NotAllowed

ANONYMOUS = "anonymous"
ADMIN_GROUP = "admin"  # a group of the Cognito user pool
_GROUPS = "cognito:groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request; `id` is unique across all kinds of callers."""

    id: str
    is_admin: bool = False
    kb_ids: frozenset[str] | None = None  # None allows every knowledge base

    def require_admin(self) -> None:
        """Raises NotAllowed unless the caller is an admin."""
        if not self.is_admin:
            raise NotAllowed("Only admins may do this.")

    def require_knowledge_base(self, kb_id: str) -> None:
        """Raises NotAllowed unless the caller may use this knowledge base."""
        if self.kb_ids is not None and kb_id not in self.kb_ids:
            raise NotAllowed(f"You may not use the knowledge base {kb_id!r}. Name one of yours as kb_id.")


def read_caller(event: Mapping[str, Any], *, admins: frozenset[str], access: Mapping[str, frozenset[str]]) -> Caller:
    """The caller that the authorizer of a REST proxy event established: by Cognito, IAM or API key.

    `admins` holds the ids of admins; members of the Cognito group `admin` are admins, too. `access` restricts the
    callers it names to certain knowledge bases.
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
    """Whether the caller is in the group `admin`, rather than in a group whose name contains that word.

    API Gateway turns the claim, a list in the token, into one string with commas between the groups (other gateways
    use brackets and spaces), but a group name may itself contain a comma. So the list is read from the token, which
    API Gateway has verified.
    """
    claim = claims.get(_GROUPS)
    if claim == ADMIN_GROUP:
        return True
    groups = _groups_in_token(event)
    # A header other than the verified one would not match the claim.
    return ADMIN_GROUP in groups and claim in (",".join(groups), f"[{' '.join(groups)}]")


def _groups_in_token(event: Mapping[str, Any]) -> list[str]:
    """The groups in the token of the request; none if it has no such token or several."""
    headers = event.get("multiValueHeaders") or {name: [value] for name, value in (event.get("headers") or {}).items()}
    tokens = [value for name, values in headers.items() if name.lower() == "authorization" for value in values]
    try:
        [token] = tokens
        _, payload, _ = token.split(".")
        groups = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))[_GROUPS]
    except (ValueError, KeyError, TypeError, RecursionError):  # not a Cognito token
        return []
    return [str(group) for group in groups] if isinstance(groups, list) else []
