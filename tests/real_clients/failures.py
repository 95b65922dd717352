"""What the user of a client that is built on the openai package sees of a failed question."""

from __future__ import annotations

from typing import Any

import openai


def describe(error: openai.APIError) -> dict[str, Any]:
    """An error as JSON; one that ends a stream has no status."""
    status = getattr(error, "status_code", None)
    return {"error": type(error).__name__, "status": status, "code": error.code, "message": error.message}
