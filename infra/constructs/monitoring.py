"""The dashboard and the alarms of one environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarm_bars import SpendingBar, WaitingBar
from infra.constructs.metrics import DocumentMetrics, Metrics
from infra.criteria import Share, describe_periods, shares
from infra.environment import Environment

_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_ONE_OF_ONE = (1, 1)  # for daily events and long periods
_TWO_OF_THREE = (3, 2)  # ignores single spikes
_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
RUNBOOK = "docs/13-runbook.md"  # has an entry for each alarm, under its id


class Monitoring(Construct):
    """A widget for every metric, and an alarm for every metric with a bar."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment, metrics: Metrics) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._metrics = metrics
        self._topic = self._make_topic(environment.alarms.email)
        region = Stack.of(self).region
        # Dashboard names are unique in an account, across all regions.
        name = f"gleaner-{environment.name}-{region}"
        self._dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        self._show_criteria()
        self._show_operation()
        self._show_pruning()
        if metrics.documents is not None:
            self._show_documents(metrics.documents, environment.alarms.documents_waiting)
        self._show_spending(environment.alarms.spending)
        self.dashboard_url = (
            f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#dashboards/dashboard/{name}"
        )

    def _show_criteria(self) -> None:
        """Show SC-001 to SC-008; those with a bar get an alarm."""
        widgets: list[cloudwatch.IWidget] = [self._share_widget(share) for share in shares(self._environment)]
        widgets.append(self._latency_widget())
        widgets.append(_graph("SC-004 Rating of answers", [self._metrics.custom("FeedbackRating", "Average")]))
        widgets.append(_graph("SC-004 Ratings", [self._metrics.custom("FeedbackRating", "SampleCount")]))
        self._dashboard.add_widgets(*widgets)

    def _share_widget(self, share: Share) -> cloudwatch.IWidget:
        """The share as its alarm evaluates it, with the number of questions."""
        title, questions = f"{share.code} {share.title} (share", self._metrics.questions(share.metric, share.bar)
        if share.bar is None:
            return _graph(f"{title})", [self._metrics.custom(share.metric, "Average")], right=[questions])
        bar, periods = share.bar, describe_periods(share.bar)
        metric = self._metrics.for_bar(share.metric, "Average", bar)
        text = f"{share.code}: {share.title}, at least {bar.percent:g} % {periods}"
        windows = (bar.periods, bar.misses)
        alarm = self._alarm(share.metric, text, metric, _BELOW, bar.percent / 100, windows=windows)
        return _graph(f"{title} {periods})", [metric], alarm, right=[questions])

    def _latency_widget(self) -> cloudwatch.IWidget:
        bar, seconds = self._environment.alarms.fast_answers, self._environment.alarms.fast_answer_seconds
        latency = self._metrics.for_bar("Latency", f"p{bar.percent:g}", bar)
        text = f"SC-005: {bar.percent:g} % of answers in {seconds:g} s, {describe_periods(bar)}"
        windows = (bar.periods, bar.misses)
        slow = self._alarm("SlowAnswers", text, latency, _ABOVE, seconds * 1000, windows=windows)
        title = f"SC-005 Latency, p{bar.percent:g} (ms, {describe_periods(bar)})"
        return _graph(title, [latency], slow, right=[self._metrics.questions("Latency", bar)])

    def _show_operation(self) -> None:
        metrics = self._metrics
        bar = self._environment.alarms.server_errors
        errors = metrics.server_errors(bar)
        text = f"More than {bar.percent:g} % of requests fail, and at least {bar.failures}"
        error_alarm = self._alarm("ServerErrors", text, errors, _ABOVE, bar.percent / 100, windows=_ONE_OF_ONE)
        throttles = metrics.query_throttles()
        throttle_alarm = self._alarm("QueryThrottled", "Lambda throttled requests", throttles, _ABOVE, 0)
        store_throttles = metrics.store_throttles()
        text = "DynamoDB throttles reads or writes"
        store_alarm = self._alarm("StoreThrottled", text, store_throttles, _ABOVE, 0)
        self._dashboard.add_widgets(
            _graph("Requests", metrics.requests()),
            _graph("Failed requests (share)", [errors], error_alarm),
            _graph("Throttled invocations", [throttles], throttle_alarm),
            _graph("Requests that DynamoDB throttled", [store_throttles], store_alarm),
            _graph("Throttled reads and writes, by table", metrics.throttled_tables()),
            _graph("Answers whose sources hold what was asked (share)", [metrics.custom("AnswersFound", "Average")]),
            _graph("Answers on a degraded path", [metrics.custom("Fallbacks", "Sum")]),
            _graph("Stored answers that did not fit the question", [metrics.custom("AnswersWithheld", "Sum")]),
            _graph("Unreadable parts of search results", [metrics.custom("UnreadableParts", "Sum")]),
        )

    def _show_pruning(self) -> None:
        metrics = self._metrics
        errors, dead_letters = metrics.prune_errors(), metrics.dead_letters()
        error_alarm = self._alarm("PruneErrors", "A pruning run failed", errors, _ABOVE, 0, windows=_ONE_OF_ONE)
        text = "A scheduled run was given up"
        dead_letter_alarm = self._alarm("DeadLetters", text, dead_letters, _ABOVE, 0, windows=_ONE_OF_ONE)
        self._dashboard.add_widgets(
            _graph("Failed pruning runs", [errors], error_alarm),
            _graph("Dead letters", [dead_letters], dead_letter_alarm),
            _graph(
                "Pruning (kept on the right)",
                metrics.pruning("KeywordsPruned", "BrokenKeywords", "WebAnswersDeleted", "UnfinishedRuns"),
                right=metrics.pruning("KeywordsKept"),
            ),
        )

    def _show_documents(self, metrics: DocumentMetrics, bar: WaitingBar) -> None:
        dead_letters, undelivered, age = metrics.dead_letters(), metrics.undelivered(), metrics.age()
        text = "A document was given up"
        dead_letter_alarm = self._alarm("DocumentsGivenUp", text, dead_letters, _ABOVE, 0, windows=_ONE_OF_ONE)
        text = "EventBridge could not deliver a change of a document"
        undelivered_alarm = self._alarm("DocumentsUndelivered", text, undelivered, _ABOVE, 0, windows=_ONE_OF_ONE)
        [not_retried] = metrics.loaded("DocumentsNotRetried")
        text = "The index takes no more documents by its plan"
        refused_alarm = self._alarm("DocumentsNotRetried", text, not_retried, _ABOVE, 0, windows=_ONE_OF_ONE)
        text = f"A document waits for more than {bar.minutes} minutes"
        age_alarm = self._alarm("DocumentsWaiting", text, age, _ABOVE, bar.minutes * 60)
        self._dashboard.add_widgets(
            _graph("Documents", metrics.loaded("DocumentsLoaded", "DocumentsSkipped", "DocumentsFailed")),
            _graph("Chunks written", metrics.loaded("ChunksWritten")),
            _graph("Age of the oldest document that waits (s)", [age], age_alarm, right=metrics.waiting()),
            _graph("Documents given up", [dead_letters], dead_letter_alarm),
            _graph("Documents that the index's plan refused", [not_retried], refused_alarm),
            _graph("Undelivered changes of documents", [undelivered], undelivered_alarm),
            _graph("Failed and throttled invocations of the ingest function", metrics.invocations()),
        )

    def _show_spending(self, bar: SpendingBar | None) -> None:
        metrics, widgets = self._metrics, list[cloudwatch.IWidget]()
        for id, unit, period, usd in _spending(bar):
            cost = metrics.spending(period)
            text = f"The answers of the last {unit} cost more than {usd:g} USD by estimate"
            alarm = self._alarm(id, text, cost, _ABOVE, usd, windows=_ONE_OF_ONE)
            widgets.append(_graph(f"Estimated cost (USD, last {unit})", [cost], alarm))
        self._dashboard.add_widgets(
            *widgets,
            _graph("Estimated cost (USD)", [metrics.custom("EstimatedCost", "Sum")]),
            _graph("Tokens", [metrics.custom(name, "Sum") for name in ("InputTokens", "OutputTokens")]),
            _graph("Web searches", [metrics.custom("WebSearches", "Sum")]),
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
        """`windows`: how many periods are evaluated, and how many of them must breach the threshold."""
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            alarm_description=f"{text}. See {RUNBOOK}: {id}",
            comparison_operator=comparison,
            threshold=threshold,
            evaluation_periods=windows[0],
            datapoints_to_alarm=windows[1],
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,  # no questions, no alarm
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
        return alarm

    def _make_topic(self, email: str | None) -> sns.Topic | None:
        if email is None:
            return None
        topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        # The refusal of requests without TLS replaces the topic's default policy, which would let alarms publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic


def _spending(bar: SpendingBar | None) -> Iterator[tuple[str, str, Duration, float]]:
    """The id, the unit of time in words, the period and the USD of each alarm."""
    if bar is not None:
        yield "SpendingPerHour", "hour", Duration.hours(1), bar.usd_per_hour
        yield "SpendingPerDay", "day", Duration.days(1), bar.usd_per_day


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
