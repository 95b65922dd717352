"""A bucket that the tests of one module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gleaner_local.service.documents import LocalDocuments


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDocuments]:
    """The documents of a service, whose bucket nothing loads."""
    path = tmp_path_factory.mktemp("bucket")
    running = LocalDocuments(path, path, {"AWS_ACCESS_KEY_ID": "k"})
    yield running
    running.stop()
