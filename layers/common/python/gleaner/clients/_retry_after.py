"""How long a service asks to wait before the next request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from gleaner.model import utc_now


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from now that `Retry-After` asks to wait (RFC 9110, 10.2.3), or None when it does not.

    The value is a number, of which some services send decimals, or a date.
    """
    asked = headers.get("retry-after", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(asked) - utc_now()).total_seconds()
        except (ValueError, TypeError):  # no date, or one without its zone
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
