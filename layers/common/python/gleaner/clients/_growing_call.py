"""A tool call whose parts arrive one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gleaner.clients._json_values import arguments_text, holds_object
from gleaner.model import JsonObject
from gleaner.text import drop_surrogates

_EMPTY = "{}"  # arguments of a call


@dataclass(slots=True, kw_only=True, eq=False)
class GrowingCall:
    """A call so far. `arguments` is text, or the value itself of a provider that does not encode it."""

    id: str = ""
    name: str = ""
    arguments: Any = ""
    fields: JsonObject = field(default_factory=dict)  # the other fields, as they came

    def append(self, piece: Any) -> None:
        """Add a piece of the arguments."""
        if isinstance(piece, str) and isinstance(self.arguments, str):
            # Gateways to Anthropic send its empty input before the pieces of the real one (BerriAI/litellm#4537).
            so_far = "" if self.arguments == _EMPTY and piece.startswith("{") else self.arguments
            self.arguments = join_text(so_far, piece)
        elif piece is not None and not self.arguments:
            self.arguments = piece

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a whole object, so that nothing can follow."""
        return holds_object(arguments_text(self.arguments), strict=False)

    @property
    def readable_arguments(self) -> str:
        """The beginning of the final text of the arguments, as far as it is certain.

        Empty for a text that is no object: arguments that are encoded twice, or within a list, are known at the end.
        """
        if not isinstance(self.arguments, str):
            return arguments_text(self.arguments)
        text = self.arguments
        if text == _EMPTY:
            return ""  # it may give way to real ones
        if not (text.startswith("{") or text.lstrip().startswith("{")):
            return ""
        if text.isascii():  # known without a look at the text, which is asked for at every piece
            return text
        return drop_surrogates(text[:-1] if _is_first_half(text[-1]) else text)


def join_text(text: str, piece: str) -> str:
    """Both texts as one: a service that counts in UTF-16 cuts between the two halves of a character, too."""
    if text and piece and _is_first_half(text[-1]) and "\udc00" <= piece[0] <= "\udfff":
        character = (text[-1] + piece[0]).encode("utf-16", "surrogatepass").decode("utf-16")
        return f"{text[:-1]}{character}{piece[1:]}"
    return text + piece


def _is_first_half(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"
