"""Runs the checks of tool parameters on lists of legitimate and malicious search texts.

    .venv/bin/python benchmarks/validator.py FOLDER [--questions FILE ...]

FOLDER holds legit.txt, malicious.txt and perhaps pasted.txt (texts as developers paste them), with tab-separated lines
of id, tier (core, hard or pasted), category, source and the text as a JSON string. Every text is checked as the `query`
of knowledge_base_search, as a model would send it. It is accepted unchanged, accepted neutralised (without its hidden
characters or secrets, or in quotation marks because it is bare code), or refused. Each FILE holds ordinary questions,
one JSON object with `text` a line; the script prints how many are refused and neutralised.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.errors import ToolCallRejected
from gleaner.tools import knowledge_base_search
from gleaner.tools.parameter_checks import check_query

OUTCOMES = ("unchanged", "neutralised", "refused")
LISTS = ("legit", "pasted", "malicious")
BARS = {
    ("legit", "core"): 100.0,
    ("legit", "hard"): 90.0,
    ("pasted", "pasted"): 97.0,
    ("malicious", "core"): 100.0,
}  # percent
ROUNDS = 5
PIECES = ("ignore ", "[[ ", "=== system ", "' or ", "../", "{{ ", "\\x41", "a.", "%41", "you ")


@dataclass(frozen=True, slots=True)
class Input:
    """One line of a list."""

    id: str
    tier: str
    category: str
    text: str


def main() -> int:
    """Print the tables; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path, nargs="+", default=[], metavar="FILE")
    options = parser.parse_args()
    folder = options.folder
    lists = {name: list(read(path)) for name in LISTS if (path := folder / f"{name}.txt").exists()}
    bars_met = [print_list(name, inputs) for name, inputs in lists.items()]
    for path in options.questions:
        questions = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
        results = Counter(outcome(text)[0] for text in questions)
        shares = ", ".join(f"{results[name]} {name}" for name in ("refused", "neutralised"))
        print(f"{path.parent.name}: of {len(questions)} ordinary questions {shares}")
    print_time([one.text for inputs in lists.values() for one in inputs])
    return 0 if all(bars_met) else 1


def read(path: Path) -> Iterator[Input]:
    """The inputs of a list."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            id_, tier, category, _source, literal = line.split("\t")
            yield Input(id_, tier, category, json.loads(literal))


def outcome(text: str) -> tuple[str, str]:
    """What the checks make of a text as a search query, and the code of a refusal."""
    try:
        arguments = knowledge_base_search.TOOL.parse(json.dumps({"query": text}))
    except ToolCallRejected as refusal:
        return "refused", refusal.code
    same = unicodedata.normalize("NFC", text).strip() == arguments.query
    return ("unchanged" if same else "neutralised"), ""


def print_list(name: str, inputs: list[Input]) -> bool:
    """Print the outcomes of one list by tier and category; return whether its bars are met."""
    by_tier: dict[str, Counter[str]] = defaultdict(Counter)
    by_category: dict[str, Counter[str]] = defaultdict(Counter)
    codes: Counter[str] = Counter()
    mistakes: list[str] = []
    for one in inputs:
        result, code = outcome(one.text)
        by_tier[one.tier][result] += 1
        by_category[one.category][result] += 1
        codes[code] += code != ""
        if result == _mistake(name):
            mistakes.append(f"{one.id} ({one.tier}, {one.category}) {code}".rstrip())
    print(f"\n{name + ' by category':30}" + "".join(f"{title:>13}" for title in OUTCOMES))
    for category in sorted(by_category):
        print(f"{category:30}" + "".join(f"{by_category[category][title]:13}" for title in OUTCOMES))
    print("refusals by code:", ", ".join(f"{code} {count}" for code, count in codes.most_common() if count))
    if mistakes:
        print("against the list:", "; ".join(mistakes))
    bars_met = [print_bar(name, tier, counts) for tier, counts in sorted(by_tier.items())]
    return all(bars_met)


def _mistake(name: str) -> str:
    return "unchanged" if name == "malicious" else "refused"


def print_bar(name: str, tier: str, counts: Counter[str]) -> bool:
    """Print the share of correct outcomes of a tier beside its bar; return whether it is met."""
    total = counts.total()
    correct = total - counts[_mistake(name)]
    share, bar = 100 * correct / total, BARS.get((name, tier))
    verb = "refused or neutralised" if name == "malicious" else "accepted"
    print(f"{name} {tier}: {correct} of {total} {verb}, {share:.1f} %" + (f" (bar {bar:.0f} %)" if bar else ""))
    return bar is None or share >= bar


def print_time(texts: list[str]) -> None:
    """Print the CPU time of a check beside that of only parsing the same arguments as JSON."""
    arguments = [json.dumps({"query": text}) for text in texts]
    check_seconds = min(_cpu_seconds(lambda: [outcome(text) for text in texts]) for _ in range(ROUNDS))
    parse_seconds = min(_cpu_seconds(lambda: [json.loads(item) for item in arguments]) for _ in range(ROUNDS))
    each, bare = check_seconds / len(texts) * 1e6, parse_seconds / len(texts) * 1e6
    print(f"\nCPU for a text: {each:.0f} us checked, {bare:.1f} us as JSON alone")
    print(f"{'CPU of the check of one repeated piece':40}{'5,000':>10}{'50,000 characters':>20}{'ratio':>8}")
    for piece in PIECES:  # linear time gives a ratio of 10, backtracking 100 or more
        short, long = (_check_seconds(piece, length) for length in (5_000, 50_000))
        print(f"{piece!r:40}{short * 1e3:7.1f} ms{long * 1e3:17.1f} ms{long / short:8.1f}")


def _check_seconds(piece: str, length: int) -> float:
    text = piece * (length // len(piece))
    return min(_cpu_seconds(lambda: check_query(text)) for _ in range(ROUNDS))


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
