"""Asks by OpenAI's protocol, as the tests of that door do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from openai.types.chat import ChatCompletion

from tests.conftest import Client, proxy_event
from tests.doubles.completion_stream import content_of, read_chunks
from tests.doubles.event_stream import Part, Reader

PATH = "/v1/chat/completions"
QUESTION = "How are duplicates merged?"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@dataclass(frozen=True, slots=True)
class Door:
    """Chat completions over the API."""

    client: Client

    def ask(self, *messages: Any, key: str | None = None, caller: str = "local", **body: Any) -> tuple[int, Any]:
        """Status and body of a completion that is sent whole: one that OpenAI's types take, or an error."""
        response = self.send(*messages, key=key, caller=caller, **body)
        document = json.loads(response["body"])
        if response["statusCode"] == 200:
            ChatCompletion.model_validate(document, strict=True)
        else:
            assert set(document) == {"error"} and {"message", "type", "param", "code"} <= set(document["error"])
        return response["statusCode"], document

    def follow(self, *messages: Any, key: str | None = None, **body: Any) -> tuple[list[Part], dict[str, Any] | None]:
        """The chunks of a completion that streams, and the error that ended it, if one did."""
        response = self.send(*messages, key=key, reader=Reader(), stream=True, **body)
        assert response["multiValueHeaders"]["Content-Type"] == ["text/event-stream"], response["body"]
        return read_chunks(response["body"])

    def send(
        self, *messages: Any, key: str | None = None, caller: str = "local", reader: Reader | None = None, **body: Any
    ) -> dict[str, Any]:
        """The response to a request; without messages it asks a question."""
        headers = {"content-type": "application/json", "host": "gleaner.example"}
        headers |= {"idempotency-key": key} if key else {}
        request = {"model": "gleaner", "messages": list(messages) or [user()]} | body
        event = proxy_event("POST", PATH, caller) | {"body": json.dumps(request), "headers": headers}
        event["multiValueHeaders"] = {name: [value] for name, value in headers.items()}
        return self.client.send(event, reader)


def user(content: Any = QUESTION) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content}


def says_of(completion: dict[str, Any]) -> str:
    """The text of a completion."""
    text: str = completion["choices"][0]["message"]["content"]
    return text


__all__ = ("PATH", "QUESTION", "Door", "content_of", "says_of", "user")
