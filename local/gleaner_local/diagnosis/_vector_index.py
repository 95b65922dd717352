"""Checks the Pinecone index: whether it answers, takes the key, and can hold what Gleaner writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gleaner.clients.time_limit import run_within
from gleaner_local.clients.pinecone_control import ControlFailed, PineconeControl
from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem, shown

if TYPE_CHECKING:
    from pinecone import DescribeIndexStatsResponse

SUBJECT = "vector index"
_SECONDS = 5.0  # the SDK's own retries included
_REFUSED_KEY = (401, 403)
_PINECONE = ".pinecone.io"
_MAKE_ONE = "Make one that can with `gleaner index create`."


def check_index(*, host: str, api_key: str, control_host: str | None, origin: Origin) -> Iterator[Finding]:
    """Read the index's statistics, and its description where Pinecone's control plane knows it.

    `control_host` is the control plane's address; None is Pinecone's own, which is asked about its own hosts only.
    """
    from pinecone import ApiError, Pinecone, PineconeError

    where = shown(host)
    try:
        index = Pinecone(api_key=api_key).index(host=host)
        stats = run_within(_SECONDS, lambda: index.describe_index_stats(timeout=_SECONDS))
    except ApiError as error:
        yield _refused(where, error.status_code, origin)
        return
    except (PineconeError, TimeoutError):
        remedy = f"Check {origin.address}: `gleaner index create` prints the host, also of an index that exists."
        yield problem(SUBJECT, f"{where} gives no answer.", remedy)
        return
    yield _judged(where, stats)
    if control_host or where.endswith(_PINECONE):
        yield _described(PineconeControl(api_key=api_key, host=control_host), host, origin)


def _refused(where: str, status: int, origin: Origin) -> Finding:
    if status in _REFUSED_KEY:
        remedy = f"Put a key of the index's project into {origin.key}."
        return problem(SUBJECT, f"{where} refuses the key (HTTP {status}).", remedy)
    remedy = f"Check {origin.address}: it is the host of an index, such as `gleaner index create` prints."
    return problem(SUBJECT, f"{where} answers HTTP {status}.", remedy)


def _judged(where: str, stats: DescribeIndexStatsResponse) -> Finding:
    if stats.dimension is None or stats.vector_type == "sparse":
        return problem(SUBJECT, f"{where} holds no dense vectors, so its scores are not from 0 to 1.", _MAKE_ONE)
    count = stats.total_vector_count
    held = f"dimensions: {stats.dimension}, records: {count}, knowledge bases: {len(stats.namespaces)}"
    if not count:
        return note(SUBJECT, f"{where} takes the key; it is empty ({held}).", "Load documents with `gleaner ingest`.")
    return ok(SUBJECT, f"{where} takes the key ({held}).")


def _described(control: PineconeControl, host: str, origin: Origin) -> Finding:
    try:
        index = control.find_by_host(host)
    except ControlFailed as failure:
        return note(SUBJECT, f"Its shape is not known. {failure}", "Check it in Pinecone's console.")
    if index is None:
        return note(SUBJECT, "Its shape is not known: the key's project has no index of this host.")
    if not index.ready:
        return problem(SUBJECT, f"The index {index.name} is not ready ({index.state}).", "Wait, and check again.")
    if unfit := index.find_mismatch():
        return problem(
            SUBJECT, f"The index {index.name} cannot hold Gleaner's records: {unfit}.", f"{_MAKE_ONE} {_then(origin)}"
        )
    metric = index.metric or "the model's own metric"
    return ok(SUBJECT, f"The index {index.name} embeds the field of the text with {index.model}, {metric}.")


def _then(origin: Origin) -> str:
    return f"Then put its host into {origin.address}."
