"""A domain name of your own: its certificate, its DNS record, and the addresses that follow from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.environments import ENVIRONMENTS, PROD
from infra.front import Domain
from tests.infra.synthesis import IN_ZONE, OWN_CERTIFICATE, Synthesis, Template, functions, one, properties, resources

AT_DOMAINS = pytest.mark.parametrize(
    ("name", "url"), [("atdomain", "https://ask.example.org/tools/gleaner"), ("zone", "https://zone.example.org")]
)


def test_without_a_domain_there_is_none_of_it(synthesised: Synthesis) -> None:
    kinds = ("ApiGateway::DomainName", "ApiGateway::BasePathMapping", "ApiGatewayV2::ApiMapping", "Route53::RecordSet")
    for environment in ENVIRONMENTS:
        template = synthesised.service[environment.name]
        assert not any(resources(template, f"AWS::{kind}") for kind in (*kinds, "CertificateManager::Certificate"))
        assert "DomainTarget" not in template["Outputs"]
        assert "DisableExecuteApiEndpoint" not in one(template, "AWS::ApiGateway::RestApi")


@AT_DOMAINS
def test_the_domain_is_regional_and_speaks_tls_1_2(synthesised: Synthesis, name: str, url: str) -> None:
    domain = one(synthesised.service[name], "AWS::ApiGateway::DomainName")
    assert url.startswith(f"https://{domain['DomainName']}")
    assert domain["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    assert domain["SecurityPolicy"] == "TLS_1_2"


@AT_DOMAINS
def test_every_address_that_clients_see_is_that_of_the_domain(synthesised: Synthesis, name: str, url: str) -> None:
    template = synthesised.service[name]
    assert template["Outputs"]["ApiUrl"]["Value"] == url
    assert functions(template)["query"]["Environment"]["Variables"]["API_URL"] == url
    assert one(template, "AWS::Cognito::UserPoolResourceServer")["Identifier"] == f"{url}/mcp"
    assert f"{url}/" in _page_client(template)["CallbackURLs"]
    [challenge] = {
        response["ResponseParameters"]["gatewayresponse.header.WWW-Authenticate"]
        for response in properties(template, "AWS::ApiGateway::GatewayResponse")
        if "gatewayresponse.header.WWW-Authenticate" in response["ResponseParameters"]
    }
    assert f'resource_metadata="{url}/.well-known/oauth-protected-resource"' in challenge


def test_an_address_of_the_record_goes_before_that_of_the_domain() -> None:
    assert IN_ZONE.address == "https://zone.example.org"
    assert replace(IN_ZONE, public_url="https://cdn.example.org").address == "https://cdn.example.org"
    assert PROD.address is None


def test_outside_route_53_an_output_says_what_the_record_must_point_to(synthesised: Synthesis) -> None:
    template = synthesised.service["atdomain"]
    [domain] = resources(template, "AWS::ApiGateway::DomainName")
    target = template["Outputs"]["DomainTarget"]
    assert target["Value"] == {"Fn::GetAtt": [domain, "RegionalDomainName"]}
    assert "ask.example.org" in target["Description"]
    assert one(template, "AWS::ApiGateway::DomainName")["RegionalCertificateArn"] == OWN_CERTIFICATE
    assert not resources(template, "AWS::Route53::RecordSet")
    assert one(template, "AWS::ApiGatewayV2::ApiMapping")["ApiMappingKey"] == "tools/gleaner"


def test_in_a_hosted_zone_certificate_and_record_are_made(synthesised: Synthesis) -> None:
    template = synthesised.service["zone"]
    assert IN_ZONE.domain is not None
    certificate = one(template, "AWS::CertificateManager::Certificate")
    assert certificate["ValidationMethod"] == "DNS"
    assert [option["HostedZoneId"] for option in certificate["DomainValidationOptions"]] == [
        IN_ZONE.domain.hosted_zone_id
    ]
    [domain] = resources(template, "AWS::ApiGateway::DomainName")
    record = one(template, "AWS::Route53::RecordSet")
    assert (record["Name"], record["Type"], record["HostedZoneId"]) == (
        "zone.example.org",
        "A",
        IN_ZONE.domain.hosted_zone_id,
    )
    assert record["AliasTarget"]["DNSName"] == {"Fn::GetAtt": [domain, "RegionalDomainName"]}
    assert "DomainTarget" not in template["Outputs"]
    assert "BasePath" not in one(template, "AWS::ApiGateway::BasePathMapping")


def test_the_default_endpoint_stays_unless_it_is_closed(synthesised: Synthesis) -> None:
    closed, open_ = (synthesised.service[name] for name in ("zone", "atdomain"))
    assert one(closed, "AWS::ApiGateway::RestApi")["DisableExecuteApiEndpoint"] is True
    assert _page_client(closed)["CallbackURLs"] == ["https://zone.example.org/"]
    assert "DisableExecuteApiEndpoint" not in one(open_, "AWS::ApiGateway::RestApi")
    own, domain = _page_client(open_)["CallbackURLs"]
    assert "execute-api" in str(own)
    assert domain == "https://ask.example.org/tools/gleaner/"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "ask.example.org"},  # neither a certificate nor a zone
        {"name": "ASK.example.org", "certificate_arn": OWN_CERTIFICATE},
        {"name": "https://ask.example.org", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org/", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org.", "certificate_arn": OWN_CERTIFICATE},
        {"name": "localhost", "certificate_arn": OWN_CERTIFICATE},
        {"name": "-ask.example.org", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org", "base_path": "/gleaner", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org", "base_path": "gleaner/", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org", "base_path": "a//b", "certificate_arn": OWN_CERTIFICATE},
        {"name": "ask.example.org", "base_path": "a?b", "certificate_arn": OWN_CERTIFICATE},
    ],
)
def test_domains_that_nobody_could_open_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"domain name|base path|certificate_arn"):
        Domain(**fields)


def _page_client(template: Template) -> dict[str, Any]:
    clients = resources(template, "AWS::Cognito::UserPoolClient")
    [client] = [resource["Properties"] for name, resource in clients.items() if name.startswith("PageClient")]
    return dict(client)
