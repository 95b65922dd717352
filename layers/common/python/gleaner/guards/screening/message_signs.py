"""Signs of a text that poses as a message of a conversation with a language model, or as a call of a tool.

The same holds for these patterns as for those of `order_signs`.
"""

from __future__ import annotations

from gleaner.guards.screening.order_signs import ORDERS

_ROLE = r"(?:system|assistant|developer|admin\w*|root|operator)"
_EDGE = r"[=\-*#~<>\[\]{}|%`]{2,10}"

_OPENING = r"(?:\[inst\]|<<sys>>|<\|[^<>|\n]{1,40}\|>|<(?:system|assistant|instructions?|start_of_turn)>)"
_CLOSING = r"(?:\[/inst\]|<</sys>>|<\|[^<>|\n]{1,40}\|>|</(?:system|assistant|instructions?)>|<end_of_turn>)"
TEMPLATE_MESSAGES = [
    # words in an envelope
    rf"{_OPENING}[^\w<\[]{{0,10}}\w{{1,40}}[^\w<\[]{{1,10}}\w[^<\[]{{0,400}}{_CLOSING}",
    r"(?:^|\n)\s{0,10}#{2,4}\s{0,5}(?:system|human|user|assistant)\s{0,5}:",
    r"\brole[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?:system|developer)[\"']?[\s,]{1,20}[\"']?content[\"']?\s{0,5}[:=]"
    r"[\s\"'|>]{0,20}(?!you are a helpful assistant\b)\w{1,40}[ ,'’]{1,3}\w",
    r"^\W{0,5}system\s{0,5}:\s{0,5}(?:you|new|ignore|from)\b",
    # the beginning of an answer
    r"\n\s{0,10}(?:assistant|system)\s{0,5}:\s{0,5}"
    r"(?:i(?:'m|'ll|'ve)?|we|sure|ok(?:ay)?|understood|certainly|of course|yes)\b",
    r"\|system\||\{(?:system|assistant)\}",
    rf"{_EDGE}\s{{0,3}}(?:(?:begin|end|start|new)\s(?:of\s)?(?:the\s)?){ORDERS}\b[^\n]{{0,40}}?{_EDGE}",
    r"\b(?:note|message|attention|notice|instructions?) (?:to|for) (?:the |all |any )?(?:ai(?: model)?|llm|assistant|"
    r"language model|chatbot)s?\b[^\n]{0,20}:",
]
# Developers paste these with a problem that they have with them.
TEMPLATE_TOKENS = [
    r"\b(?:begin|end|start) (?:of )?(?:the )?(?:system|user) (?:prompt|message|instructions|context|input|query)\b",
    r"(?:^|\n)\s{0,10}#{2,4}\s{0,5}(?:instructions?|response)\s{0,5}:",
    r"<\|[^<>|\n]{1,40}\|>|\[/?inst\]|<</?sys>>|</?s>\s*[<\[]|<(?:start|end)_of_turn>",
    r"\n\s{0,10}(?:system|assistant)\s{0,5}:",
    # A user in YAML has a name, or fields of its own.
    r"\n\s{0,10}(?:human|user|developer)\s{0,5}:(?!\s{0,20}[\w./@\"'-]{0,60}(?::[^\n]{0,100})?[ \t]{0,5}(?:\n|$))",
    r"\n\s{0,10}(?:observation|thought|final answer)\s{0,5}:",
    # An action in a policy is a list, or has a service before a colon.
    r"(?:^|\n)\s{0,10}(?:action\s?input|assistant|human|action(?!\s?:\s{0,20}(?:[-\[\"']|[\w-]{1,40}:)))\s?:",
    r"</?(?:system|assistant|developer|instructions?|prompt|invoke|(?:tool|function)_?(?:calls?|results?|outputs?|"
    r"responses?))(?:[\s/][^<>\n]{0,60})?>|</(?:context|documents?|user_?(?:input|query)|search_?results?|passages?|untrusted)\b",
    r"[\"']role[\"']\s{0,5}:\s{0,5}[\"'](?:system|assistant|developer|tool)[\"']",
    r"(?:^|\n)[^\w\n]{0,10}role\s{0,5}[:=]\s{0,5}[\"']?(?:system|assistant|developer|tool)\b",
    rf"\[\[?\s?{_ROLE}\b(?![@.:])[^\]\n]{{0,60}}\]",
    rf"{_EDGE}\s{{0,3}}(?:(?:begin|end|start|new)\s(?:of\s)?(?:the\s)?)?(?:{_ROLE}|{ORDERS})\b[^\n]{{0,40}}?{_EDGE}",
    rf"\b(?:begin|end|start) (?:of )?(?:the )?{ORDERS}\b",
    rf"(?:^|\n)\W{{0,5}}{_ROLE}\s(?:note|notice|message|update|alert|command|override|directive)\s{{0,3}}:",
]

TOOL_MESSAGES = [
    r"(?<!\w)\[tool\b(?! calls?\])[^\]\n]{0,20}[:\]]",
    r"[\"']method[\"']\s{0,5}:\s{0,5}[\"']tools?/",
    r"\b(?:knowledge_base_search|perplexity_search|index_keywords|generate_response)\s{0,5}[({]",
    r"\b(?:call|use|invoke|run|execute)\W+(?:the\W+)?(?:(?:tool|function)\W+)?(?:knowledge_base_search|"
    r"perplexity_search|index_keywords|generate_response)\b",
    r"\b(?:read|dump|disable|get|show|list|set|reveal|bypass)_\w{0,30}(?:prompts?|safety)\w{0,20}\(",
    r"\btool\W+(?:descriptions?|definitions?|execution|schemas?|access)\W+(?:\w+\W+){0,2}?(?:has|have) been\b",
    r"\byou have (?:access to )?(?:\w+ ){0,2}tools?\b",
]
# Code of programs that use tools, or that only look like it.
TOOL_CODE = [
    r"(?<!\w)\[(?:function|tool)[ _]?calls?\b",
    r"[\"'](?:tool_calls?|tools|function_call|function)[\"']\s{0,5}:\s{0,5}[\[{\"]",
    r"<function\b(?! [\w.<>]{1,100} at 0x)[^<>\n]{0,60}>|\bfunctions\.(?!config\b)\w{1,40}\s?\(",
    r"\b(?:execute|run|call|invoke) (?:this|the following|these|arbitrary|any) (?:tool|function|command)",
    r"\b(?:call|use|invoke|run|execute)\W+(?:the\W+)?(?:tool|function)\W+\w{1,40}_\w",
]
