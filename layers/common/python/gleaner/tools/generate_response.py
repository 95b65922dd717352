"""The tool that gives the answer to the user and ends the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from gleaner import text
from gleaner.errors import ToolCallRejected
from gleaner.guards import disclosure
from gleaner.guards.answer_text import (
    AllowedLinks,
    find_marked_ids,
    keep_marks,
    remove_foreign_links,
    remove_marks,
    split_marks,
)
from gleaner.guards.support import judge_support
from gleaner.guards.untrusted import restore_tokens
from gleaner.knowledge.page_attribution import name_pages
from gleaner.model import Answered, JsonObject, Passage, ToolSpec
from gleaner.prompts import read_all_prompts
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import AcceptedAnswer, Workspace

NAME = "generate_response"
_MAX_ANSWER_CHARS = 100_000
_MAX_FILTERINGS = 8
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

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_MAX_ANSWER_CHARS)]
    sources: Annotated[list[str], BeforeValidator(_read_ids)] = Field(
        description="Ids of the passages used, the most important first."
    )
    answered: Annotated[
        Answered | None,
        WrapValidator(_ignore_if_invalid),
        BeforeValidator(_read_claim),
        # One short schema: the general one has a reference and an alternative.
        WithJsonSchema({"type": "string", "enum": [value.value for value in Answered]}),
    ] = None
    confidence_score: Annotated[float | None, WrapValidator(_ignore_if_invalid)] = Field(None, ge=0, le=1)
    used_internal_kb: Annotated[bool | None, WrapValidator(_ignore_if_invalid)] = False
    used_external_kb: Annotated[bool | None, WrapValidator(_ignore_if_invalid)] = False


def _accept(arguments: AnswerArguments, workspace: Workspace) -> JsonObject:
    draft = split_marks(_remove_instructions(restore_tokens(text.clean(arguments.answer)), workspace))
    cited_ids = list(dict.fromkeys([*map(_strip_brackets, arguments.sources), *find_marked_ids(draft)]))
    source_ids = _keep_known(cited_ids, workspace)
    sources = tuple(passage for source_id in source_ids if (passage := workspace.passage(source_id)))
    answer = _filter(draft, source_ids, _collect_links(sources), workspace)
    if not _WORD.search(remove_marks(answer)):
        raise ToolCallRejected("The answer contains only links, images or instructions. Write it in words.")
    workspace.answer = AcceptedAnswer(
        text=answer,
        sources=tuple(name_pages(answer, source) for source in sources),
        supports=judge_support(answer, sources),
        claim=arguments.answered,
        confidence_score=arguments.confidence_score,
    )
    return {"formatted_response": answer, "metadata": {"sources": source_ids}}


def _collect_links(sources: Sequence[Passage]) -> AllowedLinks:
    """What an answer from these sources may link to: their pages, and what the owner's documents hold."""
    own = [passage for passage in sources if passage.is_own]
    return AllowedLinks.of(
        {url for passage in sources for url in passage.urls},
        own=[text for passage in own for text in (passage.content, *passage.urls)],
    )


def _filter(draft: str, source_ids: list[str], allowed: AllowedLinks, workspace: Workspace) -> str:
    """Remove instructions, foreign links and other marks until nothing changes: what is left may join to new ones."""
    for _ in range(_MAX_FILTERINGS):
        linked = remove_foreign_links(_remove_instructions(draft, workspace).strip(), allowed)
        answer = keep_marks(linked, source_ids)
        if answer == draft:
            return answer
        draft = answer
    # Only a hostile answer never settles.
    raise ToolCallRejected("The answer contains too many links, marks or instructions. Write it in plain words.")


def _keep_known(cited_ids: list[str], workspace: Workspace) -> list[str]:
    """Drop the ids that no search returned. Raises ToolCallRejected if all are such."""
    source_ids = [source_id for source_id in cited_ids if workspace.passage(source_id)]
    if cited_ids and not source_ids:
        known_ids = ", ".join(workspace.passage_ids()) or "none"
        raise ToolCallRejected(
            f"Unknown source ids: {', '.join(cited_ids[:10])}. Cite only ids that a search returned: {known_ids}."
        )
    return source_ids


def _remove_instructions(answer: str, workspace: Workspace) -> str:
    """Remove runs of words of the prompts, except those that also occur in a passage.

    They are removed rather than rejected, because a passage that asks for them would do so again in a retry. The
    answer then counts as a fallback.
    """
    remainder = disclosure.remove_runs(answer, _collect_prompt_runs(), (p.content for p in workspace.passages()))
    if remainder != answer:
        workspace.degraded.add("the answer repeated the instructions")
    return remainder


@cache
def _collect_prompt_runs() -> disclosure.Runs:
    return disclosure.collect_runs(read_all_prompts())


def _strip_brackets(source: str) -> str:
    return source.strip().strip("[]").lower()


def _offer_sources(spec: ToolSpec, workspace: Workspace) -> ToolSpec:
    return replace(spec, choices={"sources": tuple(workspace.passage_ids())})


def _summarize(result: JsonObject) -> JsonObject:
    ids = result["metadata"]["sources"]
    return {"ids": ids, "count": len(ids)}


TOOL = Tool(NAME, AnswerArguments, _accept, _summarize, _offer_sources)
