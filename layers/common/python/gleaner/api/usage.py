"""The route on which callers see what they used today, and admins what all callers did."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from gleaner.api import _cursors
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, Limit
from gleaner.errors import InvalidCursor
from gleaner.model import utc_now
from gleaner.runtime.quota import Limits, Quota, resets_at
from gleaner.stores.usage import Account, CallerUsage, DayUsage, UsageStore

_TO_USD = (
    "Estimated, with what questions in flight are expected to cost; null if the service does not know both prices, or "
    "all are 0."
)


class UsageLimits(BaseModel):
    """What may be used in a day; null is no limit."""

    questions: int | None
    usd: float | None


class Usage(BaseModel):
    """What was used today."""

    questions: int
    estimated_usd: float | None = Field(description=_TO_USD)
    limits: UsageLimits = Field(description="For a caller who is exempt, there are none.")


class CallerUsageItem(BaseModel):
    """What a caller used today."""

    caller_id: str
    questions: int
    estimated_usd: float | None = Field(description=_TO_USD)


class UsageReport(Usage):
    """The caller's own use; for admins also that of the environment, and of each caller who asked today.

    A caller without questions asked some that were refused or given back.
    """

    day: str = Field(description="The date in UTC.")
    resets_at: str = Field(description="When counting begins anew, as ISO 8601 in UTC.")
    environment: Usage | None = Field(description="Of all callers together; null unless the caller is an admin.")
    callers: list[CallerUsageItem] | None = Field(description="A page of them; null unless the caller is an admin.")
    next_cursor: str | None


class UsageRoutes:
    """GET /api/usage."""

    def __init__(self, usage: UsageStore, quota: Quota, current: Current, *, counts_money: bool) -> None:
        self._usage = usage
        self._quota = quota
        self._current = current
        self._counts_money = counts_money

    def routes(self) -> list[Route]:
        """The route."""
        return [Route(Endpoint.SHOW_USAGE, self._show, raises=(InvalidCursor, *STORE_FAILURES))]

    def _show(self, limit: Limit = 20, cursor: Cursor = None) -> Response[UsageReport]:
        request, now = self._current(), utc_now()
        caller, day = request.caller, now.date()
        scope = (Endpoint.SHOW_USAGE.path, caller.id, day.isoformat())
        after = _cursors.decode(cursor, scope=scope, length=1)[0] if cursor else ""
        is_exempt = caller.is_admin and self._quota.admins_exempt
        own = self._read(Account(day, caller.id), Limits() if is_exempt else self._quota.caller)
        environment, page = None, []
        if caller.is_admin:
            environment = self._read(Account(day), self._quota.environment)
            page = self._usage.list_callers(day, limit=limit + 1, after=after, deadline=request.deadline)
        has_more = len(page) > limit
        return ok(
            UsageReport(
                **own.model_dump(),
                day=day.isoformat(),
                resets_at=resets_at(now).isoformat(),
                environment=environment,
                callers=[self._to_item(one) for one in page[:limit]] if caller.is_admin else None,
                next_cursor=_cursors.encode((page[limit - 1].position,), scope=scope) if has_more else None,
            )
        )

    def _read(self, account: Account, limits: Limits) -> Usage:
        usage = self._usage.read(account, deadline=self._current().deadline)
        return Usage(
            questions=usage.questions,
            estimated_usd=self._usd(usage),
            limits=UsageLimits(questions=limits.questions, usd=limits.usd),
        )

    def _to_item(self, one: CallerUsage) -> CallerUsageItem:
        return CallerUsageItem(
            caller_id=one.caller_id, questions=one.usage.questions, estimated_usd=self._usd(one.usage)
        )

    def _usd(self, usage: DayUsage) -> float | None:
        return usage.usd if self._counts_money else None
