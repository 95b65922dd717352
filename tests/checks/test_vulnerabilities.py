"""The audit distinguishes vulnerable pins, sound pins and pins that it could not check."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checks.vulnerabilities import verdict

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
SKIPPED = {"name": "skipped", "skip_reason": "Dependency not found on PyPI and could not be audited"}
VULNERABLE = {
    "name": "holed",
    "version": "2.0",
    "vulns": [
        {
            "id": "PYSEC-2026-1",
            "aliases": ["CVE-2026-9"],
            "fix_versions": ["2.1"],
            "description": "Reads too far.\nMore.",
        }
    ],
}


def audit(*packages: dict[str, Any], **options: Any) -> tuple[int, str]:
    status, lines = verdict(json.dumps({"dependencies": packages, "fixes": []}), "", **options)
    return status, "\n".join(lines)


def test_a_vulnerable_pin_fails_and_is_printed_with_its_fix() -> None:
    status, output = audit(SOUND, VULNERABLE)
    assert status == 1
    assert "holed 2.0: PYSEC-2026-1, fixed in 2.1. Reads too far." in output


def test_sound_pins_pass() -> None:
    assert audit(SOUND) == (0, "1 pinned packages audited, 0 known vulnerabilities.")


@pytest.mark.parametrize("advisory", ["PYSEC-2026-1", "CVE-2026-9"])
def test_an_advisory_is_ignored_by_any_of_its_ids(advisory: str) -> None:
    assert audit(VULNERABLE, ignored={advisory: "the part is not used"})[0] == 0


def test_a_report_without_data_is_printed_as_not_checked() -> None:
    status, output = audit(SKIPPED)
    assert status == 0 and "NOT CHECKED" in output


def test_skipped_packages_are_listed() -> None:
    status, output = audit(SOUND, SKIPPED)
    assert status == 0 and "skipped" in output and "NOT CHECKED" not in output
    assert audit(VULNERABLE, SKIPPED)[0] == 1


def test_only_network_errors_are_tolerated() -> None:
    network_error = "requests.exceptions.ConnectionError: Max retries exceeded: Failed to resolve 'pypi.example'"
    assert verdict("", network_error)[0] == 0
    status, lines = verdict("", "usage: pip-audit [-h]")
    assert status == 2 and "usage" in lines[1]
