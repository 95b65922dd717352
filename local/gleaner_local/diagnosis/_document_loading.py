"""Checks what loads documents: that its function takes messages, and that none was given up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "documents"
_COUNT = "ApproximateNumberOfMessages"


def check_loading(client: Any, function: str, *, fix: str) -> Iterator[Finding]:
    """Check that the function takes messages of the queue; `client` is a Lambda client, whose errors pass through."""
    state = client.get_function_configuration(FunctionName=function).get("State", "Active")
    if state not in ("Active", "Inactive"):  # an inactive one starts with the next message
        yield problem(SUBJECT, f"The function that loads documents, {function}, is {state}.", fix)
    sources = client.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    if not sources:
        yield problem(SUBJECT, f"No queue invokes {function}, so no document is loaded.", fix)
    for source in sources:
        if source.get("State") in ("Enabled", "Enabling", "Updating"):
            yield ok(SUBJECT, f"{function} takes the messages of the queue.")
        else:
            enable = f"aws lambda update-event-source-mapping --enabled --uuid {source['UUID']}"
            yield problem(
                SUBJECT, f"The queue does not invoke {function}: its source is {source.get('State')}.", enable
            )


def check_left_over(client: Any, url: str, *, entry: str) -> Finding:
    """Check that a dead-letter queue is empty; `client` is an SQS client. `entry` is that of the runbook."""
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=[_COUNT])["Attributes"]
    count = int(attributes[_COUNT])
    if count == 0:
        return ok(SUBJECT, f"No message is left for `{entry}`.")
    return problem(SUBJECT, f"{count} messages about documents failed.", f"docs/13-runbook.md: {entry}")
