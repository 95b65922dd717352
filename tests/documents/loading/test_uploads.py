"""Loading what came by forms: whose it is, whom it is for, and what it may replace."""

from __future__ import annotations

from gleaner.document_files import document_id
from gleaner.groups import Groups
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.upload_metadata import UploadMetadata, mark_groups
from tests.documents.loading.bench import Bench, text

PATH = "uploads/vault.md"


def entry(bench: Bench) -> DocumentEntry:
    found = bench.entry(PATH)
    assert found is not None
    return found


def ask(bench: Bench, caller: str) -> None:
    assert bench.store.request_upload(
        bench.kb_id,
        document_id(PATH),
        source_file_path=PATH,
        uploaded_by=caller,
        upload_id=f"form-{caller}",
        groups=None,
        known=bench.entry(PATH),
        seconds=900,
        deadline=Deadline.after(20),
    )


def send(bench: Bench, caller: str, body: bytes, *groups: str, kept: Groups = (), before: Groups = ()) -> None:
    """Put an object as a form does that was signed when the document was for the groups `before`."""
    metadata = UploadMetadata(
        groups=groups, kept=kept, replaces=mark_groups(before) if before else None, upload_id=f"form-{caller}"
    )
    bench.put(PATH, body, metadata=metadata.write())
    bench.load(PATH)


def stored(bench: Bench) -> tuple[set[Groups], str]:
    records = bench.stored(PATH).values()
    return {record.groups for record in records}, " ".join(record.text for record in records)


def upload(bench: Bench, caller: str, body: bytes, *groups: str) -> None:
    ask(bench, caller)
    send(bench, caller, body, *groups)


def test_a_form_that_was_not_used_says_nothing_of_whose_the_document_is(bench: Bench) -> None:
    upload(bench, "hanna", text("one", 4), "hr")
    assert entry(bench).uploaded_by == "hanna"
    ask(bench, "mary")
    bench.load(PATH)
    assert not entry(bench).belongs_to("mary")
    send(bench, "hanna", b"")  # by the form that hanna was given first
    assert entry(bench).state is DocumentState.SKIPPED
    assert not entry(bench).belongs_to("mary")


def test_groups_are_kept_unless_the_upload_or_the_document_names_others(bench: Bench) -> None:
    upload(bench, "hanna", text("one", 4), "hr")
    send(bench, "hanna", text("two", 4), kept=("hr",), before=("hr",))
    assert stored(bench)[0] == {("hr",)}
    send(bench, "hanna", b"---\ngroups: [board]\n---\n# Three\n\nText.", kept=("hr",), before=("hr",))
    assert stored(bench)[0] == {("board",)}
    assert bench.load(PATH).chunks_written == 0
    send(bench, "hanna", text("four", 4), before=("board",))  # all callers were asked for
    assert stored(bench)[0] == {()}
    assert entry(bench).groups is None


def test_a_form_that_was_signed_before_a_document_was_restricted_does_not_replace_it(bench: Bench) -> None:
    for loaded_before in (True, False):
        ask(bench, "mary")
        upload(bench, "hanna", text("secret", 4), "hr")
        send(bench, "mary", text("public", 4))
        found = entry(bench)
        assert (found.state, found.groups, found.uploaded_by) == (DocumentState.SKIPPED, {"hr"}, "hanna")
        assert "upload it again" in str(found.reason)
        groups, words = stored(bench)
        assert groups == {("hr",)}
        assert "public" not in words
        bench.load(PATH)  # it is looked at again, as all documents may be
        assert (entry(bench).state, stored(bench)) == (DocumentState.SKIPPED, (groups, words))
        send(bench, "mary", text("public", 4), before=("hr",))  # by a form that was signed since
        assert stored(bench)[0] == {()}
        assert entry(bench).state is DocumentState.LOADED
        if loaded_before:
            bench.delete(PATH)
            bench.load(PATH)


def test_what_only_the_index_holds_is_not_replaced_either(bench: Bench) -> None:
    upload(bench, "hanna", text("secret", 4), "hr")
    bench.leases.remove(
        bench.leases.take(
            bench.kb_id,
            document_id(PATH),
            source_file_path=PATH,
            holder="H",
            seconds=300,
            deadline=Deadline.after(20),
        ),
        deadline=Deadline.after(20),
    )
    upload(bench, "mary", text("public", 4))
    assert entry(bench).state is DocumentState.SKIPPED
    assert stored(bench)[0] == {("hr",)}


def test_a_caller_s_own_upload_is_replaced_whichever_of_its_forms_is_used(bench: Bench) -> None:
    upload(bench, "hanna", text("one", 4))
    bench.put(f"{PATH}.gleaner.json", b'{"groups": ["board"]}')
    bench.load(PATH)
    assert entry(bench).groups == {"board"}
    send(bench, "hanna", text("two", 4))
    assert entry(bench).state is DocumentState.LOADED
    assert stored(bench)[0] == {("board",)}
    assert "Version two" in stored(bench)[1]


def test_a_document_of_the_bucket_belongs_to_no_caller(bench: Bench) -> None:
    upload(bench, "mary", b"\x00")
    assert (entry(bench).state, entry(bench).uploaded_by) == (DocumentState.SKIPPED, "mary")
    bench.put(PATH, text("theirs", 4), metadata={"groups": '["hr"]'})
    seen: list[bool] = []
    bench.before_request = lambda operation: (
        seen.append(entry(bench).belongs_to("mary")) if operation == "index" and bench.stored(PATH) else None
    )
    bench.load(PATH)
    assert seen
    assert not any(seen)
    assert not entry(bench).belongs_to("mary")
