"""Days that logs are kept, as CloudWatch names them."""

from __future__ import annotations

from aws_cdk import aws_logs as logs

_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def retention_days(days: int) -> logs.RetentionDays:
    """CloudWatch's name of `days`. Raises KeyError for a number that is not among those listed here."""
    return _DAYS[days]
