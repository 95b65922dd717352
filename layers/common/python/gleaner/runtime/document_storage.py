"""Where documents are kept: the table of their states, and the bucket that callers upload them to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gleaner.errors import ConfigurationError
from gleaner.runtime.variables import read_path

# Without dots, which no certificate of S3 covers. Names and addresses become part of a Content-Security-Policy.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?/?")
_REGION = re.compile(r"[a-z0-9-]+")
_FORMS = "DOCUMENTS_ENDPOINT_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStorage:
    """The table, and the bucket; without a bucket the service takes no documents."""

    table: str
    bucket: str
    endpoint_url: str | None  # of S3, if it is not AWS's
    # Where browsers reach S3 instead of there: an origin, or a path below the address of the API.
    form_address: str | None
    region: str

    @property
    def form_origin(self) -> str | None:
        """The origin that the page sends forms to; None if it is the page's own, or there is no bucket."""
        address = self.form_address or self.endpoint_url or f"https://{self.bucket}.s3.{self.region}.amazonaws.com"
        return None if not self.bucket or address.startswith("/") else address


def read_document_storage(env: Mapping[str, str]) -> DocumentStorage:
    """Read DOCUMENTS_TABLE, DOCUMENTS_BUCKET and the addresses of S3. Raises ConfigurationError."""
    bucket = env.get("DOCUMENTS_BUCKET", "")
    if bucket and not _BUCKET.fullmatch(bucket):
        raise ConfigurationError("DOCUMENTS_BUCKET must be the name of a bucket: lowercase letters, digits and -.")
    is_path = env.get(_FORMS, "").startswith("/")
    form_address = read_path(env, _FORMS) if is_path else _read_origin(env, _FORMS)
    region = (env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "") if bucket else ""
    if bucket and not _REGION.fullmatch(region):
        raise ConfigurationError("DOCUMENTS_BUCKET needs AWS_REGION, the region of the bucket.")
    return DocumentStorage(
        table=env["DOCUMENTS_TABLE"],
        bucket=bucket,
        endpoint_url=_read_origin(env, "AWS_ENDPOINT_URL_S3"),
        form_address=form_address,
        region=region,
    )


def _read_origin(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name)
    if value and not _ORIGIN.fullmatch(value):
        raise ConfigurationError(f"{name} must be an address such as https://s3.example.org, without a path.")
    return value.rstrip("/") if value else None
