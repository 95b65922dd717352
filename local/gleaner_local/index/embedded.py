"""The embedded index: what the local Pinecone server stores and searches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gleaner_local.index._rows import NamespaceRows, Row
from gleaner_local.index.embedder import DIMENSIONS, Embedder, Vectors, WeightsMissing, unit_mean
from gleaner_local.index.filters import Predicate
from gleaner_local.index.store import RecordStore, StoredRecord
from gleaner_local.index.terms import count_terms

logger = logging.getLogger(__name__)

FILE_NAME = "index.sqlite3"
TEXT_FIELD = "text"  # must be there in every record, as in the embed configuration of the remote index
# The first of these that a record has is searched with its text: a passage seldom repeats its own heading.
HEADING_FIELDS = ("chapter", "title")
# Dead rows cost a search as much as live ones. Beyond this share a namespace is read afresh.
MOST_DEAD = 0.25
_FILTERED_AT_ONCE = 500
_EMBEDDED_AT_ONCE = 96
_NOT_EMBEDDED = np.empty((0, DIMENSIONS), dtype=np.float32)


class ScoredRecord(NamedTuple):
    """A record that a search found; `score` is 0 to 1 and comparable across queries and namespaces."""

    id: str
    fields: dict[str, Any]
    score: float


def searched_text(fields: Mapping[str, Any]) -> str:
    """What a record is found by: its heading, when it has one, and its text."""
    headings = (fields.get(name) for name in HEADING_FIELDS)
    heading = next((value for value in headings if isinstance(value, str) and value), None)
    return f"{heading}\n{fields[TEXT_FIELD]}" if heading else str(fields[TEXT_FIELD])


class EmbeddedIndex:
    """Text records in namespaces, searched by words and meaning. Safe for several threads of one process.

    One lock guards file and memory together, so a search sees all of a write or nothing of it; embedding,
    by far the longest part of a write, is done outside it. Without an embedder words alone are searched;
    records written that way are embedded when their namespace is first used with one.
    """

    def __init__(self, data_dir: Path, embedder: Embedder | None) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._store = RecordStore(data_dir / FILE_NAME)
        self._namespaces: dict[str, NamespaceRows] = {}
        self._lock = threading.RLock()

    @classmethod
    def open(cls, data_dir: Path) -> EmbeddedIndex:
        """The index under `data_dir`, with the installed weights or, having said so, with words alone.

        Raises OSError when the directory cannot be written or another process uses it.
        """
        try:
            return cls(data_dir, Embedder.installed())
        except WeightsMissing as missing:
            logger.warning("%s", missing)
            return cls(data_dir, None)

    def close(self) -> None:
        """Close the file. What was written is on disk already."""
        with self._lock:
            self._store.close()

    def upsert(self, namespace: str, records: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Write records (id, fields with `text`), replacing those of the same id; the last of two counts."""
        latest = {record_id: dict(fields) for record_id, fields in records}
        texts = [searched_text(fields) for fields in latest.values()]
        vectors = self._embedded(texts)
        written = [
            StoredRecord(record_id, fields, *count_terms(text), windows)
            for (record_id, fields), text, windows in zip(latest.items(), texts, vectors, strict=True)
        ]
        with self._lock:
            replaced, added = self._store.put(namespace, written)
            rows = self._namespaces.get(namespace)
            if rows is None:
                return
            rows.remove(replaced)
            rows.add([Row(key, *record[2:]) for key, record in zip(added, written, strict=True)])
            self._forget_if_dead(namespace)

    def search(self, namespace: str, text: str, *, top_k: int, matches: Predicate | None = None) -> list[ScoredRecord]:
        """The `top_k` best records among those that match, best first; a record that scores 0 is none."""
        windows = self._embedded([text])[0]
        vector = unit_mean(windows) if len(windows) else None
        with self._lock:
            ranked = self._loaded(namespace).ranked(text, vector)
            found = self._read(ranked, at_once=_FILTERED_AT_ONCE if matches else top_k)
            return list(islice((hit for hit in found if matches is None or matches(hit.fields)), top_k))

    def fetch(self, namespace: str, ids: Sequence[str]) -> list[StoredRecord]:
        """The stored records with these ids."""
        with self._lock:
            return self._store.get(namespace, ids)

    def list_ids(self, namespace: str, *, prefix: str, after: str, limit: int) -> list[str]:
        """Up to `limit` ids that begin with `prefix` and come after `after`, in code point order."""
        with self._lock:
            return self._store.ids(namespace, prefix=prefix, after=after, limit=limit)

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """Delete records; ids that are not stored are ignored."""
        with self._lock:
            gone = self._store.delete(namespace, ids)
            if namespace in self._namespaces:
                self._namespaces[namespace].remove(gone)
                self._forget_if_dead(namespace)

    def delete_all(self, namespace: str) -> None:
        """Delete every record of the namespace."""
        with self._lock:
            self._store.delete_all(namespace)
            self._namespaces.pop(namespace, None)

    def delete_matching(self, namespace: str, matches: Predicate) -> None:
        """Delete the records whose fields match."""
        with self._lock:
            self.delete(namespace, [record_id for record_id, fields in self._store.scan(namespace) if matches(fields)])

    def counts(self) -> dict[str, int]:
        """How many records each namespace holds; one that holds none does not exist."""
        with self._lock:
            return self._store.counts()

    def _embedded(self, texts: Sequence[str]) -> list[Vectors]:
        if self._embedder is None:
            return [_NOT_EMBEDDED] * len(texts)
        return self._embedder.embed(texts)

    def _loaded(self, namespace: str) -> NamespaceRows:
        rows = self._namespaces.get(namespace)
        if rows is None:
            if self._embedder is not None:
                self._embed_missing(namespace)
            rows = NamespaceRows(self._store.rows(namespace))
            if len(rows):  # a name that anybody may make up is not worth remembering
                self._namespaces[namespace] = rows
        return rows

    def _embed_missing(self, namespace: str) -> None:
        """Embed what was written while the weights were missing."""
        missing = self._store.not_embedded(namespace)
        if missing:
            logger.info("Embedding %d records that were written without the weights", len(missing))
        for start in range(0, len(missing), _EMBEDDED_AT_ONCE):
            part = missing[start : start + _EMBEDDED_AT_ONCE]
            vectors = self._embedded([searched_text(record.fields) for record in part])
            renewed = [record._replace(vectors=windows) for record, windows in zip(part, vectors, strict=True)]
            self._store.put(namespace, renewed)

    def _read(self, ranked: Iterator[tuple[int, float]], *, at_once: int) -> Iterator[ScoredRecord]:
        while part := list(islice(ranked, at_once)):
            stored = self._store.fields_of([key for key, _ in part])
            yield from (ScoredRecord(*stored[key], score) for key, score in part)

    def _forget_if_dead(self, namespace: str) -> None:
        rows = self._namespaces[namespace]
        if rows.dead > MOST_DEAD * (len(rows) + rows.dead):
            del self._namespaces[namespace]
