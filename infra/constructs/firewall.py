"""AWS WAF in front of the API: a limit for each address, addresses of bad repute, and AWS's common rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from aws_cdk import ArnFormat, Fn, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from infra.constructs.gateway_responses import busy_address_body
from infra.environment import Environment
from infra.front import Firewall, FirewallLog
from infra.retention import log_group

_WINDOW_SECONDS = 300
_BODY = "BusyAddress"
# Rules of AWSManagedRulesCommonRuleSet that would refuse good requests. They count, so that their metrics and labels
# remain. What they look for is in AWS's list (docs.aws.amazon.com/waf/latest/developerguide: baseline rule groups).
# Whoever asks about web pages, code or servers writes <script>, https://, ../../ and 169.254.169.254, and sends more
# than 8 KB with a selected text or the messages of a conversation.
_COUNTED_IN_TEXT = (
    *("SizeRestrictions_BODY", "CrossSiteScripting_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY"),
    # `GET /api/keywords?text=` takes 2,000 characters of a question.
    *("SizeRestrictions_QUERYSTRING", "CrossSiteScripting_QUERYARGUMENTS", "EC2MetaDataSSRF_QUERYARGUMENTS"),
    *("GenericLFI_QUERYARGUMENTS", "GenericRFI_QUERYARGUMENTS", "RestrictedExtensions_QUERYARGUMENTS"),
)
# What nobody should read in a log or in a sample of requests: credentials, and what was asked.
_SECRET_HEADERS = ("authorization", "x-api-key", "cookie")
_SECRET_PARTS = ("BODY", "QUERY_STRING")  # the page's sign-in comes back with a code in the query string


class ApiFirewall(Construct):
    """The web ACL, its association with the stage of the API, and its log."""

    def __init__(
        self, scope: Construct, id: str, *, environment: Environment, firewall: Firewall, stage: apigateway.Stage
    ) -> None:
        super().__init__(scope, id)
        acl = wafv2.CfnWebACL(
            self,
            "Acl",
            description=f"Gleaner {environment.name}: in front of the API",
            scope="REGIONAL",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_visibility("Requests"),
            rules=_rules(firewall, environment.cors_origins),
            custom_response_bodies={
                _BODY: wafv2.CfnWebACL.CustomResponseBodyProperty(
                    content_type="APPLICATION_JSON", content=busy_address_body()
                )
            },
            data_protection_config=_data_protection(),
        )
        wafv2.CfnWebACLAssociation(self, "Association", resource_arn=stage.stage_arn, web_acl_arn=acl.attr_arn)
        if firewall.log is not FirewallLog.NOTHING:
            self._add_log(acl, environment, firewall.log)

    def _add_log(self, acl: wafv2.CfnWebACL, environment: Environment, log: FirewallLog) -> None:
        group = log_group(self, "Log", environment=environment)
        _rename(group, f"aws-waf-logs-gleaner-{environment.name}")
        wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=acl.attr_arn,
            log_destination_configs=[_arn_for_waf(group)],
            logging_filter=_only_refused() if log is FirewallLog.REFUSED else None,
        )


def _rename(group: logs.LogGroup, prefix: str) -> None:
    """Give the log group a name with this prefix: AWS WAF takes only those that begin with `aws-waf-logs-`."""
    # The last part of the stack's id keeps a new stack from meeting the log of one that was removed.
    unique = Fn.select(4, Fn.split("-", Fn.select(2, Fn.split("/", Stack.of(group).stack_id))))
    cast(logs.CfnLogGroup, group.node.default_child).log_group_name = f"{prefix}-{unique}"


def _arn_for_waf(group: logs.LogGroup) -> str:
    """The ARN of the log group as AWS WAF takes it: without the `:*` at the end of CloudFormation's."""
    return Stack.of(group).format_arn(
        service="logs",
        resource="log-group",
        resource_name=group.log_group_name,
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )


def _rules(firewall: Firewall, cors_origins: Sequence[str]) -> list[wafv2.CfnWebACL.RuleProperty]:
    return [
        wafv2.CfnWebACL.RuleProperty(
            name="BusyAddress",
            priority=0,
            statement=wafv2.CfnWebACL.StatementProperty(
                rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                    aggregate_key_type="IP",
                    limit=firewall.requests_per_address,
                    evaluation_window_sec=_WINDOW_SECONDS,
                )
            ),
            action=wafv2.CfnWebACL.RuleActionProperty(block=_too_many_requests(cors_origins)),
            visibility_config=_visibility("BusyAddress"),
        ),
        _managed(1, "AWSManagedRulesAmazonIpReputationList", ()),
        _managed(2, "AWSManagedRulesCommonRuleSet", _COUNTED_IN_TEXT),
    ]


def _managed(priority: int, name: str, counted: Sequence[str]) -> wafv2.CfnWebACL.RuleProperty:
    """A group of AWS's rules, in its default version; `counted` of them refuse nothing."""
    count = wafv2.CfnWebACL.RuleActionProperty(count={})
    return wafv2.CfnWebACL.RuleProperty(
        name=name,
        priority=priority,
        statement=wafv2.CfnWebACL.StatementProperty(
            managed_rule_group_statement=wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=name,
                rule_action_overrides=[
                    wafv2.CfnWebACL.RuleActionOverrideProperty(name=rule, action_to_use=count) for rule in counted
                ]
                or None,
            )
        ),
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        visibility_config=_visibility(name),
    )


def _too_many_requests(cors_origins: Sequence[str]) -> wafv2.CfnWebACL.BlockActionProperty:
    """429 with a problem document. It goes past the API's gateway responses, and its content type is fixed."""
    headers = {"Retry-After": str(_WINDOW_SECONDS), "x-should-retry": "false"}
    if cors_origins:
        headers["Access-Control-Allow-Origin"] = "*"
    return wafv2.CfnWebACL.BlockActionProperty(
        custom_response=wafv2.CfnWebACL.CustomResponseProperty(
            response_code=429,
            custom_response_body_key=_BODY,
            response_headers=[
                wafv2.CfnWebACL.CustomHTTPHeaderProperty(name=name, value=value) for name, value in headers.items()
            ],
        )
    )


def _visibility(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=True
    )


def _data_protection() -> wafv2.CfnWebACL.DataProtectionConfigProperty:
    """Unlike the redaction of a log, it also covers samples of requests and the details of a match."""
    fields = [
        wafv2.CfnWebACL.FieldToProtectProperty(field_type="SINGLE_HEADER", field_keys=list(_SECRET_HEADERS)),
        *(wafv2.CfnWebACL.FieldToProtectProperty(field_type=part) for part in _SECRET_PARTS),
    ]
    return wafv2.CfnWebACL.DataProtectionConfigProperty(
        data_protections=[wafv2.CfnWebACL.DataProtectProperty(action="SUBSTITUTION", field=field) for field in fields]
    )


def _only_refused() -> dict[str, object]:
    refused = {"ActionCondition": {"Action": "BLOCK"}}
    return {
        "DefaultBehavior": "DROP",
        "Filters": [{"Behavior": "KEEP", "Requirement": "MEETS_ANY", "Conditions": [refused]}],
    }
