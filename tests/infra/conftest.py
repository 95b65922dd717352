"""The synthesised templates."""

from __future__ import annotations

import pytest

from tests.infra.synthesis import Synthesis, synthesis


@pytest.fixture(scope="session")
def synthesised() -> Synthesis:
    """The templates of every environment."""
    return synthesis()
