"""The tool that gives the answer to the user and ends the work."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from gleaner import text
from gleaner.errors import ToolCallRejected
from gleaner.guards import disclosure
from gleaner.guards.answer_text import marked_ids, with_plain_marks, without_foreign_links, without_marks
from gleaner.guards.support import supports
from gleaner.guards.untrusted import restored
from gleaner.model import JsonObject, Passage, ToolSpec
from gleaner.prompts import all_prompts
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import AcceptedAnswer, Workspace

NAME = "generate_response"
_LONGEST_ANSWER = 100_000  # characters
_ID_IN_TEXT = re.compile(r"[\w-]+")
_WORD = re.compile(r"\w")


def _ids(value: Any) -> Any:
    """Ids as a list, also when the model wrote a single one or a list within a string."""
    if isinstance(value, str):
        return _ID_IN_TEXT.findall(value)
    return [str(item) for item in value] if isinstance(value, list) else value


def _or_nothing(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """What the model says of its own answer: the answer is not refused for a value that says nothing."""
    try:
        return check(value)
    except ValidationError:
        return None


class AnswerArguments(Arguments):
    """The answer and what it rests on."""

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST_ANSWER)]
    sources: Annotated[list[str], BeforeValidator(_ids)] = Field(
        description="Ids of the passages used, the most important first."
    )
    confidence_score: Annotated[float | None, WrapValidator(_or_nothing)] = Field(None, ge=0, le=1)
    used_internal_kb: Annotated[bool | None, WrapValidator(_or_nothing)] = False
    used_external_kb: Annotated[bool | None, WrapValidator(_or_nothing)] = False


def _accept(arguments: AnswerArguments, workspace: Workspace) -> JsonObject:
    written = with_plain_marks(_without_instructions(restored(text.clean(arguments.answer)), workspace))
    cited = list(dict.fromkeys([*map(_bare, arguments.sources), *marked_ids(written)]))
    sources = tuple(passage for source in cited if (passage := workspace.passage(source)))
    unknown = [source for source in cited if workspace.passage(source) is None]
    if unknown and not sources:
        known = ", ".join(workspace.passage_ids()) or "none"
        raise ToolCallRejected(
            f"Unknown source ids: {', '.join(unknown[:10])}. Cite only ids that a search returned: {known}."
        )
    # Once more: addresses that are gone may have stood between the words.
    kept = _without_instructions(without_foreign_links(written, _addresses(sources)), workspace).strip()
    if not _WORD.search(without_marks(kept)):
        raise ToolCallRejected("The answer holds nothing but links, images or instructions. Write it in words.")
    workspace.answer = AcceptedAnswer(
        text=kept, sources=sources, supports=supports(kept, sources), confidence_score=arguments.confidence_score
    )
    return {"formatted_response": kept, "metadata": {"sources": cited}}


def _addresses(sources: tuple[Passage, ...]) -> set[str]:
    return {url for passage in sources for url in passage.urls}


def _without_instructions(answer: str, workspace: Workspace) -> str:
    """The answer without runs of the prompts, but for those that a passage holds.

    A passage that asks for them asks again in a retry, so they are taken out at once, and the answer is a fallback.
    """
    kept = disclosure.without_runs(answer, _instructions(), (p.content for p in workspace.passages()))
    if kept != answer:
        workspace.degraded.add("the answer repeated the instructions")
    return kept


@cache
def _instructions() -> disclosure.Runs:
    return disclosure.runs(all_prompts())


def _bare(source: str) -> str:
    return source.strip().strip("[]").lower()


def _offer_sources(spec: ToolSpec, workspace: Workspace) -> ToolSpec:
    return replace(spec, choices={"sources": tuple(workspace.passage_ids())})


TOOL = Tool(NAME, AnswerArguments, _accept, _offer_sources)
