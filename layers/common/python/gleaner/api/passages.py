"""The route that shows a passage which an answer cites."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel, Field

from gleaner.api.documents import INDEX_FAILURES
from gleaner.api.keywords import CitationItem
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.errors import NotAllowed, UnknownPassage
from gleaner.knowledge.learned_passages import LearnedPassages
from gleaner.knowledge.library import Library
from gleaner.model import Place, Record, SourceType, WebAnswer, document_of
from gleaner.passage_ids import address_of, decode_passage, encode_document, encode_passage, fingerprint
from gleaner.stores.schema import caller_hash


class NeighbourItem(BaseModel):
    """The passage before or after."""

    text: str
    passage_url: str


class PassageItem(BaseModel):
    """A passage as it is now."""

    kb_id: str
    source_type: SourceType
    text: str
    title: str
    chapter: str | None = None
    source_file_path: str | None = None
    source_url: str | None = Field(default=None, description="Where the document or web page is read.")
    page_number: int | None = None
    page_label: str | None = None
    chunk_index: int | None = None
    document_id: str | None = Field(default=None, description="Null for a stored web answer.")
    before: NeighbourItem | None = None
    after: NeighbourItem | None = None
    answers: str | None = Field(default=None, description="The question that a stored web answer was given to.")
    date: str | None = Field(default=None, description="When the web gave this answer, or the date of the page.")
    pages: list[CitationItem] = Field(default=[], description="The pages of a stored web answer.")
    has_changed: bool = Field(description="Whether the text is another one than when it was cited.")


class PassageRoutes:
    """GET /api/passages/{passage_id}."""

    def __init__(self, library: Library, learned: LearnedPassages, current: Current) -> None:
        self._library = library
        self._learned = learned
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (UnknownPassage, NotAllowed, *INDEX_FAILURES, *STORE_FAILURES)
        return [Route(Endpoint.SHOW_PASSAGE, self._show, raises=tuple(dict.fromkeys(failures)))]

    def _show(self, passage_id: Annotated[str, Path(max_length=1000)]) -> Response[PassageItem]:
        return ok(self.read(passage_id))

    def read(self, passage_id: str) -> PassageItem:
        """The passage of an id, if the current caller may read it. Raises the errors of the route."""
        wanted = decode_passage(passage_id)
        place, request = wanted.place, self._current()
        request.caller.require_knowledge_base(place.kb_id)
        if place.is_learned:
            viewer = None if request.caller.is_admin else caller_hash(request.caller.id)
            answer = self._learned.read(
                place.kb_id, place.key, viewer=viewer, groups=request.caller.find_groups(), deadline=request.deadline
            )
            return _to_web_passage(answer, place, wanted.fingerprint)
        may_read = request.caller.may_read
        found = self._library.read_passage(place.kb_id, place.key, may_read=may_read, deadline=request.deadline)
        return _to_passage(found.chunk, place.kb_id, wanted.fingerprint).model_copy(
            update={
                "before": _to_neighbour(found.before, place.kb_id),
                "after": _to_neighbour(found.after, place.kb_id),
            }
        )


def _to_passage(record: Record, kb_id: str, cited: str) -> PassageItem:
    return PassageItem(
        kb_id=kb_id,
        source_type=SourceType.KNOWLEDGE_BASE,
        text=record.text,
        title=record.title,
        chapter=record.chapter,
        source_file_path=record.source_file_path,
        source_url=record.source_url,
        page_number=record.page_number,
        page_label=record.page_label,
        chunk_index=record.chunk_index,
        document_id=encode_document(document_of(record.id)),
        has_changed=fingerprint(record.text) != cited,
    )


def _to_neighbour(record: Record | None, kb_id: str) -> NeighbourItem | None:
    if record is None:
        return None
    address = encode_passage(Place(kb_id=kb_id, key=record.id), record.text)
    return NeighbourItem(text=record.text, passage_url=address_of(address))


def _to_web_passage(answer: WebAnswer, place: Place, cited: str) -> PassageItem:
    """A stored answer, or the part of it that one page gave."""
    pages = answer.citations
    if place.page is not None and place.page >= len(pages):
        raise UnknownPassage("The stored answer has no such page.")
    page = pages[place.page or 0]
    text = answer.answer if place.page is None else page.snippet or page.title
    return PassageItem(
        kb_id=place.kb_id,
        source_type=SourceType.EXTERNAL,
        text=text,
        title=page.title,
        source_url=page.url,
        answers=answer.question or None,
        date=answer.created_at.date().isoformat() if place.page is None else page.date,
        pages=[CitationItem.model_validate(one, from_attributes=True) for one in pages],
        has_changed=fingerprint(text) != cited,
    )
