"""The tool that searches the web through Perplexity."""

from __future__ import annotations

import re

from gleaner.clients.perplexity import UnusableAnswer, WebSearchResult
from gleaner.errors import ToolCallRejected, WebSearchUnavailable
from gleaner.guards.answer_text import replace_in_prose
from gleaner.guards.untrusted import defuse, label_untrusted
from gleaner.knowledge.answered_question import is_worth_learning
from gleaner.knowledge.shared_web_search import SearchRequest
from gleaner.model import Citation, JsonObject, Passage, SourceType, WebAnswer, new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.tools.parameter_checks import Context, Query
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import Workspace

NAME = "perplexity_search"
_ANSWER_SECONDS = 6.0  # reserved for the answer that follows
_MARK = re.compile(r"\[([0-9]{1,3})\]")  # longer numbers are years and the like


class WebSearchArguments(Arguments):
    """What to ask the web."""

    query: Query
    context: Context | None = None


def _search(arguments: WebSearchArguments, workspace: Workspace) -> JsonObject:
    if workspace.web is None:
        raise ToolCallRejected("The web cannot be searched here. Answer from the passages.")
    deadline = Deadline(workspace.deadline.at - _ANSWER_SECONDS)
    if deadline.remaining() <= 0:
        raise WebSearchUnavailable("There is no time left for a web search.")
    try:
        result = workspace.web.search(_request(arguments, workspace, deadline))
    except UnusableAnswer as error:
        _count(error, workspace)
        raise
    _count(result, workspace)
    workspace.left_out.append(result.left_out)
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
    if result.cost_usd is not None:
        workspace.web_prices[answer.result_id] = result.cost_usd
    # The text may still repeat what a blocked host says.
    if result.used_blocked_host or not is_worth_learning(answer):
        workspace.unlearnable_results.add(answer.result_id)
    passages = workspace.admit(_to_passage(citation) for citation in answer.citations)
    untrusted = label_untrusted(
        {
            "perplexity_result_id": answer.result_id,
            "answer": "",
            "citations": [_to_json(passage) for passage in passages],
            "metadata": {"model": answer.model, "created_at": answer.created_at.isoformat(timespec="seconds")},
        }
    )
    # Defuse the answer first: only the ids inserted here are real, not those in text from the web.
    return untrusted | {"answer": _insert_ids(defuse(answer.answer), passages)}


def _request(arguments: WebSearchArguments, workspace: Workspace, deadline: Deadline) -> SearchRequest:
    return SearchRequest(
        query=arguments.query,
        context=arguments.context or None,
        scope=workspace.search_scope(),
        asked_at=workspace.question.asked_at,
        deadline=deadline,
        background=workspace.background,
        note_fault=lambda: workspace.sharing.update(("SearchLeaseFaults",)),
    )


def _count(outcome: WebSearchResult | UnusableAnswer, workspace: Workspace) -> None:
    """Count a search that was paid for, or one that another question paid for."""
    if outcome.is_shared:
        workspace.sharing.update(("WebSearchesShared",))
    else:
        workspace.web_costs.append(outcome.cost_usd)


def _to_passage(citation: Citation) -> Passage:
    return Passage(
        key=citation.url,
        content=citation.snippet or citation.title,
        score=1.0,  # the search engine chose it for exactly this question
        source_type=SourceType.EXTERNAL,
        title=citation.title,
        source_url=citation.url,
        date=citation.date,
        urls=(citation.url,),
    )


def _insert_ids(answer: str, passages: list[Passage]) -> str:
    """Replace the marks [n] outside code with ids that can be cited; marks without a citation are removed."""

    def replace(mark: re.Match[str]) -> str:
        number = int(mark[1])
        return f"[{passages[number - 1].id}]" if 0 < number <= len(passages) else ""

    return replace_in_prose(_MARK, replace, answer)


def _to_json(passage: Passage) -> JsonObject:
    return {
        "id": passage.id,
        "url": passage.source_url,
        "title": passage.title,
        "snippet": passage.content,
        "date": passage.date,
    }


def _summarize(result: JsonObject) -> JsonObject:
    ids = [citation["id"] for citation in result["citations"]]
    return {"ids": ids, "count": len(ids)}


TOOL = Tool(NAME, WebSearchArguments, _search, _summarize)
