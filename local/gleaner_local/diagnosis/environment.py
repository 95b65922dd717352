"""Checks a deployed environment: what CloudFormation made of it, and what it calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from gleaner.errors import ConfigurationError
from gleaner.runtime.settings import Settings
from gleaner.stores import schema
from gleaner_local.clients.credentials import Credentials
from gleaner_local.diagnosis import _functions, _model_service, _secret, _stacks, _vector_index, _web_search
from gleaner_local.diagnosis._stacks import Stack, read_stack
from gleaner_local.diagnosis._table_upkeep import check_upkeep
from gleaner_local.diagnosis._tables import check_tables
from gleaner_local.diagnosis._watch import check_alarms, check_schedule
from gleaner_local.diagnosis.aws import Account, aws_findings
from gleaner_local.diagnosis.finding import Finding, Origin, State, note, ok, problem
from gleaner_local.diagnosis.http_api import SUBJECT as API
from gleaner_local.diagnosis.http_api import check_api

TABLES = {
    "KeywordsTable": schema.KEYWORDS,
    "ConversationsTable": schema.CONVERSATIONS,
    "ToolCallsTable": schema.TOOL_CALLS,
    "IdempotencyTable": schema.IDEMPOTENCY,
}
DATA_OUTPUTS = (*TABLES, "ApiKeysSecretArn")
SERVICE_OUTPUTS = ("ApiUrl", "DashboardUrl", "QueryFunctionName", "PruneFunctionName")
_ACCOUNT = "AWS account"
_CONFIGURATION = "configuration"
_BY_IAM = "Callers are established by IAM, whose signatures this command does not make."


class EnvironmentCheck:
    """One environment, as it is deployed in an account."""

    def __init__(
        self,
        name: str,
        account: Account,
        *,
        outputs_file: Path,
        url: str | None,
        control_host: str | None,
        credentials: Credentials | None = None,
    ) -> None:
        """`outputs_file` is what `make deploy` wrote; `url` is where the API answers, if not at its own address.

        `control_host` is the address of Pinecone's control plane; None is its own. `credentials` call the API; without
        them, the environment's own API key does, where it has one.
        """
        self._credentials = credentials or Credentials()
        self._name = name
        self._account = account
        self._url = url
        self._control_host = control_host
        self._written = _outputs_in(outputs_file)
        self._deploy = f"make deploy ENV={name}"
        self._data: Stack | None = None
        self._service: Stack | None = None
        self._keys: dict[str, str] = {}
        self._settings: Settings | None = None

    def findings(self) -> Iterator[Finding]:
        """What is found, in the order in which an environment is made."""
        account = list(aws_findings(_ACCOUNT, self._who_am_i()))
        yield from account
        if any(found.state is State.PROBLEM for found in account):
            yield from self._without_account()
            return
        yield from aws_findings(_stacks.SUBJECT, self._stacks())
        if self._data is not None:
            yield from self._stored(self._data)
        if self._service is not None:
            yield from self._running(self._service)

    def _who_am_i(self) -> Iterator[Finding]:
        client = self._account.client("sts")
        found = client.get_caller_identity()
        yield ok(_ACCOUNT, f"{found['Account']} in {client.meta.region_name}, as {found['Arn'].rpartition(':')[2]}.")

    def _without_account(self) -> Iterator[Finding]:
        """What can be told without AWS: whether the API is up."""
        url = self._url or self._written.get("ApiUrl")
        if url is None:
            yield note(
                API, f"Its address is not known: no outputs of {self._name} were written.", "Give it with --url."
            )
        else:
            yield from check_api(url, self._credentials, hint="Sign in to AWS to have it tried.")

    def _stacks(self) -> Iterator[Finding]:
        client = self._account.client("cloudformation")
        self._data = read_stack(client, f"gleaner-{self._name}-data")
        self._service = read_stack(client, f"gleaner-{self._name}-service")
        for stack, kind, outputs in ((self._data, "data", DATA_OUTPUTS), (self._service, "service", SERVICE_OUTPUTS)):
            mend = f"{self._deploy} STACK={kind}"
            if stack is None:
                region = client.meta.region_name
                yield problem(
                    _stacks.SUBJECT, f"There is no gleaner-{self._name}-{kind} in {region}.", f"Deploy: {mend}"
                )
            else:
                yield stack.check(outputs, mend=mend)
        made = self._outputs()
        if any(made.get(name) != value for name, value in self._written.items()):
            seen = "The outputs that were written on this machine are not those of the stacks."
            yield note(_stacks.SUBJECT, seen, f"`{self._deploy}` writes them anew.")

    def _outputs(self) -> dict[str, str]:
        return {name: value for stack in (self._data, self._service) if stack for name, value in stack.outputs.items()}

    def _stored(self, data: Stack) -> Iterator[Finding]:
        """The tables and the secret."""
        tables = {data.outputs[output]: table for output, table in TABLES.items() if output in data.outputs}
        mend = f"{self._deploy} STACK=data"
        yield from aws_findings("tables", self._tables(tables, data.protected, mend))
        if arn := data.outputs.get("ApiKeysSecretArn"):
            yield from aws_findings(_secret.SUBJECT, self._secret(arn))

    def _tables(self, tables: Mapping[str, schema.TableSchema], protected: bool, mend: str) -> Iterator[Finding]:
        client = self._account.client("dynamodb")
        yield from check_tables(client, tables, mend=mend)
        yield from check_upkeep(client, tables, protected=protected, mend=mend)

    def _secret(self, arn: str) -> Iterator[Finding]:
        self._keys = _secret.read_keys(self._account.client("secretsmanager"), arn)
        yield _secret.check_keys(self._keys, arn)

    def _running(self, service: Stack) -> Iterator[Finding]:
        """The functions, what they call, and what runs beside them."""
        yield from aws_findings(_functions.SUBJECT, self._function(service))
        if self._settings is not None:
            yield from self._called(self._settings)
        schedules = service.resources.get("AWS::Scheduler::Schedule", ())
        alarms = service.resources.get("AWS::CloudWatch::Alarm", ())
        mend = f"{self._deploy} STACK=service"
        client = self._account.client
        yield from aws_findings("schedule", check_schedule(client("scheduler"), schedules, mend=mend))
        dashboard = service.outputs.get("DashboardUrl", "none")
        yield from aws_findings("alarms", check_alarms(client("cloudwatch"), alarms, dashboard=dashboard, mend=mend))
        yield from aws_findings(API, self._api(service))

    def _function(self, service: Stack) -> Iterator[Finding]:
        mend = f"{self._deploy} STACK=service"
        names = service.resources.get("AWS::Lambda::Function", ())
        live = _functions.read_live(self._account.client("lambda"), names)
        if live is None:
            yield problem(_functions.SUBJECT, "There is none.", mend)
            return
        yield live.check(mend=mend)
        try:
            self._settings = Settings.from_env(live.variables)
        except ConfigurationError as error:
            yield problem(_CONFIGURATION, str(error), f"Mend infra/environments.py, then {mend}")
            return
        yield ok(_CONFIGURATION, "The variables of the query function are complete and well-formed.")

    def _called(self, settings: Settings) -> Iterator[Finding]:
        """The remote services, from this machine, with the keys of the secret."""
        record = "of the environment's record in infra/environments.py"
        if key := self._keys.get("openai"):
            yield _model_service.check_model(
                base_url=settings.openai_base_url,
                api_key=key,
                model=settings.openai_model,
                origin=Origin(
                    key="`openai` of the secret",
                    address=f"`openai_base_url` {record}",
                    model=f"`openai_model` {record}",
                ),
            )
        if key := self._keys.get("pinecone"):
            host = f"PineconeIndexHost ({self._deploy} PINECONE_INDEX_HOST=https://INDEX-HOST)"
            yield from _vector_index.check_index(
                host=settings.pinecone_index_host,
                api_key=key,
                control_host=self._control_host,
                origin=Origin(key="`pinecone` of the secret", address=host),
            )
        if key := self._keys.get("perplexity"):
            origin = Origin(key="`perplexity` of the secret", address=f"`perplexity_base_url` {record}")
            yield _web_search.check_web_search(base_url=settings.perplexity_base_url, api_key=key, origin=origin)

    def _api(self, service: Stack) -> Iterator[Finding]:
        url = self._url or service.outputs.get("ApiUrl")
        if url is None:
            return
        made = self._outputs()
        key_id = made.get("ApiKeyId")
        if key_id is None or self._credentials:
            pool = made.get("UserPoolId")
            hint = f"Callers sign in at the user pool {pool}: give a token with --token." if pool else _BY_IAM
            yield from check_api(url, self._credentials, hint=hint)
            return
        found = self._account.client("apigateway").get_api_key(apiKey=key_id, includeValue=True)
        yield from check_api(url, Credentials(api_key=found["value"]), named=f"the API key {key_id}")


def _outputs_in(path: Path) -> dict[str, str]:
    """The outputs of all stacks in a file that the CDK wrote; empty when there is none."""
    try:
        found = json.loads(path.read_text())
        return {name: value for outputs in found.values() for name, value in outputs.items()}
    except (OSError, ValueError, AttributeError):
        return {}
