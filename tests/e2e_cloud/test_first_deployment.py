"""A first deployment that fails leaves nothing in the way of the next one, and protection comes after success."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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

DATA, SERVICE = "gleaner-prod-data", "gleaner-prod-service"
HOST = "https://gleaner-x.svc.pinecone.io"
KEPT = {"tables": 7, "pools": 1, "logs": 3}
TAKEN = "/taken"  # a parameter that exists, so that no stack can create it
# The emulator has neither CodeDeploy nor AWS WAF.
BARE_PROD = replace(PROD, canary=None, firewall=None)


@dataclass
class Cdk:
    """Stands for the CDK's command line: deploys the named stacks of prod; the `broken` fail at their very end."""

    deployment: Deployment
    path: Path
    broken: set[str] = field(default_factory=set)
    runs: int = 0

    def __call__(self, arguments: list[str]) -> int:
        self.runs += 1
        name, _, created = arguments[arguments.index("--context") + 1].partition("=")
        assert name == CREATED_STACKS
        assembly = self._synthesise({name: created})
        for stack in self.broken:
            _break(assembly / artifact(assembly, stack)["templateFile"])
        try:
            if "gleaner-prod/data" in arguments:
                self.deployment.deploy(assembly, DATA, {"PineconeIndexHost": HOST})
            if "gleaner-prod/service" in arguments:
                self.deployment.deploy(assembly, SERVICE)
        except WaiterError:
            return 1
        return 0

    def _synthesise(self, context: dict[str, str]) -> Path:
        """The assembly of prod, with a layer of one file: nothing is invoked here."""
        layer = self.path / "layer" / "python"
        layer.mkdir(parents=True, exist_ok=True)
        (layer / "nothing.py").write_text("")
        code = stub_code(layer.parent)
        write(make_app([BARE_PROD], code, outdir=self.path / "cdk.out", context=context))
        return self.path / "cdk.out" / "assembly-gleaner-prod"


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


@pytest.mark.parametrize("broken", [DATA, SERVICE])
def test_a_first_deployment_that_fails_can_be_repeated(deployment: Deployment, tmp_path: Path, broken: str) -> None:
    cdk = Cdk(deployment, tmp_path, {broken})
    assert _deploy(cdk) == 1
    assert deployment.status(broken) == "ROLLBACK_COMPLETE"
    assert not deployment.is_protected(broken)
    assert broken == DATA or deployment.is_protected(DATA)
    # Nothing survives of the stack that failed. The one before it stands.
    assert _count(deployment) == ({"tables": 0, "pools": 0, "logs": 0} if broken == DATA else KEPT | {"logs": 0})
    cdk.broken.clear()
    assert _deploy(cdk) == 0
    assert _count(deployment) == KEPT
    assert deployment.is_protected(DATA)
    assert deployment.is_protected(SERVICE)
    assert _deploy(cdk) == 0
    # One that fails, one that succeeds, one more, and a run that protects after each that created something.
    assert cdk.runs == (4 if broken == DATA else 5)


def test_data_and_logs_stay_when_the_stacks_are_removed(deployment: Deployment, tmp_path: Path) -> None:
    cdk = Cdk(deployment, tmp_path)
    assert _deploy(cdk) == 0
    with pytest.raises(ClientError, match="TerminationProtection"):
        deployment.destroy(SERVICE)
    for stack in (SERVICE, DATA):
        deployment.protect(stack, protected=False)
        deployment.destroy(stack)
    # The emulator derives names from those of stacks, so it cannot show that what stays is in nobody's way.
    assert _count(deployment) == KEPT


def _deploy(cdk: Cdk) -> int:
    prod = deploy.Deployment(environment="prod", stack="*", index_host=None, arguments=[])
    return deploy.deploy_kept(prod, cloudformation=cdk.deployment.client("cloudformation"), run_cdk=cdk)


def _count(deployment: Deployment) -> dict[str, int]:
    """How many resources of the stacks that hold data exist."""
    prefix = f"/aws/cloudformation/{SERVICE}"
    return {
        "tables": len(deployment.client("dynamodb").list_tables()["TableNames"]),
        "pools": len(deployment.client("cognito-idp").list_user_pools(MaxResults=60)["UserPools"]),
        "logs": len(deployment.client("logs").describe_log_groups(logGroupNamePrefix=prefix)["logGroups"]),
    }


def _break(template: Path) -> None:
    """Let the last resource of a template fail."""
    content = json.loads(template.read_text())
    known = [name for name, one in content["Resources"].items() if is_known(one)]
    properties = {"Name": TAKEN, "Type": "String", "Value": "x"}
    content["Resources"]["Broken"] = {"Type": "AWS::SSM::Parameter", "Properties": properties, "DependsOn": known}
    template.write_text(json.dumps(content))
