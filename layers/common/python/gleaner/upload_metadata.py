"""What the form of an upload says about it in the metadata of its object, for whoever loads the object."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gleaner.groups import Groups, read_header, write_header

_GROUPS = "groups"
_KEPT = "groups-kept"
_REPLACES = "replaces"
UPLOAD = "upload"  # its id


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadMetadata:
    """What an object says of its upload: nothing, unless it came by a form of the API or by somebody who names groups.

    `kept` are the groups of the version that the upload replaces; they hold if nothing else names any. `replaces` is
    the mark of the groups of the version that the caller was allowed to replace. `upload_id` belongs to one caller,
    whom only the table of documents names.
    """

    groups: Groups = ()
    kept: Groups = ()
    replaces: str | None = None
    upload_id: str | None = None

    def write(self) -> dict[str, str]:
        """The metadata of the object."""
        lists = {_GROUPS: self.groups, _KEPT: self.kept}
        return {name: write_header(groups) for name, groups in lists.items() if groups} | {
            name: value for name, value in ((_REPLACES, self.replaces), (UPLOAD, self.upload_id)) if value
        }


def read_upload_metadata(metadata: Mapping[str, str]) -> UploadMetadata:
    """What the metadata of an object says. Raises InvalidGroups."""
    groups, kept = (read_header(metadata[name]) if name in metadata else () for name in (_GROUPS, _KEPT))
    return UploadMetadata(groups=groups, kept=kept, replaces=metadata.get(_REPLACES), upload_id=metadata.get(UPLOAD))


def mark_groups(groups: Collection[str]) -> str:
    """A mark of the groups of a document, of few bytes: metadata has room for 2 KB."""
    return hashlib.sha256(write_header(set(groups)).encode()).hexdigest()[:16]
