"""Puts a response of the Responses API together that arrives as events."""

from __future__ import annotations

from collections.abc import Iterator

from gleaner.clients._growing_call import GrowingCall
from gleaner.clients._json_values import as_object, as_string
from gleaner.clients._server_sent_events import ServerSentEvent
from gleaner.model import JsonObject

_LAST = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "error")
_FILLED = ("response.completed", "response.incomplete", "")  # what may lack the output that was streamed


class ResponseStream:
    """A response so far."""

    def __init__(self) -> None:
        self._response: JsonObject = {}
        self._items: dict[int, JsonObject] = {}  # by their place in the output
        self._calls: dict[int, GrowingCall] = {}
        self._last = ""  # the event that ended it
        self._is_done = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to be read."""
        return bool(self._last) or self._is_done

    @property
    def has_ended(self) -> bool:
        """Whether the service said that this is the end."""
        return bool(self._last)

    @property
    def is_usable(self) -> bool:
        """Whether the response came to its end, or has calls that are all whole."""
        return self.has_ended or (bool(self._calls) and all(call.is_whole for call in self._calls.values()))

    def add(self, event: ServerSentEvent) -> Iterator[tuple[int, GrowingCall]]:
        """Take in one event. Yields the call that grew and its position in the turn."""
        data = event.data
        kind = as_string(data.get("type")) or event.name
        self._is_done = self._is_done or event.is_last
        if response := as_object(data.get("response")):
            self._response = response
        if kind in _LAST:
            self._last = kind
        if kind == "error" or (not kind and data.get("error")):
            self._last, self._response = "error", {"error": data.get("error") or data}
        elif kind in ("response.output_item.added", "response.output_item.done"):
            yield from self._add_item(self._place(data), as_object(data.get("item")))
        elif kind == "response.function_call_arguments.delta":
            yield from self._add_arguments(self._place(data), data.get("delta"))
        elif kind == "response.function_call_arguments.done":
            yield from self._end_arguments(self._place(data), data.get("arguments"))

    def answer(self) -> JsonObject:
        """The response as it would have come whole.

        Some servers end with an empty output, though they sent its items (QuantumNous/new-api#4362).
        """
        if self._response.get("output") or self._last not in _FILLED or not self._items:
            return self._response
        return self._response | {"output": [self._item(place) for place in sorted(self._items)]}

    def _item(self, place: int) -> JsonObject:
        call = self._calls.get(place)
        return self._items[place] | ({"arguments": call.arguments} if call else {})

    def _place(self, data: JsonObject) -> int:
        """The place in the output that an event is about. The ids of GitHub's change in each event (litellm#30071)."""
        if isinstance(index := data.get("output_index"), int):
            return index
        item_id = data.get("item_id") or as_object(data.get("item")).get("id")
        same = [place for place, item in self._items.items() if item_id and item.get("id") == item_id]
        if same or "item" in data:
            return same[0] if same else max(self._items, default=-1) + 1
        return max(self._calls, default=0)

    def _add_item(self, place: int, item: JsonObject) -> Iterator[tuple[int, GrowingCall]]:
        self._items[place] = item
        if item.get("type") == "function_call":
            call = self._calls.setdefault(place, GrowingCall())
            call.name = as_string(item.get("name"))
            yield from self._end_arguments(place, item.get("arguments"))

    def _add_arguments(self, place: int, piece: object) -> Iterator[tuple[int, GrowingCall]]:
        if place in self._calls:
            self._calls[place].append(piece)
            yield self._position(place), self._calls[place]

    def _end_arguments(self, place: int, arguments: object) -> Iterator[tuple[int, GrowingCall]]:
        """Take the whole arguments, which may come without a delta before them."""
        if place in self._calls and arguments:
            self._calls[place].arguments = arguments
            yield self._position(place), self._calls[place]

    def _position(self, place: int) -> int:
        return sum(other < place for other in self._calls)
