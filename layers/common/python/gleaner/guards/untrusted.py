"""Makes untrusted text safe for the model: labels it as data, and removes hidden characters and control tokens.

JSON delimits it: nothing in a string can end the string. A label says that it is data. Role markers and tokens of
chat templates, which some servers interpret even inside strings, become look-alikes: they stay legible, and answers
that quote them get the original characters back.
"""

from __future__ import annotations

import re
from typing import Any

from gleaner import text
from gleaner.guards._markdown_code import shield_code, unshield_code
from gleaner.model import JsonObject
from gleaner.prompts import read_prompt

# ChatML, Llama 3, Phi, Command R, Harmony, DeepSeek (with wide bars): <|im_start|>, <｜User｜>, <|turn>.
_BARRED = r"[|｜][\w▁./: -]{1,60}[|｜]?|[\w▁-]{1,60}[|｜]"
# Gemma's turns, sequence marks, and tags for tool calls, reasoning and roles.
_TAG = (
    r"/?(?:s|bos|eos|pad|unk|(?:start|end)_of_\w{1,20}|im_(?:start|end)|(?:\w{1,20}:)?tool_(?:call|response|result)s?"
    r"|tools|(?:\w{1,20}:)?function_(?:call|result)s?|function=[\w.-]{1,60}|(?:\w{1,20}:)?(?:invoke|parameter)"
    r"|think|thinking|system|system[-_](?:prompt|message|reminder)|assistant|user|human|developer|instructions?)"
    r"(?:\s[^<>\n]{0,80})?"
)
_LLAMA_2 = r"/?SYS"
# Llama 2 and Mistral; "[gleaner]" starts the service's own feedback.
_SQUARE = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS?|RESULTS|CONTENT)|CALL_ID|ARGS|THINK|gMASK|(?i:gleaner))"
)
_MARK = r"\s*(?i:kb|web)-\d+(?:\s*[,;]\s*(?i:kb|web)-\d+)*\s*"  # a citation mark, perhaps of another query
_ROLE = (
    r"(?i:#{1,6}[ \t]*(?:instructions?|input|response|system|user|assistant|human)"
    r"|(?:system|assistant|user|human|developer|ai)(?:[ \t]+(?:message|prompt|instructions?))?)[*_\"']{0,3}[ \t]*"
)

_TOKENS = (
    (re.compile(rf"<<({_LLAMA_2})>>"), r"‹‹\1››"),
    (re.compile(rf"<({_BARRED}|{_TAG})>"), r"‹\1›"),
    (re.compile(rf"\[({_SQUARE})\]"), r"⟦\1⟧"),
)
_DEFUSING = (
    *_TOKENS,
    (re.compile(rf"\[({_MARK})\]"), r"⟦\1⟧"),
    (re.compile(rf"^([ \t>*_\"'-]*{_ROLE}):", re.MULTILINE), r"\1∶"),
)
_RESTORING = (
    (re.compile(rf"‹‹({_LLAMA_2})››"), r"<<\1>>"),
    (re.compile(rf"‹({_BARRED})›"), r"<\1>"),
    (re.compile(rf"⟦({_SQUARE})⟧"), r"[\1]"),
    (re.compile(rf"({_ROLE})∶"), r"\1:"),
)
# Only in code: elsewhere a tag would be HTML, and a mark would be one of the answer itself.
_RESTORING_IN_CODE = (
    *_RESTORING,
    (re.compile(rf"‹({_TAG})›"), r"<\1>"),
    (re.compile(rf"⟦({_MARK})⟧"), r"[\1]"),
)

_LOOK_ALIKE_SIGNS = "‹⟦∶"  # every look-alike has one

_Rules = tuple[tuple[re.Pattern[str], str], ...]


def label_untrusted(result: JsonObject) -> JsonObject:
    """Defuse every string in the result of a tool, and put labels before and after it."""
    return {"trust": "untrusted", **_defuse_strings(result), "note": read_prompt("untrusted_note")}


def defuse(untrusted: str) -> str:
    """Remove hidden characters, and turn control tokens, role markers and citation marks into look-alikes.

    This is idempotent. Citation marks are included, because only those of the answer itself are real.
    """
    cleaned = text.clean(untrusted)
    once = _apply(_DEFUSING, cleaned)
    if once == cleaned:
        return once
    return _apply(_DEFUSING, once)  # again: a token within a longer one hides it from the first pass


def defuse_tokens(message: str) -> str:
    """Defuse only the control tokens of a message of the conversation; its roles and marks are real."""
    return _apply(_TOKENS, text.clean(message))


def restore_tokens(answer: str) -> str:
    """Restore the tokens that an answer quotes; `answer` must contain no control characters."""
    if not any(sign in answer for sign in _LOOK_ALIKE_SIGNS):
        return answer
    prose, code = shield_code(answer)
    return unshield_code(_apply(_RESTORING, prose), [_apply(_RESTORING_IN_CODE, piece) for piece in code])


def _defuse_strings(value: Any) -> Any:
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, dict):
        return {key: _defuse_strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_defuse_strings(item) for item in value]
    return value


def _apply(rules: _Rules, message: str) -> str:
    for pattern, replacement in rules:
        message = pattern.sub(replacement, message)
    return message
