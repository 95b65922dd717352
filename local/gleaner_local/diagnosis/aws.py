"""Calls to AWS for the checks: with short timeouts, and with errors turned into findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

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
from infra.account import open_session

LIMITS = Config(connect_timeout=3, read_timeout=8, retries={"total_max_attempts": 2})

_NO_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
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
_FORBIDDEN = ("AccessDenied", "UnauthorizedOperation", "403")  # the last without a body, as HeadObject answers
_SIGN_IN = "Sign in with `aws sso login` or `aws configure`, or name a profile in AWS_PROFILE."
_OTHER_PROFILE = "Name one of `aws configure list-profiles` in AWS_PROFILE, or make it with `aws configure --profile`."


class Account:
    """The AWS account and region of this process, resolved as the AWS CLI does."""

    def client(self, service: str) -> Any:
        """A client of an AWS service. Raises BotoCoreError, as do its calls, which may also raise ClientError."""
        return open_session().client(service, config=LIMITS)  # type: ignore[call-overload]


def aws_findings(
    subject: str, findings: Iterable[Finding], *, unreachable: str = "Check the network, and AWS_REGION."
) -> Iterator[Finding]:
    """Yield `findings`; an AWS error that ends them becomes a problem.

    `unreachable` says what to do when nothing answers.
    """
    try:
        yield from findings
    except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: the address is malformed
        yield explain_error(subject, error, unreachable=unreachable)


def explain_error(
    subject: str,
    error: Exception,
    *,
    unreachable: str = "Check the network, and AWS_REGION.",
    forbidden: str = "Use credentials with read access.",
) -> Finding:
    """The problem that an error of boto3 reports, without the texts of services, which may repeat the request.

    `unreachable` and `forbidden` say what to do when nothing answers, and when the credentials may not do this.
    """
    match error:
        case ClientError():
            return _explain_refusal(subject, error, forbidden)
        case NoRegionError():
            return problem(subject, "No AWS region is set.", "Set AWS_REGION to the region of the deployment.")
        case ProfileNotFound(kwargs={"profile": profile}):
            return problem(subject, f"There is no AWS profile {profile!r} on this machine.", _OTHER_PROFILE)
    name = type(error).__name__
    if isinstance(error, _NO_CREDENTIALS):
        return problem(subject, f"There are no usable AWS credentials ({name}).", _SIGN_IN)
    return problem(subject, f"AWS returns no usable answer ({name}).", unreachable)


def _explain_refusal(subject: str, error: ClientError, forbidden: str) -> Finding:
    """Explain an error response; the service's own text is left out because it may repeat the request."""
    code = str(error.response.get("Error", {}).get("Code", "unknown"))
    operation = error.operation_name
    if code in _BAD_CREDENTIALS:
        return problem(subject, f"AWS rejects the credentials ({code}).", _SIGN_IN)
    if code.startswith(_FORBIDDEN):
        return problem(subject, f"The credentials may not call {operation}.", forbidden)
    return problem(subject, f"AWS answers {operation} with {code}.", "Retry, or look at it in the AWS console.")
