"""What redaction takes out of ordinary text, what of planted secrets it misses, and how long it takes.

    .venv/bin/python benchmarks/redaction.py [PATH…] [--show 5]

PATH is a text file, or a folder whose .md, .txt and .jsonl files are read; without one, this project's handbook.
What is taken out is shown, for a person to judge: an e-mail address in a text is no mistake. The time for a text of
twice the length should double; CPU time, on a machine that may be busy.
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

_TAKEN_OUT = re.compile(r"\[redacted: ([^\]]+)\]")
_AROUND = 60  # characters shown on each side
# Beginnings of a pattern, over and over: what would make a careless pattern go back and forth.
_BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
_HARD = ("a", "a@a.", "://a:", "password: ", "eyJa.", _BEGIN, "+1 ", "4111 ", "token: a", "\\n")


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


def _measure(path: Path, shown: int) -> None:
    texts = list(_texts(path))
    kinds: Counter[str] = Counter()
    examples: list[str] = []
    changed = 0
    for text in texts:
        redacted = redact(text)
        if redacted == text:  # a text may speak of redaction
            continue
        changed += 1
        for match in _TAKEN_OUT.finditer(redacted):
            kinds[match[1]] += 1
            if kinds[match[1]] <= shown:
                examples.append(redacted[max(0, match.start() - _AROUND) : match.end() + _AROUND])
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
    planted = [(f"It is {secret}, see there.", secret) for secret in FORMS.values()] + IN_CONTEXT
    missed = [text for text, secret in planted if secret in redact(text)]
    print(f"planted: {len(planted)} secrets, {len(missed)} missed {missed or ''}")


def _print_times() -> None:
    for unit in _HARD:
        short, long = (_seconds(unit * (size // len(unit))) for size in (100_000, 200_000))
        print(
            f"time: {unit!r:32} 100 KB {short * 1000:6.0f} ms, 200 KB {long * 1000:6.0f} ms, ratio {long / short:.1f}"
        )


def _seconds(text: str) -> float:
    began = time.process_time()
    redact(text)
    return time.process_time() - began


if __name__ == "__main__":
    main()
