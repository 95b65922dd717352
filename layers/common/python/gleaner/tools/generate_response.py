"""The tool that gives the answer to the user and ends the work."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any

import jiter
from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from gleaner.errors import ToolCallRejected
from gleaner.guards.answer_text import remove_marks
from gleaner.guards.support import find_supporting_texts, judge_support
from gleaner.knowledge.page_attribution import name_pages
from gleaner.model import Answered, JsonObject, ToolSpec
from gleaner.tools.answer_filters import AnswerFilters
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import AcceptedAnswer, Workspace

NAME = "generate_response"
_MAX_ANSWER_CHARS = 100_000
_ID_IN_TEXT = re.compile(r"[\w-]+")
_WORD = re.compile(r"\w")


def _read_ids(value: Any) -> Any:
    """Accept a single id, or a list in a string, as a list of ids."""
    if isinstance(value, str):
        return _ID_IN_TEXT.findall(value)
    return [str(item) for item in value] if isinstance(value, list) else value


def _read_claim(value: Any) -> Any:
    """Accept "Not found" for "not_found"."""
    return re.sub(r"[\s-]+", "_", value.strip().lower()) if isinstance(value, str) else value


def _ignore_if_invalid(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Drop an invalid self-assessment of the model: it is no reason to reject the answer."""
    try:
        return check(value)
    except ValidationError:
        return None


class AnswerArguments(Arguments):
    """The answer and its sources."""

    # Models write in this order, and an answer is shown while it comes only if its sources are known.
    sources: Annotated[list[str], BeforeValidator(_read_ids)]
    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_MAX_ANSWER_CHARS)]
    answered: Annotated[
        Answered | None,
        WrapValidator(_ignore_if_invalid),
        BeforeValidator(_read_claim),
        # One short schema: the general one has a reference and an alternative.
        WithJsonSchema({"type": "string", "enum": [value.value for value in Answered]}),
    ] = None
    confidence_score: Annotated[float | None, WrapValidator(_ignore_if_invalid)] = Field(None, ge=0, le=1)


def read_partial(arguments: str) -> AnswerArguments | None:
    """The sources and the answer in arguments that are still being written; None before the sources are complete.

    They are None, too, if the answer comes first or if nothing can be read, which says nothing about the whole.
    """
    try:
        partial = jiter.from_json(arguments.encode("utf-8", "surrogatepass"), partial_mode="trailing-strings")
    except ValueError:
        return None
    names = list(partial) if isinstance(partial, dict) else []
    if "sources" not in names or "answer" not in names[names.index("sources") :]:
        return None
    try:
        return AnswerArguments.model_validate({name: partial[name] for name in ("sources", "answer")})
    except ValidationError:
        return None


def _accept(arguments: AnswerArguments, workspace: Workspace) -> JsonObject:
    filters = AnswerFilters(workspace.passages())
    draft = filters.draft(filters.restore(arguments.answer))
    cited_ids, source_ids = filters.cite(arguments.sources, draft)
    if cited_ids and not source_ids:
        known_ids = ", ".join(workspace.passage_ids()) or "none"
        raise ToolCallRejected(
            f"Unknown source ids: {', '.join(cited_ids[:10])}. Cite only ids that a search returned: {known_ids}."
        )
    answer = filters.finish(draft, source_ids)
    if not _WORD.search(remove_marks(answer)):
        raise ToolCallRejected("The answer contains only links, images or instructions. Write it in words.")
    if filters.has_instructions:
        workspace.degraded.add("the answer repeated the instructions")
    sources = tuple(passage for source_id in source_ids if (passage := workspace.passage(source_id)))
    workspace.answer = AcceptedAnswer(
        text=answer,
        sources=tuple(name_pages(answer, source) for source in sources),
        supports=judge_support(answer, sources),
        supporting_texts=find_supporting_texts(answer, sources),
        claim=arguments.answered,
        confidence_score=arguments.confidence_score,
    )
    return {"formatted_response": answer, "metadata": {"sources": source_ids}}


def _offer_sources(spec: ToolSpec, workspace: Workspace) -> ToolSpec:
    return replace(spec, choices={"sources": tuple(workspace.passage_ids())})


def _summarize(result: JsonObject) -> JsonObject:
    ids = result["metadata"]["sources"]
    return {"ids": ids, "count": len(ids)}


TOOL = Tool(NAME, AnswerArguments, _accept, _summarize, _offer_sources)
