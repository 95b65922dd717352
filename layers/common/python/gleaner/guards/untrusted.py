"""Text from outside on its way to the model: labelled as data, without hidden characters and control tokens.

JSON delimits it: what stands in a string cannot end the string. The label says what it is. Tokens of chat
templates, which some servers read inside of strings too, and role markers become look-alikes: legible, and the
same text when an answer quotes them.
"""

from __future__ import annotations

import re
from typing import Any

from gleaner import text
from gleaner.guards._markdown_code import shielded, unshielded
from gleaner.model import JsonObject
from gleaner.prompts import read_prompt

# ChatML, Llama 3, Phi, Command R, Harmony, DeepSeek (with wide bars): <|im_start|>, <｜User｜>, <|turn>.
_BARRED = r"[|｜][\w▁./: -]{1,60}[|｜]?|[\w▁-]{1,60}[|｜]"
# Gemma's turns, the marks of a sequence, tool calls and reasoning as tags, roles as tags.
_TAG = (
    r"/?(?:s|bos|eos|pad|unk|(?:start|end)_of_\w{1,20}|im_(?:start|end)|(?:\w{1,20}:)?tool_(?:call|response|result)s?"
    r"|tools|(?:\w{1,20}:)?function_(?:call|result)s?|function=[\w.-]{1,60}|(?:\w{1,20}:)?(?:invoke|parameter)"
    r"|think|thinking|system|system[-_](?:prompt|message|reminder)|assistant|user|human|developer|instructions?)"
    r"(?:\s[^<>\n]{0,80})?"
)
_LLAMA_2 = r"/?SYS"
# Llama 2 and Mistral; "[gleaner]" begins the service's own feedback.
_SQUARE = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS?|RESULTS|CONTENT)|CALL_ID|ARGS|THINK|gMASK|(?i:gleaner))"
)
_MARK = r"\s*(?i:kb|web)-\d+(?:\s*[,;]\s*(?i:kb|web)-\d+)*\s*"  # of a source: those of other queries mean nothing here
_ROLE = (
    r"(?i:#{1,6}[ \t]*(?:instructions?|input|response|system|user|assistant|human)"
    r"|(?:system|assistant|user|human|developer|ai)(?:[ \t]+(?:message|prompt|instructions?))?)[*_\"']{0,3}[ \t]*"
)

_TOKENS = (
    (re.compile(rf"<<({_LLAMA_2})>>"), r"‹‹\1››"),
    (re.compile(rf"<({_BARRED}|{_TAG})>"), r"‹\1›"),
    (re.compile(rf"\[({_SQUARE})\]"), r"⟦\1⟧"),
)
_DEFUSED = (
    *_TOKENS,
    (re.compile(rf"\[({_MARK})\]"), r"⟦\1⟧"),
    (re.compile(rf"^([ \t>*_\"'-]*{_ROLE}):", re.MULTILINE), r"\1∶"),
)
_RESTORED = (
    (re.compile(rf"‹‹({_LLAMA_2})››"), r"<<\1>>"),
    (re.compile(rf"‹({_BARRED})›"), r"<\1>"),
    (re.compile(rf"⟦({_SQUARE})⟧"), r"[\1]"),
    (re.compile(rf"({_ROLE})∶"), r"\1:"),
)
# Outside of code a tag would be HTML, and a mark would be the answer's own.
_RESTORED_IN_CODE = (
    *_RESTORED,
    (re.compile(rf"‹({_TAG})›"), r"<\1>"),
    (re.compile(rf"⟦({_MARK})⟧"), r"[\1]"),
)

_Rules = tuple[tuple[re.Pattern[str], str], ...]


def labelled(result: JsonObject) -> JsonObject:
    """A tool's result with every string defused, and with labels before and behind that say what it is."""
    return {"trust": "untrusted", **_defused_in(result), "note": read_prompt("untrusted_note")}


def defused(outside: str) -> str:
    """`outside` without hidden characters, and with control tokens and role markers as look-alikes.

    Defusing twice changes nothing. Citation marks are look-alikes too: those of the answer are its own.
    """
    return _apply(_DEFUSED, text.clean(outside))


def without_tokens(said: str) -> str:
    """What was said in the conversation, with control tokens as look-alikes; roles and marks in it are its own."""
    return _apply(_TOKENS, text.clean(said))


def restored(answer: str) -> str:
    """An answer with the tokens that it quotes as they stood in its sources; it holds no control characters."""
    prose, code = shielded(answer)
    return unshielded(_apply(_RESTORED, prose), [_apply(_RESTORED_IN_CODE, piece) for piece in code])


def _defused_in(value: Any) -> Any:
    if isinstance(value, str):
        return defused(value)
    if isinstance(value, dict):
        return {key: _defused_in(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_defused_in(inner) for inner in value]
    return value


def _apply(rules: _Rules, outside: str) -> str:
    for pattern, replacement in rules:
        outside = pattern.sub(replacement, outside)
    return outside
