"""The dashboard and the alarms of one environment."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.constructs.metrics import Metrics
from infra.criteria import Share, judged_over, shares
from infra.environments import Environment

_LESS = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_ONE = (1, 1)  # of what happens once a day, or is judged over long, one is enough
_TWO_OF_THREE = (3, 2)  # what passes by itself rings nobody
_MORE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD


class Monitoring(Construct):
    """A widget for everything that is measured; an alarm for everything that has a bar."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment, metrics: Metrics) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._metrics = metrics
        self._topic = self._make_topic(environment.alarms.email)
        region = Stack.of(self).region
        # Dashboards of all regions of an account share their names.
        name = f"gleaner-{environment.name}-{region}"
        self._dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        self._show_criteria()
        self._show_operation()
        self.dashboard_url = (
            f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#dashboards/dashboard/{name}"
        )

    def _show_criteria(self) -> None:
        """SC-001 to SC-008, with the alarms of those that have a bar."""
        widgets: list[cloudwatch.IWidget] = [self._share_widget(share) for share in shares(self._environment)]
        widgets.append(self._latency_widget())
        widgets.append(_graph("SC-004 Rating of answers", [self._metrics.own("FeedbackRating", "Average")]))
        widgets.append(_graph("SC-004 Ratings", [self._metrics.own("FeedbackRating", "SampleCount")]))
        self._dashboard.add_widgets(*widgets)

    def _share_widget(self, share: Share) -> cloudwatch.IWidget:
        """The share as its alarm sees it, and how many questions it is of."""
        title, questions = f"{share.code} {share.title} (share", self._metrics.questions(share.metric, share.bar)
        if share.bar is None:
            return _graph(f"{title})", [self._metrics.own(share.metric, "Average")], right=[questions])
        bar, over = share.bar, judged_over(share.bar)
        metric = self._metrics.judged(share.metric, "Average", bar)
        text = f"{share.code}: {share.title}, at least {bar.percent:g} % {over}"
        windows = (bar.periods, bar.misses)
        alarm = self._alarm(share.metric, text, metric, _LESS, bar.percent / 100, windows=windows)
        return _graph(f"{title} {over})", [metric], alarm, right=[questions])

    def _latency_widget(self) -> cloudwatch.IWidget:
        bar, seconds = self._environment.alarms.fast_answers, self._environment.alarms.fast_answer_seconds
        latency = self._metrics.judged("Latency", f"p{bar.percent:g}", bar)
        text = f"SC-005: {bar.percent:g} % of answers in {seconds:g} s, {judged_over(bar)}"
        windows = (bar.periods, bar.misses)
        slow = self._alarm("SlowAnswers", text, latency, _MORE, seconds * 1000, windows=windows)
        title = f"SC-005 Latency that {bar.percent:g} % keep (ms, {judged_over(bar)})"
        return _graph(title, [latency], slow, right=[self._metrics.questions("Latency", bar)])

    def _show_operation(self) -> None:
        metrics = self._metrics
        bar = self._environment.alarms.server_errors
        errors, text = (
            metrics.server_errors(bar),
            f"More than {bar.percent:g} % of requests fail, {bar.failures} at least",
        )
        failing = self._alarm("ServerErrors", text, errors, _MORE, bar.percent / 100, windows=_ONE)
        throttled = metrics.query_throttles()
        busy = self._alarm("QueryThrottled", "Requests found no free place in Lambda", throttled, _MORE, 0)
        pruning = metrics.prune_errors()
        broken = self._alarm("PruneErrors", "A run of pruning failed", pruning, _MORE, 0, windows=_ONE)
        dead = metrics.dead_letters()
        lost = self._alarm("DeadLetters", "A run of pruning was given up", dead, _MORE, 0, windows=_ONE)
        refused = metrics.store_throttles()
        for table, events in refused.items():
            text = f"DynamoDB throttles reads or writes of {table} or of its indexes"
            self._alarm(f"{table}Throttled", text, events, _MORE, 0)
        self._dashboard.add_widgets(
            _graph("Requests", metrics.requests()),
            _graph("Failed requests (share)", [errors], failing),
            _graph("Throttled invocations", [throttled], busy),
            _graph("Throttled reads and writes", list(refused.values())),
            _graph("Failed runs of pruning", [pruning], broken),
            _graph("Dead letters", [dead], lost),
            _graph(
                "Pruning (kept on the right)",
                metrics.pruning("KeywordsPruned", "BrokenKeywords", "WebAnswersDeleted", "UnfinishedRuns"),
                right=metrics.pruning("KeywordsKept"),
            ),
            _graph("Tokens", [metrics.own(name, "Sum") for name in ("InputTokens", "OutputTokens")]),
            _graph("Web searches", [metrics.own("WebSearches", "Sum")]),
            _graph("Estimated cost (USD)", [metrics.own("EstimatedCost", "Sum")]),
            _graph("Answers on a degraded path", [metrics.own("Fallbacks", "Sum")]),
        )

    def _alarm(
        self,
        id: str,
        text: str,
        metric: cloudwatch.IMetric,
        comparison: cloudwatch.ComparisonOperator,
        threshold: float,
        *,
        windows: tuple[int, int] = _TWO_OF_THREE,
    ) -> cloudwatch.Alarm:
        """`windows`: of how many periods of the metric, and how many of them must be beyond the threshold."""
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            alarm_description=text,
            comparison_operator=comparison,
            threshold=threshold,
            evaluation_periods=windows[0],
            datapoints_to_alarm=windows[1],
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,  # nobody asked anything
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
        return alarm

    def _make_topic(self, email: str | None) -> sns.Topic | None:
        if email is None:
            return None
        topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic


def _graph(
    title: str,
    metrics: Sequence[cloudwatch.IMetric],
    alarm: cloudwatch.Alarm | None = None,
    *,
    right: Sequence[cloudwatch.IMetric] = (),
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=list(metrics),
        right=list(right),
        right_y_axis=cloudwatch.YAxisProps(min=0),
        left_annotations=[alarm.to_annotation()] if alarm else [],
        left_y_axis=cloudwatch.YAxisProps(min=0),
        period=Duration.minutes(5),
        width=8,
    )
