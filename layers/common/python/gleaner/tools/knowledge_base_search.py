"""The tool that searches the knowledge base and stored web answers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pydantic import Field

from gleaner.errors import ToolCallRejected
from gleaner.guards.untrusted import label_untrusted
from gleaner.model import JsonObject, Passage
from gleaner.tools.parameter_checks import Id, Query
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import Workspace

NAME = "knowledge_base_search"
DEFAULT_TOP_K = 5


class SearchArguments(Arguments):
    """What to search for."""

    query: Query = Field(description="What to look for, as a question or phrase that stands on its own.")
    kb_id: Id | None = Field(None, description="The knowledge base; leave out for the one of this question.")
    top_k: int = Field(DEFAULT_TOP_K, ge=1, le=20, description="How many passages to return.")


def _search(arguments: SearchArguments, workspace: Workspace) -> JsonObject:
    if arguments.kb_id not in (None, "", "default_kb", workspace.question.kb_id):
        raise ToolCallRejected("Only the knowledge base of this question may be searched. Leave kb_id out.")
    started = time.monotonic()
    result = workspace.search(arguments.query, arguments.top_k, workspace.deadline)
    if result.lookup_failed:
        workspace.degraded.add("stored web answers could not be looked up")
    passages = workspace.admit(result.passages)
    _count_uses(passages, workspace)
    return label_untrusted(
        {
            "chunks": [_to_json(passage) for passage in passages],
            "total_chunks_found": len(passages),
            "retrieval_time_ms": round((time.monotonic() - started) * 1000, 1),
        }
    )


def _count_uses(passages: Sequence[Passage], workspace: Workspace) -> None:
    keyword_ids = list(dict.fromkeys(keyword for passage in passages for keyword in passage.keyword_ids))
    if keyword_ids:
        count = workspace.learning.count_uses
        use = workspace.keyword_use(None)
        workspace.background.submit("keyword use", lambda: count(keyword_ids, use, deadline=workspace.deadline))


def _to_json(passage: Passage) -> JsonObject:
    chunk = {
        "id": passage.id,
        "content": passage.content,
        "score": round(passage.score, 4),
        "source_type": passage.source_type.value,
        "title": passage.title,
        "chapter": passage.chapter,
        "source_file_path": passage.source_file_path,
        "source_url": passage.source_url,
        "page_number": passage.page_number,
        "chunk_index": passage.chunk_index,
    }
    if passage.keywords:
        chunk |= {"keywords": list(passage.keywords), "date": passage.date}
    return chunk


TOOL = Tool(NAME, SearchArguments, _search)
