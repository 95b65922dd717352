"""The service that the clients of other protocols ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb
from tests.e2e.commands import serving_scripted
from tests.real_clients.environment import require_clients


@pytest.fixture(scope="module")
def url(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    scripted_model_server: tuple[ScriptedModel, str],
    scripted_web_server: tuple[ScriptedWeb, str],
) -> Iterator[str]:
    """The service as a user runs it, with a scripted model and web and the DOCUMENT of the module."""
    require_clients()
    directory = tmp_path_factory.mktemp("service")
    model_url, web_url = scripted_model_server[1], scripted_web_server[1]
    with serving_scripted(directory, request.module.DOCUMENT, model_url, web_url) as address:
        yield address
