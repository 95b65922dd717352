"""Removes a document from a knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gleaner.model import CHUNK_SEPARATOR, chunk_id

if TYPE_CHECKING:  # the SDK of the index is loaded when it is used
    from gleaner.clients.pinecone import KnowledgeBase


def remove_document(document: str, *, kb_id: str, knowledge_base: KnowledgeBase, timeout: Callable[[], float]) -> int:
    """Remove the document of an id and return the number of its chunks, 0 if there is none.

    Chunk 0 goes first: while it is missing, no run takes the document for complete, and the removal can be repeated.
    `timeout` returns the seconds that the next request may take. Raises KnowledgeBaseUnavailable, and what `timeout`
    raises.
    """
    prefix, mark = f"{document}{CHUNK_SEPARATOR}", chunk_id(document, 0)
    stored = list(knowledge_base.list_ids(kb_id, prefix=prefix, timeout=timeout()))
    for ids in ([one for one in stored if one == mark], [one for one in stored if one != mark]):
        knowledge_base.delete(kb_id, ids, timeout=timeout())
    if not stored:  # other programs may store a document as one record
        knowledge_base.delete(kb_id, [document], timeout=timeout())
    return len(stored)
