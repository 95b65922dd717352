"""Parses the `Retry-After` header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from gleaner.model import utc_now


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from now (RFC 9110, 10.2.3), or None without a valid `Retry-After`.

    The value is a date or a number; some services send decimals.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - utc_now()).total_seconds()
        except (ValueError, TypeError):  # not a date, or a date without a time zone
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
