"""OpenAI's chat completions, which newer models take function tools by only without reasoning, or not at all.

Models that OpenAI serves by both APIs answer `/responses` as `openai_responses` does.
"""

from __future__ import annotations

from openai.types.chat import completion_create_params

from tests.doubles.providers.front import ChatProvider, Json, Refused, listed, openai_error
from tests.doubles.providers.openai_responses import OpenAIResponses, Reasoning54

_PARAMETERS = {
    "stream",
    *completion_create_params.CompletionCreateParamsBase.__annotations__,
}


class OpenAIChat(ChatProvider):
    """gpt-5.4 by chat: tools pass as long as no effort is sent (crewAIInc/crewAI#6660; pipecat-ai/pipecat#4043)."""

    model = "gpt-5.4"
    responses: type[OpenAIResponses] = Reasoning54

    def __init__(self) -> None:
        super().__init__()
        self._responses = self.responses()
        self._responses.model = self.model
        self.violations = self._responses.violations
        self.opaque = self._responses.opaque

    def answer(self, path: str, body: Json) -> Json:
        if path != "/responses":
            return super().answer(path, body)
        before = self._responses.useful
        answer = self._responses.answer(path, body)
        self.useful += self._responses.useful - before
        return answer

    def not_found(self) -> Refused:
        return openai_error("Invalid URL", status=404)

    def check(self, body: Json) -> None:
        for name in body:
            if name not in _PARAMETERS:
                # open-responses-server#41
                raise openai_error(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        if "max_tokens" in body:
            # microsoft/copilot-intellij-feedback#1592, fish2018/YPrompt#26
            raise openai_error(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        if body.get("tools"):
            self.check_effort(body.get("reasoning_effort"))

    def check_effort(self, effort: str | None) -> None:
        """Whether tools are taken with this effort. Raises Refused."""
        if effort is not None:
            raise openai_error(
                f"Function tools with reasoning_effort are not supported for {self.model} in /v1/chat/completions. "
                "Please use /v1/responses instead.",
                param="reasoning_effort",
            )


class RefusesTools(OpenAIChat):
    """gpt-5.5 as it answered on 2026-04-29, with the effort left out, too (jeffdafoe/llm-memory-api#178)."""

    model = "gpt-5.5"

    def check_effort(self, effort: str | None) -> None:
        super().check_effort(effort or "medium")


class WantsNoEffort(OpenAIChat):
    """gpt-5.6: tools with the effort none only (kagent-dev/kagent#2226, GEMISIS/leviath#333, BerriAI/litellm#34569)."""

    model = "gpt-5.6-luna"
    responses = OpenAIResponses

    def check_effort(self, effort: str | None) -> None:
        if effort != "none":
            raise openai_error(
                f"Function tools with reasoning_effort are not supported for {self.model} in /v1/chat/completions. "
                "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
                param="reasoning_effort",
            )


class TakesNoTools(WantsNoEffort):
    """gpt-6-astra: it must reason, so no effort makes tools pass (genkit-ai/genkit#6303)."""

    model = "gpt-6-astra"
    efforts = ("low", "medium", "high", "xhigh")

    def check_effort(self, effort: str | None) -> None:
        if effort == "none":
            raise openai_error(
                "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: "
                f"{listed(self.efforts)}.",
                param="reasoning_effort",
                code="unsupported_value",
            )
        super().check_effort(effort)


class OnlyResponses(OpenAIChat):
    """A model that chat completions do not know (n8n#18352)."""

    model = "gpt-5-pro"

    def check(self, body: Json) -> None:
        raise openai_error(
            "This model is only supported in v1/responses and not in v1/chat/completions.", param="model", status=404
        )
