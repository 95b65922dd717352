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
from gleaner_local.index.query_vectors import QueryVectors
from gleaner_local.index.store import RecordStore, StoredRecord
from gleaner_local.index.terms import NO_TERMS, Terms, count_parts, count_terms

logger = logging.getLogger(__name__)

FILE_NAME = "index.sqlite3"
TEXT_FIELD = "text"  # required in every record, as in the embed configuration of the remote index
# A record with this field has its heading in its text. Of any other record the first of these fields is searched with
# the text, which seldom repeats its heading.
START_FIELD = "text_start"
HEADING_FIELDS = ("chapter", "title")
# Dead rows cost a search as much as live ones: beyond this share, the next search reloads the namespace.
MAX_DEAD_SHARE = 0.25
# Raised whenever the same text gets other terms, parts or familiarity: stored records are then analysed again.
ANALYSIS_VERSION = 3
_MAX_BATCH = 500  # of records that are read to find those that match a filter
_EMBED_BATCH = 96
_NOT_EMBEDDED = np.empty((0, DIMENSIONS), dtype=np.float32)


class ScoredRecord(NamedTuple):
    """A search hit; `score` is from 0 to 1, and comparable across queries and namespaces."""

    id: str
    fields: dict[str, Any]
    score: float


def searchable_text(fields: Mapping[str, Any]) -> str:
    """The text that is searched: the heading of the record, if it has one, and its text."""
    if fields.get(START_FIELD):
        return str(fields[TEXT_FIELD])
    headings = (fields.get(name) for name in HEADING_FIELDS)
    heading = next((value for value in headings if isinstance(value, str) and value), None)
    return f"{heading}\n{fields[TEXT_FIELD]}" if heading else str(fields[TEXT_FIELD])


class EmbeddedIndex:
    """Text records in namespaces, searched by words and meaning. Thread-safe within one process.

    One lock guards both file and memory, so a search sees all of a write or nothing of it. Embedding, by far the
    longest part of a write, happens outside the lock. Without an embedder only words are searched; records written
    without one are embedded when their namespace is first loaded with one.
    """

    def __init__(self, data_dir: Path, embedder: Embedder | None) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._store = RecordStore(data_dir / FILE_NAME)
        self._namespaces: dict[str, NamespaceRows] = {}
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._query_vectors = QueryVectors(lambda query: self._embed([query])[0])

    @classmethod
    def open(cls, data_dir: Path) -> EmbeddedIndex:
        """Open the index in `data_dir`; without the installed weights it logs a warning and searches words alone.

        Raises OSError when the directory is not writable or another process uses the index.
        """
        try:
            return cls(data_dir, Embedder.installed())
        except WeightsMissing as missing:
            logger.warning("%s", missing)
            return cls(data_dir, None)

    def stop_embedding(self) -> None:
        """End what embeds texts now or later, searches too, with EmbeddingStopped; nothing of such a write is stored.

        To be called before the server of the index stops, which waits for its requests: a process that ends while
        the model runs is aborted.
        """
        self._stop.set()

    def close(self) -> None:
        """Close the file. All writes are on disk already."""
        with self._lock:
            self._store.close()

    def upsert(self, namespace: str, records: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Write records (id, fields with `text`), replacing those of the same id; the last of duplicates wins."""
        latest = {record_id: dict(fields) for record_id, fields in records}
        texts = [searchable_text(fields) for fields in latest.values()]
        new_records = [
            StoredRecord(record_id, fields, *derived, windows)
            for (record_id, fields), derived, windows in zip(
                latest.items(), self._analyse(texts), self._embed(texts), strict=True
            )
        ]
        with self._lock:
            old_keys, new_keys = self._store.put(namespace, new_records, ANALYSIS_VERSION)
            rows = self._namespaces.get(namespace)
            if rows is None:
                return
            rows.remove(old_keys)
            rows.add([Row(key, *record[2:]) for key, record in zip(new_keys, new_records, strict=True)])
            self._unload_if_stale(namespace)

    def search(self, namespace: str, text: str, *, top_k: int, matches: Predicate | None = None) -> list[ScoredRecord]:
        """The `top_k` best records among those that match, best first; records that score 0 are left out."""
        windows = self._query_vectors.of(text)
        vector = unit_mean(windows) if len(windows) else None
        with self._lock:
            ranking = self._load(namespace).rank(text, vector)
            hits = self._read(ranking, first_batch=top_k)
            return list(islice((hit for hit in hits if matches is None or matches(hit.fields)), top_k))

    def fetch(self, namespace: str, ids: Sequence[str]) -> list[StoredRecord]:
        """The stored records with these ids."""
        with self._lock:
            return self._store.get(namespace, ids)

    def list_ids(self, namespace: str, *, prefix: str, after: str, limit: int) -> list[str]:
        """Up to `limit` ids with `prefix` that follow `after`, in code point order."""
        with self._lock:
            return self._store.ids(namespace, prefix=prefix, after=after, limit=limit)

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """Delete records; unknown ids are ignored."""
        with self._lock:
            keys = self._store.delete(namespace, ids)
            if namespace in self._namespaces:
                self._namespaces[namespace].remove(keys)
                self._unload_if_stale(namespace)

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
        """The number of records by namespace; an empty namespace does not exist."""
        with self._lock:
            return self._store.counts()

    def _embed(self, texts: Sequence[str]) -> list[Vectors]:
        if self._embedder is None:
            return [_NOT_EMBEDDED] * len(texts)
        return self._embedder.embed(texts, stop=self._stop)

    def _analyse(self, texts: Sequence[str]) -> list[tuple[Terms, Terms, float]]:
        """Terms, parts and familiarity of each text; a text that the embedder knows well needs no parts."""
        known = self._embedder.familiarity(texts) if self._embedder is not None else [0.0] * len(texts)
        return [
            (count_terms(text), count_parts(text) if share < 1 else NO_TERMS, share)
            for text, share in zip(texts, known, strict=True)
        ]

    def _load(self, namespace: str) -> NamespaceRows:
        rows = self._namespaces.get(namespace)
        if rows is None:
            self._update_records(namespace)
            rows = NamespaceRows(self._store.rows(namespace))
            if len(rows):  # callers may search any name: empty namespaces are not cached
                self._namespaces[namespace] = rows
        return rows

    def _update_records(self, namespace: str) -> None:
        """Analyse again what an earlier version wrote, and embed what was written while the weights were missing."""
        ids = self._store.analysed_before(namespace, ANALYSIS_VERSION)
        missing = self._store.not_embedded(namespace) if self._embedder is not None else []
        if missing:
            logger.info("Embedding %d records that were written without the weights", len(missing))
        ids = list(dict.fromkeys([*ids, *missing]))
        for start in range(0, len(ids), _EMBED_BATCH):
            records = self._store.get(namespace, ids[start : start + _EMBED_BATCH])
            texts = [searchable_text(record.fields) for record in records]
            vectors = {text: record.vectors for text, record in zip(texts, records, strict=True)}
            not_embedded = [text for text in texts if not len(vectors[text])]
            vectors.update(zip(not_embedded, self._embed(not_embedded), strict=True))
            updated = [
                StoredRecord(record.id, record.fields, *analysis, vectors[text])
                for record, text, analysis in zip(records, texts, self._analyse(texts), strict=True)
            ]
            self._store.put(namespace, updated, ANALYSIS_VERSION)

    def _read(self, ranking: Iterator[tuple[int, float]], *, first_batch: int) -> Iterator[ScoredRecord]:
        """Read no more than is wanted at first: most filters match nearly every record, since few are restricted."""
        size = first_batch
        while batch := list(islice(ranking, size)):
            records = self._store.fields_of([key for key, _ in batch])
            yield from (ScoredRecord(*records[key], score) for key, score in batch)
            size = max(first_batch, min(4 * size, _MAX_BATCH))

    def _unload_if_stale(self, namespace: str) -> None:
        rows = self._namespaces[namespace]
        if rows.dead > MAX_DEAD_SHARE * (len(rows) + rows.dead):
            del self._namespaces[namespace]
