"""Functions are deployed with the variables that their settings read, and with the same defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import pytest

from gleaner.api.routes import Endpoint
from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.settings import Settings
from gleaner.runtime.sign_in import SignIn
from gleaner_documents.loading.settings import IngestSettings
from gleaner_local.aws.ministack import TABLES
from infra.environment import Environment, KnowledgeBases
from infra.environments import DEV, ENVIRONMENTS, PROD
from tests.infra.synthesis import (
    AT_DOMAIN,
    BEHIND_DOMAIN,
    BY_IAM,
    EVERY,
    OWN_POOL,
    POOL_WITHOUT_PAGES,
    TUNED,
    WITH_PAGE,
    WITHOUT,
    Template,
    functions,
    properties,
    synthesis,
)

REQUIRED = (*TABLES, "API_KEYS_SECRET_ARN")
# What a template refers to, and what Lambda adds.
REFERRED = {"PINECONE_INDEX_HOST": "index.example", "DOCUMENTS_BUCKET": "documents"}
OF_LAMBDA = {"AWS_REGION": "eu-west-1"}
MINIMAL = dict.fromkeys(REQUIRED, "x") | {"PINECONE_INDEX_HOST": "index.example"}
OF_INGESTION = {"DOCUMENTS_BUCKET": "documents", "DOCUMENTS_QUEUE_URL": "https://sqs.example/documents"}
RULES = [environment.pruning for environment in ENVIRONMENTS]


class RecordingVariables(Mapping[str, str]):
    """Variables that record which of them are read. `https://<name>.example` replaces most references of the template.

    Those that Lambda adds can be read, too.
    """

    def __init__(self, variables: Mapping[str, Any]) -> None:
        addresses = {name: REFERRED.get(name, f"https://{name.lower()}.example") for name in variables}
        self._values = {name: _resolve(value, addresses[name]) for name, value in variables.items()} | OF_LAMBDA
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values.keys() - OF_LAMBDA.keys())

    def __len__(self) -> int:
        return len(list(iter(self)))


@EVERY
def test_the_query_function_gets_its_settings(environment: Environment) -> None:
    settings = Settings.from_env(_variables(environment, "query"))
    assert settings.cors_origins == environment.cors_origins
    assert settings.docs_routes == environment.docs_routes
    assert settings.chat_page == environment.chat_page
    assert settings.query_deadline_seconds == environment.query_deadline_seconds
    assert settings.stream_deadline_seconds == environment.stream_deadline_seconds
    assert settings.web_answer_max_age_days == environment.web_answer_max_age_days
    tables = {settings.keywords_table, settings.conversations_table, settings.tool_calls_table}
    assert len(tables | {settings.idempotency_table, settings.usage_table}) == 5
    quota, record = settings.quota, environment.quota
    assert (quota.caller.questions, quota.caller.usd) == (record.questions_per_day, record.usd_per_day)
    assert quota.environment.questions == record.environment_questions_per_day
    assert quota.environment.usd == record.environment_usd_per_day
    assert quota.admins_exempt == record.admins_exempt


@EVERY
def test_the_query_function_reads_every_variable_that_is_deployed(environment: Environment) -> None:
    variables = _variables(environment, "query")
    Settings.from_env(variables)
    unread = {name for name in variables if not name.startswith(("POWERTOOLS_", "AWS_LAMBDA_"))} - variables.read
    assert unread == set()


# Variables of the settings that no record of an environment sets, with the reason.
WITHOUT_FIELD = {
    "OPENAI_API_KEY": "the keys are in the secret",
    "PINECONE_API_KEY": "the keys are in the secret",
    "PERPLEXITY_API_KEY": "the keys are in the secret",
    "AWS_ENDPOINT_URL_DYNAMODB": "deployed functions use DynamoDB's own address",
    "AWS_ENDPOINT_URL_S3": "deployed functions use S3's own address",
    "AWS_ENDPOINT_URL_SQS": "deployed functions use SQS's own address",
    "DOCUMENTS_ENDPOINT_URL": "browsers reach S3 at its own address",
    "AWS_REGION": "Lambda says where it runs",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "Lambda says how much memory there is",
    "KNOWLEDGE_BASE_ACCESS": "not a setting any more: read to refuse it",
    "ANSWER_GRACE_DAYS": "how long a stored answer outlives its keywords guards against races, not costs",
}


def test_every_setting_has_a_field_in_the_environments_record_or_a_reason() -> None:
    read, deployed = set[str](), set[str]()
    every = synthesis()
    for name, from_env, templates in (
        ("query", Settings.from_env, every.service),
        ("prune", PruneSettings.from_env, every.service),
        ("ingest", IngestSettings.from_env, every.documents),
    ):
        minimal = RecordingVariables(MINIMAL | OF_INGESTION if name == "ingest" else MINIMAL)
        from_env(minimal)
        read |= minimal.read
        for template in templates.values():
            variables = RecordingVariables(_resolve_all(functions(template)[name]["Environment"]["Variables"]))
            from_env(variables)
            read |= variables.read
            deployed |= variables.keys()
    assert read - deployed == WITHOUT_FIELD.keys()


def test_a_record_with_values_of_its_own_reaches_the_settings() -> None:
    settings = Settings.from_env(_variables(TUNED, "query"))
    assert settings.default_kb_id == TUNED.knowledge_bases.default
    assert not settings.unlisted_may_use_all
    assert settings.openai_max_completion_tokens == TUNED.openai_max_completion_tokens
    assert (settings.openai_base_url, settings.openai_api) == (TUNED.openai_base_url, TUNED.openai_api)
    assert settings.openai_reasoning_effort == TUNED.openai_reasoning_effort
    assert settings.perplexity_base_url == TUNED.perplexity_base_url
    assert settings.cors_origins == TUNED.cors_origins
    assert "cognito:0f" in settings.admin_callers
    default = Settings.from_env(MINIMAL)
    assert (default.default_kb_id, default.unlisted_may_use_all) == (DEV.knowledge_bases.default, True)


@pytest.mark.parametrize(
    "values", [{"default": "My books"}, {"default": ""}, {"default": "a\n"}, {"unlisted_callers": "some"}]
)
def test_a_record_that_the_function_would_refuse_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"knowledge base|unlisted_callers"):
        KnowledgeBases(**values)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (DEV, SignIn(kind="api_key")),
        (PROD, SignIn(kind="none")),  # it has no page
        (WITH_PAGE, SignIn(kind="cognito", pool_url="https://x.auth.x.amazoncognito.com", client_id="x")),
        (OWN_POOL, SignIn(kind="cognito", pool_url="https://login.example.org", client_id="x")),
    ],
    ids=["API keys", "no page", "pool", "own pool"],
)
def test_the_page_gets_to_know_how_people_sign_in(environment: Environment, expected: SignIn) -> None:
    variables = functions(synthesis().service[environment.name])["query"]["Environment"]["Variables"]
    assert Settings.from_env(_resolve_all(variables) | OF_LAMBDA).sign_in == expected


@pytest.mark.parametrize(
    ("environment", "api_url"),
    [
        (PROD, "https://x.execute-api.x.x/prod"),
        (BEHIND_DOMAIN, "https://ask.example.org"),
        (AT_DOMAIN, "https://ask.example.org/tools/gleaner"),
        (OWN_POOL, "https://x.execute-api.x.x/pool"),
        (DEV, None),
        (BY_IAM, None),
        (POOL_WITHOUT_PAGES, None),
    ],
    ids=lambda value: value.name if isinstance(value, Environment) else "",
)
def test_the_function_describes_the_resource_that_the_pool_knows(environment: Environment, api_url: str | None) -> None:
    template = synthesis().service[environment.name]
    variables = functions(template)["query"]["Environment"]["Variables"]
    authorization = Settings.from_env(_resolve_all(variables) | OF_LAMBDA).authorization
    servers = properties(template, "AWS::Cognito::UserPoolResourceServer")
    challenge = _resolve(_challenge(template), "x")
    if api_url is None:
        assert (authorization, servers, challenge) == (None, [], "'Bearer'")
        return
    assert authorization is not None
    [server] = servers
    assert authorization.api_url == api_url
    assert authorization.resource == _resolve(server["Identifier"], "x") == f"{api_url}/mcp"
    assert authorization.scope == f"{api_url}/mcp/{server['Scopes'][0]['ScopeName']}"
    metadata = f"{api_url}{Endpoint.PROTECTED_RESOURCE.path}"
    assert challenge == f'\'Bearer resource_metadata="{metadata}", scope="{authorization.scope}"\''
    scopes = [
        method["AuthorizationScopes"]
        for method in properties(template, "AWS::ApiGateway::Method")
        if "AuthorizationScopes" in method
    ]
    assert [[_resolve(scope, "x") for scope in of_method] for of_method in scopes] == [[authorization.scope]]


@EVERY
def test_the_ingest_function_gets_its_settings(environment: Environment) -> None:
    template = synthesis().documents[environment.name]
    variables = RecordingVariables(functions(template)["ingest"]["Environment"]["Variables"])
    settings = IngestSettings.from_env(variables)
    assert settings.documents_bucket == REFERRED["DOCUMENTS_BUCKET"]
    assert {name for name in variables if not name.startswith("POWERTOOLS_")} <= variables.read


def test_both_functions_use_the_same_bucket_and_table() -> None:
    service, documents = synthesis().service["dev"], synthesis().documents["dev"]
    query = functions(service)["query"]["Environment"]["Variables"]
    ingest = functions(documents)["ingest"]["Environment"]["Variables"]
    assert query["DOCUMENTS_TABLE"] == ingest["DOCUMENTS_TABLE"]
    path = service["Parameters"][query["DOCUMENTS_BUCKET"]["Ref"]]["Default"]
    [value] = [one["Value"] for one in properties(documents, "AWS::SSM::Parameter") if one["Name"] == path]
    assert value == ingest["DOCUMENTS_BUCKET"]


def test_without_documents_there_is_no_bucket() -> None:
    variables = _variables(WITHOUT, "query")
    assert Settings.from_env(variables).documents.bucket == ""
    assert "DocumentsBucketParameter" not in synthesis().service[WITHOUT.name]["Parameters"]


@EVERY
def test_the_prune_function_gets_its_settings(environment: Environment) -> None:
    variables = _variables(environment, "prune")
    settings = PruneSettings.from_env(variables)
    rules = environment.pruning
    assert settings.max_age_days == rules.max_age_days
    assert settings.min_usage == rules.min_usage
    assert settings.hard_max_age_days == rules.hard_max_age_days
    assert {name for name in variables if not name.startswith("POWERTOOLS_")} <= variables.read


def test_the_query_function_has_the_defaults_of_the_environment_record() -> None:
    settings = Settings.from_env(MINIMAL)
    # A default of None, or an empty one, leaves the variable out.
    record = {field.name: field.default for field in fields(Environment) if field.default not in (MISSING, None, ())}
    shared = record.keys() & {field.name for field in fields(Settings)}
    assert {"openai_model", "perplexity_model", "query_deadline_seconds", "web_answer_max_age_days"} <= shared
    assert {name: getattr(settings, name) for name in shared} == {name: record[name] for name in shared}


def test_the_defaults_of_the_prune_function_are_deployed() -> None:
    settings = PruneSettings.from_env(MINIMAL)
    deployed = [(rules.max_age_days, rules.min_usage, rules.hard_max_age_days) for rules in RULES]
    assert (settings.max_age_days, settings.min_usage, settings.hard_max_age_days) in deployed


def _resolve(value: Any, reference: str) -> str:
    """Return a value of the template as text, with `reference` in place of what it refers to."""
    if isinstance(value, str):
        return value
    separator, parts = value.get("Fn::Join", ("", [reference]))
    return str(separator.join(part if isinstance(part, str) else reference for part in parts))


def _resolve_all(variables: Mapping[str, Any]) -> dict[str, str]:
    """The values of a function's variables; of the page's, a pool has an origin and a client an id."""
    values = {name: _resolve(value, "x") for name, value in variables.items()}
    return values | {name: value for name, value in REFERRED.items() if name in values}


def _challenge(template: Template) -> Any:
    [response] = [
        one for one in properties(template, "AWS::ApiGateway::GatewayResponse") if one["ResponseType"] == "UNAUTHORIZED"
    ]
    return response["ResponseParameters"]["gatewayresponse.header.WWW-Authenticate"]


def _variables(environment: Environment, name: str) -> RecordingVariables:
    function = functions(synthesis().service[environment.name])[name]
    return RecordingVariables(function["Environment"]["Variables"])
