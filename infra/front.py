"""What stands before the API: parts of the record of an environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_FIREWALL_LIMITS = (10, 2_000_000_000)  # what AWS WAF takes


class FirewallLog(Enum):
    """Which requests the firewall logs. The log shows neither credentials nor what was asked."""

    NOTHING = "nothing"
    REFUSED = "refused"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Firewall:
    """AWS WAF in front of the API, which has a price of its own (docs/11)."""

    # A first visit of the page takes about 30 requests, and many people may share an address.
    requests_per_address: int = 2_000  # in five minutes
    log: FirewallLog = FirewallLog.REFUSED

    def __post_init__(self) -> None:
        """Raise ValueError for a limit that AWS WAF does not take."""
        least, most = _FIREWALL_LIMITS
        if not least <= self.requests_per_address <= most:
            raise ValueError(f"AWS WAF takes limits of {least} to {most:,} requests for each address.")


# An ARN of ACM, and an id of Route 53 ("CreateHostedZone" in its API reference: 32 characters).
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[\w-]+", re.ASCII)
_MAX_CERTIFIED = 64  # DomainName of "RequestCertificate" in ACM's API reference
_ZONE = re.compile(r"Z[0-9A-Z]{1,31}")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A domain name of your own for the API, with its certificate in the region of the API."""

    name: str  # in lower case, as ask.example.org
    base_path: str = ""  # the API is at https://NAME/BASE_PATH
    certificate_arn: str | None = None  # an issued certificate; None: one is created, which needs the hosted zone
    hosted_zone_id: str | None = None  # of Route 53, for the DNS record; None: you make the record yourself
    closes_default_endpoint: bool = False  # whether the API's own execute-api address stops answering

    def __post_init__(self) -> None:
        """Raise ValueError for a name that is none, or a domain that nobody could serve."""
        if not re.fullmatch(rf"({_LABEL}\.)+{_LABEL}", self.name):
            raise ValueError(f"{self.name} is not a domain name in lower case.")
        if not re.fullmatch(r"([\w$.+!*'()-]+(/[\w$.+!*'()-]+)*)?", self.base_path, re.ASCII):
            raise ValueError(f"{self.base_path} is not a base path, which neither begins nor ends with a slash.")
        if self.certificate_arn is None and self.hosted_zone_id is None:
            raise ValueError(f"{self.name} needs certificate_arn, or hosted_zone_id to have a certificate created.")
        if self.certificate_arn is None and len(self.name) > _MAX_CERTIFIED:
            raise ValueError(f"{self.name}: ACM certifies {_MAX_CERTIFIED} characters. Name a shorter one, or an ARN.")
        if self.certificate_arn is not None and not _CERTIFICATE.fullmatch(self.certificate_arn):
            raise ValueError(f"{self.name}: certificate_arn is not the ARN of a certificate of ACM.")
        if self.hosted_zone_id is not None and not _ZONE.fullmatch(self.hosted_zone_id):
            raise ValueError(f"{self.name}: hosted_zone_id is the id of a zone, as Z0123456789ABCDEFGHIJ.")

    @property
    def url(self) -> str:
        """The address of the API, without a final slash."""
        return f"https://{self.name}" + (f"/{self.base_path}" if self.base_path else "")
