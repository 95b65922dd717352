"""Loading documents from a bucket, through the real clients into the real local index."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseQuotaUsed, KnowledgeBaseTimedOut, LoadingPaused
from gleaner.model import DocumentState
from gleaner_documents.loading import _looking, object_loading
from gleaner_documents.loading.object_loading import TooManyAttempts
from gleaner_documents.model import Document
from gleaner_documents.reading import read_document
from tests.documents.loading.bench import Bench, Killed, fresh, text

PATH = "docs/a.md"


def state(bench: Bench, path: str = PATH) -> tuple[DocumentState, str | None]:
    entry = bench.entry(path)
    assert entry is not None
    return entry.state, entry.reason


@pytest.mark.parametrize(("before", "chunks"), [(None, 1), (None, 7), (1, 1), (2, 5), (5, 2), (9, 7)])
def test_the_index_holds_the_object_as_it_is_now(bench: Bench, before: int | None, chunks: int) -> None:
    if before is not None:
        bench.put(PATH, text("old", before))
        assert bench.load(PATH).chunks_written == before
    bench.put(PATH, text("new", chunks))
    loading = bench.load(PATH)
    assert bench.fingerprint(PATH) == fresh(PATH, text("new", chunks))
    entry = bench.entry(PATH)
    assert entry is not None
    assert loading.outcome is not None
    assert (entry.state, entry.chunk_count, loading.chunks_written) == (DocumentState.LOADED, chunks, chunks)
    assert (
        entry.content_hash == loading.outcome.content_hash == next(iter(fresh(PATH, text("new", chunks)).values()))[1]
    )
    assert entry.size_bytes == len(text("new", chunks))
    assert bench.load(PATH).chunks_written == 0
    bench.delete(PATH)
    assert bench.load(PATH).outcome is None
    assert bench.load(PATH).outcome is None
    assert bench.stored(PATH) == {}
    assert bench.entry(PATH) is None


def test_what_cannot_be_read_is_skipped_and_keeps_a_complete_version(bench: Bench) -> None:
    bench.put(PATH, b"\x00\x01\x02")
    bench.load(PATH)
    assert state(bench)[0] is DocumentState.SKIPPED
    assert bench.stored(PATH) == {}
    bench.put(PATH, text("good", 4))
    bench.load(PATH)
    bench.put(PATH, b"")
    bench.load(PATH)
    assert state(bench) == (DocumentState.SKIPPED, "is empty")
    assert bench.fingerprint(PATH) == fresh(PATH, text("good", 4))
    bench.put(PATH, text("good", 4))
    assert bench.load(PATH).chunks_written == 0
    assert state(bench) == (DocumentState.LOADED, None)


def test_an_object_in_decomposed_unicode_is_listed_with_the_reason_beside_its_composed_twin(bench: Bench) -> None:
    decomposed, composed = "docs/Gro\u0308ße.md", "docs/Größe.md"
    bench.put(decomposed, text("one", 1))
    bench.put(composed, text("two", 2))
    bench.load(decomposed)
    bench.load(composed)
    entry = bench.entry(decomposed)
    assert entry is not None and entry.reason is not None
    assert (entry.state, entry.source_file_path) == (DocumentState.SKIPPED, decomposed)
    assert entry.reason.startswith("has a name in decomposed Unicode")
    assert state(bench, composed) == (DocumentState.LOADED, None)
    bench.delete(decomposed)
    bench.load(decomposed)
    assert bench.entry(decomposed) is None
    assert bench.fingerprint(composed) == fresh(composed, text("two", 2))


def test_a_sidecar_in_decomposed_unicode_restricts_the_document(bench: Bench) -> None:
    bench.put("docs/Größe.md", text("one", 1))
    bench.load("docs/Größe.md")
    bench.put("docs/Gro\u0308ße.md.gleaner.json", b'{"groups": ["hr"]}')
    bench.load("docs/Gro\u0308ße.md.gleaner.json")
    assert [record.groups for record in bench.stored("docs/Größe.md").values()] == [("hr",)]
    bench.put("docs/Größe.md.gleaner.json", b'{"groups": ["board"]}')
    bench.load("docs/Größe.md.gleaner.json")
    assert [record.groups for record in bench.stored("docs/Größe.md").values()] == [("board",)]


def test_nothing_remains_of_a_half_written_version_that_became_unreadable(bench: Bench) -> None:
    bench.put(PATH, text("old", 4))
    bench.load(PATH)
    bench.put(PATH, text("new", 8))
    kill_at(bench, 11)
    with pytest.raises(Killed):
        bench.load(PATH)
    assert len({record.content_hash for record in bench.stored(PATH).values()}) > 1
    bench.put(PATH, b"\xff\x00")
    bench.clock.now += 400
    bench.load(PATH)
    assert state(bench)[0] is DocumentState.SKIPPED
    assert bench.stored(PATH) == {}


def kill_at(bench: Bench, number: int) -> None:
    """End the next process before its n-th request; later ones live."""
    count = 0

    def before_request(_operation: str) -> None:
        nonlocal count
        count += 1
        if count == number:
            bench.before_request = lambda _operation: None
            raise Killed

    bench.before_request = before_request


def test_a_document_that_outlasts_a_function_goes_on_with_its_next_chunk(bench: Bench) -> None:
    bench.put(PATH, text("old", 3))
    bench.load(PATH)
    body = text("new", 12)
    bench.put(PATH, body)
    requests = 0

    def before_request(operation: str) -> None:
        nonlocal requests
        requests += operation == "index"
        if requests == 5 and operation == "index":
            raise LoadingPaused("The function has to end.", seconds=0)

    bench.before_request = before_request
    with pytest.raises(LoadingPaused):
        bench.load(PATH)
    bench.before_request = lambda _operation: None
    assert state(bench) == (DocumentState.LOADING, "The function has to end.")
    written = sum("Version new" in record.text for record in bench.stored(PATH).values())
    assert 3 <= written < 12
    assert bench.load(PATH).chunks_written == 12 - (written - 1)  # the unfinished chunk 0 is written again
    assert bench.fingerprint(PATH) == fresh(PATH, body)


def test_an_object_that_changed_meanwhile_is_begun_anew(bench: Bench) -> None:
    bench.put(PATH, text("one", 12))
    kill_at(bench, 11)
    with pytest.raises(Killed):
        bench.load(PATH)
    bench.clock.now += 400
    bench.put(PATH, text("two", 12))
    assert bench.load(PATH).chunks_written == 12
    assert bench.fingerprint(PATH) == fresh(PATH, text("two", 12))


def test_chunks_of_an_interrupted_version_go_though_the_index_lists_none_yet(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index is eventually consistent: for a while it lists nothing of what it has just taken."""
    bench.put(PATH, text("one", 12))
    kill_at(bench, 11)
    with pytest.raises(Killed):
        bench.load(PATH)
    assert len(bench.stored(PATH)) > 3
    bench.clock.now += 400
    bench.put(PATH, text("two", 2))
    with monkeypatch.context() as lagging:
        lagging.setattr(KnowledgeBase, "list_ids", lambda *_, **__: iter(()))
        bench.load(PATH)
    assert bench.fingerprint(PATH) == fresh(PATH, text("two", 2))


def test_no_time_is_left_to_begin(bench: Bench) -> None:
    bench.put(PATH, text("one", 1))
    with pytest.raises(LoadingPaused) as pause:
        bench.load(PATH, seconds=_looking.MIN_SECONDS - 1)
    assert pause.value.seconds == 0
    assert bench.entry(PATH) is None


def test_a_change_while_a_holder_works_makes_it_look_again(bench: Bench) -> None:
    bench.put(PATH, text("one", 5))
    hinted = False

    def before_request(_operation: str) -> None:
        nonlocal hinted
        if not hinted and len(bench.stored(PATH)) >= 2:
            hinted = True
            bench.put(PATH, text("two", 3))
            with bench.unseen():
                assert bench.load(PATH).outcome is None

    bench.before_request = before_request
    assert bench.load(PATH).chunks_written == 8
    assert hinted
    assert bench.fingerprint(PATH) == fresh(PATH, text("two", 3))


@pytest.mark.parametrize("moment", ["index", "UpdateItem"])
def test_a_holder_whose_lease_ended_writes_nothing_more(bench: Bench, moment: str) -> None:
    bench.put(PATH, text("one", 9))
    writes: list[str] = []

    def before_request(operation: str) -> None:
        if operation == moment and len(bench.stored(PATH)) >= 3 and not writes:
            writes.append(operation)
            bench.put(PATH, text("two", 2))
            bench.clock.now += 400
            with bench.unseen():
                assert bench.load(PATH).outcome is not None

    bench.before_request = before_request
    assert bench.load(PATH).outcome is None
    assert writes
    assert bench.fingerprint(PATH) == fresh(PATH, text("two", 2))
    assert state(bench) == (DocumentState.LOADED, None)


@pytest.mark.slow
def test_of_32_workers_one_loads_a_document(bench: Bench) -> None:
    for round_number in range(3):
        bench.put(PATH, text(f"round {round_number}", 20))
        with ThreadPoolExecutor(32) as threads:
            loadings = list(threads.map(lambda _: bench.load(PATH), range(32)))
        assert sum(loading.chunks_written for loading in loadings) == 20
        assert bench.fingerprint(PATH) == fresh(PATH, text(f"round {round_number}", 20))
        assert state(bench) == (DocumentState.LOADED, None)


class RefusingIndex:
    """Raises an error in the place of some requests to the index."""

    def __init__(self, bench: Bench, error: Exception, *, times: int, after: int = 2) -> None:
        self.count = 0
        self._error, self._times, self._after = error, times, after
        bench.before_request = self

    def __call__(self, operation: str) -> None:
        if operation == "index":
            self.count += 1
            if self._after < self.count <= self._after + self._times:
                raise self._error


def test_a_used_up_allowance_is_a_failure_that_does_not_loop(bench: Bench) -> None:
    bench.put(PATH, text("one", 9))
    RefusingIndex(bench, KnowledgeBaseQuotaUsed("The allowance is used up."), times=1)
    loading = bench.load(PATH)
    assert loading.outcome is not None
    assert state(bench) == (DocumentState.FAILED, "The allowance is used up.")
    bench.load(PATH)
    assert bench.fingerprint(PATH) == fresh(PATH, text("one", 9))


def test_limits_of_the_index_hand_the_document_on(bench: Bench) -> None:
    bench.put(PATH, text("one", 9))
    RefusingIndex(bench, KnowledgeBaseBusy("It takes no more for now.", retry_after=300.0), times=1, after=4)
    with pytest.raises(LoadingPaused) as pause:
        bench.load(PATH)
    assert pause.value.seconds == 300
    assert state(bench) == (DocumentState.LOADING, "It takes no more for now.")
    assert bench.load(PATH).chunks_written < 9
    assert bench.fingerprint(PATH) == fresh(PATH, text("one", 9))


def test_an_error_that_nobody_expected_leaks_nothing(bench: Bench) -> None:
    bench.put(PATH, text("one", 9))
    RefusingIndex(bench, RuntimeError("secret of the document"), times=1)
    with pytest.raises(RuntimeError):
        bench.load(PATH)
    found, reason = state(bench)
    assert found is DocumentState.FAILED
    assert "RuntimeError" in str(reason)
    assert "secret" not in str(reason)
    bench.load(PATH)
    assert state(bench) == (DocumentState.LOADED, None)


def test_a_document_rests_while_a_request_may_be_under_way(bench: Bench) -> None:
    bench.put(PATH, text("one", 9))
    RefusingIndex(bench, KnowledgeBaseTimedOut("It did not answer in time."), times=1)
    with pytest.raises(KnowledgeBaseTimedOut):
        bench.load(PATH)
    assert state(bench) == (DocumentState.FAILED, "It did not answer in time.")
    with pytest.raises(LoadingPaused) as pause:
        bench.load(PATH)
    assert 0 < pause.value.seconds <= 300
    bench.clock.now += pause.value.seconds
    bench.load(PATH)
    assert bench.fingerprint(PATH) == fresh(PATH, text("one", 9))


def test_a_document_that_ends_every_function_is_given_up(bench: Bench) -> None:
    def end_function(path: str, data: bytes, **_: Any) -> Document:
        raise Killed

    bench.put(PATH, text("one", 3))
    for _ in range(object_loading.MAX_ATTEMPTS):
        with pytest.raises(Killed):
            bench.load(PATH, read=end_function)
        bench.clock.now += 400
    with pytest.raises(TooManyAttempts):
        bench.load(PATH, read=end_function)
    assert state(bench)[0] is DocumentState.FAILED
    bench.load(PATH, read=read_document)
    assert state(bench) == (DocumentState.LOADED, None)


def test_a_large_object_is_named_and_not_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_looking, "MAX_FILE_BYTES", 10)
    bench.put(PATH, text("one", 3))
    bench.load(PATH)
    assert state(bench)[0] is DocumentState.SKIPPED
    entry = bench.entry(PATH)
    assert entry is not None
    assert entry.size_bytes == len(text("one", 3))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs/picture.png", "known file type"),
        ("docs/../a.md", "no path"),
        ("docs//a.md", "no path"),
        ("/a.md", "no path"),
        ("docs/.hidden/a.md", "hidden"),
    ],
)
def test_a_name_that_is_not_loaded_has_an_entry_until_it_is_gone(bench: Bench, path: str, reason: str) -> None:
    bench.put(path, text("one", 1))
    bench.load(path)
    found, said = state(bench, path)
    assert found is DocumentState.SKIPPED
    assert reason in str(said)
    bench.delete(path)
    bench.load(path)
    assert bench.entry(path) is None


def test_groups_come_from_the_sidecar_the_upload_or_the_document(bench: Bench) -> None:
    bench.put(PATH, b"---\ngroups: [own]\n---\nText.")
    bench.load(PATH)
    assert groups(bench) == {("own",)}
    bench.put(PATH, b"---\ngroups: [own]\n---\nText.", metadata={"groups": '["upload"]'})
    bench.load(PATH)
    assert groups(bench) == {("upload",)}
    bench.put(f"{PATH}.gleaner.json", b'{"groups": ["side"]}')
    bench.load(f"{PATH}.gleaner.json")
    assert groups(bench) == {("side",)}
    entry = bench.entry(PATH)
    assert entry is not None
    assert entry.groups == {"side"}
    bench.put(f"{PATH}.gleaner.json", b"{broken")
    bench.load(f"{PATH}.gleaner.json")
    assert state(bench)[0] is DocumentState.SKIPPED
    assert bench.stored(PATH) == {}


def test_metadata_that_s3_cannot_show_may_have_named_groups(bench: Bench) -> None:
    hidden = 0
    bench.s3.meta.events.register(
        "after-call.s3.GetObject", lambda parsed, **_: parsed.update({"MissingMeta": hidden} if hidden else {})
    )
    bench.put(PATH, text("one", 2))
    bench.load(PATH)
    hidden = 1
    bench.put(PATH, text("two", 2))
    bench.load(PATH)
    found, reason = state(bench)
    assert found is DocumentState.SKIPPED
    assert "metadata that S3 cannot show" in str(reason)
    assert bench.stored(PATH) == {}
    bench.put(f"{PATH}.gleaner.json", b'{"groups": ["side"]}')  # which counts before metadata
    bench.load(PATH)
    assert groups(bench) == {("side",)}


def groups(bench: Bench) -> set[tuple[str, ...]]:
    return {record.groups for record in bench.stored(PATH).values()}
