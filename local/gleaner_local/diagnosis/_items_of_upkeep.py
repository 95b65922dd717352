"""What only a real account can show about upkeep: alarms, logs, deployments, schedules and remote services."""

from __future__ import annotations

from gleaner_local.diagnosis._item import CANARY, DOCUMENTS, EMAIL, PIPELINE, SNAPSHOT, SPENDING, UPLOADS, Item, Need

_WATCHING = (
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
        look='`aws sns list-subscriptions --query "Subscriptions[].[Endpoint, SubscriptionArn]" --output text`, then '
        "`aws cloudwatch set-alarm-state --alarm-name ALARM_NAME --state-value ALARM --state-reason test` with a name "
        "from `aws cloudwatch describe-alarms --alarm-name-prefix gleaner-ENV-watch`.",
        expected="An ARN beside the address of the record, not `PendingConfirmation`, and a message there within "
        "minutes. If it is missing, `aws cloudwatch describe-alarm-history --alarm-name ALARM_NAME` has the reason.",
        where=EMAIL,
    ),
    Item(
        title="The alarm of spending fires",
        look="Set `usd_per_hour` to a value that one question exceeds, in a trial environment, deploy and ask.",
        expected="The alarm fires within minutes. If the record has an `email`, the message arrives there.",
        where=SPENDING,
    ),
    Item(
        title="The dashboard shows figures",
        look="Open the output DashboardUrl after some questions.",
        expected="Every graph that has data shows it, and none shows an error of its expression.",
    ),
    Item(
        title="Health checks are not counted as questions",
        look="Ask a question, fetch API_URL/api/health some times, and open the metric `AskedRequests` of the "
        "namespace `Gleaner/ENV`.",
        expected="The question is counted, the health checks are not.",
    ),
    Item(
        title="The saved queries find a question",
        look="Run the saved query `Question` with the `X-Query-Id` of a question, and then with its `X-Request-Id`.",
        expected="Both find the line of its metrics. The second also finds the line of the access log.",
    ),
    Item(
        title="Traces",
        look="Ask, then search for `annotation.query_id` in X-Ray's traces, in the CloudWatch console.",
        expected="One trace for the question, with requests to the model, the index and the tables below `## answer`.",
    ),
)
_DEPLOYING = (
    Item(
        title="A new version takes over by a canary",
        look="`.venv/bin/python -m infra.rollout ENV` after the second deployment. The first one has nothing to shift.",
        expected="A deployment of CodeDeploy with the status `Succeeded`. With `IAM_ROLE_PERMISSIONS` the role of "
        "CodeDeploy is at fault.",
        where=CANARY,
    ),
    Item(
        title="A canary gets a tenth of the requests",
        look="`gleaner doctor --env ENV` while the second deployment runs, and the metrics of `AWS/Lambda` in the "
        "CloudWatch console.",
        expected="A note that another version gets 10 % of the requests, and metrics by `ExecutedVersion` for `live`.",
        where=CANARY,
    ),
    Item(
        title="A canary is rolled back",
        look="Deploy something harmless to a trial environment. Meanwhile: `aws cloudwatch set-alarm-state "
        "--alarm-name gleaner-ENV-service-canary-errors-N --state-value ALARM --state-reason test`",
        expected="CodeDeploy goes back within a minute, and the deployment fails.",
        where=CANARY,
    ),
    Item(
        title="The version in use stays active",
        look="`aws lambda get-function-configuration --function-name QUERY_FUNCTION_NAME --qualifier live "
        "--query State` after 14 days without questions, and the log of the function.",
        expected="`Active`, and each week an invocation without a request of API Gateway. With `Inactive` the next "
        "callers get errors.",
        where=SNAPSHOT,
    ),
    Item(
        title="Only main deploys from GitHub",
        look="Run a workflow with `environment: ENV` on another branch.",
        expected="GitHub does not start the job, by the branch rule of its environment. Without this rule the job ends "
        "with `Not authorized to perform sts:AssumeRoleWithWebIdentity`.",
        where=PIPELINE,
    ),
    Item(
        title="The API keys survive a deployment",
        look="`gleaner doctor --env ENV` after the second deployment.",
        expected="The finding `secret` still says that it holds the keys.",
    ),
    Item(
        title="A service that is removed and comes back",
        look="`make destroy ENV=ENV STACK=service`, then `make deploy ENV=ENV`, in a trial environment.",
        expected="The same callers with their sessions, at a new address unless the record has a `domain`.",
    ),
)
_SERVICES = (
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
        title="The first scheduled pruning",
        look="`aws lambda get-function-configuration --function-name PRUNE_FUNCTION_NAME "
        "--query LoggingConfig.LogGroup`, and this log after a day.",
        expected="A line with the numbers of a run; no alarm of the dead-letter queue.",
    ),
)

_DOCUMENTS = (
    Item(
        title="A document that is uploaded is loaded",
        look="`aws s3 cp README.md s3://DOCUMENTS_BUCKET/default_kb/trial/README.md`, and a minute later "
        "`gleaner doctor --env ENV` and a question that only this document answers. Then `aws s3 rm` it.",
        expected="An answer that cites it, and none that does a minute after it was removed.",
        where=DOCUMENTS,
    ),
    Item(
        title="The page uploads to S3",
        look="Upload a file on the page, with the network tools of the browser open.",
        expected="`POST` to the bucket's address is answered with 204 or 201. A message about CORS means that the "
        "origin of the page is not among those of the bucket: give it in `page_urls` of the record.",
        where=UPLOADS,
    ),
    Item(
        title="A document that fails ends among the dead letters",
        look="In a trial environment, put a wrong key for Pinecone into the secret, upload a file, and set the queue's "
        "visibility timeout to a minute until it has failed five times.",
        expected="One message in the queue DOCUMENT_DEAD_LETTERS_URL, the alarm `DocumentsGivenUp`, and the document "
        "loaded after the key is right and the message is sent back.",
        where=DOCUMENTS,
    ),
    Item(
        title="A backfill reaches every object",
        look='`aws stepfunctions start-execution --state-machine-arn BACKFILL_ARN --input \'{"prefix": ""}\'`, and the '
        "Map Run of this execution in the console.",
        expected="`SUCCEEDED`, as many items as the bucket has objects, and as many messages in the queue.",
        where=DOCUMENTS,
    ),
    Item(
        title="How many documents a minute the index takes",
        look="Upload some hundred documents at once, and look at the dashboard: chunks written, and the duration "
        "of the function.",
        expected="The tokens a minute of your plan are used up, or raise `max_concurrency` of `documents`. Many lines "
        "`the index takes no more for now` mean that it may be lowered.",
        where=DOCUMENTS,
    ),
)

ITEMS = (*_WATCHING, *_DEPLOYING, *_SERVICES, *_DOCUMENTS)
