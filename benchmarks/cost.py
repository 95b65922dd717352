"""Computes what a question costs: from the knowledge base, from the web, and from learned web answers.

    .venv/bin/python benchmarks/cost.py

Prints tokens, store requests and USD at the prices in infra/prices.py. Nothing is timed, so every run prints the same
figures, except for a token or two of the ids and milliseconds in prompts. They change with the prompts, the handbook
and the prices. Each figure is the mean of several questions that start a session. The model is asked by the Responses
API.

The provider's cache is simulated with the rules of gpt-5.6 and later models (OpenAI's guide to prompt caching and
reports of measurements, docs/decisions/0015-models-and-providers.md): it holds prefixes of at least 1,024 tokens; a
request is cached up to its explicit breakpoint and up to its last message, and what was not cached before is written,
at a price of its own. "Alone" starts with an empty cache. "After others" assumes that questions of all kinds were asked
shortly before. Reasoning tokens are not counted: the scripted model writes none.

`--write` writes the tables into docs/11-costs-and-limits.md. The script fails if a figure there is off by more than
5 %, if a learned question is not cheaper than one from the web, if less than 55 % of the input is read from the cache
after other questions, or if an answer waits for more than two round trips to the store. One more is allowed in a
session, and for a question from the web, whose search begins when nobody else runs the same one. What counts a question
for the quotas of the day runs beside the history, the first call of the model and the turn
(tests/answering/test_admission.py).
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
from gleaner_local.ingestion.run import ingest
from harness import cost_prices, handbook
from harness.cost_prices import Asked, CostedQuestion
from harness.cost_questions import TOPICS, Kind, Measurement, Place, Questioner
from harness.cost_tables import ByKind, after_others, alone, handbook_parts
from harness.keyword_tables import KB_ID, print_table
from harness.local_services import running
from harness.prompt_tokens import InputTokens, Prompt, PromptCache, shared

DOCS = Path(__file__).resolve().parents[1] / "docs"
MAX_ROUND_TRIPS = {Kind.KNOWLEDGE_BASE: 2, Kind.WEB: 3, Kind.LEARNED: 2}  # for a question that starts a session
MIN_CACHED_SHARE = 0.55  # of the input of questions that are asked after others

# By how much a figure of the handbook may be off: the passages are the handbook's own, so each change of it moves some.
MAX_DIFFERENCE = 0.05


def main() -> None:
    """Print the tables; fail if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the tables into the handbook")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), load=load) as local:
        questioner = Questioner(local)
        in_session = ask_in_session(questioner)
        questions = ask(questioner)
        known_web, _ = questioner.ask(TOPICS[1], Kind.WEB)
    print_use(questions)
    print_waits(questions, in_session, known_web)
    print_beginnings(questions)
    print_usd(questions)
    print_caching(questions)
    learned, web = (sum(cost_prices.usd(questions[kind], alone).values()) for kind in (Kind.LEARNED, Kind.WEB))
    print(
        f"\nA learned question costs {learned / web:.0%} of one from the web: {web - learned:.2f} USD less for 1,000."
    )
    measurements = [item.measurement for items in questions.values() for item in items]
    slow_questions = [
        *(item for item in measurements if item.round_trips() > MAX_ROUND_TRIPS[item.kind]),
        *(item for item in in_session.values() if item.round_trips() > MAX_ROUND_TRIPS[item.kind] + 1),
    ]
    share = min(cost_prices.cached_share(items, after_others) for items in questions.values())
    parts = handbook_parts(questions)
    if options.write:
        handbook.write(parts)
    if outdated := list(handbook.differences(parts, tolerance=MAX_DIFFERENCE)):
        print("\n".join(["", *outdated, "Run benchmarks/cost.py --write."]))
    if outdated or learned >= web or slow_questions or share < MIN_CACHED_SHARE:
        sys.exit("A limit is exceeded, see above.")


def load(knowledge_base: KnowledgeBase) -> None:
    """Load the handbook."""
    ingest([DOCS], kb_id=KB_ID, knowledge_base=knowledge_base, prune=False, progress=lambda _: None)


def ask(questioner: Questioner) -> ByKind:
    """Ask about every topic and measure the questions, except those of the first topic, which fill the caches."""
    cache, cache_of_steps = PromptCache(), PromptCache()
    questions: dict[Kind, list[CostedQuestion]] = {kind: [] for kind in Kind}
    for topic in TOPICS:
        for kind in Kind:
            measurement, _ = questioner.ask(topic, kind)
            prompts = measurement.prompts
            questions[kind].append(
                CostedQuestion(
                    measurement=measurement,
                    alone=send(prompts, PromptCache()),
                    after_others=send(prompts, cache),
                    with_callable_tools_only=send(
                        [prompt.with_callable_tools_only() for prompt in prompts], cache_of_steps
                    ),
                )
            )
    return {kind: items[1:] for kind, items in questions.items()}


def send(prompts: Sequence[Prompt], cache: PromptCache) -> InputTokens:
    """The input tokens of the requests of a question."""
    return sum(map(cache.send, prompts), start=InputTokens())


def ask_in_session(questioner: Questioner) -> dict[Kind, Measurement]:
    """Ask a question of each kind about the first topic, in a session that has one turn."""
    _, session_id = questioner.ask(TOPICS[0], Kind.KNOWLEDGE_BASE)
    return {kind: questioner.ask(TOPICS[0], kind, session_id)[0] for kind in Kind}


def print_use(questions: ByKind) -> None:
    """Print tokens and units."""
    figures: dict[str, Callable[[CostedQuestion], float]] = {
        "model calls": lambda item: len(item.measurement.prompts),
        "input tokens": lambda item: item.alone.total(),
        "- tool schemas": lambda item: sum(
            len(tokens) for prompt in item.measurement.prompts for tokens in prompt.tools.values()
        ),
        "- system prompt": lambda item: sum(len(prompt.system) for prompt in item.measurement.prompts),
        "- question, passages, earlier calls": lambda item: sum(
            len(prompt.rest) for prompt in item.measurement.prompts
        ),
        "input tokens from the cache, alone": lambda item: item.alone.read,
        "input tokens from the cache, after others": lambda item: item.after_others.read,
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
        prefixes = {prompts[number].prefix() for prompts in all_prompts if number < len(prompts)}
        rows.append((f"call {number + 1}", len(prefixes), max(map(len, prefixes))))
    print_table("Tools and system prompt, by model call", ("", "different ones", "tokens"), rows)
    common = [shared(call.tokens(), other.tokens()) for call, other in pairwise(longest.prompts)]
    print(f"\nTokens that a call of a question begins with as the call before it did: {common}")


def print_usd(questions: ByKind) -> None:
    """Print the table of prices, for questions that are asked alone."""
    usd = {kind: cost_prices.usd(questions[kind], alone) for kind in Kind}
    rows = [row(part, [usd[kind][part] for kind in Kind], "{:.4f}") for part in usd[Kind.WEB]]
    rows.append(row("together", [sum(usd[kind].values()) for kind in Kind], "{:.2f}"))
    print_table(f"USD for {cost_prices.QUESTIONS:,} questions that are asked alone", columns(), rows)


def print_caching(questions: ByKind) -> None:
    """Print what the provider's cache does to the input, and to the sum."""
    ways: dict[str, Asked] = {
        "without caching": CostedQuestion.without_caching,
        "alone": alone,
        "after others": after_others,
        "after others, if calls offered callable tools only": lambda item: item.with_callable_tools_only,
    }
    rows = []
    for name, asked in ways.items():
        usd = [cost_prices.usd(questions[kind], asked) for kind in Kind]
        inputs = [sum(cost for part, cost in parts.items() if part.startswith("model: input")) for parts in usd]
        writes = [parts["model: input written to its cache"] for parts in usd]
        shares = [cost_prices.cached_share(questions[kind], asked) for kind in Kind]
        rows += [
            row(name, [sum(parts.values()) for parts in usd], "{:.2f}"),
            row("- the model's input of that", inputs, "{:.3f}"),
            row("- writes to its cache of that", writes, "{:.3f}"),
            row("- share of input cached", shares, "{:.0%}"),
        ]
    print_table(f"USD for {cost_prices.QUESTIONS:,} questions, by caching", columns(), rows)


def columns() -> tuple[str, ...]:
    """The column titles of a table by kind of question."""
    return "", *(kind.value for kind in Kind)


def row(name: str, figures: Sequence[float], form: str) -> tuple[str, ...]:
    """A row of a table."""
    return name, *(form.format(figure) for figure in figures)


if __name__ == "__main__":
    main()
