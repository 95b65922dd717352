"""Deploys a synthesised assembly as the CDK's command line does: uploads the assets to S3, then deploys the stacks."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

ACCOUNT = "000000000000"
REGION = "us-east-1"
_WAITER = {"Delay": 1, "MaxAttempts": 180}
_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"


class Deployment:
    """The stacks of one stage, in an account behind `endpoint_url`."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url
        self._cloudformation = self.client("cloudformation")
        self._s3 = self.client("s3")
        self._s3.create_bucket(Bucket=_bucket("cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"))
        self.client("ssm").put_parameter(Name=_BOOTSTRAP, Value="25", Type="String")

    def client(self, service: str) -> Any:
        """A client for a service of the account."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def deploy(self, assembly: Path, stack: str, parameters: Mapping[str, str] | None = None) -> dict[str, str]:
        """Create or update a stack of a stage's assembly; returns its outputs. Raises WaiterError when it fails.

        Like the CDK's command line, it sets the termination protection first, removes a stack whose creation was rolled
        back, and lets CloudFormation keep the parameters that are not given.
        """
        properties = artifact(assembly, stack)
        template_url = self._publish(assembly, properties["templateFile"])
        status = self.status(stack)
        if status == "ROLLBACK_COMPLETE":
            self.destroy(stack)
            status = None
        arguments: dict[str, Any] = {
            "StackName": stack,
            "TemplateURL": template_url,
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in (parameters or {}).items()],
        }
        protected = bool(properties.get("terminationProtection"))
        if status is None:
            self._cloudformation.create_stack(**arguments, EnableTerminationProtection=protected)
        else:
            self.protect(stack, protected=protected)
            declared = json.loads((assembly / properties["templateFile"]).read_text()).get("Parameters", {})
            kept = self.parameters(stack).keys() & declared.keys() - (parameters or {}).keys()
            arguments["Parameters"] += [{"ParameterKey": name, "UsePreviousValue": True} for name in sorted(kept)]
            if not self._update(arguments):
                return self._outputs(stack)
        waiter = self._cloudformation.get_waiter("stack_update_complete" if status else "stack_create_complete")
        waiter.wait(StackName=stack, WaiterConfig=_WAITER)
        return self._outputs(stack)

    def destroy(self, stack: str) -> None:
        """Delete a stack and wait until it no longer exists."""
        self._cloudformation.delete_stack(StackName=stack)
        self._cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig=_WAITER)

    def stacks(self) -> set[str]:
        """Names of the stacks that exist."""
        summaries = self._cloudformation.list_stacks()["StackSummaries"]
        return {stack["StackName"] for stack in summaries if stack["StackStatus"] != "DELETE_COMPLETE"}

    def status(self, stack: str) -> str | None:
        """The status of a stack; None if there is none."""
        return next((one["StackStatus"] for one in self._describe() if one["StackName"] == stack), None)

    def parameters(self, stack: str) -> dict[str, str]:
        """The parameters of a stack that exists."""
        (description,) = self._describe(StackName=stack)
        return {one["ParameterKey"]: one["ParameterValue"] for one in description.get("Parameters", ())}

    def protect(self, stack: str, *, protected: bool) -> None:
        """Switch the termination protection of a stack."""
        self._cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=protected)

    def is_protected(self, stack: str) -> bool:
        """Whether a stack has termination protection."""
        (description,) = self._describe(StackName=stack)
        return bool(description["EnableTerminationProtection"])

    def _describe(self, **which: str) -> list[dict[str, Any]]:
        stacks: list[dict[str, Any]] = self._cloudformation.describe_stacks(**which)["Stacks"]
        return stacks

    def _outputs(self, stack: str) -> dict[str, str]:
        (description,) = self._describe(StackName=stack)
        return {output["OutputKey"]: output["OutputValue"] for output in description["Outputs"]}

    def _update(self, arguments: Mapping[str, Any]) -> bool:
        """Start to update a stack; whether there is something to update."""
        try:
            self._cloudformation.update_stack(**arguments)
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise
            return False
        return True

    def _publish(self, assembly: Path, template: str) -> str:
        """Upload the assets of a stack; returns the URL of its template."""
        assets = json.loads((assembly / template.replace(".template.", ".assets.")).read_text())
        template_url = ""
        for asset in assets["files"].values():
            (destination,) = asset["destinations"].values()
            source = assembly / asset["source"]["path"]
            bucket, key = _bucket(destination["bucketName"]), destination["objectKey"]
            content = _read_asset(source, asset["source"]["packaging"])
            if source.name == template:
                content = _buffer_streams(_remove_unknown_resources(content))
                template_url = f"{self.endpoint_url}/{bucket}/{key}"
            self._s3.put_object(Bucket=bucket, Key=key, Body=content)
        return template_url


def artifact(assembly: Path, stack: str) -> dict[str, Any]:
    """What the manifest of an assembly says about a stack."""
    manifest = json.loads((assembly / "manifest.json").read_text())
    (found,) = [a for a in manifest["artifacts"].values() if a.get("properties", {}).get("stackName") == stack]
    properties: dict[str, Any] = found["properties"]
    return properties


def _remove_unknown_resources(template: bytes) -> bytes:
    """Remove the alarms on expressions, saved queries and the style of sign-in pages, which the emulator rejects."""
    content = json.loads(template)
    content["Resources"] = {name: resource for name, resource in content["Resources"].items() if is_known(resource)}
    _allow_without_tls(content["Resources"])
    _unbatch(content["Resources"])
    for resource in content["Resources"].values():
        for replica in resource.get("Properties", {}).get("Replicas", ()):
            # The emulator does not protect tables of this type, and replaces one whose properties change.
            replica.pop("DeletionProtectionEnabled", None)
    return json.dumps(content).encode()


def _allow_without_tls(resources: dict[str, Any]) -> None:
    """Take out the denials of requests without TLS, which the emulator does not speak."""
    for name, resource in list(resources.items()):
        if resource["Type"] in ("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"):
            document = resource["Properties"]["PolicyDocument"]
            document["Statement"] = [one for one in document["Statement"] if one["Effect"] == "Allow"]
            if not document["Statement"]:
                del resources[name]


def _unbatch(resources: Mapping[str, Any]) -> None:
    """Let a child of a Distributed Map take one item: the emulator ignores ItemBatcher."""
    for resource in resources.values():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            properties = resource["Properties"]
            properties["DefinitionString"] = properties["DefinitionString"].replace('"$.Items"', '"$"')


def is_known(resource: Mapping[str, Any]) -> bool:
    """Whether the emulator takes a resource of a template."""
    if resource["Type"] == "AWS::CloudWatch::Alarm":
        return "Metrics" not in resource["Properties"]
    return resource["Type"] not in ("AWS::Cognito::ManagedLoginBranding", "AWS::Logs::QueryDefinition")


def _buffer_streams(template: bytes) -> bytes:
    """Let methods that stream invoke the function for whole responses: the emulator does not know the other action."""
    streamed, whole = b"/response-streaming-invocations", b"/invocations"
    return template.replace(streamed, whole).replace(b":lambda:path/2021-11-15/", b":lambda:path/2015-03-31/")


def _bucket(name: str) -> str:
    return name.replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)


def _read_asset(source: Path, packaging: str) -> bytes:
    if packaging == "file":
        return source.read_bytes()
    with tempfile.TemporaryDirectory() as directory:
        return Path(shutil.make_archive(f"{directory}/asset", "zip", source)).read_bytes()
