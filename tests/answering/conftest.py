"""Services whose model streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from gleaner.answering.question import Services
from gleaner.runtime.settings import Settings
from gleaner.wiring import build_services, build_stores
from tests.doubles.model_in_pieces import ModelInPieces


@pytest.fixture
def streaming(settings: dict[str, str]) -> Services:
    """The clients that the query function uses, over scripted servers; turns of the model arrive in pieces."""
    configuration = Settings.from_env(settings)
    services = build_services(configuration, build_stores(configuration))
    return replace(services, model=cast("Any", ModelInPieces(services.model)))
