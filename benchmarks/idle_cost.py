"""Computes what each environment costs while nobody asks anything.

    .venv/bin/python benchmarks/idle_cost.py          # print the table
    .venv/bin/python benchmarks/idle_cost.py --write  # into docs/11-costs-and-limits.md, too

Counts secrets, alarms, dashboards and web ACLs in the synthesised templates; the prices are in infra/prices.py. A test
compares the handbook with it (tests/infra/test_costs.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import handbook
from harness.idle_costs import count_alarm_metrics, describe_idle_costs, idle_costs, read_templates
from infra.app import code_of, make_app
from infra.environments import ENVIRONMENTS
from infra.layer_build import Layer


def main() -> None:
    """Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the table in the handbook")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        assembly = synthesise(Path(folder))
        templates = {each.name: read_templates(assembly, each) for each in ENVIRONMENTS}
    parts = describe_idle_costs({each.name: idle_costs(each, templates[each.name]) for each in ENVIRONMENTS})
    for part in parts:
        print(f"\n{part.render()}")
    for name, stacks in templates.items():
        alarms, metrics = count_alarm_metrics(stacks)
        print(f"{name}: {alarms} alarms on {metrics} metrics")
    if options.write:
        handbook.write(parts)


def synthesise(folder: Path) -> Path:
    """Synthesise all environments, with a layer of one file, and return the assembly."""
    layer = folder / "layer" / "python"
    layer.mkdir(parents=True)
    (layer / "nothing.py").write_text("")
    stub = Layer(path=layer.parent, content_hash="0" * 64, size=0, has_bytecode=False)
    return Path(make_app(ENVIRONMENTS, code_of(stub, stub), outdir=folder / "cdk.out").synth().directory)


if __name__ == "__main__":
    main()
