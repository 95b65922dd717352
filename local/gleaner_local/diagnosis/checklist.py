"""What only a real account can show: a list to walk through after the first deployment.

The same list is in docs/09; a test compares them. Another entry is one more `Item` here, and its line there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem

SUBJECT = "checklist"
_PLACEHOLDER = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*\b")


class Need(Enum):
    """What findings need, besides access to the account, to show something by themselves."""

    ASK = auto()  # the option that costs money
    CREDENTIALS = auto()  # those of a caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at. Words in capitals stand for outputs of the stacks, or for what the operator knows."""

    title: str
    look: str  # a command, or what to do, as sentences
    expected: str
    settled_by: str | None = None  # the subject of the findings that show it without a look
    needs: Need | None = None


_LOG_GROUP = (
    "$(aws lambda get-function-configuration --function-name QUERY_FUNCTION_NAME --query LoggingConfig.LogGroup "
    "--output text)"
)

ITEMS = (
    Item(
        title="Functions at once",
        look="`aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions`",
        expected="1000, or what your callers need. A new account has 10, which is one or two questions a second.",
        settled_by="quotas",
    ),
    Item(
        title="Time limit of API Gateway",
        look="`aws service-quotas list-service-quotas --service-code apigateway "
        "--query \"Quotas[?contains(QuotaName, 'integration timeout')].[QuotaName, Value]\" --output text`",
        expected="29000 milliseconds or more, and more than `query_deadline_seconds` of the record.",
    ),
    Item(
        title="The function starts with the client that streams, also from a snapshot",
        look="`curl -s API_URL/api/health`",
        expected="The status `ok`. If Lambda ignored `AWS_LAMBDA_EXEC_WRAPPER`, every request would fail.",
        settled_by="API",
    ),
    Item(
        title="What a cold start adds",
        look=f"`aws logs filter-log-events --log-group-name {_LOG_GROUP} --filter-pattern '\"Restore Duration\"' "
        "--query 'events[].message'`",
        expected="A second or less in each line, once a version was restored from its snapshot.",
    ),
    Item(
        title="Pieces of a stream arrive as they are written",
        look="`gleaner doctor --env ENV --ask`",
        expected="The finding `stream` says that the answer arrives while it is made. A proxy or a CDN in front of the "
        "API may hold pieces back.",
        settled_by="stream",
        needs=Need.ASK,
    ),
    Item(
        title="A client that goes",
        look="Ask on the page, close the tab while the answer comes, and open the conversation again.",
        expected="The turn is stored. The log says `the client is gone` if the Runtime API told the function.",
    ),
    Item(
        title="Keys and tokens as bearer token",
        look="`gleaner doctor --env ENV --token TOKEN`",
        expected="The finding `doors` says that `/v1/models` accepts the credentials: API Gateway takes the key that "
        "the authorizer returns, or the token of the pool.",
        settled_by="doors",
        needs=Need.CREDENTIALS,
    ),
    Item(
        title="The refusal of MCP clients",
        look="`curl -si -X POST API_URL/mcp -d '{}'`",
        expected="401 with a `WWW-Authenticate` that names the metadata, which is served without credentials.",
        settled_by="doors",
    ),
    Item(
        title="The usage plan counts",
        look="`aws apigateway get-usage --usage-plan-id USAGE_PLAN_ID --start-date TODAY --end-date TODAY`",
        expected="Where callers have API keys, the requests of each key, by whichever header it came.",
    ),
    Item(
        title="Signing in from MCP clients",
        look="Sign in once from each client that your users have; "
        "`gleaner mcp --url API_URL --client-id MCP_CLIENT_ID` prints how.",
        expected="The pool's page, then the tools. `redirect_mismatch` means that a callback address is not in the "
        "record, `invalid_request` that the pool refuses the parameter `resource`.",
    ),
    Item(
        title="Signing in on the page",
        look="Open API_URL/ in a browser, sign in, ask after an hour, and sign out.",
        expected="No `redirect_mismatch`; the answer after an hour, with a renewed token; and no answer after the end.",
    ),
    Item(
        title="Groups of a pool",
        look="`gleaner callers allow group:NAME KB --env ENV`, then ask as a member of this group and another one.",
        expected="An answer from KB, and 403 `not-allowed` for every other knowledge base.",
    ),
    Item(
        title="CloudWatch accepts the alarms",
        look="`aws cloudwatch describe-alarms --alarm-name-prefix gleaner-ENV "
        '--query "MetricAlarms[].[AlarmName, StateValue]" --output text`',
        expected="All alarms of the stacks.",
        settled_by="alarms",
    ),
    Item(
        title="CloudWatch evaluates the alarms",
        look="The same command, after an hour with questions.",
        expected="`OK` for the alarms of errors, throttling and latency; `INSUFFICIENT_DATA` only where questions of "
        "the kind are too few.",
    ),
    Item(
        title="Somebody is notified",
        look='`aws sns list-subscriptions --query "Subscriptions[].[Endpoint, SubscriptionArn]" --output text`',
        expected="An ARN beside the address of the record, not `PendingConfirmation`.",
    ),
    Item(
        title="The dashboard shows figures",
        look="Open the output DashboardUrl after some questions.",
        expected="Every graph that has data shows it, and none shows an error of its expression.",
    ),
    Item(
        title="A deployment shifts traffic gradually",
        look="`aws deploy list-deployments --output text` during the second deployment.",
        expected="Where the record says so, a deployment that ends by itself, or is rolled back by an alarm. The first "
        "deployment has nothing to shift.",
    ),
    Item(
        title="The version in use stays active",
        look="`aws lambda get-function-configuration --function-name QUERY_FUNCTION_NAME --qualifier live "
        "--query State`",
        expected="`Active`, also after 14 days without questions. With `Inactive` the next callers get errors.",
    ),
    Item(
        title="The web application firewall",
        look="`aws wafv2 list-web-acls --scope REGIONAL --query 'WebACLs[].Name'`",
        expected="That of the environment, where its record has one; a burst from one address gets 403.",
    ),
    Item(
        title="Questions and money of a day",
        look="Ask as a test caller until the limit of the record is reached.",
        expected="Where the record sets one, 429 `quota-exceeded` with `Retry-After`, and answers on the next day.",
    ),
    Item(
        title="The API keys survive a deployment",
        look="`gleaner doctor --env ENV` after the second deployment.",
        expected="The finding `secret` still says that it holds the keys.",
    ),
    Item(
        title="The model does as its provider says",
        look="`gleaner doctor --env ENV --ask`, and the page of limits of the provider.",
        expected="Both calls are answered; the limits of requests and tokens a minute are above what you expect.",
        settled_by="language model",
        needs=Need.ASK,
    ),
    Item(
        title="The plan of the vector index",
        look="Open the usage page of the Pinecone console after loading documents.",
        expected="Below 5 million embedding tokens and 1 million read units a month on the Starter plan.",
    ),
    Item(
        title="Traces",
        look="Ask, then open X-Ray's traces of the last minutes in the CloudWatch console.",
        expected="One trace for the question, with requests to the model, the index and the tables below `## answer`.",
    ),
    Item(
        title="The first scheduled pruning",
        look="`aws lambda get-function-configuration --function-name PRUNE_FUNCTION_NAME "
        "--query LoggingConfig.LogGroup`, and this log after a day.",
        expected="A line with the numbers of a run; no alarm of the dead-letter queue.",
    ),
    Item(
        title="A service that is removed and comes back",
        look="`make destroy ENV=ENV STACK=service`, then `make deploy ENV=ENV`, in a trial environment.",
        expected="The same callers with their sessions, at a new address.",
    ),
)


def walk(findings: Sequence[Finding], *, names: Mapping[str, str], available: frozenset[Need]) -> Iterator[Finding]:
    """One finding for each item: settled by `findings`, or what to look at and what should be seen.

    `names` replaces words in capitals; `available` says what the findings were made with.
    """
    for number, item in enumerate(ITEMS, start=1):
        states = {one.state for one in findings if one.subject == item.settled_by}
        is_settled = item.needs is None or item.needs in available
        yield _judge(f"{SUBJECT} {number}", item, states if is_settled else set(), names)


def _judge(subject: str, item: Item, states: set[State], names: Mapping[str, str]) -> Finding:
    if State.PROBLEM in states:
        return problem(subject, f"{item.title}: not as it should be.", f"See the findings `{item.settled_by}`.")
    if State.OK in states:  # notes beside it say what else is worth knowing
        return ok(subject, f"{item.title}: see the findings `{item.settled_by}`.")
    look = _PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), item.look)
    return note(subject, f"Look: {item.title}.", f"{look} Expected: {item.expected}")
