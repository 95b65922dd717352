"""Checks the quota of the account that limits how many questions are answered at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from gleaner_local.diagnosis.finding import Finding, note, ok

SUBJECT = "quotas"
_ENOUGH = 100  # functions at once: ten or twenty questions a second
_RAISE = (
    "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 "
    "--desired-value 1000"
)


def check_quotas(client: Any) -> Iterator[Finding]:
    """Check how many functions the account may run at once; `client` is a Lambda client."""
    try:
        count = client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except (ClientError, BotoCoreError, KeyError) as error:
        yield note(SUBJECT, f"AWS does not say how many functions run at once ({type(error).__name__}).")
        return
    text = f"The account runs {count:,} functions at once."
    yield ok(SUBJECT, text) if count >= _ENOUGH else note(SUBJECT, text, f"Before many callers come: {_RAISE}")
