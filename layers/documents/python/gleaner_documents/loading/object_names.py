"""What an object's key says: of which knowledge base it is a document, and by which name."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from gleaner.document_files import FORMATS, compose_name, describe_unknown_type, extension_of, is_visible
from gleaner.errors import InvalidInput
from gleaner.model import KB_ID_PATTERN
from gleaner_documents.groups import document_beside, sidecar_of
from gleaner_documents.model import FileNotReadable

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

    @property
    def sidecar_keys(self) -> list[str]:
        """The keys that its sidecar may have, the first that exists counts: the other one is in decomposed Unicode.

        Whoever put it there did not say by its form that the document is for everybody.
        """
        sidecar = sidecar_of(self.key)
        keys = dict.fromkeys((sidecar, unicodedata.normalize("NFD", sidecar)))
        return [key for key in keys if _size(key) <= MAX_KEY_BYTES]


def read_key(key: str) -> ObjectName:
    """The document that an object is, or that the sidecar in it is about. Raises NotADocument.

    A key in decomposed Unicode is no other name for the document of the composed key: both may exist. A sidecar in
    either form is about the document of the composed name.
    """
    try:
        size = _size(key)
    except UnicodeEncodeError as error:
        raise NotADocument("The key is no text in UTF-8.") from error
    kb_id, separator, path = key.partition("/")
    if size > MAX_KEY_BYTES:
        raise NotADocument(f"The key is longer than {MAX_KEY_BYTES:,} bytes.")
    if not separator or not re.fullmatch(KB_ID_PATTERN, kb_id):
        raise NotADocument("The key does not begin with the name of a knowledge base and a slash.")
    if not path or path.endswith("/"):
        raise NotADocument("The object stands for a directory.")
    composed = compose_name(path)
    if not is_visible(composed):
        raise NotADocument("The name has a line break or another character that cannot be shown.")
    name = document_beside(composed) or path
    if _size(f"{kb_id}/{name}") > MAX_KEY_BYTES:  # a few letters take more bytes once they are composed
        raise NotADocument("The name of the sidecar's document is too long.")
    return ObjectName(kb_id, name, _find_objection(name))


def make_key(kb_id: str, source_file_path: str) -> str:
    """The key of a document's object, or of its sidecar's. Raises FileNotReadable if no object can have it."""
    key = f"{kb_id}/{source_file_path}"
    if (size := _size(key)) > MAX_KEY_BYTES:
        reason = f"has a name too long for the bucket: {size:,} of at most {MAX_KEY_BYTES:,} bytes; rename it"
        raise FileNotReadable(source_file_path, reason)
    return key


def _size(key: str) -> int:
    return len(key.encode())


def _find_objection(path: str) -> str | None:
    """What is wrong with a name, to follow it: `ingest` gives no file such a name, nor reads hidden ones."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a name that is no path from a directory down; rename the file"
    if any(part.startswith(".") for part in parts):
        return "is a hidden file or in a hidden directory; rename it"
    if compose_name(path) != path:
        return "has a name in decomposed Unicode; upload it again under the composed name (NFC), as gleaner ingest does"
    return None if extension_of(path) in FORMATS else describe_unknown_type()
