"""Says why a rule of cdk-nag does not hold for a construct."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Record that `construct`, or what it is made of, breaks `rule`, and why that is accepted."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
