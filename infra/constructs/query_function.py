"""The query function: its variables and its permissions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.grants import allow
from infra.constructs.python_function import PythonFunction
from infra.constructs.variable_size import check_variables
from infra.data_stack import DataStack
from infra.environment import Environment
from infra.limits import Quota

# Starts the function with a client that streams responses. Lambda itself reads the variable.
_EXEC_WRAPPER = "/opt/python/gleaner/runtime/lambda_runtime.sh"
READ = ("GetItem", "BatchGetItem", "Query")
WRITE = ("PutItem", "UpdateItem")  # transactions need these, too


class QueryFunction(Construct):
    """The function and its alias `live`, which the API invokes."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        code: Path,
        layer: lambda_.ILayerVersion,
        data: DataStack,
        pinecone_index_host: str,
        admin_callers: Sequence[str],
        documents_bucket: str | None,
    ) -> None:
        """`documents_bucket`: None where there is none; the API then takes no documents."""
        super().__init__(scope, id)
        self._environment = environment
        self._variables = _variables(environment, data, pinecone_index_host, admin_callers)
        if documents_bucket is not None:
            self._variables["DOCUMENTS_BUCKET"] = documents_bucket
        python = PythonFunction(
            self,
            "Python",
            environment=environment,
            description=f"Gleaner {environment.name}: answers the requests of the API",
            code=code,
            layers=[layer],
            size=environment.query,
            variables=self._variables,
            # The host is a parameter, so the template does not change with it. A new version is published for a new
            # host because the description of the version changes.
            version_description=f"Index {pinecone_index_host}",
        )
        self.function = python.function
        self.role = python.role
        self.log_group = python.log_group
        _grant(python.role, data)
        if documents_bucket is not None:
            _grant_objects(python.role, documents_bucket)
        self.live = lambda_.Alias(self, "Live", alias_name="live", version=self.function.current_version)

    def add_variables(self, variables: Mapping[str, str]) -> None:
        """Add variables with values that are known only after the API. Raises ValueError if all take too much room."""
        self._variables |= variables
        if (objection := check_variables(self._variables)) is not None:
            raise ValueError(f"{self._environment.name}: {objection}")
        for name, value in variables.items():
            self.function.add_environment(name, value)


def _variables(
    environment: Environment, data: DataStack, pinecone_index_host: str, admin_callers: Sequence[str]
) -> dict[str, str]:
    variables = {
        "AWS_LAMBDA_EXEC_WRAPPER": _EXEC_WRAPPER,
        "API_KEYS_SECRET_ARN": data.api_keys.secret_arn,
        "KEYWORDS_TABLE": data.tables.keywords.table_name,
        "CONVERSATIONS_TABLE": data.tables.conversations.table_name,
        "TOOL_CALLS_TABLE": data.tables.tool_calls.table_name,
        "IDEMPOTENCY_TABLE": data.tables.idempotency.table_name,
        "ACCESS_TABLE": data.tables.access.table_name,
        "UNLISTED_CALLERS": environment.knowledge_bases.unlisted_callers,
        "DEFAULT_KB_ID": environment.knowledge_bases.default,
        "USAGE_TABLE": data.tables.usage.table_name,
        "DOCUMENTS_TABLE": data.tables.documents.table_name,
        "PINECONE_INDEX_HOST": pinecone_index_host,
        "OPENAI_MODEL": environment.openai_model,
        "OPENAI_PRICES": json.dumps(asdict(environment.openai_prices)) if environment.openai_prices else "",
        "PERPLEXITY_MODEL": environment.perplexity_model,
        "WEB_SEARCH_PRICE": str(environment.web_answer_price),
        "QUERY_DEADLINE_SECONDS": f"{environment.query_deadline_seconds:g}",
        "STREAM_DEADLINE_SECONDS": f"{environment.stream_deadline_seconds:g}",
        "WEB_ANSWER_MAX_AGE_DAYS": str(environment.web_answer_max_age_days),
        "POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(environment),
        "CHAT_PAGE": "on" if environment.chat_page else "off",
        "DOCS_ROUTES": "on" if environment.docs_routes else "off",
        "ADMIN_CALLERS": " ".join(admin_callers),
        "CORS_ORIGINS": " ".join(environment.cors_origins),
        "WEB_BLOCKED_HOSTS": " ".join(environment.web_blocked_hosts),
        "LEARNING": environment.learning,
        "LEARNING_BY_KB": " ".join(f"{kb_id}={mode}" for kb_id, mode in environment.learning_by_kb.items()),
        "LEARNING_FORGET_WITH_SESSION": "on" if environment.learning_forget_with_session else "off",
        "OPENAI_MAX_COMPLETION_TOKENS": str(environment.openai_max_completion_tokens),
        "OPENAI_BASE_URL": environment.openai_base_url or "",
        "OPENAI_API": environment.openai_api or "",
        "OPENAI_REASONING_EFFORT": environment.openai_reasoning_effort or "",
        "PERPLEXITY_BASE_URL": environment.perplexity_base_url or "",
        **_quota(environment.quota),
    }
    return {name: value for name, value in variables.items() if value}  # Lambda does not pass on empty variables


def _quota(quota: Quota) -> dict[str, str]:
    limits = {
        "QUESTIONS_PER_DAY": quota.questions_per_day,
        "USD_PER_DAY": quota.usd_per_day,
        "ENVIRONMENT_QUESTIONS_PER_DAY": quota.environment_questions_per_day,
        "ENVIRONMENT_USD_PER_DAY": quota.environment_usd_per_day,
    }
    variables = {name: "" if limit is None else str(limit) for name, limit in limits.items()}
    return variables | {"QUOTA_ADMINS_EXEMPT": "on" if quota.admins_exempt else "off"}


def _grant(role: iam.Role, data: DataStack) -> None:
    tables = data.tables
    # Pruning through the API deletes look-up entries, provided that their keyword still waits for it.
    allow(role, tables.keywords, READ + WRITE + ("DeleteItem", "ConditionCheckItem"))
    # Sessions are deleted in batches, never item by item.
    allow(role, tables.conversations, READ + WRITE + ("BatchWriteItem",))
    # A rating is stored if its query is the caller's, and replaced when it changes. The records of a session are
    # deleted with it, provided that they are its owner's.
    allow(role, tables.tool_calls, (*READ, "ConditionCheckItem", *WRITE, "DeleteItem", "PartiQLInsert"))
    allow(role, tables.idempotency, ("GetItem", "PutItem", "UpdateItem", "DeleteItem"))
    # Who may use what is up to operators: no fault of the function can widen it.
    allow(role, tables.access, ("BatchGetItem",))
    # Questions are counted by updates, which statements make in several accounts. Erasing a caller reads which accounts
    # there are, and deletes them in batches.
    allow(role, tables.usage, (*READ, "UpdateItem", "BatchWriteItem", "PartiQLUpdate"))
    # Uploads are noted, and removing a document takes its lease, so that it is not loaded at the same time.
    allow(role, tables.documents, ("GetItem", "Query", *WRITE, "DeleteItem"))
    role.add_to_policy(
        iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[data.api_keys.secret_arn])
    )


def _grant_objects(role: iam.Role, bucket: str) -> None:
    """Allow the role what the forms that it signs do, and to delete documents. It reads none."""
    objects = Stack.of(role).format_arn(
        service="s3",
        region="",
        account="",
        resource=bucket,
        resource_name="*",
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
    role.add_to_policy(iam.PolicyStatement(actions=["s3:PutObject", "s3:DeleteObject"], resources=[objects]))
    acknowledge(
        role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::<DocumentsBucketParameter>/*]",
        "Editors choose the names of documents. A form is signed for one of them.",
    )
