"""A first deployment that fails leaves nothing in the way of the next one, and protection comes after success."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, WaiterError

from gleaner_local.aws.ministack import Ministack
from infra import deploy
from infra.app import make_app, write
from infra.created_stacks import CREATED_STACKS
from infra.environments import PROD
from tests.e2e_cloud.conftest import SERVICES
from tests.e2e_cloud.deployment import Deployment, artifact, is_known
from tests.infra.synthesis import stub_code

pytestmark = pytest.mark.slow

DATA, DOCUMENTS, SERVICE = ALL = ("gleaner-prod-data", "gleaner-prod-documents", "gleaner-prod-service")
HOST = "https://gleaner-x.svc.pinecone.io"
# What each stack keeps.
KEPT = {
    DATA: {"tables": 7, "pools": 1},
    DOCUMENTS: {"buckets": 1, "logs": 1},
    SERVICE: {"logs": 3},
}
TAKEN = "/taken"  # a parameter that exists, so that no stack can create it
# The emulator has neither CodeDeploy nor AWS WAF.
BARE_PROD = replace(PROD, canary=None, firewall=None)
Synthesise = Callable[[str], Path]  # of the stacks that exist, separated by commas


@dataclass
class Cdk:
    """Stands for the CDK's command line: deploys the named stacks of prod; the `broken` fail at their very end."""

    deployment: Deployment
    synthesise: Synthesise
    path: Path
    broken: set[str] = field(default_factory=set)
    runs: int = 0

    def __call__(self, arguments: list[str]) -> int:
        self.runs += 1
        name, _, created = arguments[arguments.index("--context") + 1].partition("=")
        assert name == CREATED_STACKS
        assembly = self._synthesise(created)
        for stack in self.broken:
            _break(assembly / artifact(assembly, stack)["templateFile"])
        try:
            for stack in ALL:
                if stack.replace("prod-", "prod/") in arguments:
                    self.deployment.deploy(assembly, stack, {"PineconeIndexHost": HOST} if stack == DATA else None)
        except WaiterError:
            return 1
        return 0

    def _synthesise(self, created: str) -> Path:
        """A copy of the assembly, which may be broken."""
        assembly = shutil.copytree(self.synthesise(created), self.path / f"cdk.out-{self.runs}")
        return assembly / "assembly-gleaner-prod"


@pytest.fixture(scope="module")
def synthesise(tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    """Makes the assembly of prod, with a layer of one file: nothing is invoked here."""
    path = tmp_path_factory.mktemp("assemblies")
    (path / "layer" / "python").mkdir(parents=True)
    (path / "layer" / "python" / "nothing.py").write_text("")
    code = stub_code(path / "layer")

    @cache
    def synthesise(created: str) -> Path:
        outdir = path / (created or "nothing")
        write(make_app([BARE_PROD], code, outdir=outdir, context={CREATED_STACKS: created}))
        return outdir

    return synthesise


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    emulator = Ministack(
        tmp_path / "state", tmp_path / "log", services=SERVICES, options={"S3_DATA_DIR": str(tmp_path / "s3")}
    )
    emulator.start()
    deployment = Deployment(emulator.url)
    deployment.client("ssm").put_parameter(Name=TAKEN, Value="taken", Type="String")
    yield deployment
    emulator.stop()


@pytest.mark.parametrize("broken", ALL)
def test_a_first_deployment_that_fails_can_be_repeated(
    deployment: Deployment, synthesise: Synthesise, tmp_path: Path, broken: str
) -> None:
    cdk = Cdk(deployment, synthesise, tmp_path, {broken})
    before = ALL[: ALL.index(broken)]
    assert _deploy(cdk) == 1
    assert deployment.status(broken) == "ROLLBACK_COMPLETE"
    assert not deployment.is_protected(broken)
    assert all(deployment.is_protected(stack) for stack in before)
    # Nothing survives of the stack that failed. Those before it stand.
    assert _count(deployment) == _kept(*before)
    cdk.broken.clear()
    assert _deploy(cdk) == 0
    assert _count(deployment) == _kept(*ALL)
    assert all(deployment.is_protected(stack) for stack in ALL)
    assert _deploy(cdk) == 0
    # One that fails, one that succeeds, one more, and a run that protects after each that created something.
    assert cdk.runs == (5 if before else 4)


def test_data_documents_and_logs_stay_when_the_stacks_are_removed(
    deployment: Deployment, synthesise: Synthesise, tmp_path: Path
) -> None:
    cdk = Cdk(deployment, synthesise, tmp_path)
    assert _deploy(cdk) == 0
    with pytest.raises(ClientError, match="TerminationProtection"):
        deployment.destroy(SERVICE)
    for stack in reversed(ALL):
        deployment.protect(stack, protected=False)
        deployment.destroy(stack)
    # The emulator derives names from those of stacks, so it cannot show that what stays is in nobody's way.
    assert _count(deployment) == _kept(*ALL)


def _deploy(cdk: Cdk) -> int:
    prod = deploy.Deployment(environment="prod", stack="*", index_host=None, arguments=[])
    return deploy.deploy_kept(prod, cloudformation=cdk.deployment.client("cloudformation"), run_cdk=cdk)


def _kept(*stacks: str) -> Counter[str]:
    """How many resources these stacks keep."""
    return sum((Counter(KEPT[stack]) for stack in stacks), Counter())


def _count(deployment: Deployment) -> Counter[str]:
    """How many resources of the kinds that are kept exist."""
    groups = deployment.client("logs").describe_log_groups(logGroupNamePrefix="/aws/cloudformation/gleaner-prod-")
    buckets = deployment.client("s3").list_buckets()["Buckets"]
    return +Counter(
        tables=len(deployment.client("dynamodb").list_tables()["TableNames"]),
        pools=len(deployment.client("cognito-idp").list_user_pools(MaxResults=60)["UserPools"]),
        logs=len(groups["logGroups"]),
        buckets=len([bucket for bucket in buckets if not bucket["Name"].startswith("cdk-")]),
    )


def _break(template: Path) -> None:
    """Let the last resource of a template fail."""
    content = json.loads(template.read_text())
    known = [name for name, one in content["Resources"].items() if is_known(one)]
    properties = {"Name": TAKEN, "Type": "String", "Value": "x"}
    content["Resources"]["Broken"] = {"Type": "AWS::SSM::Parameter", "Properties": properties, "DependsOn": known}
    template.write_text(json.dumps(content))
