"""A state machine that puts every object of the bucket into the queue, however many there are.

A Distributed Map reads the listing of the bucket page by page, and gives its keys to children that run in parallel.
Each key becomes a message, so the queue decides as ever how many documents are loaded at once, tries again, and gives
up. A map that invoked the function itself would need limits, repetitions and dead letters of its own. Sources:
"Distributed Map state", "ItemReader" and "IAM policies for using Distributed Map states" in Step Functions' guide.
"""

from __future__ import annotations

import json
from typing import cast

from aws_cdk import ArnFormat, CfnResource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.acknowledge import acknowledge

# Keys of a child. Its results are counted against the 256 KB that a run returns: `{}` from each child, so that they do
# for 40 million objects.
_KEYS_OF_CHILD, _BYTES_OF_CHILD = 500, 256 * 1024
_CHILDREN = 10  # at once; with the next, about a thousand messages a second
_MESSAGES_OF_CHILD = 10  # at once


_SEND = {
    "Type": "Task",
    "Resource": "arn:aws:states:::sqs:sendMessage",
    "Parameters": {"QueueUrl": "${QueueUrl}", "MessageBody": {"bucket": "${Bucket}", "key.$": "$.Key"}},
    "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 5, "BackoffRate": 2}],
    "End": True,
}
_CHILD = {
    "Type": "Map",
    "ItemsPath": "$.Items",
    "MaxConcurrency": _MESSAGES_OF_CHILD,
    "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "Send", "States": {"Send": _SEND}},
    "OutputPath": None,  # `{}`
    "End": True,
}
_LIST = {
    "Type": "Map",
    "Label": "Keys",
    "ItemReader": {
        "Resource": "arn:aws:states:::s3:listObjectsV2",
        "Parameters": {"Bucket": "${Bucket}", "Prefix.$": "$.prefix"},
    },
    "ItemBatcher": {"MaxItemsPerBatch": _KEYS_OF_CHILD, "MaxInputBytesPerBatch": _BYTES_OF_CHILD},
    "MaxConcurrency": _CHILDREN,
    "ItemProcessor": {
        # Express children cost a fiftieth of standard ones, and may repeat: a message is only a hint.
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"},
        "StartAt": "Each",
        "States": {"Each": _CHILD},
    },
    "OutputPath": None,
    "End": True,
}
_DEFINITION = {
    "Comment": "Puts the objects of the bucket into the queue of documents",
    "TimeoutSeconds": 24 * 3600,
    "StartAt": "List",
    "States": {"List": _LIST},
}


class Backfill(Construct):
    """The state machine. Its input is `{"prefix": "KB_ID/"}`; an empty prefix is the whole bucket."""

    def __init__(self, scope: Construct, id: str, *, bucket: s3.Bucket, queue: sqs.Queue) -> None:
        super().__init__(scope, id)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
        role.add_to_policy(iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn]))
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn]))
        self.machine = sfn.StateMachine(
            self,
            "Machine",
            definition_body=sfn.DefinitionBody.from_string(json.dumps(_DEFINITION)),
            definition_substitutions={"Bucket": bucket.bucket_name, "QueueUrl": queue.queue_url},
            role=role,
        )
        self._allow_children(role)
        for rule, reason in (
            ("AwsSolutions-SF1", "Step Functions keeps the history of a run for 90 days. A child sends messages only."),
            ("AwsSolutions-SF2", "A run sends messages only; the traces begin at the function that takes them."),
        ):
            acknowledge(self.machine, rule, reason)

    def _allow_children(self, role: iam.Role) -> None:
        """Let a run start its children. A policy of its own: that of the role must exist before the machine."""
        name = self.machine.state_machine_name
        executions = [
            Stack.of(self).format_arn(
                service="states", resource="execution", resource_name=pattern, arn_format=ArnFormat.COLON_RESOURCE_NAME
            )
            for pattern in (f"{name}:*", f"{name}/*")
        ]
        policy = iam.Policy(
            self,
            "Children",
            roles=[role],
            statements=[
                iam.PolicyStatement(actions=["states:StartExecution"], resources=[self.machine.state_machine_arn]),
                iam.PolicyStatement(actions=["states:DescribeExecution", "states:StopExecution"], resources=executions),
            ],
        )
        resource = cast(CfnResource, self.machine.node.default_child)
        machine = Stack.of(self).get_logical_id(resource)
        for end in (":*", "/*"):
            acknowledge(
                policy,
                "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:"
                f"<{machine}.Name>{end}]",
                "Step Functions names the executions of this machine.",
            )
