"""Routes that show what was learned."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel

from gleaner.api import _cursors
from gleaner.api._pages import fitting
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, KbId, KeywordId, Limit
from gleaner.errors import InvalidCursor, NotAllowed, UnknownKeyword
from gleaner.model import Citation, WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_catalog import Association, Keyword, KeywordCatalog
from gleaner.stores.keyword_lookup import KeywordLookup

_LONGEST_START = 6  # digits of a place in a list of matches


class KeywordItem(BaseModel):
    """A keyword; moments are ISO 8601, UTC."""

    keyword_id: str
    keyword_text: str
    status: str
    usage_count: int
    created_at: str
    updated_at: str
    last_used_at: str


class KeywordPage(BaseModel):
    """A page of keywords; `next_cursor` brings the next one, null ends the list."""

    keywords: list[KeywordItem]
    next_cursor: str | None


class AssociationItem(BaseModel):
    """What a keyword was indexed for, or served."""

    association_id: str
    kb_id: str
    query_id: str | None
    perplexity_result_id: str | None
    session_id: str | None
    created_at: str
    status: str


class CitationItem(BaseModel):
    """A page that a stored web answer rests on."""

    url: str
    title: str
    snippet: str
    date: str | None


class StoredAnswer(BaseModel):
    """A stored web answer."""

    perplexity_result_id: str
    kb_id: str
    query: str
    answer: str
    citations: list[CitationItem]
    created_at: str


class KeywordDetailsItem(BaseModel):
    """A keyword with its newest associations and the web answers among them, the newest first, as far as they fit."""

    keyword: KeywordItem
    associations: list[AssociationItem]
    answers: list[StoredAnswer]


class KeywordRoutes:
    """GET /api/keywords and GET /api/keywords/{keyword_id}."""

    def __init__(self, catalog: KeywordCatalog, lookup: KeywordLookup, current: Current, *, default_kb_id: str) -> None:
        self._catalog = catalog
        self._lookup = lookup
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        listing = (InvalidCursor, NotAllowed, *STORE_FAILURES)
        showing = (NotAllowed, UnknownKeyword, *STORE_FAILURES)
        return [
            Route(Endpoint.LIST_KEYWORDS, self._list, raises=listing),
            Route(Endpoint.SHOW_KEYWORD, self._show, raises=showing),
        ]

    def _list(
        self,
        q: Annotated[
            str | None, Query(max_length=2000, description="Words to look up; empty, it is as absent.")
        ] = None,
        kb_id: Annotated[KbId | None, Query(description="Those of this knowledge base alone.")] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Response[KeywordPage]:
        request = self._current()
        if not (q and q.strip()):
            if kb_id is not None:
                request.caller.require_knowledge_base(kb_id)
            kb_ids = request.caller.kb_ids if kb_id is None else frozenset((kb_id,))
            return ok(self._recent(kb_ids, limit, cursor, request.deadline))
        searched = kb_id or self._default_kb_id
        request.caller.require_knowledge_base(searched)
        return ok(self._found(q, searched, limit, cursor, request.deadline))

    def _recent(self, kb_ids: frozenset[str] | None, limit: int, cursor: str | None, deadline: Deadline) -> KeywordPage:
        scope = (Endpoint.LIST_KEYWORDS.path, "recent", *sorted(kb_ids or ()))
        after = _cursors.decode(cursor, scope=scope, length=2) if cursor else None
        page = self._catalog.recent(
            limit=limit + 1, after=(after[0], after[1]) if after else None, kb_ids=kb_ids, deadline=deadline
        )
        shown = page[:limit]
        more = len(page) > limit
        ended_with = (shown[-1].last_used_at, shown[-1].keyword_id) if more else None
        return _to_page(shown, _cursors.encode(ended_with, scope=scope) if ended_with else None)

    def _found(self, q: str, kb_id: str, limit: int, cursor: str | None, deadline: Deadline) -> KeywordPage:
        scope = (Endpoint.LIST_KEYWORDS.path, "found", q, kb_id)
        start = _start(_cursors.decode(cursor, scope=scope, length=1)[0]) if cursor else 0
        matches = self._lookup.find(kb_id, q, deadline=deadline)
        end = start + limit
        keywords = self._catalog.get_many([match.keyword_id for match in matches[start:end]], deadline=deadline)
        more = len(matches) > end
        return _to_page(keywords, _cursors.encode((str(end),), scope=scope) if more else None)

    def _show(self, keyword_id: Annotated[KeywordId, Path()]) -> Response[KeywordDetailsItem]:
        request = self._current()
        request.caller.require_admin()
        details = self._catalog.get(keyword_id, deadline=request.deadline)
        answers = sorted(details.answers, key=lambda answer: answer.created_at, reverse=True)
        return ok(
            KeywordDetailsItem(
                keyword=_to_item(details.keyword),
                associations=[_to_association(found) for found in details.associations],
                answers=fitting([_to_answer(answer) for answer in answers]),
            )
        )


def _start(position: str) -> int:
    if not (position.isascii() and position.isdigit() and len(position) < _LONGEST_START):
        raise InvalidCursor("This cursor does not belong to this list. Leave it out to begin at the start.")
    return int(position)


def _to_page(keywords: list[Keyword], next_cursor: str | None) -> KeywordPage:
    return KeywordPage(keywords=[_to_item(keyword) for keyword in keywords], next_cursor=next_cursor)


def _to_item(keyword: Keyword) -> KeywordItem:
    return KeywordItem.model_validate(keyword, from_attributes=True)


def _to_association(association: Association) -> AssociationItem:
    return AssociationItem.model_validate(association, from_attributes=True)


def _to_answer(answer: WebAnswer) -> StoredAnswer:
    return StoredAnswer(
        perplexity_result_id=answer.result_id,
        kb_id=answer.kb_id,
        query=answer.query,
        answer=answer.answer,
        citations=[_to_citation(citation) for citation in answer.citations],
        created_at=answer.created_at.isoformat(),
    )


def _to_citation(citation: Citation) -> CitationItem:
    return CitationItem.model_validate(citation, from_attributes=True)
