"""The bucket of the documents: what is uploaded there is loaded into the index."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlsplit

from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.documents import Documents
from infra.environment import Environment
from infra.retention import removal_policy

_UNFINISHED_DAYS = 7  # of a multipart upload, whose parts are billed
_CORS_SECONDS = 3600


def documents_bucket(scope: Construct, id: str, *, environment: Environment, documents: Documents) -> s3.Bucket:
    """A private, encrypted, versioned bucket, which tells EventBridge of each object that comes or goes.

    It is kept where the environment keeps its data. Elsewhere it goes with its stack, provided that it is empty.
    """
    origins = upload_origins(environment, Stack.of(scope).region)
    bucket = s3.Bucket(
        scope,
        id,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        versioned=True,
        lifecycle_rules=[
            s3.LifecycleRule(
                id="old-versions",
                noncurrent_version_expiration=Duration.days(documents.old_versions_days),
                expired_object_delete_marker=True,
            ),
            s3.LifecycleRule(
                id="unfinished-uploads", abort_incomplete_multipart_upload_after=Duration.days(_UNFINISHED_DAYS)
            ),
        ],
        cors=[
            s3.CorsRule(
                allowed_methods=[s3.HttpMethods.POST],
                allowed_origins=origins,
                allowed_headers=["*"],
                max_age=_CORS_SECONDS,
            )
        ]
        if origins
        else None,
        removal_policy=removal_policy(environment),
    )
    # By itself: `event_bridge_enabled` of the construct would add a function of the CDK's to the stack.
    resource = cast(s3.CfnBucket, bucket.node.default_child)
    resource.add_property_override("NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled", True)
    _refuse_other_keys(bucket)
    acknowledge(
        bucket,
        "AwsSolutions-S1",
        "The table of documents says who uploaded what. Access logs would need a bucket that nobody reads.",
    )
    return bucket


def _refuse_other_keys(bucket: s3.Bucket) -> None:
    """Refuse objects that are encrypted with a key of somebody else, which the ingest function could never read.

    Who uploads one is told at once. An upload that names no encryption gets the bucket's own.
    """
    encryption, customer = "s3:x-amz-server-side-encryption", "s3:x-amz-server-side-encryption-customer-algorithm"
    for conditions in (
        {"Null": {encryption: "false"}, "StringNotEquals": {encryption: "AES256"}},
        {"Null": {customer: "false"}},
    ):
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[bucket.arn_for_objects("*")],
                conditions=conditions,
            )
        )


def upload_origins(environment: Environment, region: str) -> list[str]:
    """The origins whose pages may send files to the bucket, by the forms that the API signs for its callers.

    The API's own address is known only after the bucket exists, so that the whole of API Gateway in this region stands
    for it. What admits an upload is the signature of its form, never the origin.
    """
    if "*" in environment.cors_origins:
        return ["*"]
    origins = list(environment.cors_origins)
    if environment.chat_page:
        addresses = [*environment.page_urls, *([environment.address] if environment.address else [])]
        origins += ["{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in addresses]
        if not environment.closes_default_endpoint:
            origins.append(f"https://*.execute-api.{region}.amazonaws.com")
    return list(dict.fromkeys(origins))


def leave_bucket_name(scope: Construct, environment: Environment, bucket: s3.Bucket) -> None:
    """Write the bucket's name where the service stack reads it: an export would bind the stacks to each other."""
    ssm.StringParameter(
        scope,
        "BucketName",
        parameter_name=_name(environment),
        string_value=bucket.bucket_name,
        description=f"Gleaner {environment.name}: the bucket of the documents",
    )


def read_bucket_name(scope: Construct, environment: Environment) -> str:
    """The name as CloudFormation reads it at each deployment."""
    parameter = CfnParameter(
        scope,
        "DocumentsBucketParameter",
        type="AWS::SSM::Parameter::Value<String>",
        description="Where the documents stack keeps the name of its bucket",
        default=_name(environment),
    )
    return parameter.value_as_string


def _name(environment: Environment) -> str:
    return f"/gleaner/{environment.name}/documents-bucket"
