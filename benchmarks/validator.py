"""The checks of tool parameters against lists of legitimate and of malicious search texts.

    .venv/bin/python benchmarks/validator.py FOLDER [--questions FILE ...]

FOLDER holds legit.txt and malicious.txt: lines of id, tier (core or hard), category, source and the text as a JSON
string, with tabs between them. Every text is taken as the `query` of knowledge_base_search, as a model would send
it. It goes through as it is, goes through neutralised (without its hidden characters), or is refused. Each FILE holds
ordinary questions, a JSON object with `text` a line; how many are refused is printed.
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
BARS = {("legit", "core"): 100.0, ("legit", "hard"): 90.0, ("malicious", "core"): 100.0}  # percent
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
    """Print the tables; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path, nargs="+", default=[], metavar="FILE")
    chosen = parser.parse_args()
    folder = chosen.folder
    lists = {name: list(read(folder / f"{name}.txt")) for name in ("legit", "malicious")}
    met = [print_list(name, inputs) for name, inputs in lists.items()]
    for path in chosen.questions:
        asked = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
        refused = sum(outcome(text)[0] == "refused" for text in asked)
        print(f"{path.parent.name}: {refused} of {len(asked)} ordinary questions refused")
    print_time([one.text for inputs in lists.values() for one in inputs])
    return 0 if all(met) else 1


def read(path: Path) -> Iterator[Input]:
    """The inputs of a list."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            id_, tier, category, _source, literal = line.split("\t")
            yield Input(id_, tier, category, json.loads(literal))


def outcome(text: str) -> tuple[str, str]:
    """What becomes of a text as a search query, and the code when it is refused."""
    try:
        taken = knowledge_base_search.TOOL.parse(json.dumps({"query": text}))
    except ToolCallRejected as refusal:
        return "refused", refusal.code
    same = unicodedata.normalize("NFC", text).strip() == taken.query
    return ("unchanged" if same else "neutralised"), ""


def print_list(name: str, inputs: list[Input]) -> bool:
    """The outcomes of one list by tier and category; whether its bars are met."""
    by_tier: dict[str, Counter[str]] = defaultdict(Counter)
    by_category: dict[str, Counter[str]] = defaultdict(Counter)
    codes: Counter[str] = Counter()
    wrong: list[str] = []
    for one in inputs:
        became, code = outcome(one.text)
        by_tier[one.tier][became] += 1
        by_category[one.category][became] += 1
        codes[code] += code != ""
        if became == ("refused" if name == "legit" else "unchanged"):
            wrong.append(f"{one.id} ({one.tier}, {one.category}) {code}".rstrip())
    print(f"\n{name + ' by category':30}" + "".join(f"{title:>13}" for title in OUTCOMES))
    for category in sorted(by_category):
        print(f"{category:30}" + "".join(f"{by_category[category][title]:13}" for title in OUTCOMES))
    print("refusals by code:", ", ".join(f"{code} {count}" for code, count in codes.most_common() if count))
    if wrong:
        print("against the list:", "; ".join(wrong))
    met = [print_bar(name, tier, counted) for tier, counted in sorted(by_tier.items())]
    return all(met)


def print_bar(name: str, tier: str, counted: Counter[str]) -> bool:
    """The share of a tier that ends as it should, beside its bar."""
    total = counted.total()
    right = total - counted["refused" if name == "legit" else "unchanged"]
    share, bar = 100 * right / total, BARS.get((name, tier))
    verb = "accepted" if name == "legit" else "refused or neutralised"
    print(f"{name} {tier}: {right} of {total} {verb}, {share:.1f} %" + (f" (bar {bar:.0f} %)" if bar else ""))
    return bar is None or share >= bar


def print_time(texts: list[str]) -> None:
    """CPU time of a check, beside that of parsing the same arguments as JSON alone."""
    sent = [json.dumps({"query": text}) for text in texts]
    checked = min(_cpu_seconds(lambda: [outcome(text) for text in texts]) for _ in range(ROUNDS))
    parsed = min(_cpu_seconds(lambda: [json.loads(arguments) for arguments in sent]) for _ in range(ROUNDS))
    each, bare = checked / len(texts) * 1e6, parsed / len(texts) * 1e6
    print(f"\nCPU for a text: {each:.0f} us checked, {bare:.1f} us as JSON alone")
    print(f"{'CPU of the check of one repeated piece':40}{'5,000':>10}{'50,000 characters':>20}{'ratio':>8}")
    for piece in PIECES:  # linear is a ratio of 10, backtracking one of 100 and more
        short, long = (_check_seconds(piece, length) for length in (5_000, 50_000))
        print(f"{piece!r:40}{short * 1e3:7.1f} ms{long * 1e3:17.1f} ms{long / short:8.1f}")


def _check_seconds(piece: str, length: int) -> float:
    text = piece * (length // len(piece))
    return min(_cpu_seconds(lambda: check_query(text)) for _ in range(ROUNDS))


def _cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
