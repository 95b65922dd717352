"""Identifies the caller from what API Gateway's authorizer established, never from the body."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gleaner.errors import NotAllowed
from gleaner.groups import may_read
from gleaner.model import ANONYMOUS, GROUP_PREFIX

KnowledgeBases = frozenset[str] | None  # None: all
ADMIN_GROUP = "admin"  # a group of the Cognito user pool
_GROUPS = "cognito:groups"
_NONE_ALLOWED = (
    "You may use no knowledge base, so there is nothing to ask. Whoever runs this service can allow you some."
)
_SEPARATORS = frozenset(",[ ]")  # of the names of several groups in one text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The knowledge bases that a caller may use, and those whose documents it may upload and remove.

    `groups` are those that an operator gave the caller, beside those of a Cognito pool.
    """

    kb_ids: KnowledgeBases = None
    edited_kb_ids: KnowledgeBases = frozenset()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request; `id` is unique across all kinds of callers."""

    id: str
    is_admin: bool = False
    find_rights: Callable[[], Rights] = Rights
    recall_rights: Callable[[], Rights] = Rights  # what was found last, at once
    pool_groups: frozenset[str] = frozenset()  # of a Cognito pool

    def find_groups(self) -> frozenset[str]:
        """The groups of the caller; none where they cannot be told. Raises StoreUnavailable or DeadlineExceeded."""
        return self.pool_groups | self.find_rights().groups

    def may_read(self, groups: Collection[str]) -> bool:
        """Whether the caller may read text that is for `groups`, if asked for by its address. Admins may read all.

        They find by searches no more than others in their groups: what their questions learn is for those.
        Raises StoreUnavailable or DeadlineExceeded.
        """
        return not groups or self.is_admin or may_read(groups, self.find_groups())

    @property
    def kb_ids(self) -> KnowledgeBases:
        """The knowledge bases that the caller may use. Raises StoreUnavailable or DeadlineExceeded."""
        return self.find_rights().kb_ids

    def may_use_any(self) -> bool:
        """Whether there is any knowledge base that the caller may use. Raises StoreUnavailable or DeadlineExceeded."""
        kb_ids = self.kb_ids
        return kb_ids is None or bool(kb_ids)

    def require_admin(self) -> None:
        """Raises NotAllowed unless the caller is an admin."""
        if not self.is_admin:
            raise NotAllowed("Only admins may do this.")

    def require_any_knowledge_base(self) -> None:
        """Raises NotAllowed if the caller may use none at all, StoreUnavailable or DeadlineExceeded."""
        if not self.may_use_any():
            raise NotAllowed(_NONE_ALLOWED)

    def require_knowledge_base(self, kb_id: str) -> None:
        """Raises NotAllowed unless the caller may use this knowledge base, StoreUnavailable or DeadlineExceeded."""
        self.admit(kb_id)

    def may_edit(self, kb_id: str) -> bool:
        """Whether the caller may change the documents of a knowledge base. Raises what `kb_ids` raises."""
        rights = self.find_rights()
        may_use = rights.kb_ids is None or kb_id in rights.kb_ids
        return may_use and (self.is_admin or rights.edited_kb_ids is None or kb_id in rights.edited_kb_ids)

    def require_editor(self, kb_id: str) -> None:
        """Raises NotAllowed unless the caller is an editor of this knowledge base, or an admin who may use it.

        Raises StoreUnavailable or DeadlineExceeded as well.
        """
        self.require_knowledge_base(kb_id)
        if not self.may_edit(kb_id):
            raise NotAllowed(
                f"Only admins and editors of the knowledge base {kb_id!r} may upload and remove documents."
            )

    def admit(self, kb_id: str) -> KnowledgeBases:
        """All that the caller may use. Raises what `require_knowledge_base` raises."""
        return _require(kb_id, self.kb_ids)

    def expect(self, kb_id: str) -> KnowledgeBases:
        """What `admit` will probably return, at once. Raises NotAllowed or StoreUnavailable if it will probably raise.

        It admits nobody: a question asks the model on the strength of it while `admit` reads.
        """
        return _require(kb_id, self.recall_rights().kb_ids)


def _require(kb_id: str, kb_ids: KnowledgeBases) -> KnowledgeBases:
    if kb_ids is not None and kb_id not in kb_ids:
        named = f"You may not use the knowledge base {kb_id!r}. Name one of yours as kb_id."
        raise NotAllowed(named if kb_ids else _NONE_ALLOWED)
    return kb_ids


def _no_rights() -> Rights:
    return Rights(kb_ids=frozenset())


def read_caller(
    event: Mapping[str, Any],
    *,
    admins: frozenset[str],
    find_rights: Callable[[Sequence[str]], Rights],
    recall_rights: Callable[[Sequence[str]], Rights],
) -> Caller:
    """The caller that the authorizer of a REST proxy event established: by Cognito, IAM or API key.

    `admins` holds the ids of admins; members of the Cognito group `admin` are admins, too. `find_rights` finds what a
    caller may do that is known by several names: its id, and its groups of a Cognito pool. `recall_rights` says what it
    found last.
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
            groups = _read_groups(event, claims) if kind == "cognito" else ()
            is_admin = caller_id in admins or ADMIN_GROUP in (groups or ())
            if groups is None:  # one of them may be limited, so the caller may use nothing
                return Caller(id=caller_id, is_admin=is_admin, find_rights=_no_rights, recall_rights=_no_rights)
            subjects = (caller_id, *dict.fromkeys(f"{GROUP_PREFIX}{group}" for group in groups))
            return Caller(
                id=caller_id,
                is_admin=is_admin,
                find_rights=partial(find_rights, subjects),
                recall_rights=partial(recall_rights, subjects),
                pool_groups=frozenset(groups),
            )
    subjects = (ANONYMOUS,)
    find, recall = partial(find_rights, subjects), partial(recall_rights, subjects)
    return Caller(id=ANONYMOUS, find_rights=find, recall_rights=recall)


def _read_groups(event: Mapping[str, Any], claims: Mapping[str, Any]) -> Sequence[str] | None:
    """The groups of the caller; None if they cannot be told.

    API Gateway turns the claim, a list in the token, into one string with commas between the groups (other gateways
    use brackets and spaces), but a group name may itself contain a comma. So the list is read from the token, which
    API Gateway has verified.
    """
    claim = claims.get(_GROUPS)
    if not claim:
        return ()
    if isinstance(claim, str) and not _SEPARATORS.intersection(claim):
        return (claim,)
    groups = _groups_in_token(event)
    # A header other than the verified one would not match the claim.
    return groups if claim in (",".join(groups), f"[{' '.join(groups)}]") else None


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
