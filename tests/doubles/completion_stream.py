"""Reads the stream of a chat completion as OpenAI's clients do."""

from __future__ import annotations

from typing import Any

from openai.types.chat import ChatCompletionChunk

from tests.doubles.event_stream import Part, read_parts


def read_chunks(body: str) -> tuple[list[Part], dict[str, Any] | None]:
    """The chunks of a whole stream, each as the SDK's type takes it, and the error that ended it, if one did."""
    parts = read_parts(body)
    errors = [part for part in parts if "error" in part]
    assert errors in ([], parts[-1:]), "nothing follows an error"
    chunks = [part for part in parts if "error" not in part]
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
    heads = {(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}
    assert len(heads) <= 1, "all chunks are of one completion"
    return chunks, errors[0]["error"] if errors else None


def content_of(chunks: list[Part]) -> str:
    """The text that a client puts together."""
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)
