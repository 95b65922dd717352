"""The tool that gives the answer to the user and ends the work."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, StringConstraints

from gleaner.errors import ToolCallRejected
from gleaner.model import JsonObject
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import AcceptedAnswer, Workspace

NAME = "generate_response"
_LONGEST_ANSWER = 100_000  # characters
_INLINE_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


class AnswerArguments(Arguments):
    """The answer and what it rests on."""

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST_ANSWER)]
    sources: list[str] = Field(description="Ids of the passages used, the most important first.")
    confidence_score: float | None = Field(None, ge=0, le=1)
    used_internal_kb: bool = False
    used_external_kb: bool = False


def _accept(arguments: AnswerArguments, workspace: Workspace) -> JsonObject:
    cited = list(dict.fromkeys([*map(_bare, arguments.sources), *_inline_marks(arguments.answer)]))
    unknown = [source for source in cited if workspace.passage(source) is None]
    if unknown:
        known = ", ".join(workspace.passage_ids()) or "none"
        raise ToolCallRejected(
            f"Unknown source ids: {', '.join(unknown[:10])}. Cite only ids that a search returned: {known}."
        )
    workspace.answer = AcceptedAnswer(
        text=arguments.answer,
        sources=tuple(passage for source in cited if (passage := workspace.passage(source))),
        confidence_score=arguments.confidence_score,
    )
    return {"formatted_response": arguments.answer, "metadata": {"sources": cited}}


def _bare(source: str) -> str:
    return source.strip().strip("[]")


def _inline_marks(answer: str) -> list[str]:
    """The ids marked in the text; brackets in code are code."""
    return _INLINE_MARK.findall(_CODE.sub("", answer))


TOOL = Tool(NAME, AnswerArguments, _accept)
