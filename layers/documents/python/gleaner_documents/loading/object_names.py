"""What an object's key says: of which knowledge base it is a document, and by which name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gleaner.document_files import FORMATS, describe_unknown_type, extension_of, is_visible
from gleaner.errors import InvalidInput
from gleaner.model import KB_ID_PATTERN
from gleaner_documents.groups import document_beside

SOURCE_URL = "source-url"  # metadata of an object: the address of the page, if it is published
MAX_KEY_BYTES = 1_024  # of an object in S3 (docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html)


class NotADocument(InvalidInput):
    """The object is no document of any knowledge base, and there is no place to say so but the log."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A document by its knowledge base and the name of its file, and `objection`: why it is not loaded, if it is not.

    The key of the object is both with "/" between them.
    """

    kb_id: str
    source_file_path: str
    objection: str | None = None

    @property
    def key(self) -> str:
        """The key of the document's object."""
        return f"{self.kb_id}/{self.source_file_path}"


def read_key(key: str) -> ObjectName:
    """The document that an object is, or that the sidecar in it is about. Raises NotADocument."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise NotADocument("The key is no text in UTF-8.") from error
    kb_id, separator, path = key.partition("/")
    if size > MAX_KEY_BYTES:
        raise NotADocument(f"The key is longer than {MAX_KEY_BYTES:,} bytes.")
    if not separator or not re.fullmatch(KB_ID_PATTERN, kb_id):
        raise NotADocument("The key does not begin with the name of a knowledge base and a slash.")
    if not path or path.endswith("/"):
        raise NotADocument("The object stands for a directory.")
    if not is_visible(path):
        raise NotADocument("The name has a line break or another character that cannot be shown.")
    name = document_beside(path) or path
    return ObjectName(kb_id, name, _find_objection(name))


def _find_objection(path: str) -> str | None:
    """What is wrong with a name, to follow it: `ingest` gives no file such a name, nor reads hidden ones."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a name that is no path from a directory down; rename the file"
    if any(part.startswith(".") for part in parts):
        return "is a hidden file or in a hidden directory; rename it"
    return None if extension_of(path) in FORMATS else describe_unknown_type()
