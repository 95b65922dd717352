"""The authorizer: hands an API key on to API Gateway, which alone knows the keys and checks it.

Many clients of the OpenAI API can send a key as bearer token only, and API Gateway reads keys either from `x-api-key`
or from what an authorizer returns. This one needs no permission and does not judge: strangers are kept out because its
methods also require an API key. It has no layer, so that a cold start is short.
"""

from __future__ import annotations

from typing import Any

_SCHEME = "bearer "  # case-insensitive (RFC 9110, section 11.1)


def lambda_handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """The API key of a TOKEN authorizer's event, with a policy that leaves the decision to API Gateway.

    The policy covers all methods, because API Gateway caches it by the header and not by the method.
    """
    value: str = event["authorizationToken"]
    key = value[len(_SCHEME) :].strip() if value.lower().startswith(_SCHEME) else value
    api, stage, *_ = event["methodArn"].split("/")
    allow = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": f"{api}/{stage}/*"}
    return {
        "principalId": "api-key",  # access logs and the function's event hold it: never the key
        "policyDocument": {"Version": "2012-10-17", "Statement": [allow]},
        "usageIdentifierKey": key,
    }
