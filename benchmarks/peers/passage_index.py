"""An index of the passages with FAISS, which all peers use."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
from openai import AsyncOpenAI, OpenAI
from serving import EMBEDDING_MODEL, EMBEDDINGS_URL, INDEX, PASSAGES, TOP_K, number_passages

_BATCH = 96  # texts of a request
_FILE = INDEX / "passages.faiss"


class PassageIndex:
    """The passages of the documents, searched by the inner product of unit vectors. Made once, then read from disk."""

    def __init__(self) -> None:
        if not _FILE.exists():
            INDEX.mkdir(parents=True, exist_ok=True)
            faiss.write_index(_make_index(), str(_FILE))
        self._index = faiss.read_index(str(_FILE))
        self._client = AsyncOpenAI(api_key="k", base_url=EMBEDDINGS_URL, max_retries=0)

    async def search(self, query: str, top_k: int = TOP_K) -> tuple[list[dict[str, Any]], str]:
        """The passages that are closest to `query`, best first, and the text that shows them to the model."""
        embedded = await self._client.embeddings.create(model=EMBEDDING_MODEL, input=query)
        scores, rows = self._index.search(np.array([embedded.data[0].embedding], dtype=np.float32), top_k)
        passages = [PASSAGES[row] for row in rows[0] if row >= 0]  # -1 stands for none
        return passages, number_passages(passages, scores[0][: len(passages)].tolist())


def _make_index() -> Any:
    client = OpenAI(api_key="k", base_url=EMBEDDINGS_URL, max_retries=0)
    vectors: list[list[float]] = []
    for start in range(0, len(PASSAGES), _BATCH):
        texts = [passage["searched"] for passage in PASSAGES[start : start + _BATCH]]
        vectors += [item.embedding for item in client.embeddings.create(model=EMBEDDING_MODEL, input=texts).data]
    index = faiss.IndexFlatIP(len(vectors[0]))
    index.add(np.array(vectors, dtype=np.float32))
    return index
