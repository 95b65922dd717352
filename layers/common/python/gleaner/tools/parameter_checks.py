"""What the model may write into a search text, a keyword or an id, judged by what that parameter can harm.

A search text is read by an index and by the language model of a web search. Nothing in this service executes it,
so a text ABOUT an attack is a search like any other. What is refused is a text that IS an attack: one that gives
orders to a model, or code and addresses with nothing asked about them.
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
from gleaner.guards.screening.unmasking import disguised, plain

_ASK = "Search for a topic: say in a question of your own what the user wants to know, without orders to a model."
_ASK_ABOUT = "Say in a sentence what is to be found out about it, such as 'How does ... work?' or '... explained'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a text is not taken: a stable code, and what is wrong and how to mend it, for the model."""

    code: str
    message: str


_ID = re.compile(r"[\w.:-]{0,64}", re.ASCII)


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# In this order: the first sign found is the one that the model is told.
_ORDERS = {
    "chat_template": _compiled(order_signs.TEMPLATE_TOKENS),
    "tool_message": _compiled(order_signs.TOOL_MESSAGES),
    "instruction_override": _compiled(order_signs.OVERRIDE),
    "prompt_extraction": _compiled(order_signs.EXTRACTION),
    "data_exfiltration": _compiled(order_signs.EXFILTRATION),
}
_PAYLOADS = {
    "data_link": _compiled(payload_signs.DATA_LINK),
    "markup": _compiled(payload_signs.MARKUP),
    "template_expression": _compiled(payload_signs.TEMPLATE),
    "path_traversal": _compiled(payload_signs.PATH),
    "sql": _compiled(payload_signs.SQL),
    "command": _compiled(payload_signs.COMMAND),
    "crafted_value": _compiled(payload_signs.VALUES),
}


# Every code that a refusal may carry.
CODES = frozenset((*_ORDERS, *_PAYLOADS, "internal_address", "secret_in_address", "structured_value", "malformed_id"))


def query_objection(text: str) -> Objection | None:
    """What stands against taking `text`, which is cleaned, as a search query, or None. Linear in its length."""
    if payload_signs.is_structure(text):
        return Objection(code="structured_value", message=f"It is a JSON value, not a search text. {_ASK_ABOUT}")
    reading = plain(text)
    if order := _unexcused_order(text, reading):
        return order
    if (payload := _payload_in(reading)) and not Asking(reading).has_topic():
        return Objection(code=payload, message=f"It is code or an address with nothing asked about it. {_ASK_ABOUT}")
    return None


def context_objection(text: str) -> Objection | None:
    """What stands against `text`, which is cleaned, as the background of a query, or None.

    Code and addresses may stand there: what is asked about them is in the query.
    """
    return _unexcused_order(text, plain(text))


def keyword_objection(text: str) -> str | None:
    """The code of what stands against `text` as a keyword, or None.

    Stricter than for a search text: a keyword is shared and shown to the model in later questions, so nothing
    excuses it.
    """
    reading = plain(text)
    for seen in (reading, *disguised(text, reading)):
        if code := _order_in(seen, asking_excuses=False) or _payload_in(seen):
            return code
    return None


def _unexcused_order(text: str, reading: str) -> Objection | None:
    orders = (_order_in(seen, asking_excuses=True) for seen in (reading, *disguised(text, reading)))
    code = next(filter(None, orders), None)
    if code is None:
        return None
    return Objection(code=code, message=f"It gives orders to a model or poses as its messages. {_ASK}")


def _payload_in(reading: str) -> str | None:
    if payload_signs.names_inner_address(reading):
        return "internal_address"
    if payload_signs.holds_secret(reading):
        return "secret_in_address"
    return next((code for code, signs in _PAYLOADS.items() if signs.search(reading)), None)


def _order_in(reading: str, *, asking_excuses: bool) -> str | None:
    """The code of the first sign of an order that is not excused."""
    asking: Asking | None = None
    for code, signs in _ORDERS.items():
        for found in signs.finditer(reading):
            asking = asking or Asking(reading)
            if not (asking_excuses and asking.excuses(found)):
                return code
    return None


def _refuse(code: str, message: str) -> NoReturn:
    raise PydanticCustomError(code, "{message}", {"message": f"refused ({code}): {message}"})


def _unobjectionable(objection: Callable[[str], Objection | None]) -> AfterValidator:
    def check(text: str) -> str:
        if found := objection(text):
            _refuse(found.code, found.message)
        return text

    return AfterValidator(check)


def _well_formed(text: str) -> str:
    if not _ID.fullmatch(text):
        _refuse("malformed_id", "It is no id. Give an id as a tool returned it, or leave it out.")
    return text


Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2000),
    _unobjectionable(query_objection),
]
Context = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000), _unobjectionable(context_objection)]
# An id is only ever compared with those that are known. Models write an empty one for none.
Id = Annotated[str, AfterValidator(_well_formed)]
