"""What the doctor says of the function that loads documents, and of what it gave up.

The answers have the shapes of botocore's models, which the stub checks.
"""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from gleaner_local.diagnosis._document_loading import check_left_over, check_loading
from gleaner_local.diagnosis.finding import State

FUNCTION = "gleaner-dev-documents-IngestionPythonFunction-1"
FIX = "make deploy ENV=dev STACK=documents"
UUID = "0a1b2c3d-1111-2222-3333-444455556666"


def stub(service: str) -> tuple[Any, Stubber]:
    client = boto3.client(service, region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    return client, Stubber(client)


@pytest.mark.parametrize(
    ("function", "sources", "states"),
    [
        ("Active", ["Enabled"], [State.OK]),
        ("Inactive", ["Enabled"], [State.OK]),
        ("Failed", ["Enabled"], [State.PROBLEM, State.OK]),
        ("Active", [], [State.PROBLEM]),
        ("Active", ["Disabled"], [State.PROBLEM]),
    ],
)
def test_the_function_takes_messages_or_it_is_said_why_not(
    function: str, sources: list[str], states: list[State]
) -> None:
    client, stubber = stub("lambda")
    stubber.add_response("get_function_configuration", {"State": function}, {"FunctionName": FUNCTION})
    mappings = [{"UUID": UUID, "State": state} for state in sources]
    stubber.add_response("list_event_source_mappings", {"EventSourceMappings": mappings}, {"FunctionName": FUNCTION})
    with stubber:
        findings = list(check_loading(client, FUNCTION, fix=FIX))
    assert [finding.state for finding in findings] == states
    if sources == ["Disabled"]:
        assert findings[0].remedy == "aws lambda update-event-source-mapping --enabled --uuid " + UUID
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(("count", "state"), [("0", State.OK), ("3", State.PROBLEM)])
def test_messages_that_were_given_up_lead_to_the_runbook(count: str, state: State) -> None:
    client, stubber = stub("sqs")
    stubber.add_response("get_queue_attributes", {"Attributes": {"ApproximateNumberOfMessages": count}})
    with stubber:
        finding = check_left_over(client, "https://sqs.example/dead", entry="DocumentsGivenUp")
    assert finding.state is state
    assert "DocumentsGivenUp" in finding.seen + finding.remedy
