"""Accepts violations of cdk-nag rules, each with its reason."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept that `construct` or one of its children violates `rule`, for the given reason."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
