"""All tools, by name."""

from __future__ import annotations

from functools import cache
from typing import Any

from gleaner.model import ToolSpec
from gleaner.tools import generate_response, index_keywords, knowledge_base_search, perplexity_search
from gleaner.tools.tool import Tool

TOOLS: dict[str, Tool[Any]] = {
    module.NAME: module.TOOL for module in (knowledge_base_search, perplexity_search, index_keywords, generate_response)
}


@cache
def tool_spec(name: str) -> ToolSpec:
    """Return the tool as the model sees it; cached, because building a schema takes milliseconds."""
    return TOOLS[name].spec()
