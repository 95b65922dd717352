"""Computes what a question costs: from the knowledge base, from the web, and from learned web answers.

    .venv/bin/python benchmarks/cost.py

Prints tokens, store requests and USD at the prices in infra/prices.py. Nothing is timed, so every run prints the same
figures, except for a token or two of the ids and milliseconds in prompts. They change with the prompts, the handbook
and the prices. Each figure is the mean of several questions that start a session. "With caching" assumes that questions
of all kinds were asked shortly before, so that the provider has cached all it can. The script fails if a learned
question is not cheaper than one from the web, or if an answer waits for more than two round trips to the store (three
in a session).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.tools.registry import TOOLS, tool_spec
from gleaner_local.ingestion.run import ingest
from harness import cost_prices
from harness.cost_prices import CostedQuestion
from harness.cost_questions import TOPICS, Kind, Measurement, Place, Questioner
from harness.keyword_tables import KB_ID, print_table
from harness.local_services import running
from harness.prompt_tokens import PromptCache, shared

DOCS = Path(__file__).resolve().parents[1] / "docs"
MAX_ROUND_TRIPS = 2  # for a question that starts a session

ByKind = Mapping[Kind, Sequence[CostedQuestion]]


def main() -> None:
    """Print the tables; fail if a limit is exceeded."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), load=load) as local:
        questioner = Questioner(local)
        in_session = ask_in_session(questioner)
        questions = ask(questioner)
        known_web, _ = questioner.ask(TOPICS[1], Kind.WEB)
    usd = {kind: cost_prices.usd(questions[kind]) for kind in Kind}
    print_use(questions)
    print_waits(questions, in_session, known_web)
    print_beginnings(questions)
    print_usd(questions, usd)
    learned, web = (sum(usd[kind].values()) for kind in (Kind.LEARNED, Kind.WEB))
    print(
        f"\nA learned question costs {learned / web:.0%} of one from the web: {web - learned:.2f} USD less for 1,000."
    )
    measurements = [item.measurement for items in questions.values() for item in items]
    slow_questions = [
        *(measurement for measurement in measurements if measurement.round_trips() > MAX_ROUND_TRIPS),
        *(measurement for measurement in in_session.values() if measurement.round_trips() > MAX_ROUND_TRIPS + 1),
    ]
    if learned >= web or slow_questions:
        sys.exit("A limit is exceeded, see above.")


def load(knowledge_base: KnowledgeBase) -> None:
    """Load the handbook."""
    ingest([DOCS], kb_id=KB_ID, knowledge_base=knowledge_base, prune=False, progress=lambda _: None)


def ask(questioner: Questioner) -> ByKind:
    """Ask about every topic and measure the questions, except those of the first topic, which fill the caches."""
    specs = [tool_spec(name) for name in TOOLS]
    functions = [{"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in specs]
    cache, cache_with_all_tools = PromptCache(), PromptCache()
    questions: dict[Kind, list[CostedQuestion]] = {kind: [] for kind in Kind}
    for topic in TOPICS:
        for kind in Kind:
            measurement, _ = questioner.ask(topic, kind)
            prompts = [prompt.with_tools(functions) for prompt in measurement.prompts]
            questions[kind].append(
                CostedQuestion(
                    measurement=measurement,
                    cached=tuple(map(cache.send, measurement.prompts)),
                    cached_with_all_tools=tuple(map(cache_with_all_tools.send, prompts)),
                    input_with_all_tools=sum(len(prompt.tokens()) for prompt in prompts),
                )
            )
    return {kind: items[1:] for kind, items in questions.items()}


def ask_in_session(questioner: Questioner) -> dict[Kind, Measurement]:
    """Ask a question of each kind about the first topic, in a session that has one turn."""
    _, session_id = questioner.ask(TOPICS[0], Kind.KNOWLEDGE_BASE)
    return {kind: questioner.ask(TOPICS[0], kind, session_id)[0] for kind in Kind}


def print_use(questions: ByKind) -> None:
    """Print tokens and units."""
    figures: dict[str, Callable[[CostedQuestion], float]] = {
        "model calls": lambda item: len(item.measurement.prompts),
        "input tokens": CostedQuestion.input_tokens,
        "- tool schemas": lambda item: sum(len(prompt.tools) for prompt in item.measurement.prompts),
        "- system prompt": lambda item: sum(len(prompt.system) for prompt in item.measurement.prompts),
        "- question, passages, earlier calls": lambda item: sum(
            len(prompt.rest) for prompt in item.measurement.prompts
        ),
        "input tokens from the cache": lambda item: sum(item.cached),
        "output tokens": lambda item: item.measurement.output_tokens,
        "requests of DynamoDB": lambda item: len(item.measurement.requests),
        "- read units": CostedQuestion.read_units,
        "- write units": CostedQuestion.write_units,
    }
    rows = [
        row(name, [fmean(map(figure, questions[kind])) for kind in Kind], "{:,.0f}") for name, figure in figures.items()
    ]
    print_table("For one question (means)", columns(), rows)


def print_waits(questions: ByKind, in_session: Mapping[Kind, Measurement], known_web: Measurement) -> None:
    """Print store requests by what waits for them. The keywords of `known_web` were stored before."""
    longest_waits = [max(item.measurement.round_trips() for item in questions[kind]) for kind in Kind]
    rows = [
        ("the answer alone, one after another", *longest_waits),
        ("- in a session", *(in_session[kind].round_trips() for kind in Kind)),
        (
            "- with keywords that were known",
            *(known_web.round_trips() if kind is known_web.kind else "" for kind in Kind),
        ),
    ]
    for name, place in (("beside the vector search", Place.LOOK_UP), ("beside the model calls", Place.BESIDE)):
        rows.append(
            row(name, [fmean(item.measurement.count(place) for item in questions[kind]) for kind in Kind], "{:.0f}")
        )
    print_table("Requests of DynamoDB for one question by what waits for them", columns(), rows)


def print_beginnings(questions: ByKind) -> None:
    """Print the beginnings that the model requests of different questions, and of one question, share."""
    longest = max((item.measurement for item in questions[Kind.WEB]), key=lambda item: len(item.prompts))
    all_prompts = [item.measurement.prompts for kind in Kind for item in questions[kind]]
    rows = []
    for number, _ in enumerate(longest.prompts):
        prefixes = {prompts[number].tools + prompts[number].system for prompts in all_prompts if number < len(prompts)}
        rows.append((f"call {number + 1}", len(prefixes), max(map(len, prefixes))))
    print_table("Tools and system prompt, by model call", ("", "different ones", "tokens"), rows)
    common = [shared(call.tokens(), other.tokens()) for call, other in pairwise(longest.prompts)]
    print(f"\nTokens that a call of a question begins with as the call before it did: {common}")


def print_usd(questions: ByKind, usd: Mapping[Kind, Mapping[str, float]]) -> None:
    """Print the table of prices, with and without caching."""
    by_kind = [questions[kind] for kind in Kind]
    rows = [row(part, [usd[kind][part] for kind in Kind], "{:.4f}") for part in usd[Kind.WEB]]
    rows.append(row("together", [sum(usd[kind].values()) for kind in Kind], "{:.2f}"))
    rows.append(row("with caching", list(map(cost_prices.with_caching, by_kind)), "{:.2f}"))
    rows.append(row("- share of input cached", [cached_share(items) for items in by_kind], "{:.0%}"))
    rows.append(row("if every call offered all tools", list(map(cost_prices.with_all_tools, by_kind)), "{:.2f}"))
    rows.append(row("- share of input cached", [cached_share_with_all_tools(items) for items in by_kind], "{:.0%}"))
    print_table(f"USD for {cost_prices.QUESTIONS:,} questions", columns(), rows)


def cached_share(questions: Sequence[CostedQuestion]) -> float:
    """The cached share of the input tokens of the actual loop."""
    return sum(sum(item.cached) for item in questions) / sum(item.input_tokens() for item in questions)


def cached_share_with_all_tools(questions: Sequence[CostedQuestion]) -> float:
    """The cached share of the input tokens if every call offered all tools."""
    return sum(sum(item.cached_with_all_tools) for item in questions) / sum(
        item.input_with_all_tools for item in questions
    )


def columns() -> tuple[str, ...]:
    """The column titles of a table by kind of question."""
    return "", *(kind.value for kind in Kind)


def row(name: str, figures: Sequence[float], form: str) -> tuple[str, ...]:
    """A row of a table."""
    return name, *(form.format(figure) for figure in figures)


if __name__ == "__main__":
    main()
