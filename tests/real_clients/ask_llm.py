"""Asks with the command line of llm, as a new user. The argument is the task, the output what the user sees."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from llm.cli import cli

TASK = json.loads(sys.argv[1])
MODELS = """
- model_id: {model}
  model_name: {model}
  api_base: {base_url}
  api_key_name: gleaner
- model_id: no-such-model
  model_name: no-such-model
  api_base: {base_url}
  api_key_name: gleaner
"""
USAGE = re.compile(r"Token usage: ([\d,]+) input, ([\d,]+) output")


def llm(*arguments: str) -> Result:
    """Run the command in this process: each start of it takes seconds."""
    return CliRunner().invoke(cli, arguments)


def ask(*arguments: str) -> dict[str, Any]:
    result = llm(*arguments, "--usage")
    assert result.exit_code == 0, result.output
    usage = USAGE.search(result.stderr)
    assert usage, result.stderr
    return {"text": result.stdout.strip(), "usage": {"input_tokens": int(usage[1]), "output_tokens": int(usage[2])}}


def failure(*arguments: str) -> dict[str, Any]:
    result = llm(*arguments)
    assert result.exit_code != 0
    name, _, message = result.stderr.strip().partition(": ")
    return {"error": name, "message": message}


with tempfile.TemporaryDirectory() as home:
    os.environ["LLM_USER_PATH"] = home
    (Path(home) / "extra-openai-models.yaml").write_text(MODELS.format(**TASK))
    llm("keys", "set", "gleaner", "--value", TASK["api_key"])
    shown = {
        "asked": ask("--model", TASK["model"], "--no-stream", TASK["question"]),
        "streamed": ask("--model", TASK["model"], TASK["question"]),
        "followed_up": ask("--continue", TASK["follow_up"]),
        "unknown_model": failure("--model", "no-such-model", TASK["question"]),
        "empty": failure("--model", TASK["model"], ""),
        "failed": failure("--model", TASK["model"], "--no-stream", TASK["failing"]),
        "failed_stream": failure("--model", TASK["model"], TASK["failing"]),
    }
    print(json.dumps(shown))
