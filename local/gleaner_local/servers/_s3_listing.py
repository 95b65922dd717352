"""Lists the objects of a bucket in pages, as ListObjectsV2 of S3 does.

docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html. Keys are ordered by the bytes of UTF-8.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from gleaner_local.servers._s3_errors import S3Error
from gleaner_local.servers.s3_objects import ObjectFiles, StoredObject

MAX_KEYS = 1000
_DELIMITER = "/"
_AFTER_DELIMITER = "0"  # the character that follows it


@dataclass(slots=True)
class _Page:
    objects: list[StoredObject] = field(default_factory=list)
    common_prefixes: list[str] = field(default_factory=list)
    next_start: str | None = None

    def __len__(self) -> int:
        return len(self.objects) + len(self.common_prefixes)


def list_objects(objects: ObjectFiles, bucket: str, query: Mapping[str, str]) -> str:
    """The XML of one page. Raises S3Error for what this server does not do."""
    if query.get("list-type") != "2":
        raise S3Error("NotImplemented", "This server lists objects by ListObjectsV2 alone.")
    delimiter = query.get("delimiter", "")
    if delimiter not in ("", _DELIMITER):
        raise S3Error("NotImplemented", f"The delimiter of this server is {_DELIMITER}.")
    prefix, limit = query.get("prefix", ""), _read_limit(query)
    page = _read_page(objects, prefix, _read_start(query), limit=limit, delimiter=delimiter)
    return _to_xml(page, bucket, prefix, limit=limit, delimiter=delimiter, encoded="encoding-type" in query)


def _read_page(objects: ObjectFiles, prefix: str, start: str, *, limit: int, delimiter: str) -> _Page:
    page = _Page()
    while True:
        batch = objects.list(prefix, start=start, limit=limit + 1 - len(page)) if not delimiter else []
        batch = batch or objects.list(prefix, start=start, limit=1)
        if not batch:
            return page
        for stored in batch:
            if len(page) == limit:
                page.next_start = stored.key
                return page
            below = stored.key[len(prefix) :]
            if delimiter and delimiter in below:
                folder = prefix + below[: below.index(delimiter)]
                page.common_prefixes.append(folder + delimiter)
                start = folder + _AFTER_DELIMITER
            else:
                page.objects.append(stored)
                start = stored.key + "\0"


def _read_limit(query: Mapping[str, str]) -> int:
    try:
        return min(MAX_KEYS, max(1, int(query.get("max-keys") or MAX_KEYS)))
    except ValueError:
        raise S3Error("InvalidArgument", "Provided max-keys not an integer or within integer range") from None


def _read_start(query: Mapping[str, str]) -> str:
    """The first key that the page may hold."""
    if token := query.get("continuation-token"):
        try:
            return base64.urlsafe_b64decode(token).decode()
        except (binascii.Error, ValueError):
            raise S3Error("InvalidArgument", "The continuation token provided is incorrect") from None
    after = query.get("start-after")
    return f"{after}\0" if after else ""


def _to_xml(page: _Page, bucket: str, prefix: str, *, limit: int, delimiter: str, encoded: bool) -> str:
    def show(key: str) -> str:
        return escape(quote(key, safe="/") if encoded else key)

    token = page.next_start and base64.urlsafe_b64encode(page.next_start.encode()).decode()
    parts = [
        f"<Name>{bucket}</Name><Prefix>{show(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>",
        f"<MaxKeys>{limit}</MaxKeys><IsTruncated>{'true' if token else 'false'}</IsTruncated>",
        f"<NextContinuationToken>{token}</NextContinuationToken>" if token else "",
        f"<Delimiter>{delimiter}</Delimiter>" if delimiter else "",
        "<EncodingType>url</EncodingType>" if encoded else "",
        *(
            f"<Contents><Key>{show(stored.key)}</Key><LastModified>{_to_iso(stored.modified)}</LastModified>"
            f"<ETag>&quot;{stored.etag}&quot;</ETag><Size>{stored.size}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for stored in page.objects
        ),
        *(f"<CommonPrefixes><Prefix>{show(one)}</Prefix></CommonPrefixes>" for one in page.common_prefixes),
    ]
    inner = "".join(parts)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{inner}</ListBucketResult>'
    )


def _to_iso(modified: float) -> str:
    return datetime.fromtimestamp(modified, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
