"""Checks a deployed environment: its stacks, the services that it calls, and its API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from botocore.exceptions import NoRegionError

from gleaner.errors import ConfigurationError
from gleaner.runtime.settings import Settings
from gleaner.stores import schema
from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.keys_secret import keys_of, read_fields
from gleaner_local.diagnosis import _functions, _model_service, _secret, _stacks, _vector_index, _web_search, checklist
from gleaner_local.diagnosis._document_loading import SUBJECT as DOCUMENTS
from gleaner_local.diagnosis._document_loading import check_left_over, check_loading
from gleaner_local.diagnosis._doors import check_doors
from gleaner_local.diagnosis._item import Need
from gleaner_local.diagnosis._paid_model import ask_model
from gleaner_local.diagnosis._paid_web import ask_web
from gleaner_local.diagnosis._quotas import SUBJECT as QUOTAS
from gleaner_local.diagnosis._quotas import check_quotas
from gleaner_local.diagnosis._stacks import Stack, read_stack
from gleaner_local.diagnosis._stream import check_stream
from gleaner_local.diagnosis._table_upkeep import check_upkeep
from gleaner_local.diagnosis._tables import check_tables
from gleaner_local.diagnosis._watch import ALARM, ALARMS, check_alarms, check_schedule, check_watched
from gleaner_local.diagnosis.aws import Account, aws_findings, explain_error
from gleaner_local.diagnosis.finding import Finding, Origin, State, note, ok, problem
from gleaner_local.diagnosis.http_api import SUBJECT as API
from gleaner_local.diagnosis.http_api import check_api
from infra.environment import Environment

TABLES = {
    "KeywordsTable": schema.KEYWORDS,
    "ConversationsTable": schema.CONVERSATIONS,
    "ToolCallsTable": schema.TOOL_CALLS,
    "IdempotencyTable": schema.IDEMPOTENCY,
    "AccessTable": schema.ACCESS,
    "UsageTable": schema.USAGE,
    "DocumentsTable": schema.DOCUMENTS,
}
DATA_OUTPUTS = (*TABLES, "ApiKeysSecretArn")
DOCUMENTS_OUTPUTS = (
    *("DocumentsBucket", "DocumentsQueueUrl", "DocumentDeadLettersUrl", "UndeliveredDocumentsUrl"),
    *("IngestFunctionName", "BackfillArn"),
)
SERVICE_OUTPUTS = ("ApiUrl", "QueryFunctionName", "PruneFunctionName", "DeadLettersUrl")
WATCH_OUTPUTS = ("DashboardUrl",)
_ACCOUNT = "AWS account"
_NO_REGIONS = (None, "aws-global")  # what a client of STS has where no region is set
_CONFIGURATION = "configuration"
_RECORD = "of the environment's record in infra/environments.py"
_SIGNED_BY_IAM = "Callers sign their requests with IAM credentials, which this command cannot do."


class EnvironmentCheck:
    """The checks of one environment in an AWS account."""

    def __init__(
        self,
        name: str,
        account: Account,
        *,
        outputs_file: Path,
        url: str | None,
        control_host: str | None,
        credentials: Credentials | None = None,
        record: Environment | None = None,
        ask: bool = False,
    ) -> None:
        """`outputs_file` was written by `make deploy`; `url` overrides the address of the API.

        `control_host` is the address of the control plane; None is Pinecone's own. `credentials` call the API; without
        them, the environment's own API key is used, if it has one. `record` tells which features
        the environment has, and whether its stacks should be protected. With `ask` the model and the web search are
        asked with the environment's keys, and the API is asked a question, which costs money.
        """
        self._ask = ask
        self._record = record
        self._credentials = credentials or Credentials()
        self._name = name
        self._account = account
        self._url = url
        self._control_host = control_host
        self._local_outputs = _read_outputs(outputs_file)
        self._deploy = f"make deploy ENV={name}"
        self._data: Stack | None = None
        self._documents: Stack | None = None
        self._service: Stack | None = None
        self._watch: Stack | None = None
        self._keys: dict[str, str] = {}
        self._settings: Settings | None = None

    def findings(self) -> Iterator[Finding]:
        """Run the checks in the order in which an environment is set up, then walk through the checklist."""
        findings = []
        for finding in self._run_checks():
            findings.append(finding)
            yield finding
        if self._service is not None:
            yield from self._walk_checklist(findings)

    def _run_checks(self) -> Iterator[Finding]:
        account = list(aws_findings(_ACCOUNT, self._check_identity()))
        yield from account
        if any(finding.state is State.PROBLEM for finding in account):
            yield from self._check_without_account()
            return
        yield from aws_findings(_stacks.SUBJECT, self._check_stacks())
        if self._data is not None:
            yield from self._check_data(self._data)
        if self._documents is not None:
            yield from aws_findings(DOCUMENTS, self._check_documents(self._documents))
        if self._service is not None:
            yield from self._check_service(self._service)
        if self._watch is not None:
            yield from aws_findings(ALARMS, self._check_alarms(self._watch, self._service))

    def _walk_checklist(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """What only a real account can show, as far as the other findings do not."""
        outputs = self._outputs()
        names = {to_placeholder(name): value for name, value in outputs.items()} | {"ENV": self._name}
        has_credentials = self._credentials or "ApiKeyId" in outputs
        needs = ((Need.ASK, self._ask), (Need.CREDENTIALS, has_credentials))
        available = frozenset(need for need, is_met in needs if is_met)
        yield from checklist.walk(findings, names=names, available=available, record=self._record)

    def _check_identity(self) -> Iterator[Finding]:
        client = self._account.client("sts")
        if client.meta.region_name in _NO_REGIONS:  # STS alone answers without one
            yield explain_error(_ACCOUNT, NoRegionError())
        identity = client.get_caller_identity()
        principal = identity["Arn"].rpartition(":")[2]
        yield ok(_ACCOUNT, f"{identity['Account']} in {client.meta.region_name}, as {principal}.")

    def _check_without_account(self) -> Iterator[Finding]:
        """Check the API, the only part that can be checked without AWS credentials."""
        url = self._url or self._local_outputs.get("ApiUrl")
        if url is None:
            yield note(
                API, f"Its address is unknown: this machine has no outputs of {self._name}.", "Give it with --url."
            )
        else:
            yield from check_api(url, self._credentials, hint="Sign in to AWS to check it.")

    def _check_stacks(self) -> Iterator[Finding]:
        client = self._account.client("cloudformation")
        self._data = read_stack(client, f"gleaner-{self._name}-data")
        if self._has_documents():
            self._documents = read_stack(client, f"gleaner-{self._name}-documents")
        self._service = read_stack(client, f"gleaner-{self._name}-service")
        self._watch = read_stack(client, f"gleaner-{self._name}-watch")
        documents = [(self._documents, "documents", DOCUMENTS_OUTPUTS)] if self._has_documents() else []
        for stack, kind, outputs in (
            (self._data, "data", DATA_OUTPUTS),
            *documents,
            (self._service, "service", SERVICE_OUTPUTS),
            (self._watch, "watch", WATCH_OUTPUTS),
        ):
            fix = f"{self._deploy} STACK={kind}"
            if stack is None:
                region = client.meta.region_name
                yield problem(
                    _stacks.SUBJECT, f"There is no gleaner-{self._name}-{kind} in {region}.", f"Deploy: {fix}"
                )
            else:
                yield stack.check(outputs, fix=fix)
                if stack is not self._watch and self._keeps_data() and not stack.protected:
                    text = f"{stack.name} is not protected against deletion."
                    yield note(_stacks.SUBJECT, text, f"A deployment that succeeds protects it: {fix}")
        deployed = self._outputs()
        if any(deployed.get(name) != value for name, value in self._local_outputs.items()):
            text = "The outputs stored on this machine differ from those of the stacks."
            yield note(_stacks.SUBJECT, text, f"`{self._deploy}` updates them.")

    def _keeps_data(self) -> bool:
        return self._record is not None and self._record.keep_data

    def _has_documents(self) -> bool:
        return self._record is None or self._record.documents is not None

    def _outputs(self) -> dict[str, str]:
        stacks = (self._data, self._documents, self._service, self._watch)
        return {name: value for stack in stacks if stack for name, value in stack.outputs.items()}

    def _check_data(self, data: Stack) -> Iterator[Finding]:
        """The tables and the secret."""
        tables = {data.outputs[output]: table for output, table in TABLES.items() if output in data.outputs}
        fix = f"{self._deploy} STACK=data"
        yield from aws_findings("tables", self._check_tables(tables, data.protected, fix))
        if arn := data.outputs.get("ApiKeysSecretArn"):
            yield from aws_findings(_secret.SUBJECT, self._check_secret(arn))

    def _check_tables(self, tables: Mapping[str, schema.TableSchema], protected: bool, fix: str) -> Iterator[Finding]:
        client = self._account.client("dynamodb")
        yield from check_tables(client, tables, fix=fix)
        yield from check_upkeep(client, tables, protected=protected, fix=fix)

    def _check_secret(self, arn: str) -> Iterator[Finding]:
        fields = read_fields(self._account.client("secretsmanager"), arn)
        self._keys = keys_of(fields)
        yield _secret.check_fields(fields, self._name)

    def _check_documents(self, documents: Stack) -> Iterator[Finding]:
        """What loads documents, and what it gave up."""
        if not all(documents.outputs.get(name) for name in DOCUMENTS_OUTPUTS):
            return  # which was said of the stack
        yield from check_loading(
            self._account.client("lambda"),
            documents.outputs["IngestFunctionName"],
            fix=f"{self._deploy} STACK=documents",
        )
        queues = self._account.client("sqs")
        for output, what in (
            ("DocumentDeadLettersUrl", "DocumentsGivenUp"),
            ("UndeliveredDocumentsUrl", "DocumentsUndelivered"),
        ):
            yield check_left_over(queues, documents.outputs[output], entry=what)

    def _check_service(self, service: Stack) -> Iterator[Finding]:
        """The query function, the services that it calls, the schedule and the API."""
        yield from aws_findings(_functions.SUBJECT, self._check_function(service))
        yield from aws_findings(QUOTAS, check_quotas(self._account.client("lambda")))
        if self._settings is not None:
            yield from self._check_remote_services(self._settings)
        schedules = service.resources.get("AWS::Scheduler::Schedule", ())
        fix = f"{self._deploy} STACK=service"
        client = self._account.client("scheduler")
        yield from aws_findings("schedule", check_schedule(client, schedules, fix=fix))
        yield from aws_findings(API, self._check_api(service))

    def _check_alarms(self, watch: Stack, service: Stack | None) -> Iterator[Finding]:
        """The alarms of all stacks, and that they watch what is deployed."""
        fix = f"{self._deploy} STACK=watch"
        names = [name for stack in (watch, service) if stack for name in stack.resources.get(ALARM, ())]
        dashboard = watch.outputs.get("DashboardUrl", "none")
        yield from check_alarms(self._account.client("cloudwatch"), names, dashboard=dashboard, fix=fix)
        if service is not None:
            yield from check_watched(watch.parameters, self._outputs(), fix=fix)

    def _check_function(self, service: Stack) -> Iterator[Finding]:
        fix = f"{self._deploy} STACK=service"
        names = service.resources.get("AWS::Lambda::Function", ())
        live = _functions.read_live(self._account.client("lambda"), names)
        if live is None:
            yield problem(_functions.SUBJECT, "There is no query function.", fix)
            return
        yield live.check(fix=fix)
        yield from live.check_shares()
        try:
            self._settings = Settings.from_env(live.variables)
        except ConfigurationError as error:
            yield problem(_CONFIGURATION, str(error), f"Fix infra/environments.py, then {fix}")
            return
        yield ok(_CONFIGURATION, "The variables of the query function are complete and well-formed.")

    def _check_remote_services(self, settings: Settings) -> Iterator[Finding]:
        """Check them from this machine, with the keys of the secret."""
        if key := self._keys.get("openai"):
            yield from self._check_model(settings, key)
        if key := self._keys.get("pinecone"):
            host = f"PineconeIndexHost ({self._deploy} PINECONE_INDEX_HOST=https://INDEX-HOST)"
            yield from _vector_index.check_index(
                host=settings.pinecone_index_host,
                api_key=key,
                control_host=self._control_host,
                origin=Origin(key="`pinecone` of the secret", address=host),
            )
        if key := self._keys.get("perplexity"):
            origin = Origin(
                key="`perplexity` of the secret",
                address=f"`perplexity_base_url` {_RECORD}",
                model=f"`perplexity_model` {_RECORD}",
            )
            yield _web_search.check_web_search(base_url=settings.perplexity_base_url, api_key=key, origin=origin)
            if self._ask:
                yield ask_web(settings, key, origin)

    def _check_model(self, settings: Settings, key: str) -> Iterator[Finding]:
        origin = Origin(
            key="`openai` of the secret",
            address=f"`openai_base_url` {_RECORD}",
            model=f"`openai_model` {_RECORD}",
            api="OPENAI_API of the query function",
            effort="OPENAI_REASONING_EFFORT of the query function",
        )
        yield _model_service.check_model(
            base_url=settings.openai_base_url, api_key=key, model=settings.openai_model, origin=origin
        )
        if self._ask:
            yield from ask_model(settings, key, origin)

    def _check_api(self, service: Stack) -> Iterator[Finding]:
        url = self._url or service.outputs.get("ApiUrl")
        if url is None:
            return
        credentials, caller, hint = self._choose_caller()
        findings = list(check_api(url, credentials, caller=caller, hint=hint))
        yield from findings
        if all(finding.state is State.OK for finding in findings):
            yield from check_stream(url, credentials, ask=self._ask)
        if not self._is_signed() and all(finding.state is not State.PROBLEM for finding in findings):
            fix = f"{self._deploy} STACK=service"
            authorization = self._settings.authorization if self._settings else None
            yield from check_doors(url, credentials, authorization, fix=fix)

    def _is_signed(self) -> bool:
        """Whether callers sign their requests, which the clients of `/v1` and `/mcp` cannot do."""
        return not {"ApiKeyId", "UserPoolId"} & self._outputs().keys()

    def _choose_caller(self) -> tuple[Credentials, str, str]:
        """Credentials, their name in findings, and how a caller without any would be accepted."""
        outputs = self._outputs()
        key_id = outputs.get("ApiKeyId")
        if key_id is None or self._credentials:
            pool = outputs.get("UserPoolId")
            hint = f"Callers sign in to the user pool {pool}: give a token with --token." if pool else _SIGNED_BY_IAM
            return self._credentials, "", hint
        key = self._account.client("apigateway").get_api_key(apiKey=key_id, includeValue=True)
        return Credentials(api_key=key["value"]), f"the API key {key_id}", ""


def to_placeholder(output: str) -> str:
    """An output of a stack as it stands in commands: `QUERY_FUNCTION_NAME` for `QueryFunctionName`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", output).upper()


def _read_outputs(path: Path) -> dict[str, str]:
    """The outputs of all stacks in a file that the CDK wrote; empty when it is missing or malformed."""
    try:
        stacks = json.loads(path.read_text())
        return {name: value for outputs in stacks.values() for name, value in outputs.items()}
    except (OSError, ValueError, AttributeError):
        return {}
