"""The errors of S3's API, as XML.

Codes, statuses and texts: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
"""

from __future__ import annotations

import uuid
from xml.sax.saxutils import escape

from starlette.responses import Response

_STATUS = {
    "AccessDenied": 403,
    "BadDigest": 400,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "IncompleteBody": 400,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidPolicyDocument": 400,
    "InvalidRange": 416,
    "InvalidURI": 400,
    "KeyTooLongError": 400,
    "MalformedPOSTRequest": 400,
    "MaxPostPreDataLengthExceeded": 400,
    "MetadataTooLarge": 400,
    "MethodNotAllowed": 405,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NotImplemented": 501,
    "PreconditionFailed": 412,
    "SignatureDoesNotMatch": 403,
}


class S3Error(Exception):
    """An error of the API: a code, a message and further elements."""

    def __init__(self, code: str, message: str, **more: str) -> None:
        super().__init__(message)
        self.code = code
        self.more = more

    def to_response(self) -> Response:
        """The response that clients of S3 understand."""
        elements = {"Code": self.code, "Message": str(self), **self.more, "RequestId": uuid.uuid4().hex}
        inner = "".join(f"<{name}>{escape(_printable(text))}</{name}>" for name, text in elements.items())
        content = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inner}</Error>'
        return Response(content, _STATUS[self.code], media_type="application/xml")


def _printable(text: str) -> str:
    """XML has no place for most control characters, which keys may hold."""
    return "".join(char if char.isprintable() or char in "\t\n\r" else "?" for char in text)
