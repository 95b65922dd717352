"""Routes that show the learned keywords."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, Field

from gleaner.api import _cursors
from gleaner.api._pages import take_fitting
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, KbId, KeywordId, Limit
from gleaner.errors import InvalidCursor, NotAllowed, UnknownKeyword
from gleaner.model import Citation, LearningMode, WebAnswer
from gleaner.runtime.learning_policy import LearningPolicy
from gleaner.stores.keyword_catalog import Association, Keyword, KeywordCatalog
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.schema import caller_hash

_MAX_START_DIGITS = 5  # of a position in a list of matches


class KeywordItem(BaseModel):
    """A keyword; times are ISO 8601 in UTC."""

    keyword_id: str
    keyword_text: str
    status: str
    usage_count: int
    created_at: str
    updated_at: str
    last_used_at: str


class KeywordPage(BaseModel):
    """A page of keywords; `next_cursor` requests the next one and is null on the last page."""

    keywords: list[KeywordItem]
    next_cursor: str | None


class AssociationItem(BaseModel):
    """A query that indexed or used a keyword."""

    association_id: str
    kb_id: str
    query_id: str | None
    perplexity_result_id: str | None
    session_id: str | None
    created_at: str
    status: str


class CitationItem(BaseModel):
    """A web page that a stored web answer cites."""

    url: str
    title: str
    snippet: str
    date: str | None


class StoredAnswer(BaseModel):
    """A stored web answer."""

    perplexity_result_id: str
    kb_id: str
    query: str
    answers: str = Field(description="The question, in general words, that it answers.")
    valid_for_hours: int | None = Field(description="How long it is reused; null: as long as any answer.")
    answer: str
    citations: list[CitationItem]
    created_at: str


class KeywordDetailsItem(BaseModel):
    """A keyword with its newest associations and their web answers, newest first, as many as fit.

    Callers see associations and answers that they caused, admins all.
    """

    keyword: KeywordItem
    associations: list[AssociationItem]
    answers: list[StoredAnswer]


class KeywordRoutes:
    """GET /api/keywords and GET /api/keywords/{keyword_id}."""

    def __init__(
        self,
        catalog: KeywordCatalog,
        lookup: KeywordLookup,
        current: Current,
        *,
        default_kb_id: str,
        learning_policy: LearningPolicy,
    ) -> None:
        self._catalog = catalog
        self._lookup = lookup
        self._current = current
        self._default_kb_id = default_kb_id
        self._learning_policy = learning_policy

    def routes(self) -> list[Route]:
        """The routes."""
        listing = (InvalidCursor, NotAllowed, *STORE_FAILURES)
        showing = (UnknownKeyword, *STORE_FAILURES)
        return [
            Route(Endpoint.LIST_KEYWORDS, self._list, raises=listing),
            Route(Endpoint.SHOW_KEYWORD, self._show, raises=showing),
        ]

    def _list(
        self,
        q: Annotated[
            str | None, Query(max_length=2000, description="Words to look up; an empty value lists all keywords.")
        ] = None,
        kb_id: Annotated[KbId | None, Query(description="Only keywords of this knowledge base.")] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Response[KeywordPage]:
        return ok(self.list(q, kb_id, limit=limit, cursor=cursor))

    def list(self, q: str | None, kb_id: str | None, *, limit: int, cursor: str | None) -> KeywordPage:
        """A page of the keywords that the current caller may see. Raises the errors of the route."""
        request = self._current()
        if not (q and q.strip()):
            if kb_id is not None:
                request.caller.require_knowledge_base(kb_id)
            kb_ids = request.caller.kb_ids if kb_id is None else frozenset((kb_id,))
            return self._list_recent(kb_ids, limit, cursor)
        searched_kb_id = kb_id or self._default_kb_id
        request.caller.require_knowledge_base(searched_kb_id)
        return self._look_up(q, searched_kb_id, limit, cursor)

    def _viewer(self) -> str | None:
        """The hash of a caller who may not see all keywords; None for an admin."""
        caller = self._current().caller
        return None if caller.is_admin else caller_hash(caller.id)

    def _list_recent(self, kb_ids: frozenset[str] | None, limit: int, cursor: str | None) -> KeywordPage:
        scope = (Endpoint.LIST_KEYWORDS.path, "recent", *sorted(kb_ids or ()))
        after = _cursors.decode(cursor, scope=scope, length=2) if cursor else None
        page = self._catalog.list_recent(
            limit=limit + 1,
            after=(after[0], after[1]) if after else None,
            kb_ids=kb_ids,
            viewer=self._viewer(),
            deadline=self._current().deadline,
        )
        keywords = page[:limit]
        has_more = len(page) > limit
        last_position = (keywords[-1].last_used_at, keywords[-1].keyword_id) if has_more else None
        return _to_page(keywords, _cursors.encode(last_position, scope=scope) if last_position else None)

    def _look_up(self, q: str, kb_id: str, limit: int, cursor: str | None) -> KeywordPage:
        request = self._current()
        scope = (Endpoint.LIST_KEYWORDS.path, "found", q, kb_id)
        start = _parse_start(_cursors.decode(cursor, scope=scope, length=1)[0]) if cursor else 0
        is_private = self._learning_policy.mode(kb_id) is LearningMode.CALLER
        finder = caller_hash(request.caller.id) if is_private else None
        matches = self._lookup.find(kb_id, q, caller=finder, deadline=request.deadline)
        # At most a dozen: read all, so that a page lacks none because of keywords that the caller may not see.
        keyword_ids = [match.keyword_id for match in matches]
        keywords = self._catalog.get_many(keyword_ids, viewer=self._viewer(), deadline=request.deadline)
        end = start + limit
        has_more = len(keywords) > end
        return _to_page(keywords[start:end], _cursors.encode((str(end),), scope=scope) if has_more else None)

    def _show(self, keyword_id: Annotated[KeywordId, Path()]) -> Response[KeywordDetailsItem]:
        request = self._current()
        details = self._catalog.get(keyword_id, viewer=self._viewer(), deadline=request.deadline)
        readable = [answer for answer in details.answers if request.caller.may_read(answer.groups)]
        answers = sorted(readable, key=lambda answer: answer.created_at, reverse=True)
        return ok(
            KeywordDetailsItem(
                keyword=_to_item(details.keyword),
                associations=[_to_association(association) for association in details.associations],
                answers=take_fitting([to_stored_answer(answer) for answer in answers]),
            )
        )


def _parse_start(position: str) -> int:
    if not (position.isascii() and position.isdigit() and len(position) <= _MAX_START_DIGITS):
        raise InvalidCursor("This cursor does not belong to this list. Leave it out to begin at the start.")
    return int(position)


def _to_page(keywords: list[Keyword], next_cursor: str | None) -> KeywordPage:
    return KeywordPage(keywords=[_to_item(keyword) for keyword in keywords], next_cursor=next_cursor)


def _to_item(keyword: Keyword) -> KeywordItem:
    return KeywordItem.model_validate(keyword, from_attributes=True)


def _to_association(association: Association) -> AssociationItem:
    return AssociationItem.model_validate(association, from_attributes=True)


def to_stored_answer(answer: WebAnswer) -> StoredAnswer:
    """Convert a stored web answer to its response model."""
    return StoredAnswer(
        perplexity_result_id=answer.result_id,
        kb_id=answer.kb_id,
        query=answer.query,
        answers=answer.question,
        valid_for_hours=answer.valid_for_hours,
        answer=answer.answer,
        citations=[_to_citation(citation) for citation in answer.citations],
        created_at=answer.created_at.isoformat(),
    )


def _to_citation(citation: Citation) -> CitationItem:
    return CitationItem.model_validate(citation, from_attributes=True)
