"""Why the service cannot start."""

from __future__ import annotations


class CannotStart(Exception):
    """The service cannot start here; the message says in one line why, and what to do."""
