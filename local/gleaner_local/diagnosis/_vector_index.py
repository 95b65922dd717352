"""Checks the Pinecone index: whether it answers, accepts the key and can hold Gleaner's records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gleaner.clients import pinecone_failures
from gleaner.clients.time_limit import run_within
from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseQuotaUsed
from gleaner.model import ANSWERS_SUFFIX
from gleaner_local.clients.pinecone_control import ControlFailed, PineconeControl
from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem, redact_address

if TYPE_CHECKING:
    from pinecone import ApiError, DescribeIndexStatsResponse

SUBJECT = "vector index"
_SECONDS = 5.0  # includes the SDK's own retries
_REJECTED_KEY = (401, 403)
_PINECONE = ".pinecone.io"
_CREATE_INDEX = "Create one that can with `gleaner index create`."


def check_index(*, host: str, api_key: str, control_host: str | None, origin: Origin) -> Iterator[Finding]:
    """Read the index's statistics, and its description from Pinecone's control plane.

    `control_host` is the address of the control plane; None is Pinecone's own, which knows only Pinecone's hosts.
    """
    from pinecone import ApiError, PineconeError

    from gleaner.clients.pinecone_hits import LenientIndex  # a refusal comes at once, not after the SDK's repetitions

    where = redact_address(host)
    try:
        index = LenientIndex(api_key=api_key, host=host)
        stats = run_within(_SECONDS, lambda: index.describe_index_stats(timeout=_SECONDS))
    except ApiError as error:
        yield _explain_refusal(where, error, origin)
        return
    except (PineconeError, TimeoutError):
        remedy = f"Check {origin.address}: `gleaner index create` prints the host, also of an existing index."
        yield problem(SUBJECT, f"{where} does not answer.", remedy)
        return
    yield _judge_stats(where, stats)
    if control_host or where.endswith(_PINECONE):
        yield _judge_description(PineconeControl(api_key=api_key, host=control_host), host, origin)


def _explain_refusal(where: str, error: ApiError, origin: Origin) -> Finding:
    status, failure = error.status_code, pinecone_failures.translate(error)
    if isinstance(failure, KnowledgeBaseQuotaUsed):
        return problem(SUBJECT, str(failure), "Pinecone's console shows what is used.")
    if isinstance(failure, KnowledgeBaseBusy):
        return problem(SUBJECT, f"{where} is at its limit (HTTP {status}).", "Wait a minute, then check again.")
    if status in _REJECTED_KEY:
        remedy = f"Put a key of the index's project into {origin.key}."
        return problem(SUBJECT, f"{where} rejects the key (HTTP {status}).", remedy)
    remedy = f"Check {origin.address}: it must be the host of an index, as `gleaner index create` prints it."
    return problem(SUBJECT, f"{where} answers with HTTP {status}.", remedy)


def _judge_stats(where: str, stats: DescribeIndexStatsResponse) -> Finding:
    if stats.dimension is None or stats.vector_type == "sparse":
        return problem(
            SUBJECT, f"{where} holds no dense vectors, so its scores are not between 0 and 1.", _CREATE_INDEX
        )
    learned = {name: space for name, space in stats.namespaces.items() if name.endswith(ANSWERS_SUFFIX)}
    count = stats.total_vector_count - sum(space.vector_count for space in learned.values())
    contents = (
        f"dimensions: {stats.dimension}, records: {count}, knowledge bases: {len(stats.namespaces) - len(learned)}"
    )
    if not count:
        return note(
            SUBJECT, f"{where} accepts the key; it is empty ({contents}).", "Load documents with `gleaner ingest`."
        )
    return ok(SUBJECT, f"{where} accepts the key ({contents}).")


def _judge_description(control: PineconeControl, host: str, origin: Origin) -> Finding:
    try:
        index = control.find_by_host(host)
    except ControlFailed as failure:
        return note(SUBJECT, f"Its configuration is unknown. {failure}", "Check it in Pinecone's console.")
    if index is None:
        return note(SUBJECT, "Its configuration is unknown: the key's project has no index of this host.")
    if not index.ready:
        return problem(SUBJECT, f"The index {index.name} is not ready ({index.state}).", "Wait, then check again.")
    if unfit := index.find_mismatch():
        return problem(
            SUBJECT,
            f"The index {index.name} cannot hold Gleaner's records: {unfit}.",
            f"{_CREATE_INDEX} Then put its host into {origin.address}.",
        )
    metric = index.metric or "the model's own metric"
    return ok(SUBJECT, f"The index {index.name} embeds the text field with {index.model}, {metric}.")
