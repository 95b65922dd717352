"""What only a real account can show about requests: limits, streams, credentials, sign-in, domain and firewall."""

from __future__ import annotations

from gleaner_local.diagnosis._item import (
    API_KEYS,
    BEARER,
    DOMAIN,
    FIREWALL,
    MCP_SIGN_IN,
    PAGE,
    QUOTA,
    SNAPSHOT,
    USERS,
    Item,
    Need,
)

_LOG_GROUP = (
    "$(aws lambda get-function-configuration --function-name QUERY_FUNCTION_NAME --query LoggingConfig.LogGroup "
    "--output text)"
)
_LIMITS_AND_STREAMS = (
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
        expected="29000 milliseconds or more, and no less than `integration_timeout_seconds` of the record.",
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
        where=SNAPSHOT,
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
        look="Ask on the page, or `POST /api/chat/stream`, and close the connection while the answer comes. Then open "
        "the conversation again.",
        expected="The turn is stored. The log says `the client is gone` if the Runtime API told the function.",
    ),
)
_CREDENTIALS = (
    Item(
        title="Keys and tokens as bearer token",
        look="`gleaner doctor --env ENV --token TOKEN`",
        expected="The finding `doors` says that `/v1/models` accepts the credentials: API Gateway takes the key that "
        "the authorizer returns, or the token of the pool.",
        where=BEARER,
        settled_by="doors",
        needs=Need.CREDENTIALS,
    ),
    Item(
        title="The refusal of MCP clients",
        look="`curl -si -X POST API_URL/mcp -d '{}'`",
        expected="401 with a `WWW-Authenticate` that begins with `Bearer`. Where users sign in from MCP clients, it "
        "names the metadata, which is served without credentials.",
        where=BEARER,
        settled_by="doors",
    ),
    Item(
        title="The usage plan counts",
        look="`aws apigateway get-usage --usage-plan-id USAGE_PLAN_ID --start-date TODAY --end-date TODAY`",
        expected="The requests of each key, by whichever header it came.",
        where=API_KEYS,
    ),
    Item(
        title="Signing in from MCP clients",
        look="Sign in once from each client that your users have; "
        "`gleaner mcp --url API_URL --client-id MCP_CLIENT_ID` prints how.",
        expected="The pool's page, then the tools. `redirect_mismatch` means that a callback address is not in the "
        "record, `invalid_request` that the pool refuses the parameter `resource`.",
        where=MCP_SIGN_IN,
    ),
    Item(
        title="Signing in on the page",
        look="Open API_URL/ in a browser, sign in, ask after an hour, and sign out.",
        expected="The answer after an hour, and no answer after the end. Users of a pool see no `redirect_mismatch`, "
        "and their token is renewed.",
        where=PAGE,
    ),
    Item(
        title="Groups of a pool",
        look="`gleaner callers allow group:NAME KB --env ENV`, then ask as a member of this group and another one.",
        expected="An answer from KB, and 403 `not-allowed` for every other knowledge base.",
        where=USERS,
    ),
    Item(
        title="Questions and money of a day",
        look="Ask as a test caller until the limit of the record is reached.",
        expected="429 `quota-exceeded` with `Retry-After`, and answers on the next day.",
        where=QUOTA,
    ),
)
_FRONT = (
    Item(
        title="The domain",
        look="`curl -s API_URL/api/health`, and the same below the API's own address, "
        "`https://API_ID.execute-api.REGION.amazonaws.com/ENV`.",
        expected="API_URL is the domain and answers `ok`. So does the API's own address, unless the record has "
        "`closes_default_endpoint`.",
        where=DOMAIN,
    ),
    Item(
        title="The firewall refuses a busy address",
        look="`for i in $(seq 20); do curl -s -o /dev/null -w '%{http_code} ' API_URL/api/health; sleep 3; done` in a "
        "trial environment with `requests_per_address=10`.",
        expected="429 within a minute. The body is a problem document, and there is a `Retry-After`.",
        where=FIREWALL,
    ),
    Item(
        title="The firewall lets questions through",
        look="Ask a question with `<script>` in it, and one of 20,000 characters.",
        expected="Both are answered.",
        where=FIREWALL,
    ),
    Item(
        title="The firewall refuses programs without a name",
        look="`curl -si -A '' API_URL/api/health`, which sends no `User-Agent`.",
        expected="403 `not-allowed`, as a problem document.",
        where=FIREWALL,
    ),
    Item(
        title="The firewall's log hides credentials",
        look="Open a line of the log group `aws-waf-logs-gleaner-ENV-…`, after a refused request.",
        expected="The request without credentials and without its query string.",
        where=FIREWALL,
    ),
)

ITEMS = (*_LIMITS_AND_STREAMS, *_CREDENTIALS, *_FRONT)
