"""Amazon Bedrock's OpenAI-compatible endpoint.

docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html; the answers are those of a recorded exchange
(pydantic-ai tests/models/cassettes/test_bedrock_mantle).
"""

from __future__ import annotations

from tests.doubles.providers.front import ChatProvider, Json, openai_error
from tests.doubles.providers.openai_chat import WantsNoEffort
from tests.doubles.providers.openai_responses import OpenAIResponses


class _Responses(OpenAIResponses):
    def call_id(self, position: int) -> str:
        return f"call_{position}"  # unique only within one response


class Mantle(WantsNoEffort):
    """A model of OpenAI on Mantle: Responses only (enricoros/big-AGI#1167)."""

    prefix = "/openai/v1"
    model = "openai.gpt-6-luna"
    responses = _Responses

    def check(self, body: Json) -> None:
        raise openai_error(f"The model '{self.model}' does not support the '/v1/chat/completions' API")


class Runtime(WantsNoEffort):
    """The same on the runtime endpoint, whose chat completions refuse what OpenAI's do (litellm#40775)."""

    prefix = "/openai/v1"
    model = "us.openai.gpt-6-luna"
    responses = _Responses


class OpenWeights(ChatProvider):
    """gpt-oss by chat completions; unsupported parameters are refused (brainlid/langchain#356)."""

    model = "openai.gpt-oss-120b"

    def check(self, body: Json) -> None:
        for name in ("frequency_penalty", "presence_penalty", "logit_bias"):
            if name in body:
                raise openai_error(f"The '{name}' parameter is not supported")
