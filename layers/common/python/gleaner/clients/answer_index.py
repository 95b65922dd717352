"""Stored web answers in the vector index, found by the meaning of the question that they answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.clients.pinecone_records import OWNER_FIELD, readable_by
from gleaner.guards.redaction import redact
from gleaner.model import ANSWERS_SUFFIX, JsonObject, Record, WebAnswer

_BATCH = 100


class AnswerIndex:
    """One record for each stored answer, in a namespace beside its knowledge base that no document search sees.

    The table of keywords decides which answers exist and may be served; a record only helps to find one. Methods raise
    KnowledgeBaseUnavailable. `timeout` is in seconds.
    """

    def __init__(self, index: KnowledgeBase) -> None:
        self._index = index

    def search(
        self,
        kb_id: str,
        query: str,
        *,
        top_k: int,
        timeout: float,
        caller: str | None = None,
        groups: Collection[str] = (),
    ) -> dict[str, float]:
        """The scores, 0 to 1, of the `top_k` best answers by their ids, best first.

        They are those that all callers may find, or with `caller`, a hash, those that only this one may; either way,
        those that a member of `groups` may.
        """
        owner: JsonObject = {"$exists": False} if caller is None else {"$eq": caller}
        condition: JsonObject = {"$and": [{OWNER_FIELD: owner}, readable_by(groups)]}
        return self._index.search_ids(_namespace(kb_id), query, top_k=top_k, timeout=timeout, filter=condition)

    def put(self, answer: WebAnswer, *, timeout: float) -> None:
        """Write the record of an answer, or replace it."""
        self._index.upsert(_namespace(answer.kb_id), [_to_record(answer)], timeout=timeout)

    def ids_by_kb(self, *, timeout: float) -> Iterator[tuple[str, list[str]]]:
        """Yield the ids of all records in batches, each with the knowledge base that they were learned for."""
        for kb_id in self._index.learned_kb_ids(timeout=timeout):
            ids = self._index.list_ids(_namespace(kb_id), timeout=timeout)
            while batch := list(islice(ids, _BATCH)):
                yield kb_id, batch

    def delete(self, kb_id: str, answer_ids: Sequence[str], *, timeout: float) -> None:
        """Delete records; ids that are not stored are ignored."""
        self._index.delete(_namespace(kb_id), answer_ids, timeout=timeout)


def _namespace(kb_id: str) -> str:
    return kb_id + ANSWERS_SUFFIX


def _to_record(answer: WebAnswer) -> Record:
    """What is searched is the question, and the title of the first page, which names its topic in other words.

    With the beginning of the answer, other questions about the same product are as close as those that it answers
    (docs/decisions/0025-stored-answers-by-meaning.md). The answer itself is read from the table.
    """
    question = redact(answer.question)
    title = answer.citations[0].title if answer.citations else ""
    return Record(
        id=answer.result_id,
        heading=question if title else "",
        text=title or question or answer.result_id,
        title=title,
        source_file_path="",
        chunk_index=0,
        content_hash="",
        owner=answer.owner,
        groups=answer.groups,
    )
