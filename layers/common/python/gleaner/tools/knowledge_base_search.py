"""The tool that searches the knowledge base and stored web answers."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from gleaner.errors import ToolCallRejected
from gleaner.guards.untrusted import label_untrusted
from gleaner.model import KB_ID_PATTERN, JsonObject, Mode, Passage, ToolSpec
from gleaner.tools.parameter_checks import Query
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import Workspace

NAME = "knowledge_base_search"
DEFAULT_TOP_K = 5
_MAX_TOP_K = 20
_SEVERAL = 2
_MAX_EXPIRED_CHARS = 600
_EXPIRED = "Out of date and no source: only to compare with what the web says now. Name the date if you mention it."


def _clamp_top_k(value: Any) -> int:
    """Accept any number of passages: one out of bounds is no reason to refuse a search."""
    try:
        return min(_MAX_TOP_K, max(1, int(value)))
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_TOP_K


class SearchArguments(Arguments):
    """What to search for."""

    query: Query
    kb_id: SkipJsonSchema[Any] = None  # offered by `_offer_knowledge_bases` alone
    top_k: Annotated[int, BeforeValidator(_clamp_top_k)] = Field(DEFAULT_TOP_K, ge=1, le=_MAX_TOP_K)


def _search(arguments: SearchArguments, workspace: Workspace) -> JsonObject:
    kb_id = _choose_knowledge_base(arguments.kb_id, workspace)
    started = time.monotonic()
    result = workspace.search(kb_id, arguments.query, arguments.top_k, workspace.deadline)
    if result.lookup_failed:
        workspace.degraded.add("stored web answers could not be looked up")
    workspace.left_out.append(result.left_out)
    workspace.withheld.update(result.withheld)
    if result.expired:
        workspace.shown_groups.append(result.expired.groups)
    passages = workspace.admit(result.passages)
    _count_uses(passages, workspace)
    is_selection = workspace.question.mode is Mode.SELECTED_TEXT
    return label_untrusted(
        {
            **({"scope": Mode.SELECTED_TEXT.value} if is_selection else {}),
            "chunks": [_to_json(passage) for passage in passages],
            "total_chunks_found": len(passages),
            "kb_id": kb_id,
            "retrieval_time_ms": round((time.monotonic() - started) * 1000, 1),
        }
        | ({"stored_answers_withheld": dict(result.withheld)} if result.withheld else {})
        | ({"expired_answer": _describe_expired(result.expired)} if result.expired else {})
    )


def _choose_knowledge_base(kb_id: Any, workspace: Workspace) -> str:
    """The knowledge base to search. Models invent ids for optional fields, so an unknown one means the question's own.

    Raises ToolCallRejected for one that exists and that this question may not use.
    """
    question = workspace.question
    if not isinstance(kb_id, str) or not re.fullmatch(KB_ID_PATTERN, kb_id):
        return question.kb_id
    if kb_id == question.kb_id or kb_id in (question.kb_ids or ()):
        return kb_id
    if workspace.has_knowledge_base(kb_id):
        raise ToolCallRejected("Only the knowledge base of this question may be searched. Leave kb_id out.")
    return question.kb_id


def _offer_knowledge_bases(spec: ToolSpec, workspace: Workspace) -> ToolSpec:
    """Add the parameter `kb_id` with its values if the caller is limited to several knowledge bases."""
    kb_ids = sorted(workspace.question.kb_ids or ())
    if len(kb_ids) < _SEVERAL:
        return spec
    description = f"The knowledge base to search; leave out for {workspace.question.kb_id}."
    kb_id = {"type": "string", "enum": kb_ids, "description": description}
    properties = spec.parameters["properties"] | {"kb_id": kb_id}
    return replace(spec, parameters=dict(spec.parameters) | {"properties": properties})


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
        "page_label": passage.page_label,
        "chunk_index": passage.chunk_index,
    }
    if passage.date:
        chunk |= {"keywords": list(passage.keywords), "answers": passage.answers, "date": passage.date}
    return chunk


def _summarize(result: JsonObject) -> JsonObject:
    return {"ids": [chunk["id"] for chunk in result["chunks"]], "count": result["total_chunks_found"]}


def _describe_expired(passage: Passage) -> JsonObject:
    """Background that cannot be cited, since it has no id: an answer needs the web, or says that it does not know."""
    content = passage.content[:_MAX_EXPIRED_CHARS]
    return {"date": passage.date, "answers": passage.answers, "content": content, "note": _EXPIRED}


TOOL = Tool(NAME, SearchArguments, _search, _summarize, _offer_knowledge_bases)
