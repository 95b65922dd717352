"""Opens ZIP containers (OOXML, EPUB) within bounds. Nothing is ever written under the names that they hold."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from gleaner_documents.model import BrokenFile, RefusedFile

# Deflate packs up to 1,000 to 1. zipfile hands out no more bytes of an entry than its directory states, so this sum
# bounds what the parsers get. The largest real files have some ten thousand entries (one for each picture).
MAX_UNPACKED_BYTES = 300 * 1024 * 1024
MAX_ENTRIES = 50_000
# The signature of OLE compound files: Office 97 formats, and OOXML under a password ([MS-OFFCRYPTO] 2.3).
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A document type may declare entities that expand without end or name other files. OOXML forbids document types.
_ENTITY = "<!ENTITY"
_ENTITIES = tuple(_ENTITY.encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))
_XML_ENDINGS = (".xml", ".rels", ".opf", ".ncx", ".vml")  # XHTML is read as HTML, which knows no entities
_ENCRYPTED = 0x1  # a bit of an entry's flags (APPNOTE.TXT 4.4.4)


def open_archive(source_file_path: str, data: bytes) -> zipfile.ZipFile:
    """The ZIP container in `data`.

    Raises BrokenFile if it is none or needs a password, and RefusedFile if it unpacks to too much or declares XML
    entities.
    """
    if data.startswith(_OLE):
        raise BrokenFile(source_file_path, "needs a password or has an old format; save it anew without a password")
    try:
        archive = zipfile.ZipFile(BytesIO(data))
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise BrokenFile(source_file_path, "is damaged or not of the format that its name says") from error
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise BrokenFile(source_file_path, "needs a password; save it without one")
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        limit = MAX_UNPACKED_BYTES // (1024 * 1024)
        raise RefusedFile(source_file_path, f"unpacks to more than {limit} MB or {MAX_ENTRIES:,} parts")
    _refuse_entities(source_file_path, archive)
    return archive


def _refuse_entities(source_file_path: str, archive: zipfile.ZipFile) -> None:
    for entry in archive.infolist():
        if entry.filename.lower().endswith(_XML_ENDINGS) and _declares_entities(archive, entry):
            raise RefusedFile(source_file_path, "declares XML entities, which can hold an attack")


def _declares_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    """Reads the entry piece by piece; a damaged entry is the format's reader's to report."""
    overlap = b""
    try:
        with archive.open(entry) as stream:
            while piece := stream.read(1 << 20):
                window = overlap + piece
                if any(entity in window for entity in _ENTITIES):
                    return True
                overlap = window[-2 * len(_ENTITY) :]
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError):
        return False
    return False
