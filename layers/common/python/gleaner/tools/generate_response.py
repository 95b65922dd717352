"""The tool that gives the answer to the user and ends the work."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from gleaner.answer_text import marked_ids, with_plain_marks, without_foreign_links
from gleaner.errors import ToolCallRejected
from gleaner.model import JsonObject
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import AcceptedAnswer, Workspace

NAME = "generate_response"
_LONGEST_ANSWER = 100_000  # characters


class AnswerArguments(Arguments):
    """The answer and what it rests on."""

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST_ANSWER)]
    sources: list[str] = Field(description="Ids of the passages used, the most important first.")
    confidence_score: float | None = Field(None, ge=0, le=1)
    used_internal_kb: bool = False
    used_external_kb: bool = False


def _accept(arguments: AnswerArguments, workspace: Workspace) -> JsonObject:
    text = with_plain_marks(arguments.answer)
    cited = list(dict.fromkeys([*map(_bare, arguments.sources), *marked_ids(text)]))
    unknown = [source for source in cited if workspace.passage(source) is None]
    if unknown:
        known = ", ".join(workspace.passage_ids()) or "none"
        raise ToolCallRejected(
            f"Unknown source ids: {', '.join(unknown[:10])}. Cite only ids that a search returned: {known}."
        )
    sources = tuple(passage for source in cited if (passage := workspace.passage(source)))
    text = without_foreign_links(text, {url for passage in sources for url in passage.urls}).strip()
    if not text:
        raise ToolCallRejected("The answer holds nothing but links or images. Write the answer in words.")
    workspace.answer = AcceptedAnswer(text=text, sources=sources, confidence_score=arguments.confidence_score)
    return {"formatted_response": text, "metadata": {"sources": cited}}


def _bare(source: str) -> str:
    return source.strip().strip("[]").lower()


TOOL = Tool(NAME, AnswerArguments, _accept)
