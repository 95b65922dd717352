"""How long a service asks to wait."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

import pytest

from gleaner.clients._retry_after import parse_retry_after
from gleaner.model import utc_now


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), (" 0.25 ", 0.25), ("-1", 0.0), ("", None), ("soon", None), ("inf", None), ("nan", None)],
)
def test_a_wait_in_seconds(header: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": header}) == seconds


def test_a_wait_until_a_date() -> None:
    soon = parse_retry_after({"retry-after": format_datetime(utc_now() + timedelta(hours=1), usegmt=True)})
    assert soon is not None and 3500 < soon <= 3600
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert parse_retry_after({}) is None
