"""What the model may write into a search text, a keyword or an id, judged by what that parameter can harm.

A search text is read by an index and by the language model of a web search. Nothing in this service executes it,
so a text ABOUT an attack is a search like any other. What is refused is a text that IS an attack: one that gives
orders to a model, or code and addresses with nothing asked about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from pydantic_core import PydanticCustomError

from gleaner.tools import order_signs, payload_signs
from gleaner.tools.asking import Asking
from gleaner.tools.unmasking import disguised, plain

_ASK = "Search for a topic: say in a question of your own what the user wants to know, without orders to a model."
_ASK_ABOUT = "Say in a sentence what is to be found out about it, such as 'How does ... work?' or '... explained'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a text is not taken: a stable code, and what is wrong and how to mend it, for the model."""

    code: str
    message: str


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
    "image_link": _compiled(payload_signs.IMAGE_LINK),
    "markup": _compiled(payload_signs.MARKUP),
    "template_expression": _compiled(payload_signs.TEMPLATE),
    "path_traversal": _compiled(payload_signs.PATH),
    "sql": _compiled(payload_signs.SQL),
    "command": _compiled(payload_signs.COMMAND),
    "crafted_value": _compiled(payload_signs.VALUES),
}


def objection(text: str) -> Objection | None:
    """What stands against taking `text`, a cleaned search text, or None. Linear in its length."""
    if payload_signs.is_structure(text):
        return Objection(code="structured_value", message=f"It is a JSON value, not a search text. {_ASK_ABOUT}")
    reading = plain(text)
    orders = (_order_in(seen, asking_excuses=True) for seen in (reading, *disguised(text, reading)))
    if order := next(filter(None, orders), None):
        return Objection(code=order, message=f"It gives orders to a model or poses as its messages. {_ASK}")
    if (payload := _payload_in(reading)) and not Asking(reading).has_topic():
        return Objection(code=payload, message=f"It is code or an address with nothing asked about it. {_ASK_ABOUT}")
    return None


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


def _unobjectionable(text: str) -> str:
    found = objection(text)
    if found is not None:
        raise PydanticCustomError(found.code, "{message}", {"message": f"refused ({found.code}): {found.message}"})  # type: ignore[arg-type]
    return text


_Checked = AfterValidator(_unobjectionable)
SearchText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), _Checked]
SearchContext = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000), _Checked]
