"""A LiteLLM proxy."""

from __future__ import annotations

from tests.doubles.providers.front import Json, Refused
from tests.doubles.providers.openai_chat import WantsNoEffort


class InFrontOfOpenAI(WantsNoEffort):
    """Passes requests on to a model of OpenAI and wraps its refusals (BerriAI/litellm#34569)."""

    prefix = ""

    def check(self, body: Json) -> None:
        try:
            # It renames the bound of the output by itself.
            super().check({name: value for name, value in body.items() if name != "max_tokens"})
        except Refused as refused:
            message = refused.body["error"]["message"]
            raise _refused(f"litellm.BadRequestError: OpenAIException - {message}") from None


class RefusesEffort(WantsNoEffort):
    """Refuses by itself what it knows a model not to take (BerriAI/litellm#33738)."""

    prefix = ""
    model = "mistral/mistral-small"

    def check(self, body: Json) -> None:
        if "reasoning_effort" in body:
            raise _refused(
                "litellm.UnsupportedParamsError: openai does not support parameters: ['reasoning_effort'], "
                f"for model={self.model}. To drop these, set `litellm.drop_params=True` or for proxy:\n\n"
                "`litellm_settings:\n drop_params: true`\n"
            )


def _refused(message: str) -> Refused:
    groups = "Received Model Group=X\nAvailable Model Group Fallbacks=None"
    error = {"message": f"{message}. {groups}", "type": "invalid_request_error", "param": None, "code": "400"}
    return Refused(400, {"error": error})
