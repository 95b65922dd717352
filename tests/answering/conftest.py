"""Services whose model streams, and the local model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from gleaner.answering.question import Services
from gleaner.runtime.settings import Settings
from gleaner.wiring import build_services, build_stores
from gleaner_local.extractive.judging import Judge
from gleaner_local.servers import openai_server
from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.model_in_pieces import ModelInPieces


@pytest.fixture
def streaming(settings: dict[str, str]) -> Services:
    """The clients that the query function uses, over scripted servers; turns of the model arrive in pieces."""
    configuration = Settings.from_env(settings)
    services = build_services(configuration, build_stores(configuration))
    return replace(services, model=cast("Any", ModelInPieces(services.model)))


@pytest.fixture(scope="module")
def extractive_url() -> Iterator[str]:
    """The base URL of the extractive model."""
    server = AsgiServer(openai_server.create_app(Judge(None)))
    server.start()
    yield f"{server.url}/v1"
    server.stop()
