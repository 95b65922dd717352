"""Reads the blocks of the README's chapter for users of other clients, and runs them as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.real_clients.environment import NODE, PYTHON, run

_README = Path(__file__).parents[2] / "README.md"
_ADDRESS = "http://127.0.0.1:8000"  # where the README says that the service is


def read_blocks(language: str) -> list[str]:
    """The blocks of one language, in their order."""
    _, _, rest = _README.read_text().partition("\n## Use it from your client\n")
    chapter, _, _ = rest.partition("\n## ")
    return re.findall(rf"^```{language}\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)


def run_block(language: str, text: str, url: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a block against the service at `url`, as a user whose files are in `home`."""
    program = text.replace(_ADDRESS, url)
    commands: dict[str, list[str | Path]] = {
        "python": [PYTHON, "-c", program],
        "js": [NODE, "--input-type=module", "--eval", program],
        "sh": ["bash", "-euo", "pipefail", "-c", program],
    }
    path = f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"
    return run(commands[language], PATH=path, LLM_USER_PATH=str(home))
