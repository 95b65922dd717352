"""The tools `search` and `fetch`: a client's model finds passages and reads them.

They keep the contract by which ChatGPT's deep research and company knowledge read a server: developers.openai.com,
"Building MCP servers for ChatGPT and API integrations" (as of June 2026): results with `id`, `title` and `url`, each
fetched by its id. A result without an address is not cited there.

A client's model reads the text as it is, but for invisible characters: a program may copy it, so nothing that is seen
becomes a look-alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import BaseModel, Field

from gleaner.api._fetch_ids import TAKE_IDS, DocumentPart, decode_part, encode_part, is_document_id, place_of
from gleaner.api.labels import label_passage
from gleaner.api.mcp_knowledge_bases import KB_ID, NEEDED, KnowledgeBaseChoice
from gleaner.api.passages import PassageItem, PassageRoutes
from gleaner.api.protocols.mcp.tool import Arguments, Tool
from gleaner.api.request import Current
from gleaner.api.schemas import KbId, cleaned_up_to, preview
from gleaner.errors import NotAllowed, UnknownDocument
from gleaner.knowledge.library import Library
from gleaner.model import Passage, Place
from gleaner.passage_ids import address_of, decode_document, encode_passage
from gleaner.runtime.deadline import Deadline
from gleaner.text import clean

_MAX_QUERY = 2_000  # characters
_MAX_ID = 1_100  # characters
_RESULTS = 10
_MAX_CHUNKS = 100  # of a document at once: about 15,000 words

SearchQuery = Annotated[str, Field(min_length=1, max_length=_MAX_QUERY), cleaned_up_to(_MAX_QUERY)]


class SearchPassages(Protocol):
    """Like gleaner.answering.searching.search_passages."""

    def __call__(
        self,
        query: str,
        kb_id: str | None,
        *,
        caller_id: str,
        groups: frozenset[str],
        query_id: str,
        top_k: int,
        deadline: Deadline,
    ) -> Sequence[Passage]:
        """The best passages."""


class SearchArguments(Arguments):
    """What to look for."""

    query: SearchQuery = Field(description="What to look for, as a question or phrase that stands on its own.")
    kb_id: KbId | None = Field(None, description=KB_ID)


class FoundPassage(BaseModel):
    """A passage of a document, or a stored web answer."""

    id: str = Field(description="For `fetch`.")
    title: str
    url: str = Field(description="Where people read it.")
    text: str = Field(description="How it begins.")


class SearchResult(BaseModel):
    """The passages that fit best, the best first."""

    results: list[FoundPassage]


class FetchArguments(Arguments):
    """What to read."""

    id: Annotated[str, Field(min_length=1, max_length=_MAX_ID)] = Field(
        description="The id of a result of `search`, of a source of `ask`, or from the metadata of `fetch`."
    )


class FetchedText(BaseModel):
    """A passage between its neighbours, a stored web answer, or a document."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str] = Field(
        description="`document`: the id by which the whole document is fetched; `next`: that of its next part."
    )


class ReadingTools:
    """The tools that read, with the rights of the routes that read the same."""

    def __init__(
        self,
        search: SearchPassages,
        passages: PassageRoutes,
        library: Library,
        choice: KnowledgeBaseChoice,
        current: Current,
    ) -> None:
        self._search_passages = search
        self._passages = passages
        self._library = library
        self._choice = choice
        self._current = current

    def tools(self) -> tuple[Tool[SearchArguments], Tool[FetchArguments]]:
        """The tools."""
        return (
            Tool(
                name="search",
                title="Search passages",
                description="Find passages of documents and stored web answers about a query. Read them by `fetch`.",
                arguments=SearchArguments,
                result=SearchResult,
                run=self._search,
                needs=NEEDED,
            ),
            Tool(
                name="fetch",
                title="Read a passage or document",
                description="Read what `search` found: the passage with those around it, or the whole document by the "
                "id in its metadata.",
                arguments=FetchArguments,
                result=FetchedText,
                run=self._fetch,
            ),
        )

    def _search(self, arguments: SearchArguments) -> SearchResult:
        request = self._current()
        passages = self._search_passages(
            arguments.query,
            self._choice.choose(arguments.kb_id),
            caller_id=request.caller.id,
            groups=request.caller.find_groups(),
            query_id=request.query_id,
            top_k=_RESULTS,
            deadline=request.deadline,
        )
        return SearchResult(results=[self._to_result(passage) for passage in passages])

    def _to_result(self, passage: Passage) -> FoundPassage:
        if passage.place is None:
            raise AssertionError("every passage of a search is stored")
        passage_id = encode_passage(passage.place, passage.content)
        return FoundPassage(
            id=passage_id,
            title=clean(label_passage(passage.title, passage.chapter)),
            url=passage.source_url or self._current().absolute(address_of(passage_id)),
            text=clean(preview(passage.content, passage.chapter)),
        )

    def _fetch(self, arguments: FetchArguments) -> FetchedText:
        if is_document_id(arguments.id):
            return self._fetch_document(arguments.id)
        self._require(place_of(arguments.id).kb_id)
        passage = self._passages.read(arguments.id)
        return FetchedText(
            id=arguments.id,
            title=clean(label_passage(passage.title, passage.chapter)),
            text=clean(_with_neighbours(passage)),
            url=passage.source_url or self._current().absolute(address_of(arguments.id)),
            metadata=_to_metadata(passage),
        )

    def _fetch_document(self, document_id: str) -> FetchedText:
        part, request = decode_part(document_id), self._current()
        self._require(part.kb_id)
        document, records = self._library.read_document(
            part.kb_id,
            part.document,
            start=part.start,
            limit=_MAX_CHUNKS,
            may_read=request.caller.may_read,
            deadline=request.deadline,
        )
        if part.start >= document.chunk_count:
            raise UnknownDocument(
                f"The document ends before this part: it has {document.chunk_count} passages, counted from 0. Take the "
                "id of a part from `next` in the metadata of the part before."
            )
        first, end = document.first, part.start + _MAX_CHUNKS
        following = {"next": encode_part(DocumentPart(part.kb_id, part.document, end))}
        passage_id = encode_passage(Place(kb_id=part.kb_id, key=first.id), first.text)
        return FetchedText(
            id=document_id,
            title=clean(first.title),
            text=clean("\n\n".join(record.text for record in records)),
            url=first.source_url or request.absolute(address_of(passage_id)),
            metadata={"kb_id": part.kb_id, "source_file_path": first.source_file_path}
            | (following if end < document.chunk_count else {}),
        )

    def _require(self, kb_id: str) -> None:
        caller = self._current().caller
        caller.require_any_knowledge_base()
        try:
            caller.require_knowledge_base(kb_id)
        except NotAllowed as error:
            raise NotAllowed(f"You may not use the knowledge base {kb_id!r}. {TAKE_IDS}") from error


def _with_neighbours(passage: PassageItem) -> str:
    parts = (passage.before, passage, passage.after)
    return "\n\n".join(part.text for part in parts if part is not None)


def _to_metadata(passage: PassageItem) -> dict[str, str]:
    document = passage.document_id and DocumentPart(passage.kb_id, decode_document(passage.document_id))
    facts = {
        "kb_id": passage.kb_id,
        "source_type": passage.source_type.value,
        "source_file_path": passage.source_file_path,
        "page": passage.page_label or (passage.page_number and str(passage.page_number)),
        "document": document and encode_part(document),
        "answers": passage.answers,
        "date": passage.date,
        "pages": " ".join(page.url for page in passage.pages),
        "changed": "since it was found" if passage.has_changed else None,
    }
    return {name: value for name, value in facts.items() if value}
