"""Checks search texts, keywords and ids that the model writes, by the harm that each parameter can do.

A search text is read by an index and by the language model of a web search. Nothing in this service executes it,
so a text ABOUT an attack is a search like any other. A text that IS an attack is refused: orders to a model, or
code and addresses without a question about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, NoReturn

from pydantic import AfterValidator, StringConstraints
from pydantic_core import PydanticCustomError

from gleaner.guards.screening import order_signs, payload_signs
from gleaner.guards.screening.asking import Asking
from gleaner.guards.screening.unmasking import read_disguised, read_plain

_ASK = "Search for a topic: say in a question of your own what the user wants to know, without orders to a model."
_ASK_ABOUT = "Say in a sentence what you want to find out about it, such as 'How does ... work?' or '... explained'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a text is refused: a stable code, and a message that tells the model what is wrong and how to fix it."""

    code: str
    message: str


def _compile(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# The order matters: the first sign found is reported to the model.
_ORDERS = {
    "chat_template": _compile(order_signs.TEMPLATE_TOKENS),
    "tool_message": _compile(order_signs.TOOL_MESSAGES),
    "instruction_override": _compile(order_signs.OVERRIDE),
    "prompt_extraction": _compile(order_signs.EXTRACTION),
    "data_exfiltration": _compile(order_signs.EXFILTRATION),
}
_PAYLOADS = {
    "data_link": _compile(payload_signs.DATA_LINK),
    "markup": _compile(payload_signs.MARKUP),
    "template_expression": _compile(payload_signs.TEMPLATE),
    "path_traversal": _compile(payload_signs.PATH),
    "sql": _compile(payload_signs.SQL),
    "command": _compile(payload_signs.COMMAND),
    "crafted_value": _compile(payload_signs.VALUES),
}


# All codes that a refusal may have.
CODES = frozenset((*_ORDERS, *_PAYLOADS, "internal_address", "secret_in_address", "structured_value"))


def check_query(text: str) -> Objection | None:
    """Return the objection to a cleaned search query, or None. Takes linear time."""
    if payload_signs.is_structure(text):
        return Objection(code="structured_value", message=f"It is a JSON value, not a search text. {_ASK_ABOUT}")
    reading = read_plain(text)
    if order := _find_unexcused_order(text, reading):
        return order
    if (payload := _find_payload(reading)) and not Asking(reading).has_topic():
        return Objection(code=payload, message=f"It is code or an address without a question about it. {_ASK_ABOUT}")
    return None


def check_context(text: str) -> Objection | None:
    """Return the objection to the cleaned background of a query, or None.

    It may contain code and addresses: the question about them is in the query.
    """
    return _find_unexcused_order(text, read_plain(text))


def check_keyword(text: str) -> str | None:
    """Return the code of the objection to a keyword, or None.

    This is stricter than for a search text: keywords are shared and shown to the model in later questions, so a
    question about an attack is no excuse.
    """
    plain = read_plain(text)
    for reading in (plain, *read_disguised(text, plain)):
        if code := _find_order(reading, asking_excuses=False) or _find_payload(reading):
            return code
    return None


def _find_unexcused_order(text: str, plain: str) -> Objection | None:
    codes = (_find_order(reading, asking_excuses=True) for reading in (plain, *read_disguised(text, plain)))
    code = next(filter(None, codes), None)
    if code is None:
        return None
    return Objection(code=code, message=f"It gives orders to a model or poses as its messages. {_ASK}")


def _find_payload(reading: str) -> str | None:
    if payload_signs.contains_internal_address(reading):
        return "internal_address"
    if payload_signs.contains_secret(reading):
        return "secret_in_address"
    return next((code for code, signs in _PAYLOADS.items() if signs.search(reading)), None)


def _find_order(reading: str, *, asking_excuses: bool) -> str | None:
    """Return the code of the first order that is not excused."""
    asking: Asking | None = None
    for code, signs in _ORDERS.items():
        for sign in signs.finditer(reading):
            asking = asking or Asking(reading)
            if not (asking_excuses and asking.excuses(sign)):
                return code
    return None


def _refuse(code: str, message: str) -> NoReturn:
    raise PydanticCustomError(code, "{message}", {"message": f"refused ({code}): {message}"})


def _refuse_if(check: Callable[[str], Objection | None]) -> AfterValidator:
    def validate(text: str) -> str:
        if objection := check(text):
            _refuse(objection.code, objection.message)
        return text

    return AfterValidator(validate)


Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2000),
    _refuse_if(check_query),
]
Context = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000), _refuse_if(check_context)]
