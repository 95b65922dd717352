"""A domain name of your own for the API, with its certificate and its DNS record."""

from __future__ import annotations

from typing import cast

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from constructs import Construct

from infra.front import Domain


class CustomDomain(Construct):
    """The domain, mapped to the API. Where a hosted zone is named, the DNS record, too; else what it must say."""

    def __init__(self, scope: Construct, id: str, *, domain: Domain, api: apigateway.RestApi) -> None:
        super().__init__(scope, id)
        name = apigateway.DomainName(
            self,
            "Name",
            domain_name=domain.name,
            certificate=self._certificate(domain),
            endpoint_type=apigateway.EndpointType.REGIONAL,
            security_policy=apigateway.SecurityPolicy.TLS_1_2,
            mapping=api,
            base_path=domain.base_path or None,
        )
        target = name.domain_name_alias_domain_name
        if domain.hosted_zone_id is None:
            CfnOutput(
                Stack.of(self), "DomainTarget", value=target, description=f"DNS: make {domain.name} a CNAME of this."
            )
            return
        route53.CfnRecordSet(
            self,
            "Record",
            name=domain.name,
            type="A",
            hosted_zone_id=domain.hosted_zone_id,
            alias_target=route53.CfnRecordSet.AliasTargetProperty(
                dns_name=target, hosted_zone_id=name.domain_name_alias_hosted_zone_id
            ),
        )

    def _certificate(self, domain: Domain) -> acm.ICertificate:
        if domain.certificate_arn is not None:
            return acm.Certificate.from_certificate_arn(self, "Certificate", domain.certificate_arn)
        # The record of a domain without a certificate names its hosted zone: ACM validates the certificate there.
        zone = route53.HostedZone.from_hosted_zone_id(self, "Zone", cast(str, domain.hosted_zone_id))
        return acm.Certificate(
            self,
            "Certificate",
            domain_name=domain.name,
            validation=acm.CertificateValidation.from_dns(zone),
        )
