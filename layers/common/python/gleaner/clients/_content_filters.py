"""Recognizes that a model refuses to answer, or that a content filter of its provider stops it.

Nothing of this passes: the same request would be refused again, so it is never sent again.
"""

from __future__ import annotations

import json
import re

from gleaner.clients._json_values import holds_object
from gleaner.model import ToolCall

# Finish reasons in lower case: of OpenAI and Azure; of Gemini, which sends those of its own API, also behind
# "content_filter: " (HKUDS/Vibe-Trading#308); of Anthropic, Bedrock and Zhipu, as gateways pass them on.
_REASONS = frozenset(
    (
        *("content_filter", "content_filtered", "content_policy_violation"),
        *("safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *("refusal", "guardrail_intervened", "sensitive"),
    )
)
_WORD = re.compile(r"[a-z_]+")
_MAX_ERROR_CHARACTERS = 4_000  # of an error, that are looked through
_ERROR = re.compile(
    # A code, perhaps within a message: of Azure, also behind LiteLLM (BerriAI/litellm#16231), of OpenAI and of Alibaba.
    r"""(?:code|type)["'\\]+: ?["'\\]+(?:content_filter|responsibleaipolicyviolation|content_policy_violation"""
    r"""|bio_policy|misalignment_policy_violation|data_?inspection_?failed)["'\\]"""
    r"|contentpolicyviolationerror|content management policy|potentially violating our usage policy"
    # OpenRouter's page on errors; DeepSeek
    r'|"flagged_input"|moderation and your input was flagged|content exists risk'
)


def is_filter_reason(reason: str) -> bool:
    """Whether a finish reason names a content filter or a refusal."""
    return not _REASONS.isdisjoint(_WORD.findall(reason.lower()))


def is_filter_error(error: object) -> bool:
    """Whether an error, as JSON, names a content filter or a refusal."""
    try:
        text = json.dumps(error)
    except (RecursionError, TypeError, ValueError):
        return False
    return bool(_ERROR.search(text[:_MAX_ERROR_CHARACTERS].lower()))


def is_refused(calls: tuple[ToolCall, ...], reason: str, *, has_refusal: bool) -> bool:
    """Whether an answer is a refusal: a call that came whole is worth more than what is said beside it."""
    is_whole = any(holds_object(call.arguments, strict=False) for call in calls)
    return not is_whole and (is_filter_reason(reason) or has_refusal)
