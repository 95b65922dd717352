"""Asks PyPI for known vulnerabilities of the pinned packages: `python -m checks.vulnerabilities FILE...`.

Exit status 1 means a vulnerable pin. Without internet access the check passes, but says that nothing was audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# Ids of advisories that do not affect this project, with the reason.
IGNORED: Mapping[str, str] = {}

_OPTIONS = ("--vulnerability-service", "pypi", "--no-deps", "--disable-pip", "--progress-spinner", "off")
# Signs of a network failure in the error output of pip-audit.
_UNREACHABLE = ("ConnectionError", "ConnectionTimeout", "ReadTimeout", "connect", "resolve", "timed out", "ProxyError")


def main(files: Sequence[str]) -> int:
    """Audit each requirement file by itself and print the findings: two environments may pin different versions."""
    statuses = []
    for file in files:
        command = [sys.executable, "-m", "pip_audit", *_OPTIONS, "--format", "json", "--requirement", file]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        status, lines = verdict(run.stdout, run.stderr)
        print("\n".join(f"{file}: {line}" for line in lines))
        statuses.append(status)
    return max(statuses, default=0)


def verdict(report: str, errors: str, ignored: Mapping[str, str] = IGNORED) -> tuple[int, list[str]]:
    """The exit status and the lines to print, from the report and the error output of pip-audit."""
    try:
        packages = json.loads(report)["dependencies"]
    except ValueError:
        if any(sign in errors for sign in _UNREACHABLE):
            return 0, [_not_checked()]
        return 2, ["pip-audit failed:", errors.strip()]
    skipped = sorted({package["name"] for package in packages if "skip_reason" in package})
    audited = {package["name"]: package for package in packages if "skip_reason" not in package}
    if not audited:
        return 0, [_not_checked()]
    vulnerable = [line for package in audited.values() for line in _findings(package, ignored)]
    summary = [f"{len(audited)} pinned packages audited, {len(vulnerable)} known vulnerabilities."]
    if skipped:
        summary.append(f"PyPI has no data on {len(skipped)} packages: {', '.join(skipped)}.")
    return int(bool(vulnerable)), [*vulnerable, *summary]


def _findings(package: Mapping[str, Any], ignored: Mapping[str, str]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {advisory['id']}, fixed in "
        f"{', '.join(advisory['fix_versions']) or 'no version yet'}. {_first_line(advisory.get('description') or '')}"
        for advisory in package["vulns"]
        if ignored.keys().isdisjoint([advisory["id"], *advisory.get("aliases", ())])
    ]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _not_checked() -> str:
    return "NOT CHECKED: PyPI's list of vulnerabilities cannot be reached from here. No pin was audited."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
