"""One process of ministack, from its start until it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

START_SECONDS = 30.0
STOP_SECONDS = 10.0
# Exit codes of the keeper.
UNREADABLE = 3
NOT_WRITABLE = 4


class MinistackProcess:
    """A running ministack that answers at `url`."""

    def __init__(self, url: str, state_dir: Path, log_path: Path, env: Mapping[str, str]) -> None:
        self._url = url
        self._state_dir = state_dir
        self._log_path = log_path
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "gleaner_local.aws._ministack_keeper", str(state_dir)],
                env=dict(env),
                stdin=subprocess.PIPE,  # stays open while this process lives
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def wait_until_it_answers(self) -> None:
        """Return when the process answers. Raises RuntimeError that says why it does not, and ends the process."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.is_alive():
            try:
                with urllib.request.urlopen(f"{self._url}/_ministack/health", timeout=1):  # noqa: S310 - loopback
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(self._describe_failure())

    def wait(self) -> None:
        """Return when the process has ended."""
        self._process.wait()

    def stop(self) -> None:
        """End the process."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _describe_failure(self) -> str:
        if self._process.returncode == UNREADABLE:
            return (
                f"The tables in {self._state_dir} are damaged, and nothing was changed. Put a copy of the directory "
                f"in its place, or move it away to start with empty tables; {self._log_path} has the details."
            )
        if self._process.returncode == NOT_WRITABLE:
            return (
                f"The tables in {self._state_dir} cannot be written. Check permissions and space; see {self._log_path}."
            )
        return f"The local DynamoDB did not start; see {self._log_path}."
