"""Routes with which admins prune keywords and restore them."""

from __future__ import annotations

from typing import Annotated, Any, Self

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import KeywordId, RunId
from gleaner.errors import NotAllowed, UnknownKeyword, UnknownRun
from gleaner.pruning.rules import PruneReport, PruneRules
from gleaner.pruning.run import Pruner

_DAYS = Field(ge=1e-9, le=36_500)  # DynamoDB cannot store positive numbers below 1e-130


class PruneRequest(BaseModel):
    """What to prune. A dry run, the default, only reports what would be pruned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    max_age_days: Annotated[float, _DAYS] = Field(90.0, description="Days since the last use.")
    min_usage: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(3, description="Less used keywords are pruned.")
    hard_max_age_days: Annotated[float, _DAYS] = Field(36_500.0, description="Older keywords are pruned in any case.")
    dry_run: bool = True


class PruneCandidate(BaseModel):
    """A keyword that was or would be pruned, and why."""

    keyword_id: str
    keyword_text: str
    usage_count: int
    last_used_at: str
    reason: str


class PruneResult(BaseModel):
    """A pruning run. If `finished` is false, time ran out: repeat the request to continue."""

    run_id: str
    dry_run: bool
    finished: bool
    candidate_count: int
    pruned_count: int
    kept_count: int
    broken_count: int
    answers_deleted: int
    duration_ms: float
    candidates: list[PruneCandidate] = Field(description="The oldest, at most 500.")


class RestoreRequest(BaseModel):
    """What to restore: one keyword, or all that a run pruned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    keyword_id: KeywordId | None = None
    run_id: RunId | None = None

    @model_validator(mode="after")
    def _check_exactly_one(self) -> Self:
        if (self.keyword_id is None) == (self.run_id is None):
            raise ValueError("name either keyword_id or run_id")
        return self


class RestoreResult(BaseModel):
    """How many keywords were restored."""

    restored_count: int


class PruneRun(BaseModel):
    """The record of a pruning run."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    by: str
    created_at: str
    duration_ms: float
    finished: bool
    pruned: int


class PruneRoutes:
    """POST /api/keywords/prune and /restore, DELETE /api/keywords/{id}, GET /api/keywords/runs/{id}."""

    def __init__(self, pruner: Pruner, current: Current) -> None:
        self._pruner = pruner
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, *STORE_FAILURES)
        restoring = (UnknownKeyword, UnknownRun, *failures)
        removing = (UnknownKeyword, *failures)
        return [
            Route(Endpoint.PRUNE_KEYWORDS, self._prune, raises=failures),
            Route(Endpoint.RESTORE_KEYWORDS, self._restore, raises=restoring),
            Route(Endpoint.PRUNE_KEYWORD, self._prune_one, raises=removing),
            Route(Endpoint.SHOW_PRUNE_RUN, self._show_run, raises=(UnknownRun, *failures)),
        ]

    def _prune(self, body: Annotated[PruneRequest, Body()]) -> Response[PruneResult]:
        request = self._current()
        request.caller.require_admin()
        rules = PruneRules(
            max_age_days=body.max_age_days, min_usage=body.min_usage, hard_max_age_days=body.hard_max_age_days
        )
        report = self._pruner.run(rules, by=request.caller.id, dry_run=body.dry_run, deadline=request.deadline)
        return ok(_to_result(report))

    def _prune_one(self, keyword_id: Annotated[KeywordId, Path()]) -> Response[PruneResult]:
        request = self._current()
        request.caller.require_admin()
        return ok(_to_result(self._pruner.prune_one(keyword_id, by=request.caller.id, deadline=request.deadline)))

    def _restore(self, body: Annotated[RestoreRequest, Body()]) -> Response[RestoreResult]:
        request = self._current()
        request.caller.require_admin()
        if body.run_id is not None:
            return ok(RestoreResult(restored_count=self._pruner.restore_run(body.run_id, deadline=request.deadline)))
        was_pruned = self._pruner.restore_one(body.keyword_id or "", deadline=request.deadline)
        return ok(RestoreResult(restored_count=int(was_pruned)))

    def _show_run(self, run_id: Annotated[RunId, Path()]) -> Response[PruneRun]:
        request = self._current()
        request.caller.require_admin()
        record: dict[str, Any] = self._pruner.get_run(run_id, deadline=request.deadline)
        return ok(PruneRun.model_validate(record))


def _to_result(report: PruneReport) -> PruneResult:
    counts = report.counts
    return PruneResult(
        run_id=report.run_id,
        dry_run=report.dry_run,
        finished=report.finished,
        candidate_count=counts.candidates,
        pruned_count=counts.pruned,
        kept_count=counts.kept,
        broken_count=counts.broken,
        answers_deleted=counts.answers_deleted,
        duration_ms=report.duration_ms,
        candidates=[
            PruneCandidate.model_validate(candidate, from_attributes=True) for candidate in counts.first_candidates
        ],
    )
