"""Requests generated from the API's description: every response is described, and none is a 5xx."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import serving
from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search, web
from tests.doubles.scripted_web import ScriptedWeb, result


def answers_anything(request: dict[str, Any]) -> dict[str, Any]:
    """Searches, looks up every other question on the web, then cites all results in an answer."""
    offered = {tool["function"]["name"] for tool in request["tools"]}
    results = [json.loads(message["content"]) for message in request["messages"] if message["role"] == "tool"]
    if offered == {"knowledge_base_search"}:
        return calls(search())
    question = [message["content"] for message in request["messages"] if message["role"] == "user"][-1]
    if "perplexity_search" in offered and len(results) == 1 and len(question) % 2:
        return calls(web())
    ids = [source["id"] for result in results for source in result.get("chunks", []) + result.get("citations", [])]
    final_answer = answer("Found. " + " ".join(f"[{source_id}]" for source_id in ids), tuple(ids))
    keyword_calls = [index("keyword merging", "usage count", "pruning")] if "index_keywords" in offered else []
    return calls(*keyword_calls, final_answer)


@pytest.fixture
def url(client: Client, scripted_model_server: Any, scripted_web_server: Any) -> Iterator[str]:
    """The address of the API over scripted services."""
    model: ScriptedModel = scripted_model_server[0]
    web_server: ScriptedWeb = scripted_web_server[0]
    model.plays(answers_anything)
    web_server.finds("Keywords are merged. [1]", result(1, "https://example.org/a", "Merging"))
    with serving(client) as address:
        yield address


@pytest.mark.slow  # every response in the other tests of the API is compared with the description, too
def test_responses_match_the_description(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
    options = ["--header", "x-api-key: admin", "--max-examples", "100", "--generation-deterministic"]
    # Erasing a caller with many sessions goes on until the deadline of a request.
    options += ["--request-timeout", "40"]
    # A schema cannot express every rule: an opaque cursor, or a selection without its mode, is refused with a 400.
    options += ["--exclude-checks", "positive_data_acceptance"]
    run = subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
