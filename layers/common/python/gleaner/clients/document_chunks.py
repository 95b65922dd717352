"""Lists and removes the chunks of one document in a knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gleaner.model import CHUNK_SEPARATOR, chunk_id

if TYPE_CHECKING:  # the SDK of the index is loaded when it is used
    from gleaner.clients.pinecone import KnowledgeBase


def list_chunks(
    document: str, *, kb_id: str, knowledge_base: KnowledgeBase, known_chunks: int = 0, timeout: float
) -> list[str]:
    """The ids of all chunks of a document that the index lists, and of the first `known_chunks`, each once.

    A listing may lag behind what was written. Raises KnowledgeBaseUnavailable.
    """
    listed = knowledge_base.list_ids(kb_id, prefix=f"{document}{CHUNK_SEPARATOR}", timeout=timeout)
    return list(dict.fromkeys([*listed, *(chunk_id(document, index) for index in range(known_chunks))]))


def remove_document(
    document: str,
    *,
    kb_id: str,
    knowledge_base: KnowledgeBase,
    known_chunks: int = 0,
    timeout: Callable[[], float],
) -> int:
    """Remove the document of an id and return the number of its chunks, 0 if there is none.

    `known_chunks` is how many it may have, whatever the index lists. Chunk 0 goes first: while it is missing, no run
    takes the document for complete, and the removal can be repeated. `timeout` returns the seconds that the next
    request may take. Raises KnowledgeBaseUnavailable, and what `timeout` raises.
    """
    mark = chunk_id(document, 0)
    stored = list_chunks(
        document, kb_id=kb_id, knowledge_base=knowledge_base, known_chunks=known_chunks, timeout=timeout()
    )
    for ids in ([one for one in stored if one == mark], [one for one in stored if one != mark]):
        knowledge_base.delete(kb_id, ids, timeout=timeout())
    if not stored:  # other programs may store a document as one record
        knowledge_base.delete(kb_id, [document], timeout=timeout())
    return len(stored)
