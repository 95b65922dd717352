"""The stack of the documents: bucket, events, queue, function and backfill."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gleaner_local.aws.document_queue import BATCH_SIZE
from infra.constructs.documents_bucket import upload_origins
from infra.documents import Documents
from infra.environment import Environment
from infra.environments import DEV, PROD
from tests.infra.synthesis import (
    AT_DOMAIN,
    EVERY,
    IN_ZONE,
    WITH_PAGE,
    WITHOUT,
    Synthesis,
    Template,
    functions,
    one,
    properties,
    resources,
)

REGION = "eu-west-1"
APIS = f"https://*.execute-api.{REGION}.amazonaws.com"


@EVERY
def test_the_bucket_is_private_encrypted_and_versioned(synthesised: Synthesis, environment: Environment) -> None:
    bucket = one(synthesised.documents[environment.name], "AWS::S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["NotificationConfiguration"] == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


@EVERY
def test_versions_and_parts_of_uploads_do_not_pile_up(synthesised: Synthesis, environment: Environment) -> None:
    assert environment.documents is not None
    rules = one(synthesised.documents[environment.name], "AWS::S3::Bucket")["LifecycleConfiguration"]["Rules"]
    assert {rule["Status"] for rule in rules} == {"Enabled"}
    merged: dict[str, Any] = {name: value for rule in rules for name, value in rule.items()}
    days = environment.documents.old_versions_days
    assert merged["NoncurrentVersionExpiration"] == {"NoncurrentDays": days}
    assert merged["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert "ExpirationInDays" not in merged  # nothing that is current goes by itself


@EVERY
def test_whoever_comes_without_tls_is_denied(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.documents[environment.name]
    [policy] = properties(template, "AWS::S3::BucketPolicy")
    conditions = [statement["Condition"] for statement in policy["PolicyDocument"]["Statement"]]
    assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions
    # Keys that the function may not use: KMS's and the caller's own. Without "Null" a plain upload would be refused.
    encryption = "s3:x-amz-server-side-encryption"
    assert {"Null": {encryption: "false"}, "StringNotEquals": {encryption: "AES256"}} in conditions
    assert {"Null": {f"{encryption}-customer-algorithm": "false"}} in conditions
    assert {statement["Effect"] for statement in policy["PolicyDocument"]["Statement"]} == {"Deny"}
    denied = [
        policy["Queues"][0]["Ref"]
        for policy in properties(template, "AWS::SQS::QueuePolicy")
        if {"Bool": {"aws:SecureTransport": "false"}}
        in [one.get("Condition") for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
    ]
    assert sorted(denied) == sorted(resources(template, "AWS::SQS::Queue"))
    assert all(queue["SqsManagedSseEnabled"] for queue in properties(template, "AWS::SQS::Queue"))


@EVERY
def test_changes_of_this_bucket_alone_come_into_the_queue(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.documents[environment.name]
    [bucket] = resources(template, "AWS::S3::Bucket")
    rule = one(template, "AWS::Events::Rule")
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created", "Object Deleted"],
        "detail": {"bucket": {"name": [{"Ref": bucket}]}},
    }
    [target] = rule["Targets"]
    assert "EventsQueue" in json.dumps(target["Arn"])
    assert "EventsUndelivered" in json.dumps(target["DeadLetterConfig"])
    assert not {"Input", "InputPath", "InputTransformer"} & target.keys()  # the function reads S3's own event


@EVERY
def test_a_message_is_tried_five_times_with_room_for_each_try(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.documents[environment.name]
    [queue] = [one for one in properties(template, "AWS::SQS::Queue") if "RedrivePolicy" in one]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 5
    assert "EventsDeadLetters" in json.dumps(queue["RedrivePolicy"])
    # "Creating and configuring an Amazon SQS event source mapping" in Lambda's developer guide.
    assert queue["VisibilityTimeout"] >= 6 * functions(template)["ingest"]["Timeout"]
    assert {one["MessageRetentionPeriod"] for one in properties(template, "AWS::SQS::Queue")} == {14 * 24 * 3600}


@EVERY
def test_the_function_takes_one_message_and_as_many_at_once_as_the_record_says(
    synthesised: Synthesis, environment: Environment
) -> None:
    template = synthesised.documents[environment.name]
    source = one(template, "AWS::Lambda::EventSourceMapping")
    assert environment.documents is not None
    assert source["ScalingConfig"] == {"MaximumConcurrency": environment.documents.max_concurrency}
    assert source["BatchSize"] == BATCH_SIZE  # and so one machine delivers them
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    function = functions(template)["ingest"]
    assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
    assert len(function["Layers"]) == len(resources(template, "AWS::Lambda::LayerVersion")) == 2


@EVERY
def test_only_the_function_that_sends_itself_messages_may_go_on_with_them_for_ever(
    synthesised: Synthesis, environment: Environment
) -> None:
    name = environment.name
    assert functions(synthesised.documents[name])["ingest"]["RecursiveLoop"] == "Allow"
    others = functions(synthesised.service[name]).values()
    assert not any("RecursiveLoop" in function for function in others)  # Lambda's default is to end such loops


def test_a_backfill_sends_a_message_for_each_object(synthesised: Synthesis) -> None:
    machine = one(synthesised.documents["prod"], "AWS::StepFunctions::StateMachine")
    definition = json.loads(machine["DefinitionString"])
    names = machine["DefinitionSubstitutions"]
    listing = definition["States"][definition["StartAt"]]
    assert listing["ItemReader"]["Parameters"] == {"Bucket": "${Bucket}", "Prefix.$": "$.prefix"}
    child = listing["ItemProcessor"]["States"][listing["ItemProcessor"]["StartAt"]]
    # A run may return 256 KB ("Step Functions service quotas"). A child returns `{}`, with a comma.
    assert (child["OutputPath"], listing["OutputPath"]) == (None, None)
    most_objects = 256 * 1024 // len("{},") * listing["ItemBatcher"]["MaxItemsPerBatch"]
    assert most_objects > 10_000_000
    send = child["ItemProcessor"]["States"]["Send"]
    assert send["Parameters"]["MessageBody"] == {"bucket": "${Bucket}", "key.$": "$.Key"}
    assert send["Retry"]
    assert names["Bucket"] == {"Ref": next(iter(resources(synthesised.documents["prod"], "AWS::S3::Bucket")))}
    assert "EventsQueue" in json.dumps(names["QueueUrl"])


@pytest.mark.parametrize(
    ("environment", "origins"),
    [
        (DEV, ["http://localhost:3000", APIS]),
        (PROD, []),
        (WITH_PAGE, ["https://ask.example.org", APIS]),
        (AT_DOMAIN, ["https://ask.example.org", APIS]),
        (replace(IN_ZONE, chat_page=True), ["http://localhost:3000", "https://zone.example.org"]),
        (replace(DEV, cors_origins=("*", "https://a.example.org")), ["*"]),
        (replace(WITH_PAGE, page_urls=("http://localhost:5173/app/",)), ["http://localhost:5173", APIS]),
    ],
    ids=["dev", "no page", "page", "domain", "closed API", "everywhere", "port"],
)
def test_pages_may_upload_from_where_they_are_opened(environment: Environment, origins: list[str]) -> None:
    assert upload_origins(environment, REGION) == origins


def test_browsers_may_post_and_nothing_else(synthesised: Synthesis) -> None:
    [rule] = one(synthesised.documents["dev"], "AWS::S3::Bucket")["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedMethods"] == ["POST"]
    # One "*" an origin ("CORS configuration" in S3's user guide).
    assert all(json.dumps(origin).count("*") <= 1 for origin in rule["AllowedOrigins"])
    assert "CorsConfiguration" not in one(synthesised.documents["prod"], "AWS::S3::Bucket")


def test_an_environment_without_documents_has_and_watches_none(synthesised: Synthesis) -> None:
    assert WITHOUT.name not in synthesised.documents
    alarms = json.dumps([one["AlarmDescription"] for one in _alarms(synthesised.watch[WITHOUT.name])])
    assert "Documents" not in alarms
    assert "IngestLog" not in synthesised.watch[WITHOUT.name]["Parameters"]
    watched = {one["Name"] for one in properties(synthesised.documents["dev"], "AWS::SSM::Parameter")}
    read = {
        parameter["Default"]
        for name in ("dev",)
        for parameter in synthesised.watch[name]["Parameters"].values()
        if "/watched/" in str(parameter.get("Default"))
    }
    left = {one["Name"] for one in properties(synthesised.service["dev"], "AWS::SSM::Parameter")}
    assert read == {name for name in watched | left if "/watched/" in name}


@pytest.mark.parametrize(
    "changes",
    [
        {"max_concurrency": 1},  # Lambda takes 2 at least
        {"max_concurrency": 1001},
        {"memory_mb": 512},
        {"timeout_seconds": 901},
        {"timeout_seconds": 30},
        {"old_versions_days": 0},
    ],
    ids=lambda changes: "-".join(map(str, *changes.items())),
)
def test_a_record_that_aws_would_refuse_is_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"dev: documents\.{next(iter(changes))} must be"):
        replace(DEV, documents=Documents(**changes))


@pytest.mark.parametrize("minutes", [0, 1.5, 20_161])
def test_an_alarm_on_waiting_documents_that_could_never_fire_is_refused(minutes: float) -> None:
    bar = replace(DEV.alarms.documents_waiting, minutes=minutes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"alarms\.documents_waiting\.minutes"):
        replace(DEV, alarms=replace(DEV.alarms, documents_waiting=bar))


def test_documents_that_wait_raise_an_alarm_later_than_a_second_try(synthesised: Synthesis) -> None:
    [alarm] = [
        one for one in _alarms(synthesised.watch["prod"]) if one["AlarmDescription"].endswith("DocumentsWaiting")
    ]
    [queue] = [one for one in properties(synthesised.documents["prod"], "AWS::SQS::Queue") if "RedrivePolicy" in one]
    assert alarm["MetricName"] == "ApproximateAgeOfOldestMessage"
    assert alarm["Threshold"] > queue["VisibilityTimeout"]


def _alarms(template: Template) -> list[dict[str, Any]]:
    return properties(template, "AWS::CloudWatch::Alarm")
