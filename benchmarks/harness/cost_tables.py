"""The tables and sentences of the handbook on what a question costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from harness import cost_prices
from harness.cost_prices import QUESTIONS, CostedQuestion
from harness.cost_questions import Kind
from harness.handbook import Sentence, Table
from harness.prompt_tokens import InputTokens
from infra.prices import AWS, WEB_MODELS, WEB_SEARCH_TOOL

ByKind = Mapping[Kind, Sequence[CostedQuestion]]

_KINDS = ("Knowledge base", "Web", "Learned")
_MILLION = "÷ 1,000,000"


def alone(question: CostedQuestion) -> InputTokens:
    """The input tokens of a question that finds the provider's cache empty."""
    return question.alone


def after_others(question: CostedQuestion) -> InputTokens:
    """The input tokens of a question that is asked shortly after others."""
    return question.after_others


def handbook_parts(questions: ByKind) -> tuple[Table | Sentence, ...]:
    """What the handbook says, as computed."""
    totals = {kind: sum(cost_prices.usd(questions[kind], alone).values()) for kind in Kind}
    saved = totals[Kind.WEB] - totals[Kind.LEARNED]
    return (
        _use(questions),
        _prices(questions),
        _caching(questions),
        Sentence(
            "1,000 questions cost about {} USD from the knowledge base, {} USD with a web search, and {} USD from what "
            "was learned",
            tuple(f"{totals[kind]:.2f}" for kind in Kind),
        ),
        Sentence(
            "costs {} % of one that asks the web: {} USD less for 1,000 questions",
            (f"{100 * totals[Kind.LEARNED] / totals[Kind.WEB]:.0f}", f"{saved:.2f}"),
        ),
    )


def _use(questions: ByKind) -> Table:
    figures: dict[str, Callable[[CostedQuestion], float]] = {
        "model calls": lambda item: len(item.measurement.prompts),
        "input tokens": lambda item: item.alone.total(),
        "of these, tool schemas": lambda item: sum(
            len(tokens) for prompt in item.measurement.prompts for tokens in prompt.tools.values()
        ),
        "of these, system prompt": lambda item: sum(len(prompt.system) for prompt in item.measurement.prompts),
        "of these, from the provider's cache, asked alone": lambda item: item.alone.read,
        "of these, from the provider's cache, asked after others": lambda item: item.after_others.read,
        "output tokens": lambda item: item.measurement.output_tokens,
        "DynamoDB requests": lambda item: len(item.measurement.requests),
        "DynamoDB read units": CostedQuestion.read_units,
        "DynamoDB write units": CostedQuestion.write_units,
    }
    rows = [
        (name, *(f"{fmean(map(figure, questions[kind])):,.0f}" for kind in Kind)) for name, figure in figures.items()
    ]
    return Table(("For one question", *_KINDS), rows)


def _prices(questions: ByKind) -> Table:
    model, web = cost_prices.MODEL, WEB_MODELS["perplexity/sonar"]
    write = model.input if model.cache_write is None else model.cache_write
    seconds = " / ".join(f"{questions[kind][0].seconds():.1f}" for kind in Kind)
    usd = {kind: cost_prices.usd(questions[kind], alone) for kind in Kind}
    index = " / ".join(f"{usd[kind]['Pinecone'] / QUESTIONS:.7f}" for kind in Kind)
    names = {
        "model: input written to its cache": "model, input written to its cache (`gpt-6-luna`): "
        f"tokens × {write} {_MILLION}",
        "model: input read from its cache": "model, input read from its cache: "
        f"tokens × {model.cached_input} {_MILLION}",
        "model: input": f"model, other input: tokens × {model.input:.2f} {_MILLION}",
        "model: output": f"model, output: tokens × {model.output:.2f} {_MILLION}",
        "web search": f"web search: {WEB_SEARCH_TOOL} + 2,000 tokens × {web.input} {_MILLION} + "
        f"400 × {web.output:.2f} {_MILLION}",
        "DynamoDB": f"DynamoDB: reads × {AWS.read_million} {_MILLION} + writes × {AWS.write_million} {_MILLION}",
        "Lambda": f"Lambda: {seconds} s × {cost_prices.MEMORY_GB} GB × {AWS.gb_second:.10f}, and "
        f"{AWS.invocation_million / 1e6:.7f}",
        "Pinecone": f"Pinecone: {index}",
        "API Gateway": f"API Gateway: {AWS.api_request_million:.2f} {_MILLION}",
        "AWS WAF": f"AWS WAF, where it is on: {AWS.web_acl_request_million:.2f} {_MILLION}",
        "logs and traces": f"logs and traces: {cost_prices.LOG_BYTES:,} bytes × {AWS.log_gb:.2f} a GB, and "
        f"{AWS.trace_million:.2f} {_MILLION}",
    }
    rows = [(text, *(f"{usd[kind][part]:.4f}" for kind in Kind)) for part, text in names.items()]
    rows.append(("together", *(f"{sum(usd[kind].values()):.2f}" for kind in Kind)))
    later = [sum(cost_prices.usd(questions[kind], after_others).values()) for kind in Kind]
    rows.append(("the same, asked after others", *(f"{total:.2f}" for total in later)))
    return Table((f"USD for {QUESTIONS:,} questions that are asked alone", *_KINDS), rows)


def _caching(questions: ByKind) -> Table:
    rows = [
        *_row(questions, "USD without a cache", CostedQuestion.without_caching),
        *_row(questions, "USD, asked alone", alone, writes=True, share="share that is read from the cache"),
        *_row(
            questions, "USD, asked after others", after_others, writes=True, share="share that is read from the cache"
        ),
        *_row(
            questions,
            "USD, asked after others, if each call offered callable tools only",
            lambda item: item.with_callable_tools_only,
            share="share that would be read from the cache",
        ),
    ]
    return Table((f"Model input for {QUESTIONS:,} questions", *_KINDS), rows)


def _row(
    questions: ByKind, name: str, asked: cost_prices.Asked, *, writes: bool = False, share: str = ""
) -> Iterator[tuple[str, ...]]:
    parts = [cost_prices.usd(questions[kind], asked) for kind in Kind]
    inputs = [sum(usd for part, usd in each.items() if part.startswith("model: input")) for each in parts]
    yield name, *(f"{usd:.2f}" for usd in inputs)
    if writes:
        yield "- of this, writes to the cache", *(f"{each['model: input written to its cache']:.2f}" for each in parts)
    if share:
        shares = (cost_prices.cached_share(questions[kind], asked) for kind in Kind)
        yield f"- {share}", *(f"{100 * cached:.0f} %" for cached in shares)
