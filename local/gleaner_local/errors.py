"""The error for a service that cannot start."""

from __future__ import annotations


class CannotStart(Exception):
    """The service cannot start; the message says in one line why, and what to do about it."""
