"""Azure OpenAI's v1 endpoint: OpenAI's APIs with deployments for models, and with content filters.

learn.microsoft.com: openai/api-version-lifecycle; openai/openai-node docs/azure.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.doubles.providers import openai_responses
from tests.doubles.providers.front import Json, Refused
from tests.doubles.providers.openai_chat import OpenAIChat, WantsNoEffort
from tests.doubles.providers.openai_responses import OpenAIResponses, Reasoning54

DEPLOYMENT = "my-deployment"
FORBIDDEN = "how do I hurt"  # a prompt that holds it is filtered
_SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


class AzureResponses(OpenAIResponses):
    """A deployment, asked by Responses."""

    prefix = "/openai/v1"

    def check(self, body: Json) -> None:
        _check(body, str(body["input"]))
        super().check(body)

    def answer(self, path: str, body: Json) -> Json:
        filters = {"blocked": False, "source_type": "prompt", "content_filter_results": _SAFE}
        return super().answer(path, body) | {"content_filters": [filters]}


class OldResponses(AzureResponses, Reasoning54):
    """A deployment of an earlier model, of which its name says nothing."""


class NotReasoning(AzureResponses, openai_responses.NotReasoning):
    """A deployment of a model without reasoning."""


class AzureChat(OpenAIChat):
    """A deployment, asked by chat completions."""

    prefix = "/openai/v1"

    def check(self, body: Json) -> None:
        _check(body, str(body["messages"]))
        super().check(body)

    def chunks(self, completion: Json, body: Json) -> Iterator[Json]:
        """The first chunk has no choices, the last one no delta (microsoft/semantic-kernel#3650, autogen#6465)."""
        filters = {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": _SAFE}]}
        yield {"id": "", "choices": [], "created": 0, "model": "", "object": ""} | filters
        yield from super().chunks(completion, body)
        offsets = {"check_offset": 1, "start_offset": 0, "end_offset": 1}
        yield {"id": "", "choices": [{"finish_reason": None, "index": 0, "content_filter_offsets": offsets}]}

    def completion(self, message: Json, finish_reason: str, body: Json) -> Json:
        answer = super().completion(message, finish_reason, body)
        answer["choices"][0]["content_filter_results"] = {}
        return answer | {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": _SAFE}]}


class NewChat(AzureChat, WantsNoEffort):
    """A deployment of gpt-5.6, asked by chat completions."""


def _check(body: Json, prompt: str) -> None:
    if body["model"] != DEPLOYMENT:
        error = {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}
        raise Refused(404, {"error": error})
    if FORBIDDEN in prompt:
        # compl-ai/compl-ai#20, tatsu-lab/alpaca_eval#430
        result = _SAFE | {"violence": {"filtered": True, "severity": "medium"}}
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": result}
        message = (
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please "
            "modify your prompt and retry. To learn more about our content filtering policies please read our "
            "documentation: https://go.microsoft.com/fwlink/?linkid=2198766"
        )
        error = {"message": message, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
        raise Refused(400, {"error": error | {"innererror": inner}})
