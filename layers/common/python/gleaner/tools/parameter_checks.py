"""Checks search texts and keywords that the model writes, by the harm that each parameter can do.

A search text is read by an index and by the language model of a web search. Nothing executes it, so code, paths and
addresses in it are harmless, and it is searched for as it was typed. Only a text that gives orders to a model is
refused. A text that is nothing but code or an address is put into quotation marks: its readers take it literally.
Secrets in a search text are redacted, because it leaves the service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, NoReturn

from pydantic import AfterValidator, StringConstraints
from pydantic_core import PydanticCustomError

from gleaner.guards.redaction import redact_secrets
from gleaner.guards.screening import message_signs, order_signs, payload_signs
from gleaner.guards.screening.asking import Asking
from gleaner.guards.screening.unmasking import read_disguised, read_plain
from gleaner.text import collapse

_ASK = "Search for a topic: say in a question of your own what the user wants to know, without orders to a model."


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a text is refused: a stable code, and a message that tells the model what is wrong and how to fix it."""

    code: str
    message: str


def _compile(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# Judges whether a sign may stand in a search text.
_Judge = Callable[[Asking, re.Match[str]], bool]


def _excuse_question(asking: Asking, sign: re.Match[str]) -> bool:
    return asking.excuses(sign)


def _excuse_mention(asking: Asking, sign: re.Match[str]) -> bool:
    return asking.excuses(sign) or asking.mentions.covers(sign)


def _excuse_beginning(asking: Asking, sign: re.Match[str]) -> bool:
    return asking.excuses(sign) or asking.mentions.begins_with(sign)


# The order matters: the first sign found is reported to the model.
_ORDERS: tuple[tuple[str, re.Pattern[str], _Judge], ...] = (
    ("chat_template", _compile(message_signs.TEMPLATE_MESSAGES), _excuse_question),
    ("chat_template", _compile(message_signs.TEMPLATE_TOKENS), _excuse_mention),
    ("tool_message", _compile(message_signs.TOOL_MESSAGES), _excuse_question),
    ("tool_message", _compile(message_signs.TOOL_CODE), _excuse_mention),
    ("instruction_override", _compile(order_signs.OVERRIDE), _excuse_question),
    ("instruction_override", _compile(order_signs.MODES), _excuse_mention),
    ("instruction_override", _compile(order_signs.COMMON_OVERRIDE), _excuse_beginning),
    ("prompt_extraction", _compile(order_signs.EXTRACTION), _excuse_question),
    ("prompt_extraction", _compile(order_signs.SETTINGS_EXTRACTION), _excuse_beginning),
    ("data_exfiltration", _compile(order_signs.EXFILTRATION), _excuse_question),
)
_PAYLOADS = {
    "data_link": _compile(payload_signs.DATA_LINK),
    "markup": _compile(payload_signs.MARKUP),
    "template_expression": _compile(payload_signs.TEMPLATE),
    "path_traversal": _compile(payload_signs.PATH),
    "sql": _compile(payload_signs.SQL),
    "command": _compile(payload_signs.COMMAND),
    "crafted_value": _compile(payload_signs.VALUES),
}


# All codes that a refusal of a search text may have.
CODES = frozenset(code for code, _, _ in _ORDERS)
# All codes that a refusal of a keyword may have.
KEYWORD_CODES = CODES | {*_PAYLOADS, "internal_address", "secret_in_address"}


def check_query(text: str) -> Objection | None:
    """Return the objection to a cleaned search query or to its background, or None. Takes linear time."""
    plain = read_plain(text)
    codes = (_find_order(reading, may_search=True) for reading in (plain, *read_disguised(text, plain)))
    code = next(filter(None, codes), None)
    if code is None:
        return None
    return Objection(code=code, message=f"It gives orders to a model or poses as its messages. {_ASK}")


def neutralise(text: str) -> str:
    """Return the search text as it may leave the service: without secrets, and in quotation marks if it is bare code.

    Code with words about it stays as it was typed.
    """
    shown = redact_secrets(text)
    reading = read_plain(shown)
    is_bare_code = _find_payload(reading) is not None and not Asking(reading).has_topic()
    return f'"{shown}"' if is_bare_code else shown


def check_keyword(text: str) -> str | None:
    """Return the code of the objection to a keyword, or None. `text` must still have its line breaks.

    This is stricter than for a search text: keywords are shared and shown to the model in later questions, so a
    question about an attack is no excuse.
    """
    # An order may be seen at the start of a line only, or only if its lines are joined.
    for spelling in dict.fromkeys((text, collapse(text))):
        plain = read_plain(spelling)
        for reading in (plain, *read_disguised(spelling, plain)):
            if code := _find_order(reading, may_search=False) or _find_payload(reading):
                return code
    return None


def _find_payload(reading: str) -> str | None:
    if payload_signs.contains_internal_address(reading):
        return "internal_address"
    if payload_signs.contains_secret(reading):
        return "secret_in_address"
    return next((code for code, signs in _PAYLOADS.items() if signs.search(reading)), None)


def _find_order(reading: str, *, may_search: bool) -> str | None:
    """Return the code of the first order that is not excused."""
    asking: Asking | None = None
    for code, signs, excuse in _ORDERS:
        for sign in signs.finditer(reading):
            asking = asking or Asking(reading)
            if not (may_search and excuse(asking, sign)):
                return code
    return None


def _refuse(code: str, message: str) -> NoReturn:
    raise PydanticCustomError(code, "{message}", {"message": f"refused ({code}): {message}"})


def _refuse_orders(text: str) -> str:
    if objection := check_query(text):
        _refuse(objection.code, objection.message)
    return text


Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2000),
    AfterValidator(_refuse_orders),
    AfterValidator(neutralise),
]
Context = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=4000),
    AfterValidator(_refuse_orders),
    AfterValidator(redact_secrets),
]
