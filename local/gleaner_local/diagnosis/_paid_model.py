"""Asks the language model as a question does: for a search, and for the answer from what the search returned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from gleaner.clients.chat_model import Api
from gleaner.clients.dialect_changes import API_NAMES, describe_changes
from gleaner.clients.from_settings import connect_model
from gleaner.clients.secrets import ApiKeys
from gleaner.errors import AnswerRefused, DeadlineExceeded, GleanerError, ToolCallRejected
from gleaner.guards.untrusted import label_untrusted
from gleaner.model import ChatMessage, ModelTurn, TokenUsage
from gleaner.prompts import read_prompt
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import ModelPrices, Prices, estimate_cost
from gleaner.runtime.settings import Settings
from gleaner.tools import generate_response, knowledge_base_search
from gleaner.tools.registry import TOOLS
from gleaner_local.diagnosis._http_log import HttpLog, describe_times
from gleaner_local.diagnosis._model_service import SUBJECT
from gleaner_local.diagnosis._paid_remedies import find_remedy, usd
from gleaner_local.diagnosis.finding import Finding, Origin, State, note, ok, problem

_SECONDS = 120.0  # for each of the two calls: a small model on a CPU takes a minute
_SEARCH, _ANSWER = knowledge_base_search.NAME, generate_response.NAME
_QUESTION = "How many legs does a spider have?"
_PASSAGE = {"id": "kb-1", "content": "A spider has eight legs.", "score": 0.9, "title": "Spiders"}
_RESULT = {"chunks": [_PASSAGE | {"source_type": "knowledge_base"}], "total_chunks_found": 1}


def ask_model(settings: Settings, key: str, origin: Origin) -> Iterator[Finding]:
    """Make two calls with the model, prompts and tools of the query function; `key` is that of the model's service."""
    yield from _Trial(settings, key, origin).findings()


class _Trial:
    def __init__(self, settings: Settings, key: str, origin: Origin) -> None:
        keys = ApiKeys(openai=key, pinecone="", perplexity=None)
        self._log = HttpLog(reads_all=True)
        self._model = connect_model(settings, lambda: keys, event_hooks=self._log.event_hooks())
        self._first_dialect = self._model.dialect
        self._settings = settings
        self._origin = origin
        self._tools = [tool.spec() for tool in TOOLS.values()]
        self._messages = [
            ChatMessage(role="system", content=read_prompt("system")),
            ChatMessage(role="user", content=_QUESTION),
        ]
        self._turns: list[ModelTurn] = []
        self._seconds = 0.0

    def findings(self) -> Iterator[Finding]:
        """Call until something fails, then sum up."""
        try:
            # A question begins the same way. The second call may search again, as there.
            for callable_tools in ((_SEARCH,), (_SEARCH, _ANSWER)):
                turn, times = self._call(callable_tools)
                finding = self._judge(turn, callable_tools, times)
                yield finding
                if finding.state is State.PROBLEM:
                    break
        except GleanerError as error:
            yield self._explain(error)
        except ValueError:  # the key does not fit into a header
            yield problem(SUBJECT, "The key cannot be sent.", f"Put a valid key into {self._origin.key}.")
        yield from self._describe_dialect()
        if self._turns:
            yield self._describe_cost()
        if self._seconds > (allowed := self._settings.query_deadline_seconds):
            text = f"The calls took {self._seconds:.0f} s; a question has {allowed:g} s."
            yield note(SUBJECT, text, f"Choose a faster model in {self._origin.model}, or allow more time.")

    def _call(self, callable_tools: Sequence[str]) -> tuple[ModelTurn, str]:
        """The turn, and the times of its requests in words; the conversation then ends with the calls' results."""
        answered, began = len(self._log.exchanges), time.monotonic()
        deadline = Deadline.after(_SECONDS)
        turn = self._model.complete(self._messages, self._tools, callable_tools=callable_tools, deadline=deadline)
        seconds = time.monotonic() - began
        self._seconds += seconds
        self._turns.append(turn)
        self._messages += _with_results(turn)
        return turn, describe_times(self._log.exchanges[answered:], seconds)

    def _judge(self, turn: ModelTurn, callable_tools: Sequence[str], times: str) -> Finding:
        names = [call.name for call in turn.tool_calls]
        due, tokens = callable_tools[-1], _describe_tokens(turn.usage)
        if not names:
            return self._explain_missing_call(turn, due, times)
        if any(name not in callable_tools for name in names):
            text = f"Asked to call {' or '.join(callable_tools)}, the model called another tool. {times}"
            return problem(SUBJECT, text, f"Choose another model in {self._origin.model}.")
        try:
            for call in turn.tool_calls:
                TOOLS[call.name].parse(call.arguments)
        except ToolCallRejected as rejected:
            text = f"The model called {names[0]} with arguments that are refused ({rejected.code}). {times}"
            return problem(SUBJECT, text, f"Choose another model in {self._origin.model}.")
        if due not in names:
            return note(SUBJECT, f"The model searched again instead of answering. {times} {tokens}")
        return ok(SUBJECT, f"The model called {due}. {times} {tokens}")

    def _explain_missing_call(self, turn: ModelTurn, due: str, times: str) -> Finding:
        if turn.is_refused:
            text = "The model refused, or the provider's content filter ended the output,"
            remedy = self._filter_remedy()
        elif turn.finish_reason == "length":
            text = "The output reached its limit before the call"
            remedy = f"Raise OPENAI_MAX_COMPLETION_TOKENS, or lower {self._origin.effort}."
        else:
            text = "The model answered in plain text"
            remedy = f"Choose a model that calls tools in {self._origin.model}."
            if self._model.dialect.api is Api.RESPONSES:
                remedy += f" With {self._origin.api} chat, calls are also asked for as JSON that matches a schema."
        return problem(SUBJECT, f"{text} where a call of {due} was due. {times}", remedy)

    def _filter_remedy(self) -> str:
        return f"Look at the provider's filters, or choose another model in {self._origin.model}."

    def _explain(self, error: GleanerError) -> Finding:
        last = self._log.exchanges[-1] if self._log.exchanges else None
        if isinstance(error, DeadlineExceeded) or last is None or not last.failed:
            remedy = f"Check {self._origin.address}, and that {self._origin.model} names a model that is up."
            return problem(SUBJECT, str(error), remedy)
        if isinstance(error, AnswerRefused):
            text = f"The provider's content filter stopped the call ({last.describe()})."
            return problem(SUBJECT, text, self._filter_remedy())
        api = API_NAMES[self._model.dialect.api]
        text = f"The service refuses a call by {api} ({last.describe()})."
        return problem(SUBJECT, text, find_remedy(last, self._origin))

    def _describe_dialect(self) -> Iterator[Finding]:
        changes = describe_changes(self._first_dialect, self._model.dialect)
        if changes:
            text = f"It had to be asked differently from the first request: {'; '.join(changes)}."
            yield note(SUBJECT, text, self._prevention())
        if self._turns:
            model = self._turns[-1].model or "a model that the service does not name"
            steps = "" if changes else "; the first request was accepted as it was"
            yield ok(SUBJECT, f"It was asked by {API_NAMES[self._model.dialect.api]}, and {model} answered{steps}.")

    def _prevention(self) -> str:
        """What to set so that no process begins with a request that is refused."""
        first, current, origin = self._first_dialect, self._model.dialect, self._origin
        if current.api is not first.api:
            return f"Set {origin.api} to {current.api.value} to save a refused request."
        if current.effort and current.effort != first.effort:
            return f"Set {origin.effort} to {current.effort} to save a refused request."
        return ""

    def _describe_cost(self) -> Finding:
        usage = sum((turn.usage for turn in self._turns), TokenUsage())
        prices, source = _find_prices(self._settings)
        cost = estimate_cost(usage, (), Prices(model=prices)).estimated_usd
        price = "The price is unknown: OPENAI_PRICES is not set" if cost is None else f"Price: {usd(cost)} at {source}"
        return ok(SUBJECT, f"Calls: {len(self._turns)}. {_describe_tokens(usage)} {price}.")


def _with_results(turn: ModelTurn) -> Iterator[ChatMessage]:
    yield ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)
    result = json.dumps(label_untrusted(_RESULT), ensure_ascii=False)
    for call in turn.tool_calls:
        yield ChatMessage(role="tool", content=result, tool_call_id=call.id)


def _describe_tokens(usage: TokenUsage) -> str:
    return (
        f"Tokens: {usage.input_tokens} input ({usage.cached_input_tokens} cached), "
        f"{usage.output_tokens} output ({usage.reasoning_tokens} reasoning)."
    )


def _find_prices(settings: Settings) -> tuple[ModelPrices | None, str]:
    """The configured prices, or OpenAI's list prices of a model that is asked at OpenAI; and where they are from."""
    from infra.prices import MODELS  # plain records, which need nothing of the CDK

    listed = MODELS.get(settings.openai_model) if settings.openai_base_url is None else None
    if settings.prices.model or listed is None:
        return settings.prices.model, "the prices in OPENAI_PRICES"
    return ModelPrices(**asdict(listed)), "the list price in infra/prices.py"
