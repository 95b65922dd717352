"""Signs of a text that gives orders to a language model. `message_signs` has those of one that poses as a message.

Patterns expect a plain reading (see `unmasking`). No part of a pattern can match the same characters in two ways over
an unbounded distance, so that matching takes linear time.
"""

from __future__ import annotations

from gleaner.guards.screening.unmasking import read_plain

_DROP = (
    r"(?:ignor(?:e|es|ed|ing)|disregard\w*|forget\w*|overrid\w+|bypass\w*|dismiss|discard|abandon|neglect|circumvent|"
    r"erase|set aside|(?:do not|don't|stop) (?:follow|obey)(?:ing)?|pay no attention to)"
)
_UNDO = rf"(?:{_DROP}|cancel|revoke|reset|nullify|invalidate|delete|remove|throw (?:out|away)|disobey)"
ORDERS = r"(?:instructions?|prompts?|directives?|directions|guidelines?|orders)"
_LIMITS = (
    r"(?:restrictions?|safeguards?|guardrails?|"
    r"safety (?:mode|filters?|guidelines|protocols?|checks?|measures|settings))"
)
# Programs have these, too: "override system policy chrome".
_COMMON_RULES = r"(?:rules?|programming|training|polic(?:y|ies)|constraints?|filters?)"
_RULES = rf"(?:{ORDERS}|{_LIMITS}|{_COMMON_RULES})"
_COMMON_OWNERS = r"(?!content security polic)(?:previous|prior|preceding|above|earlier|original|initial|system|content)"
_OURS = (
    r"(?:previous|prior|preceding|above|earlier|foregoing|original|initial|system|your|safety|content|ethical|"
    r"developer)"
)
_OF_MODEL = r"(?:all|any|of|the|your|my|and|or|other|system|safety|security|content|ethical|ai)"
_VOID = (
    r"(?:void|invalid\w*|updated|changed|replaced|lifted|removed|disabled|superseded|revoked|cancell?ed|suspended|"
    r"nullified|obsolete|overridden|corrupted|off|false|no longer)"
)
_FREED = (
    r"(?:unrestricted|unfiltered|uncensored|jailbroken|"
    r"(?:no|without(?: any)?|zero|free (?:of|from))\W+(?:\w+\W+){0,2}?"
    r"(?:restrictions?|filter(?:s|ing)?|guidelines?|limitations?|rules|censorship|refusals?|ethics|boundaries))"
)
_TO_MODEL = (
    r"(?:you(?:'re|'ll)?|act as|pretend|respond|answer|reply|operate|comply|proceed|behave|i will|i'll|enter|activate|"
    r"enable|switch to)"
)
_SHOW = (
    r"(?:show|reveal|print|output|display|repeat|give|tell|told|dump|leak|share|list|return|recite|echo|expose|disclose|"
    r"summari[sz]e|translate|encode|prepend|append|include|paste|copy|provide|send|write|what (?:is|are|was|were)|"
    r"what's)(?:t?ing|ed|s)?"
)
_UNSHOWN = (
    r"(?:(?:system|developer)[\W_]+(?:prompt|instructions?|message)\b|(?:your|loaded|hidden|secret|initial)\W+"
    r"(?:\w+\W+){0,2}?(?:prompts?|instructions?|directives?|guidelines|rules|system message)\b)"
)
# Error messages speak of these, too: "please provide your api key".
_SETTINGS = (
    r"(?:(?:your|loaded|hidden|secret|initial)\W+(?:\w+\W+){0,2}?(?:configuration|api keys?|credentials|secrets|"
    r"passwords?|environment variables|tools|functions)\b)"
)
# "Ignore the previous instructions" in the most common languages: stems of the verbs and of their objects. "_" is a
# space.
_FOREIGN_DROP = [
    ("ignora olvida omite descarta haz_caso_omiso", "instrucci"),
    ("ignora ignore_as ignore_todas esqueca desconsidere", "instruc"),
    ("ignorez oublie ignore_les ignore_toutes ignore_tes", "instructions consignes directives"),
    ("ignorier vergiss vergesst missacht", "anweisung instruktion vorgaben"),
    ("ignora dimentica trascura", "istruzion"),
    ("negeer vergeet", "instructies aanwijzingen"),
    ("ignorera glom", "instruktion"),
    ("zignoruj ignoruj zapomnij zapomen pomin", "instrukcj polecen pokyn instrukc"),
    ("игнорир проигнорир забуд отбрось ігнор отмен", "инструкц указан інструкц вказів"),
    ("unut yok_say gormezden", "talimat"),
    ("bỏ_qua quên phớt_lờ", "hướng_dẫn chỉ_thị mệnh_lệnh chỉ_dẫn"),
    ("abaikan lupakan", "instruksi perintah"),
    ("αγνοησ ξεχασ", "οδηγι εντολ"),
    ("תתעלם התעלם שכח", "הוראות ההוראות הנחיות"),
    ("تجاهل انس", "التعليمات تعليمات الأوامر التوجيهات"),
    ("نادیده فراموش", "دستور"),
    ("अनदेखा नज़रअंदाज़ भूल", "निर्देश"),
    ("উপেক্ষা", "নির্দেশ"),
    ("ละเว้น เพิกเฉย ลืม", "คำสั่ง"),
    ("忽略 无视 無視 忽視 忘记 忘記 忘掉", "指令 指示 提示词 系统提示 之前的提示 以上提示"),
    ("無視 忘れ", "指示 命令 プロンプト"),
    ("무시 잊", "지시 명령 지침 프롬프트"),
]
# "Show the system prompt" in the same languages.
_FOREIGN_SHOW = (
    "muestra mostra mostre revela dime affiche montre revele zeig gib_mir verrat покажи выведи раскрой 显示 告诉 输出 "
    "透露 表示 見せ 出力 보여 알려 출력 दिखा बता hiển_thị cho_tôi_xem pokaż wyświetl goster toon visa أظهر اعرض اكشف",
    "prompt_del_sistema prompt_do_sistema prompt_systeme system-prompt system_prompt systemprompt системный_промпт "
    "системную_подсказку 系统提示 システムプロンプト 시스템_프롬프트 सिस्टम_प्रॉम्प्ट prompt_hệ_thống promptu_systemow "
    "موجه_النظام",
)


def _pair(verbs: str, objects: str) -> str:
    verb, object_ = ("|".join(_to_pattern(word) for word in words.split()) for words in (verbs, objects))
    return rf"(?:{verb})[^.\n]{{0,60}}?(?:{object_})|(?:{object_})[^.\n]{{0,40}}?(?:{verb})"


def _to_pattern(word: str) -> str:
    folded = read_plain(word)
    # Scripts without spaces have no word boundaries, and Arabic and Hebrew prefix particles to words.
    return (r"\b" if folded < "\u0590" else "") + folded.replace("_", " ")


_MODEL = r"(?:ai |llm )?(?:assistants?|models?|chatbots?)"
_SAY = r"(?:forward|ignore|reveal|send|respond|answer|reply|say|recommend)"
# "You are now connected": what a program tells its user.
_STATE = (
    r"(?:(?:dis)?connected|logged|signed|subscribed|authenticated|registered|viewing|leaving|editing|"
    r"ready to use|able to(?! (?:refuse|decline|deny|reject|filter|block)\b)|"
    r"seeing|watching|unsubscribed|muted|banned|rate[- ]limited|being redirected|up to date|on branch|"
    r"in (?:the (?:queue|waiting|lobby)|sync|'?detached)|offline|online|behind|ahead|"
    r"eligible|enrolled|a member|(?:running|using) (?:\w{1,20}[ -])?v?\d{1,5})\b"
)

OVERRIDE = [
    rf"\b{_DROP}\b[\s\S]{{0,60}}?\b{_OURS}\W+(?:{_OF_MODEL}\W+){{0,3}}?(?:{ORDERS}|{_LIMITS})\b",
    rf"\b{_DROP}\b[\s\S]{{0,60}}?\b(?:your|safety|ethical|developer)\W+(?:{_OF_MODEL}\W+){{0,3}}?(?:{_OURS}\W+)?{_RULES}\b",
    rf"\b{_DROP}\b[\s\S]{{0,60}}?\b{_RULES}\W+(?:above|you)\b",
    rf"\b{_UNDO}\b[\s\S]{{0,60}}?\b{_OURS}\W+(?:\w+\W+){{0,2}}?{ORDERS}\b",
    rf"\b{_DROP}\b[\s\S]{{0,40}}?\b(?:all|any|every)\W+(?:of\W+)?(?:the\W+|my\W+|your\W+)?(?:{ORDERS}|{_LIMITS})\b",
    rf"\b{_DROP}\b\W+(?:(?:everything|anything|all|what)\W+(?:\w+\W+){{0,3}}?(?:before|previously|prior)\b|"
    r"(?:\w+\W+){0,3}?above\s*(?:[.,;:!]|and\b|text\b|$))",
    r"\bforget\W+(?:everything|all)\W+(?:that\W+)?(?:you|i|we|and)\b",
    rf"\b(?:your|previous|prior|original|system)\W+{ORDERS}\W+(?:\w+\W+){{0,3}}?{_VOID}\b",
    rf"\b(?:all|your|any)\W+(?:{_OF_MODEL}\W+|previous\W+|prior\W+){{0,3}}?(?:{ORDERS}|{_LIMITS})\W+(?:\w+\W+){{0,3}}?{_VOID}\b",
    r"\b(?:new|updated|revised)\W+(?:system\W+)?(?:instructions?|directives?|prompt)\W{0,3}(?::|\bare\b|\bis\b)",
    r"\byour (?:new|real|actual|true|only) (?:task|role|goal|objective|purpose|job|instructions?)\b",
    rf"\b{_TO_MODEL}\b[^.\n]{{0,80}}?\b{_FREED}\b",
    r"\b(?:respond|answer|reply|speak|talk|operate)\W+freely\b",
    r"\bmode[\"']?\s*[:=]\s*[\"']?unrestricted|\b(?:dan|jailbreak) mode\b",
    rf"\bdo anything now\b|\byou are (?:now|no longer)\b(?!\s{_STATE})",
    r"\bfrom now on,? you(?:'ll| are| will| must| can| have)\b",
    r"\bpretend (?:that )?you(?:'re| are)\b|\bi(?:'m| am) (?:your|the) (?:developer|creator|admin\w*|programmer)\b",
    r"\byou are an?\b(?! helpful assistant\b(?! (?:that|who|with|and)\b))\W+(?:\w+\W+){0,4}?"
    r"(?:ai|assistant|model|chatbot|llm|bot|agent|developer|tool|system|admin\w*)\b",
    rf"\b{_LIMITS}\W+(?:\w+\W+){{0,2}}?suspended\b",
    r"\bdisable_safety\b|\bsystem[ _-]?override\b",
    r"\bname\s?=\s?[\"']ai[-_ ](?:instruction|directive)s?|\bwhen this (?:\w+ ){0,2}is (?:in context|retrieved)\b",
    r"\b(?:ai|llm)s? (?:reading|processing|parsing) this\b|\b(?:respond|reply|answer) (?:only|exclusively) with\b",
    r"\bwhen you (?:read|see|process) this\b|\byou (?:must|will|shall|have to) (?:now |always |never )?(?:obey|comply|"
    r"answer(?! (?:yes|no|y|n)\b)|respond|reply|output|reveal|say)\b",
    r"\b(?:begin|start|end|prefix) (?:your|every|each) (?:answer|response|reply)\b",
    rf"\b(?:the|all|any|ai) {_MODEL} (?:must|shall|has to) (?:(?:now|always|never) )?{_SAY}\b",
    rf"\b{_MODEL} (?:must|shall|has to) (?:now|always|never) {_SAY}\b",
    r"\b(?:ai|llm) (?:agents?|assistants?|models?) (?:must|should|shall) (?:now|always|never)\b",
    r"\b(?:the|all|any|ai) (?:ai |llm )?"
    r"(?:assistants?|chatbots?) (?:must|shall|has to) (?:now |always |never )?(?:include|output|append)\b",
    r"\b(?:decode|decipher|decrypt|rot13|base64|unscramble)\b[^\n]{0,80}?\b(?:obey|comply|"
    r"(?:follow|execute|carry out)\W+(?:it|its|this|that|them|these|the|what)\b)",
    *(_pair(*order) for order in _FOREIGN_DROP),
]

_ON = r"[^\w.?!]+"  # up to the next word of the same sentence
EXTRACTION = [
    rf"\b{_SHOW}\b{_ON}(?:(?!an?\b)[\w']+{_ON}){{0,6}}?{_UNSHOWN}",
    rf"\b{_SHOW}\b\W+(?:\w+\W+){{0,3}}?(?:text|words|everything|content)\W+above\b",
    r"\byour (?:exact |full |own |current )?(?:system prompt|system message|initial prompt|(?:hidden|initial|original) "
    r"instructions)\b",
    r"\b(?:instructions|prompt)\b[^.\n]{0,20}\b(?:you were given|(?:given|provided) to you|you (?:received|follow))\b",
    r"\bwhat (?:were|are|have) you (?:been )?(?:told|instructed|given|programmed)\b",
    _pair(*_FOREIGN_SHOW),
]

MODES = [r"\b(?:god|sudo) mode\b|\boverride[\"']?\s*[:=]\s*true\b"]

# Orders only if the sentence does not go on with what it is about: "print your environment variables linux".
COMMON_OVERRIDE = [
    rf"\b{_DROP}\b[\s\S]{{0,60}}?\b{_COMMON_OWNERS}\W+(?:{_OF_MODEL}\W+){{0,3}}?{_COMMON_RULES}\b",
    r"\bsafety(?:[ _]?(?:mode|checks?))?\W{1,4}(?:\w+\W+){0,3}?(?:off|disabled|false)\b|\bunrestricted[ _-]+mode\b",
]
SETTINGS_EXTRACTION = [
    rf"\b{_SHOW}\b{_ON}(?:(?!an?\b)[\w']+{_ON}){{0,6}}?{_SETTINGS}",
    r"\b(?:tools?|functions?) you have\b(?! to\b)",
]

EXFILTRATION = [
    # "Failed to send" reports what did not happen.
    r"(?<!failed to )(?<!unable to )(?<!could not )(?<!cannot )(?<!couldn't )"
    r"\b(?:send|post|upload|forward|exfiltrat\w{1,3}|transmit|submit|append)\W+(?:\w+\W+){0,3}?"
    r"(?:it|them|this|"
    r"conversation|history|prompt|secrets?|credentials?|keys?|context|answers?|everything|results?|output|question|input|messages|documents)\b"
    r"[^.\n]{0,60}?"
    r"(?:https?://|\bto [^\s@]{1,60}@)",
]
