"""The audit of the pins says apart: vulnerable, not vulnerable, not known."""

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


def judged(*packages: dict[str, Any], **options: Any) -> tuple[int, str]:
    status, lines = verdict(json.dumps({"dependencies": packages, "fixes": []}), "", **options)
    return status, "\n".join(lines)


def test_a_vulnerable_pin_fails_and_is_named_with_what_mends_it() -> None:
    status, told = judged(SOUND, VULNERABLE)
    assert status == 1
    assert "holed 2.0: PYSEC-2026-1, mended in 2.1. Reads too far." in told


def test_nothing_found_is_no_failure() -> None:
    assert judged(SOUND) == (0, "1 pinned packages audited, 0 known vulnerabilities.")


@pytest.mark.parametrize("advisory", ["PYSEC-2026-1", "CVE-2026-9"])
def test_an_advisory_that_is_ignored_by_any_of_its_ids(advisory: str) -> None:
    assert judged(VULNERABLE, ignored={advisory: "the part is not used"})[0] == 0


def test_a_service_that_knows_no_package_at_all_was_not_asked() -> None:
    status, told = judged(SKIPPED)
    assert status == 0 and "NOT CHECKED" in told


def test_packages_that_were_left_out_are_named() -> None:
    status, told = judged(SOUND, SKIPPED)
    assert status == 0 and "skipped" in told and "NOT CHECKED" not in told
    assert judged(VULNERABLE, SKIPPED)[0] == 1


def test_no_network_is_no_failure_and_another_error_is() -> None:
    complaint = "requests.exceptions.ConnectionError: Max retries exceeded: Failed to resolve 'pypi.example'"
    assert verdict("", complaint)[0] == 0
    status, lines = verdict("", "usage: pip-audit [-h]")
    assert status == 2 and "usage" in lines[1]
