"""How documents get from S3 into the index: a part of the record of an environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.bounds import check_whole

_CONCURRENCY = (2, 1000)  # MaximumConcurrency of an SQS event source ("Configuring scaling behavior" in Lambda's guide)
_MEMORY = (1024, 10_240)  # MB; below a GB a document of 50 MB may not be read
_SECONDS = (60, 900)  # a document goes on in the next invocation, but each needs time for a batch of 96 chunks
_TRIES = 6  # of the function fit into the time for which the queue hides a message (AWS's advice, ditto)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The bucket of an environment and the function that loads its documents."""

    # How many documents are loaded at once. The index embeds 250,000 tokens of passages a minute on Pinecone's smaller
    # plans, which 2 use up, and 1,000,000 on the others, of which 5 use nearly all (docs/decisions/0049 simulates it).
    # More wait for the index, and are billed for that. They also take concurrency that questions need, of which a new
    # account has 10.
    max_concurrency: int = 2
    # A whole processor and more, which a function has from 1,769 MB on ("Configure Lambda function memory").
    # All but 512 MB are for the process that reads documents, which is ended if it takes more.
    memory_mb: int = 2048
    timeout_seconds: int = 900
    old_versions_days: int = 30  # how long a replaced or deleted object can be restored

    @property
    def hidden_seconds(self) -> int:
        """How long the queue hides a message that a function has taken."""
        return _TRIES * self.timeout_seconds

    def check(self) -> Iterator[str]:
        """Say what AWS would refuse, and what could not load a document."""
        yield from check_whole("documents.max_concurrency", self.max_concurrency, *_CONCURRENCY)
        yield from check_whole("documents.memory_mb", self.memory_mb, *_MEMORY)
        yield from check_whole("documents.timeout_seconds", self.timeout_seconds, *_SECONDS)
        yield from check_whole("documents.old_versions_days", self.old_versions_days, 1)
