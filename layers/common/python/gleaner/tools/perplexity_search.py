"""The tool that searches the web through Perplexity."""

from __future__ import annotations

import re

from pydantic import Field

from gleaner.errors import ToolCallRejected, WebSearchUnavailable
from gleaner.guards.untrusted import defused, labelled
from gleaner.model import Citation, JsonObject, Passage, SourceType, WebAnswer, new_id, utc_now
from gleaner.tools.parameter_checks import Context, Query
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import Workspace

NAME = "perplexity_search"
_LONGEST_SECONDS = 12.0  # what one web search may take
_ANSWER_SECONDS = 6.0  # what is kept back for the answer that follows
_MARK = re.compile(r"\[(\d+)\]")


class WebSearchArguments(Arguments):
    """What to ask the web."""

    query: Query = Field(description="One precise question.")
    context: Context | None = Field(None, description="What is needed to understand the question, if anything.")


def _search(arguments: WebSearchArguments, workspace: Workspace) -> JsonObject:
    if workspace.web is None:
        raise ToolCallRejected("The web cannot be searched here. Answer from the passages.")
    budget = min(_LONGEST_SECONDS, workspace.deadline.remaining() - _ANSWER_SECONDS)
    if budget <= 0:
        raise WebSearchUnavailable("There is no time left for a web search.")
    result = workspace.web.search(arguments.query, context=arguments.context or None, timeout=budget)
    workspace.web_costs.append(result.cost_usd)
    answer = WebAnswer(
        result_id=new_id(),
        kb_id=workspace.question.kb_id,
        query=arguments.query,
        answer=result.answer,
        citations=result.citations,
        model=result.model,
        created_at=utc_now(),
    )
    workspace.web_answers[answer.result_id] = answer
    passages = workspace.admit(_to_passage(citation) for citation in answer.citations)
    told = labelled(
        {
            "perplexity_result_id": answer.result_id,
            "answer": "",
            "citations": [_to_json(passage) for passage in passages],
            "metadata": {"model": answer.model, "created_at": answer.created_at.isoformat(timespec="seconds")},
        }
    )
    # Defused by itself: the ids that it gets are real ones, and those that the web wrote into it are not.
    return told | {"answer": _with_ids(defused(answer.answer), passages)}


def _to_passage(citation: Citation) -> Passage:
    return Passage(
        key=citation.url,
        content=citation.snippet or citation.title,
        score=1.0,  # the search engine chose it for this very question
        source_type=SourceType.EXTERNAL,
        title=citation.title,
        source_url=citation.url,
        date=citation.date,
        urls=(citation.url,),
    )


def _with_ids(answer: str, passages: list[Passage]) -> str:
    """The answer with its marks [n] turned into the ids that can be cited."""
    return _MARK.sub(
        lambda mark: f"[{passages[int(mark[1]) - 1].id}]" if 0 < int(mark[1]) <= len(passages) else "", answer
    )


def _to_json(passage: Passage) -> JsonObject:
    return {
        "id": passage.id,
        "url": passage.source_url,
        "title": passage.title,
        "snippet": passage.content,
        "date": passage.date,
    }


TOOL = Tool(NAME, WebSearchArguments, _search)
