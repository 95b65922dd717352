"""Saved queries of CloudWatch Logs Insights: one for each entry of the runbook, and one for a single question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.environment import Environment
from infra.watched import Watched, WatchedDocuments

# Lines of metrics hold each value as a list of one, so that Insights names it `Latency.0`. A line of a question has its
# `query_id`, and the `request_id` that the access log has as `requestId`.
_MISSED = """
fields @timestamp, query_id, request_id, Latency.0, InputTokens.0, WebSearches.0
| filter {metric}.0 = 0
| sort @timestamp desc
| limit 100
"""
_FAILED_RUNS = """
fields @timestamp, level, message, run_id, finished, exception_name, exception, record.status, record.errorType
| filter level = "ERROR" or level = "WARNING" or message = "pruning run" or ispresent(record.status)
| sort @timestamp desc
| limit 100
"""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query and the logs that it reads, as fields of `Watched` and `WatchedDocuments`."""

    text: str
    logs: Sequence[str]


def saved_queries(environment: Environment) -> Mapping[str, SavedQuery]:
    """The queries by name: the id of the alarm that leads to each, and `Question`."""
    missed = {
        name: SavedQuery(_MISSED.format(metric=name).strip(), ("query_log",))
        for name in ("KnowledgeBaseSearched", "AnsweredOnFirstAttempt", "HelpedByKeywords", "RetriesRecovered")
    }
    slow = environment.alarms.fast_answer_seconds * 1000
    texts = {
        "Question": (_QUESTION, ("query_log", "access_log")),
        "ServerErrors": (_SERVER_ERRORS, ("query_log", "access_log")),
        "QueryThrottled": (_QUERY_THROTTLED, ("access_log",)),
        "SlowAnswers": (_SLOW_ANSWERS.format(milliseconds=f"{slow:g}"), ("query_log",)),
        "KeywordsAfterWeb": (_KEYWORDS_AFTER_WEB, ("query_log",)),
        "StoreThrottled": (_STORE_THROTTLED, ("query_log", "prune_log")),
        "Canary": (_CANARY, ("query_log",)),
        "PruneErrors": (_FAILED_RUNS, ("prune_log",)),
        "DeadLetters": (_DEAD_LETTERS, ("prune_log", "query_log")),
        "SpendingPerDay": (_SPENDING_PER_DAY, ("query_log",)),
        "SpendingPerHour": (_SPENDING_PER_HOUR, ("access_log",)),
    }
    if environment.documents is not None:
        texts |= {
            "DocumentsGivenUp": (_DOCUMENTS_GIVEN_UP, ("ingest_log",)),
            "DocumentsWaiting": (_DOCUMENTS_WAITING, ("ingest_log",)),
            "DocumentsNotRetried": (_DOCUMENTS_NOT_RETRIED, ("ingest_log",)),
            "DocumentsUndelivered": (_DOCUMENTS_UNDELIVERED, ("ingest_log",)),
        }
    return missed | {name: SavedQuery(text.strip(), groups) for name, (text, groups) in texts.items()}


class SavedQueries(Construct):
    """The queries, in a folder of the environment's name."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        watched: Watched,
        documents: WatchedDocuments | None,
    ) -> None:
        super().__init__(scope, id)
        logs_by_name = asdict(watched) | (asdict(documents) if documents else {})
        for name, query in saved_queries(environment).items():
            logs.CfnQueryDefinition(
                self,
                name,
                name=f"gleaner-{environment.name}/{name}",
                query_string=query.text,
                log_group_names=[logs_by_name[log] for log in query.logs],
            )


_QUESTION = """
fields @timestamp, level, message, query_id, requestId, status, problem, reason, exception, @message
| filter query_id = "PUT THE ID HERE" or request_id = "PUT THE ID HERE" or requestId = "PUT THE ID HERE"
| sort @timestamp asc
| limit 200
"""
_SERVER_ERRORS = """
fields @timestamp, coalesce(requestId, request_id) as id, status, error, problem, reason, exception_name, query_id
| filter status like /^5/ or message = "query failed" or level = "ERROR"
| sort @timestamp desc
| limit 200
"""
_CANARY = """
fields @timestamp, version, level, message, problem, reason, exception_name, query_id, request_id
| filter ispresent(FailedAnswers.0) or message = "query failed" or level = "ERROR"
| sort @timestamp desc
| limit 200
"""
_QUERY_THROTTLED = """
filter status like /^(429|5)/
| stats count(*) as requests, avg(integrationLatency) as milliseconds by bin(5m), status, error, resourcePath
| sort requests desc
| limit 100
"""
_SLOW_ANSWERS = """
fields @timestamp, query_id, request_id, Latency.0, InputTokens.0, OutputTokens.0, WebSearches.0, ToolCalls.0
| filter Latency.0 > {milliseconds}
| sort Latency.0 desc
| limit 100
"""
_KEYWORDS_AFTER_WEB = """
fields @timestamp, query_id, request_id, message, tool, reason, exception_name
| filter KeywordsAfterWeb.0 = 0 or level = "WARNING" or level = "ERROR"
| sort @timestamp desc
| limit 100
"""
_STORE_THROTTLED = """
filter message = "DynamoDB throttled a request"
| stats count(*) as calls by bin(5m), table, resource, operation, cause
| sort calls desc
| limit 100
"""
# Warnings are left out: the query function writes them for questions, which no schedule asked.
_DEAD_LETTERS = """
fields @timestamp, @log, level, message, run_id, finished, exception_name, exception, record.status, record.errorType
| filter level = "ERROR" or message = "pruning run" or record.status like /^(error|failure|timeout)$/
| sort @timestamp desc
| limit 100
"""
_SPENDING_PER_DAY = """
filter ispresent(EstimatedCost.0)
| stats sum(EstimatedCost.0) as usd, count(*) as questions, sum(WebSearches.0) as searches by bin(1h)
| sort usd desc
"""
_SPENDING_PER_HOUR = """
filter httpMethod = "POST" and status like /^2/
| stats count(*) as requests by apiKeyId, user, iamIdentity, ip
| sort requests desc
| limit 50
"""
# Lambda writes records of its own, such as those of a function that was ended for its memory or its time.
_DOCUMENTS_GIVEN_UP = """
fields @timestamp, level, message, kb_id, document, reason, exception_name, exception, record.status, record.errorType
| filter level = "ERROR" or level = "WARNING" or record.status like /^(error|failure|timeout)$/
| sort @timestamp desc
| limit 100
"""
_DOCUMENTS_WAITING = """
fields @timestamp, level, message, kb_id, document, state, reason, chunks_written
| filter ispresent(document)
| sort @timestamp desc
| limit 200
"""
_DOCUMENTS_NOT_RETRIED = """
fields @timestamp, kb_id, document, reason
| filter message = "a document" and state = "failed"
| sort @timestamp desc
| limit 200
"""
_DOCUMENTS_UNDELIVERED = """
filter ispresent(document)
| stats count(*) as lines by bin(5m), message, state
| sort lines desc
| limit 100
"""
