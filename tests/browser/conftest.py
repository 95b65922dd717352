"""A real browser for the tests of the page."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium without a window. Where there is none, the tests are skipped, and the summary says so."""
    path = shutil.which("chromium")
    if path is None:
        reason = "No Chromium is installed, so the page was NOT tested in a browser."
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
