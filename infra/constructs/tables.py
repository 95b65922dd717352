"""The DynamoDB tables. A seam test checks that their keys and indexes are the runtime's."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

Index = tuple[str, str, str]  # name, partition key, sort key
_Projection = dynamodb.ProjectionType

KEYWORD_INDEXES: Sequence[Index] = (("by_last_use", "queue", "last_used_at"),)
CONVERSATION_INDEXES: Sequence[Index] = (("by_owner", "owner", "updated_at"),)
TOOL_CALL_INDEXES: Sequence[Index] = (
    ("by_session", "session_id", "created_at"),
    ("by_tool", "tool_name", "created_at"),
    ("by_status", "status", "created_at"),
)
DOCUMENT_INDEXES: Sequence[Index] = (
    ("by_state", "kb_state", "updated_at"),
    ("by_uploader", "uploaded_by", "updated_at"),
)
# These project the keys instead of all attributes.
_KEYS_ONLY = frozenset(["by_session", "by_tool", "by_status", "by_uploader"])


class Tables(Construct):
    """The tables of one environment: on demand, encrypted, recoverable to any second of the last 35 days."""

    def __init__(self, scope: Construct, id: str, *, policy: RemovalPolicy, protected: bool) -> None:
        super().__init__(scope, id)
        self._policy = policy
        self._protected = protected
        self.keywords = self._table(
            "Keywords", "pk", "sk", indexes=KEYWORD_INDEXES, time_to_live_attribute="expires_at"
        )
        self.conversations = self._table("Conversations", "pk", "sk", indexes=CONVERSATION_INDEXES)
        self.tool_calls = self._table("ToolCalls", "pk", "sk", indexes=TOOL_CALL_INDEXES)
        self.idempotency = self._table("Idempotency", "id", time_to_live_attribute="expiration")
        self.access = self._table("Access", "subject")
        self.usage = self._table("Usage", "pk", "sk", time_to_live_attribute="expires_at")
        self.documents = self._table(
            "Documents", "kb_id", "document_id", indexes=DOCUMENT_INDEXES, time_to_live_attribute="expires_at"
        )

    def _table(
        self,
        id: str,
        partition_key: str,
        sort_key: str | None = None,
        *,
        indexes: Sequence[Index] = (),
        time_to_live_attribute: str | None = None,
    ) -> dynamodb.TableV2:
        return dynamodb.TableV2(
            self,
            id,
            partition_key=_string(partition_key),
            sort_key=_string(sort_key) if sort_key else None,
            global_secondary_indexes=[
                dynamodb.GlobalSecondaryIndexPropsV2(
                    index_name=name,
                    partition_key=_string(partition),
                    sort_key=_string(sort),
                    projection_type=_Projection.KEYS_ONLY if name in _KEYS_ONLY else _Projection.ALL,
                )
                for name, partition, sort in indexes
            ],
            time_to_live_attribute=time_to_live_attribute,
            billing=dynamodb.Billing.on_demand(),
            encryption=dynamodb.TableEncryptionV2.aws_managed_key(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=self._protected,
            removal_policy=self._policy,
        )


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
