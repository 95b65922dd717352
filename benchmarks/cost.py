"""What a question costs: from the knowledge base, from the web, and from what was learned.

    .venv/bin/python benchmarks/cost.py

Tokens, requests of the store, and USD at the prices in infra/prices.py. Nothing is timed, so every run prints the same
figures, but for a token or two of ids and milliseconds that the model is told. They change with the prompts, the
handbook and the prices. Each is the mean of some questions that begin a session. "With caching" is what the provider
can have in its cache when questions of all kinds were asked shortly before. The script fails when a learned question is
not cheaper than one from the web, or when an answer waits for more than two round trips of the store, and one more in
a session.
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
from harness.cost_prices import Costed
from harness.cost_questions import TOPICS, Kind, Measured, Place, Questioner
from harness.keyword_tables import KB_ID, print_table
from harness.local_services import running
from harness.prompt_tokens import PromptCache, shared

DOCS = Path(__file__).resolve().parents[1] / "docs"
MOST_ROUND_TRIPS = 2  # that a question waits for which begins a session

ByKind = Mapping[Kind, Sequence[Costed]]


def main() -> None:
    """Print the tables; fails when a bar is not kept."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), load=load) as local:
        questioner = Questioner(local)
        in_session = ask_in_session(questioner)
        costed = ask(questioner)
        known, _ = questioner.ask(TOPICS[1], Kind.WEB)
    usd = {kind: cost_prices.usd(costed[kind]) for kind in Kind}
    print_use(costed)
    print_waits(costed, in_session, known)
    print_beginnings(costed)
    print_usd(costed, usd)
    learned, web = (sum(usd[kind].values()) for kind in (Kind.LEARNED, Kind.WEB))
    print(
        f"\nA learned question costs {learned / web:.0%} of one from the web: {web - learned:.2f} USD less for 1,000."
    )
    too_long = [
        *(one.question for each in costed.values() for one in each if one.question.waited_for() > MOST_ROUND_TRIPS),
        *(one for one in in_session.values() if one.waited_for() > MOST_ROUND_TRIPS + 1),
    ]
    if learned >= web or too_long:
        sys.exit("A bar is not kept, see above.")


def load(knowledge_base: KnowledgeBase) -> None:
    """Load the handbook."""
    ingest([DOCS], kb_id=KB_ID, knowledge_base=knowledge_base, prune=False, progress=lambda _: None)


def ask(questioner: Questioner) -> ByKind:
    """Ask about every topic; what the questions took, but those of the first, which only fill the caches."""
    specs = [tool_spec(name) for name in TOOLS]
    functions = [{"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in specs]
    as_it_is, with_all_tools = PromptCache(), PromptCache()
    costed: dict[Kind, list[Costed]] = {kind: [] for kind in Kind}
    for topic in TOPICS:
        for kind in Kind:
            question, _ = questioner.ask(topic, kind)
            prompts = [prompt.with_tools(functions) for prompt in question.prompts]
            costed[kind].append(
                Costed(
                    question=question,
                    cached=tuple(map(as_it_is.send, question.prompts)),
                    cached_with_all_tools=tuple(map(with_all_tools.send, prompts)),
                    input_with_all_tools=sum(len(prompt.tokens()) for prompt in prompts),
                )
            )
    return {kind: each[1:] for kind, each in costed.items()}


def ask_in_session(questioner: Questioner) -> dict[Kind, Measured]:
    """Ask a question of each kind about the first topic, in a session that has one turn."""
    _, session_id = questioner.ask(TOPICS[0], Kind.KNOWLEDGE_BASE)
    return {kind: questioner.ask(TOPICS[0], kind, session_id)[0] for kind in Kind}


def print_use(costed: ByKind) -> None:
    """Tokens and units."""
    figures: dict[str, Callable[[Costed], float]] = {
        "model calls": lambda one: len(one.question.prompts),
        "input tokens": Costed.input_tokens,
        "- tool schemas": lambda one: sum(len(prompt.tools) for prompt in one.question.prompts),
        "- system prompt": lambda one: sum(len(prompt.system) for prompt in one.question.prompts),
        "- question, passages, earlier calls": lambda one: sum(len(prompt.rest) for prompt in one.question.prompts),
        "input tokens from the cache": lambda one: sum(one.cached),
        "output tokens": lambda one: one.question.output_tokens,
        "requests of DynamoDB": lambda one: len(one.question.requests),
        "- read units": Costed.read_units,
        "- write units": Costed.write_units,
    }
    rows = [
        row(name, [fmean(map(figure, costed[kind])) for kind in Kind], "{:,.0f}") for name, figure in figures.items()
    ]
    print_table("For one question (means)", columns(), rows)


def print_waits(costed: ByKind, in_session: Mapping[Kind, Measured], known: Measured) -> None:
    """Requests of the store by what waits for them; `known` is a web question whose keywords are there already."""
    rows = [
        ("the answer alone, one after another", *(max(one.question.waited_for() for one in costed[k]) for k in Kind)),
        ("- in a session", *(in_session[kind].waited_for() for kind in Kind)),
        ("- with keywords that were known", *(known.waited_for() if kind is known.kind else "" for kind in Kind)),
    ]
    for name, place in (("beside the vector search", Place.LOOK_UP), ("beside the model calls", Place.BESIDE)):
        rows.append(row(name, [fmean(one.question.count(place) for one in costed[kind]) for kind in Kind], "{:.0f}"))
    print_table("Requests of DynamoDB for one question by what waits for them", columns(), rows)


def print_beginnings(costed: ByKind) -> None:
    """What the requests of different questions, and of one question, begin with."""
    longest = max((one.question for one in costed[Kind.WEB]), key=lambda question: len(question.prompts))
    every = [one.question.prompts for kind in Kind for one in costed[kind]]
    rows = []
    for number, _ in enumerate(longest.prompts):
        same = {prompts[number].tools + prompts[number].system for prompts in every if number < len(prompts)}
        rows.append((f"call {number + 1}", len(same), max(map(len, same))))
    print_table("Tools and system prompt, by model call", ("", "different ones", "tokens"), rows)
    within = [shared(one.tokens(), other.tokens()) for one, other in pairwise(longest.prompts)]
    print(f"\nTokens that a call of a question begins with as the call before it did: {within}")


def print_usd(costed: ByKind, usd: Mapping[Kind, Mapping[str, float]]) -> None:
    """The table of prices, with and without caching."""
    by_kind = [costed[kind] for kind in Kind]
    rows = [row(part, [usd[kind][part] for kind in Kind], "{:.4f}") for part in usd[Kind.WEB]]
    rows.append(row("together", [sum(usd[kind].values()) for kind in Kind], "{:.2f}"))
    rows.append(row("with caching", list(map(cost_prices.with_caching, by_kind)), "{:.2f}"))
    rows.append(row("- share of input cached", [cached_share(each) for each in by_kind], "{:.0%}"))
    rows.append(row("if every call offered all tools", list(map(cost_prices.with_all_tools, by_kind)), "{:.2f}"))
    rows.append(row("- share of input cached", [cached_share_with_all_tools(each) for each in by_kind], "{:.0%}"))
    print_table(f"USD for {cost_prices.QUESTIONS:,} questions", columns(), rows)


def cached_share(costed: Sequence[Costed]) -> float:
    """Of the input tokens, as the loop is."""
    return sum(sum(one.cached) for one in costed) / sum(one.input_tokens() for one in costed)


def cached_share_with_all_tools(costed: Sequence[Costed]) -> float:
    """Of the input tokens, if every call offered all tools."""
    return sum(sum(one.cached_with_all_tools) for one in costed) / sum(one.input_with_all_tools for one in costed)


def columns() -> tuple[str, ...]:
    """Heads of a table by kind of question."""
    return "", *(kind.value for kind in Kind)


def row(name: str, figures: Sequence[float], shown: str) -> tuple[str, ...]:
    """A row of a table."""
    return name, *(shown.format(figure) for figure in figures)


if __name__ == "__main__":
    main()
