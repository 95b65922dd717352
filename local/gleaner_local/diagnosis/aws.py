"""Calls to AWS as checks make them: within short limits, and with errors that become findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from gleaner_local.diagnosis.finding import Finding, problem

LIMITS = Config(connect_timeout=3, read_timeout=8, retries={"total_max_attempts": 2})

_NO_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
_BAD_CREDENTIALS = (
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)
_SIGN_IN = "Sign in with `aws sso login` or `aws configure`, or name a profile in AWS_PROFILE."


class Account:
    """The AWS account and region that the environment of this process names, as the AWS CLI finds them."""

    def client(self, service: str) -> Any:
        """A client of a service of AWS. Raises BotoCoreError, as its calls do, or ClientError."""
        return boto3.Session().client(service, config=LIMITS)  # type: ignore[call-overload]


def aws_findings(
    subject: str, findings: Iterable[Finding], *, unreachable: str = "Check the network, and AWS_REGION."
) -> Iterator[Finding]:
    """`findings`, and the error of AWS that they end with, if one does, as a problem.

    `unreachable` says what to do when nothing answers.
    """
    try:
        yield from findings
    except ClientError as error:
        yield _refused(subject, error)
    except _NO_CREDENTIALS as error:
        yield problem(subject, f"There are no usable AWS credentials ({type(error).__name__}).", _SIGN_IN)
    except NoRegionError:
        yield problem(subject, "No AWS region is named.", "Set AWS_REGION to the region of the deployment.")
    except (BotoCoreError, ValueError) as error:  # an address that is none is a ValueError
        yield problem(subject, f"AWS gives no usable answer ({type(error).__name__}).", unreachable)


def _refused(subject: str, error: ClientError) -> Finding:
    """What a refusal means; the service's own text is left out, since it repeats what was sent."""
    code = str(error.response.get("Error", {}).get("Code", "unknown"))
    operation = error.operation_name
    if code in _BAD_CREDENTIALS:
        return problem(subject, f"AWS does not take the credentials ({code}).", _SIGN_IN)
    if code.startswith(("AccessDenied", "UnauthorizedOperation")):
        return problem(subject, f"The credentials may not call {operation}.", "Use credentials that may read it.")
    return problem(subject, f"AWS answers {operation} with {code}.", "Try again, or look at it in the console.")
