"""All tools, by name."""

from __future__ import annotations

from functools import cache
from typing import Any

from gleaner.model import ToolSpec
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.tool import Tool
from gleaner.tools.workspace import Workspace

TOOLS: dict[str, Tool[Any]] = {
    module.NAME: module.TOOL for module in (knowledge_base_search, perplexity_search, index_keywords, generate_response)
}


def tool_specs(workspace: Workspace) -> list[ToolSpec]:
    """Return all tools as the model sees them for this question, in an order that never changes.

    Those that may never be called are among them: without `index_keywords`, what requests have in common would be too
    short for the provider's cache.
    """
    return [tool.adapt(_spec(name), workspace) for name, tool in TOOLS.items()]


@cache
def _spec(name: str) -> ToolSpec:
    """Cached, because building a schema takes milliseconds."""
    return TOOLS[name].spec()
