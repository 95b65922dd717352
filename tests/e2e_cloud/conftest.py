"""Environments deployed into a local emulator of AWS, with the local servers as remote services."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from gleaner.clients import pinecone
from gleaner.model import Record
from gleaner_local.aws import ministack
from gleaner_local.aws.ministack import Ministack
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import openai_server, perplexity_server, pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from infra import layer_build
from infra.app import code_of, make_app, write
from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS
from tests.conftest import MERGING
from tests.e2e.commands import ENVIRONMENT, GLEANER
from tests.e2e_cloud.deployment import REGION, Deployment

SERVICES = (
    "apigateway,cloudformation,cloudwatch,cognito-idp,dynamodb,events,iam,lambda,logs,s3,scheduler,secretsmanager,"
    "sns,sqs,ssm,states,sts"
)
_SECOND_IN_DAYS = 1 / 86_400
NAMES = [environment.name for environment in ENVIRONMENTS]


@dataclass(slots=True)
class Cloud:
    """A deployed environment."""

    environment: Environment
    deployment: Deployment
    code_path: Path
    index_host: str
    outputs: dict[str, str]
    http: httpx.Client  # its base URL is that of the API in the emulator

    @property
    def data_stack(self) -> str:
        """The stateful stack."""
        return f"gleaner-{self.environment.name}-data"

    @property
    def documents_stack(self) -> str:
        """The stack with the bucket of documents, and what loads them."""
        return f"gleaner-{self.environment.name}-documents"

    @property
    def service_stack(self) -> str:
        """The stateless stack."""
        return f"gleaner-{self.environment.name}-service"

    @property
    def watch_stack(self) -> str:
        """The stack of the alarms."""
        return f"gleaner-{self.environment.name}-watch"

    def key(self, output: str) -> dict[str, str]:
        """The header with the API key whose id is in an output."""
        key = self.deployment.client("apigateway").get_api_key(apiKey=self.outputs[output], includeValue=True)
        return {"x-api-key": key["value"]}

    def deploy(self) -> None:
        """Deploy all stacks and, in between, write the keys into the secret as an operator does."""
        self.outputs |= self.deployment.deploy(_synthesise(self.environment, self.code_path), self.data_stack)
        self.put_keys()
        self.deploy_service(self.environment, index_host=self.index_host)
        self.deploy_watch()

    def hurry_queue(self, seconds: int) -> None:
        """Let the queue of documents hide a message for so long only, instead of six times as long as a function runs.

        What failed is then tried again that soon.
        """
        self.deployment.client("sqs").set_queue_attributes(
            QueueUrl=self.outputs["DocumentsQueueUrl"], Attributes={"VisibilityTimeout": str(seconds)}
        )

    def deploy_watch(self) -> None:
        """Deploy the alarms."""
        assembly = _synthesise(self.environment, self.code_path)
        self.outputs |= self.deployment.deploy(assembly, self.watch_stack)

    def put_keys(self) -> None:
        """Write the keys of the remote services as docs/09 says."""
        keys = dict.fromkeys(("openai", "pinecone", "perplexity"), "local")
        command = [GLEANER, "keys", "put", "--env", self.environment.name, "--file", "-"]
        if self.environment.name in NAMES:
            self.run(command, text=json.dumps(keys))
        else:  # the command knows the environments of the records alone
            self.deployment.client("secretsmanager").put_secret_value(
                SecretId=self.outputs["ApiKeysSecretArn"], SecretString=json.dumps(keys)
            )

    def run(self, command: Sequence[str | Path], *, text: str = "") -> str:
        """Run a command in this account; returns what it printed."""
        emulator = {"AWS_ENDPOINT_URL": self.deployment.endpoint_url, "AWS_REGION": REGION} | ministack.CREDENTIALS
        process = subprocess.run(
            command, env=ENVIRONMENT | emulator, input=text, capture_output=True, text=True, timeout=120, check=False
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    def deploy_service(self, environment: Environment, *, index_host: str | None = None) -> None:
        """Deploy the stateless stack of this record after those before it, as the CDK's command line does."""
        assembly = _synthesise(environment, self.code_path)
        parameters = {"PineconeIndexHost": index_host} if index_host else None
        self.outputs |= self.deployment.deploy(assembly, self.data_stack, parameters)
        if environment.documents is not None:
            self.outputs |= self.deployment.deploy(assembly, self.documents_stack)
            _allow_secret_access(self.deployment, self.outputs, "IngestFunctionName")
        self.outputs |= self.deployment.deploy(assembly, self.service_stack)
        _allow_secret_access(self.deployment, self.outputs, "QueryFunctionName")
        api_id = self.outputs["ApiUrl"].removeprefix("https://").partition(".")[0]
        self.http.base_url = f"{self.deployment.endpoint_url}/restapis/{api_id}/{environment.name}/_user_request_"

    @contextmanager
    def deploy_another(self, environment: Environment) -> Iterator[Cloud]:
        """Deploy another environment in the same account, and remove it at the end."""
        with httpx.Client(timeout=60) as http:
            other = Cloud(environment, self.deployment, self.code_path, self.index_host, {}, http)
            other.deploy()
            yield other
            self.deployment.destroy(other.watch_stack)
            self.deployment.destroy(other.service_stack)
            if environment.documents is not None:
                self.deployment.destroy(other.documents_stack)
            self.deployment.destroy(other.data_stack)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """The dev environment, deployed."""
    path = tmp_path_factory.mktemp("cloud")
    with ExitStack() as stack:
        index_host = _serve(stack, pinecone_server.create_app(_open_index(stack, path / "index")))
        _fill_index(index_host)
        environment = replace(
            DEV,
            openai_base_url=_serve(stack, openai_server.create_app()) + "/v1",
            openai_model=openai_server.MODEL,
            perplexity_base_url=_serve(stack, perplexity_server.create_app()),
            pruning=replace(DEV.pruning, max_age_days=_SECOND_IN_DAYS, min_usage=1000),
            # As an account may allow it: a busy machine that is the whole cloud takes long, and a question that reaches
            # its deadline learns nothing.
            integration_timeout_seconds=120,
            query_deadline_seconds=110.0,
        )
        options = {"AUTH": "true", "S3_DATA_DIR": str(path / "s3")}  # enforces the policies of roles
        emulator = Ministack(path / "state", path / "log", services=SERVICES, options=options)
        emulator.start()
        stack.callback(emulator.stop)
        http = stack.enter_context(httpx.Client(timeout=120))
        cloud = Cloud(environment, Deployment(emulator.url), path, index_host, {}, http)
        cloud.deploy()
        yield cloud


def _synthesise(environment: Environment, path: Path) -> Path:
    """The assembly of the stage, with layers for this machine, because the emulator runs functions in its Python."""
    sources = (layer_build.COMMON, layer_build.DOCUMENTS)
    code = code_of(*(layer_build.build(layer_build.THIS_MACHINE, path / "layer", source=each) for each in sources))
    write(make_app([environment], code, outdir=path / "cdk.out"))
    return path / "cdk.out" / f"assembly-gleaner-{environment.name}"


def _allow_secret_access(deployment: Deployment, outputs: Mapping[str, str], name: str) -> None:
    """Allow the function that an output names to read the secret by its ARN.

    The stack allows it by the secret's Ref, which is the ARN on AWS, but the name in the emulator.
    """
    function = deployment.client("lambda").get_function_configuration(FunctionName=outputs[name])
    secret = deployment.client("secretsmanager").describe_secret(SecretId=outputs["ApiKeysSecretArn"])
    statement = {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": secret["ARN"]}
    deployment.client("iam").put_role_policy(
        RoleName=function["Role"].rpartition("/")[2],
        PolicyName="secret",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )


def _open_index(stack: ExitStack, path: Path) -> EmbeddedIndex:
    index = EmbeddedIndex(path, None)
    stack.callback(index.close)
    return index


def _serve(stack: ExitStack, app: object) -> str:
    server = AsgiServer(app)  # type: ignore[arg-type]
    server.start()
    stack.callback(server.stop)
    return server.url


def _fill_index(index_host: str) -> None:
    record = Record(
        id="book#0",
        text=MERGING,
        title="Handbook",
        chapter="Keywords",
        source_file_path="docs/keywords.md",
        chunk_index=0,
        content_hash="h",
    )
    pinecone.connect(host=index_host, api_key=lambda: "local").upsert("default_kb", [record], timeout=20)
