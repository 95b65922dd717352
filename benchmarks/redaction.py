"""Measures what redaction removes from ordinary text, which planted secrets it misses, and how long it takes.

    .venv/bin/python benchmarks/redaction.py [PATH…] [--show 5]

PATH is a text file, or a folder whose .md, .txt and .jsonl files are read. The default is this project's handbook.
Redactions are printed for a person to judge: removing an e-mail address is no mistake. The CPU time for a text of twice
the length should double.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.guards.redaction import redact
from harness.own_environment import positive
from tests.doubles.planted_secrets import FORMS, IN_CONTEXT

_REDACTION = re.compile(r"\[redacted: ([^\]]+)\]")
_CONTEXT = 60  # characters on each side of an example
# Repeated beginnings of a pattern, which would make a careless pattern backtrack.
_PRIVATE_KEY = "-----BEGIN " + "PRIVATE KEY-----"
_HARD_UNITS = ("a", "a@a.", "://a:", "password: ", "eyJa.", _PRIVATE_KEY, "+1 ", "4111 ", "token: a", "\\n")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[Path(__file__).resolve().parents[1] / "docs"])
    parser.add_argument("--show", type=positive, default=5, help="examples of each kind")
    options = parser.parse_args()
    for path in options.paths:
        _measure(path, options.show)
    _print_recall()
    _print_times()


def _measure(path: Path, max_examples: int) -> None:
    texts = list(_texts(path))
    kinds: Counter[str] = Counter()
    examples: list[str] = []
    changed = 0
    for text in texts:
        result = redact(text)
        if result == text:  # a text may mention redactions itself
            continue
        changed += 1
        for match in _REDACTION.finditer(result):
            kinds[match[1]] += 1
            if kinds[match[1]] <= max_examples:
                examples.append(result[max(0, match.start() - _CONTEXT) : match.end() + _CONTEXT])
    characters = sum(map(len, texts))
    print(f"{path.name}: {len(texts)} texts, {characters:,} characters; {changed} texts changed; {dict(kinds)}")
    for example in examples:
        print(f"    {example!r}")


def _texts(path: Path) -> Iterator[str]:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".md", ".txt", ".jsonl"))
    for file in files:
        text = file.read_text(encoding="utf-8")
        yield from text.splitlines() if file.suffix == ".jsonl" else [text]


def _print_recall() -> None:
    secrets = [(f"It is {secret}, see there.", secret) for secret in FORMS.values()] + IN_CONTEXT
    leaks = [text for text, secret in secrets if secret in redact(text)]
    print(f"planted: {len(secrets)} secrets, {len(leaks)} missed {leaks or ''}")


def _print_times() -> None:
    for unit in _HARD_UNITS:
        short, long = (_seconds(unit * (size // len(unit))) for size in (100_000, 200_000))
        print(
            f"time: {unit!r:32} 100 KB {short * 1000:6.0f} ms, 200 KB {long * 1000:6.0f} ms, ratio {long / short:.1f}"
        )


def _seconds(text: str) -> float:
    start = time.process_time()
    redact(text)
    return time.process_time() - start


if __name__ == "__main__":
    main()
