"""The tools `ask` and `list_keywords`: a client's model has a question answered, and sees what was learned."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from gleaner.api.chat import ChatRoutes
from gleaner.api.idempotency import StoredAnswerFound
from gleaner.api.keywords import KeywordPage, KeywordRoutes
from gleaner.api.labels import label_passage
from gleaner.api.mcp_knowledge_bases import KB_ID, NEEDED, KnowledgeBaseChoice
from gleaner.api.mcp_reading import SearchQuery
from gleaner.api.protocols.mcp.tool import Arguments, Tool
from gleaner.api.request import Current, RequestContext
from gleaner.api.schemas import (
    FORMS,
    IDEMPOTENCY_KEY_PATTERN,
    MAX_IDEMPOTENCY_KEY,
    ChatQuery,
    KbId,
    Query,
    SessionId,
    null_means,
)
from gleaner.errors import InvalidInput
from gleaner.model import Grounding, JsonObject

_KEYWORDS = 50  # of a page
_MAX_CURSOR = 1_000  # characters


class AskArguments(Arguments):
    """A question."""

    question: Query = Field(description="The question, in any language. It needs no more than what a person would ask.")
    kb_id: KbId | None = Field(None, description=KB_ID)
    session_id: SessionId | None = Field(
        None, description="The session_id of an earlier answer, to ask a follow-up that refers to it."
    )
    grounding: Annotated[Grounding, Field(strict=False), null_means(Grounding.OPEN)] = Field(
        Grounding.OPEN, description="`strict` answers from the documents alone; `open` may search the web as well."
    )


class AskedSource(BaseModel):
    """A passage that the answer cites."""

    mark: str = Field(description="By which the answer cites it, in square brackets.")
    title: str
    url: str | None = Field(description="Where people read it.")
    id: str | None = Field(description="For `fetch`; null if it is not stored.")
    text: str = Field(description="How it begins.")
    date: str | None
    support: str = Field(description="How far it holds what the sentences say that cite it: found, weak or none.")


class AskResult(BaseModel):
    """An answer and its sources."""

    answer: str = Field(description="Markdown; [kb-1] and [web-1] mark the sources.")
    answered: str = Field(description="Whether the sources hold what was asked: found, partly or not_found.")
    sources: list[AskedSource]
    session_id: str = Field(description="For follow-ups.")
    query_id: str = Field(description="Names the answer in problem reports.")
    status: str = Field(description="`fallback` if a part of the service failed: the answer may lack something.")


class ListKeywordsArguments(Arguments):
    """Which keywords to list."""

    query: SearchQuery | None = Field(None, description="Words to look up; left out, the latest used come first.")
    kb_id: KbId | None = Field(
        None,
        description="Only keywords of this knowledge base. If left out, the list is of all that you may use, but "
        "`query` looks in one: the default one, or your only one.",
    )
    cursor: Annotated[str, Field(max_length=_MAX_CURSOR)] | None = Field(
        None, description="The next_cursor of the page before."
    )


class QuestionTools:
    """The tools that do what the routes of questions and of keywords do."""

    def __init__(
        self, chat: ChatRoutes, keywords: KeywordRoutes, choice: KnowledgeBaseChoice, current: Current
    ) -> None:
        self._chat = chat
        self._keywords = keywords
        self._choice = choice
        self._current = current

    def tools(self) -> Sequence[Tool[Any]]:
        """The tools."""
        return (
            Tool(
                name="ask",
                title="Ask a question",
                description="Have a question answered from the documents, and from the web where they lack it. Every "
                "statement of the answer is checked against the sources that it cites. It takes several seconds and "
                "calls a paid model; the turn is stored in a session.",
                arguments=AskArguments,
                result=AskResult,
                run=self._ask,
                needs=NEEDED,
                is_read_only=False,
                reaches_web=True,
            ),
            Tool(
                name="list_keywords",
                title="List learned keywords",
                description="List the keywords under which answers of earlier web searches are stored.",
                arguments=ListKeywordsArguments,
                result=KeywordPage,
                run=self._list_keywords,
            ),
        )

    def _ask(self, arguments: AskArguments) -> AskResult:
        request = self._current()
        kb_id = self._choice.choose(arguments.kb_id)
        fields = arguments.model_dump(exclude={"question"}) | {"query": arguments.question, "kb_id": kb_id}
        body = ChatQuery.model_validate(fields)
        try:
            answer = self._chat.answer_once(body, _idempotency_key(request)).model_dump(mode="json")
        except StoredAnswerFound as stored:
            answer = json.loads(stored.body)
        return _to_result(answer, request)

    def _list_keywords(self, arguments: ListKeywordsArguments) -> KeywordPage:
        kb_id = arguments.kb_id if arguments.query is None else self._choice.choose(arguments.kb_id)
        return self._keywords.list(arguments.query, kb_id, limit=_KEYWORDS, cursor=arguments.cursor)


def _idempotency_key(request: RequestContext) -> str | None:
    """The key of the header, by which a call that is sent again is not answered, or paid for, again."""
    keys = request.headers.get("idempotency-key", ())
    if not keys:
        return None
    [key, *others] = keys
    if others or len(key) > MAX_IDEMPOTENCY_KEY or not re.fullmatch(IDEMPOTENCY_KEY_PATTERN, key):
        limit = f"at most {MAX_IDEMPOTENCY_KEY} {FORMS[IDEMPOTENCY_KEY_PATTERN]}"
        raise InvalidInput(f"The header Idempotency-Key must be sent once: {limit}.")
    return key


def _to_result(answer: JsonObject, request: RequestContext) -> AskResult:
    """From the JSON of an answer, because a stored one may be of an earlier version."""
    return AskResult(
        answer=answer["answer"],
        answered=answer["answered"],
        sources=[_to_source(source, request) for source in answer["sources"]],
        session_id=answer["session_id"],
        query_id=answer["query_id"],
        status=answer["status"],
    )


def _to_source(source: JsonObject, request: RequestContext) -> AskedSource:
    path = source["passage_url"]
    return AskedSource(
        mark=source["id"],
        title=label_passage(source["title"], source["chapter"]),
        url=source["source_url"] or (path and request.absolute(path)),
        id=path and path.rpartition("/")[2],
        text=source["text_preview"],
        date=source["date"],
        support=source["support"],
    )
