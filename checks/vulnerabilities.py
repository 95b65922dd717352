"""Asks PyPI for known vulnerabilities of what is pinned: `python -m checks.vulnerabilities FILE...`.

Exit status 1 means a vulnerable pin. That PyPI could not be asked, as on a machine without internet, is said and is
no failure: it is another fact than that nothing was found.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# Advisories that do not concern this project, by id, each with the reason.
IGNORED: Mapping[str, str] = {}

_OPTIONS = ("--vulnerability-service", "pypi", "--no-deps", "--disable-pip", "--progress-spinner", "off")
# In what pip-audit prints when it gives up because of the network.
_UNREACHABLE = ("ConnectionError", "ConnectionTimeout", "ReadTimeout", "connect", "resolve", "timed out", "ProxyError")


def main(files: Sequence[str]) -> int:
    """Audit requirement files; what was found is printed."""
    named = [argument for file in files for argument in ("--requirement", file)]
    command = [sys.executable, "-m", "pip_audit", *_OPTIONS, "--format", "json", *named]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    status, lines = verdict(run.stdout, run.stderr)
    print("\n".join(lines))
    return status


def verdict(report: str, complaint: str, ignored: Mapping[str, str] = IGNORED) -> tuple[int, list[str]]:
    """The exit status and what to say, from what pip-audit wrote to its two outputs."""
    try:
        packages = json.loads(report)["dependencies"]
    except ValueError:
        if any(sign in complaint for sign in _UNREACHABLE):
            return 0, [_unreached()]
        return 2, ["pip-audit failed:", complaint.strip()]
    unknown = sorted({package["name"] for package in packages if "skip_reason" in package})
    known = {package["name"]: package for package in packages if "skip_reason" not in package}
    if not known:
        return 0, [_unreached()]
    vulnerable = [line for package in known.values() for line in _findings(package, ignored)]
    told = [f"{len(known)} pinned packages audited, {len(vulnerable)} known vulnerabilities."]
    if unknown:
        told.append(f"PyPI told nothing of {len(unknown)} packages: {', '.join(unknown)}.")
    return int(bool(vulnerable)), [*vulnerable, *told]


def _findings(package: Mapping[str, Any], ignored: Mapping[str, str]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {found['id']}, mended in "
        f"{', '.join(found['fix_versions']) or 'no version yet'}. {_first_line(found.get('description') or '')}"
        for found in package["vulns"]
        if ignored.keys().isdisjoint([found["id"], *found.get("aliases", ())])
    ]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _unreached() -> str:
    return "NOT CHECKED: PyPI's list of vulnerabilities cannot be reached from here. No pin was audited."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
