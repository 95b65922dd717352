"""Uploading documents by forms, and removing them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from gleaner.api import uploads
from gleaner.clients import object_store, pinecone
from gleaner.document_files import FORMATS, MAX_FILE_BYTES, document_id
from gleaner.groups import Groups, read_header
from gleaner.model import DocumentState, Record
from gleaner.passage_ids import encode_document
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.document_storage import read_document_storage
from gleaner.stores.document_leases import DocumentLeases, Lease, Outcome
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner.upload_metadata import UploadMetadata, mark_groups, read_upload_metadata
from gleaner_documents.loading.object_names import read_key
from gleaner_local.aws import ministack
from tests.conftest import Client, make_api, open_access, proxy_event
from tests.doubles.documents_bucket import BUCKET, DocumentsBucket, send_form

PATH = "/api/documents"
KB = "handbook"


def soon() -> Deadline:
    return Deadline.after(20)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentsBucket]:
    running = DocumentsBucket(tmp_path_factory.mktemp("bucket"))
    yield running
    running.stop()


@pytest.fixture
def environment(settings: dict[str, str], bucket: DocumentsBucket) -> dict[str, str]:
    return settings | bucket.variables


@pytest.fixture
def client(environment: dict[str, str]) -> Client:
    return Client(make_api(environment))


@pytest.fixture
def table(settings: dict[str, str]) -> Table:
    return Table(ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"]), settings["DOCUMENTS_TABLE"])


def ask(client: Client, name: str, caller: str = "admin", **body: Any) -> tuple[int, Any]:
    return client.post(PATH, {"name": name, "kb_id": KB, **body}, caller=caller)


def form_for(client: Client, name: str, **body: Any) -> Any:
    status, form = ask(client, name, **body)
    assert status == 201, form
    return form


def take(table: Table, form: Any, holder: str = "loader") -> Lease:
    lease = DocumentLeases(table).take(
        KB,
        form["document_id"],
        source_file_path=form["source_file_path"],
        holder=holder,
        seconds=60,
        deadline=soon(),
    )
    assert lease is not None
    return lease


def finish(table: Table, lease: Lease, state: DocumentState = DocumentState.LOADED, **facts: Any) -> bool:
    outcome = Outcome(state=state, version="v", size_bytes=3, content_hash="h", modified_at=4e9, **facts)
    return DocumentLeases(table).finish(lease, outcome, deadline=soon())


def put_chunks(environment: dict[str, str], form: Any, count: int = 2, groups: Groups = ()) -> None:
    document, path = form["document_id"], form["source_file_path"]
    records = [
        Record(
            id=f"{document}#{n}",
            text="Words.",
            title="T",
            source_file_path=path,
            chunk_index=n,
            content_hash="h",
            groups=groups,
        )
        for n in range(count)
    ]
    pinecone.connect(host=environment["PINECONE_INDEX_HOST"], api_key=lambda: "k").upsert(KB, records, timeout=20)


def show(client: Client, document: str, caller: str = "admin") -> tuple[int, Any]:
    status, body = client.request("GET", f"{PATH}/{document}", caller=caller, **query(kb_id=KB))
    return status, body.get("document", body)


def remove(client: Client, document: str, caller: str = "admin") -> tuple[int, Any]:
    return client.request("DELETE", f"{PATH}/{document}", caller=caller, **query(kb_id=KB))


def query(**parameters: str) -> dict[str, Any]:
    return {
        "queryStringParameters": parameters,
        "multiValueQueryStringParameters": {name: [value] for name, value in parameters.items()},
    }


def test_a_form_puts_the_file_under_its_name(client: Client, bucket: DocumentsBucket) -> None:
    form = form_for(client, "a b+50% §📄.MD", groups=["hr", "vorstände"], size=3)
    assert form["document_id"] == document_id("uploads/a b+50% §📄.MD")
    assert send_form(form, b"# A") == (204, "")
    stored = bucket.find(f"{KB}/uploads/a b+50% §📄.MD")
    assert stored is not None
    assert (stored.size, stored.content_type) == (3, "text/markdown")
    assert read_header(dict(stored.metadata)["groups"]) == ("hr", "vorstände")
    status, document = show(client, form["document_id"])
    assert (status, document["state"], document["uploaded_by"]) == (200, "queued", "key:admin")
    assert (document["title"], document["groups"]) == ("a b+50% §📄.MD", ["hr", "vorstände"])
    assert (document["chunk_count"], document["size_bytes"]) == (0, None)


def test_composed_and_decomposed_names_are_one_document(client: Client) -> None:
    forms = [form_for(client, name) for name in ("re\u0301sume\u0301.md", "résumé.md")]
    assert forms[0]["document_id"] == forms[1]["document_id"]
    assert forms[0]["fields"]["key"] == f"{KB}/uploads/résumé.md"


BAD_NAMES = (
    *("../x.md", "a/b.md", "a\\b.md", "..", ".x.md", "a\u202egnp.md", "a\x00.md", "a\n.md", "x" * 253 + ".md"),
    *("${filename}.md", "\ufeffa.md", "a.exe", "a", "a.md/", " ", ""),
)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_no_file_may_have_are_refused(client: Client, name: str) -> None:
    status, problem = ask(client, name)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    if name == "a.exe":
        assert all(extension in problem["detail"] for extension in FORMATS)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"size": 0}, 400),
        ({"size": MAX_FILE_BYTES + 1}, 413),
        ({"size": MAX_FILE_BYTES}, 201),
        ({"content_type": "text/html\r\nx: y"}, 400),
        ({"content_type": "text/plain; charset=utf-8"}, 201),
        ({"groups": []}, 400),
        ({"groups": ["a b"]}, 400),
        ({"groups": ["x"] * 33}, 201),
        ({"kb_id": "../x"}, 400),
        ({"name": 3}, 400),
        ({"more": 1}, 400),
    ],
)
def test_what_is_asked_for_is_checked(client: Client, body: dict[str, Any], status: int) -> None:
    got, answer = ask(client, **({"name": "a.md"} | body))
    assert got == status, answer


def test_a_lone_surrogate_is_refused(client: Client) -> None:
    assert client.post(PATH, '{"name": "\\ud800.md"}', caller="admin")[0] == 400


def test_a_form_takes_its_own_file_only(client: Client, bucket: DocumentsBucket) -> None:
    form, other = form_for(client, "bound.md"), form_for(client, "other.md")
    foreign = {"key": f"other_kb/{form['source_file_path']}"}
    changes: list[dict[str, str | None]] = [
        {"key": other["fields"]["key"]},
        foreign,
        {"Content-Type": "text/html"},
        {"x-amz-meta-groups": '["board"]'},
        {"acl": "public-read"},
        {"policy": other["fields"]["policy"]},
    ]
    for change in changes:
        assert send_form(form, b"x", **change)[0] == 403, change
    assert send_form(form, b"")[1] == "EntityTooSmall"
    restricted = form_for(client, "restricted.md", groups=["hr"])
    assert send_form(restricted, b"x", **{"x-amz-meta-groups": None})[0] == 403
    names = ("bound.md", "other.md", "restricted.md")
    assert [bucket.find(f"{KB}/uploads/{name}") for name in names] == [None] * 3
    assert bucket.find(foreign["key"]) is None


def test_a_file_over_the_limit_is_refused_by_the_storage(
    client: Client, bucket: DocumentsBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 10)
    assert send_form(form_for(client, "large.md"), b"x" * 11)[1] == "EntityTooLarge"
    assert bucket.find(f"{KB}/uploads/large.md") is None


def test_a_form_expires(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_FORM_SECONDS", -1)
    form = form_for(client, "late.md")
    assert send_form(form, b"x") == (403, "AccessDenied")
    assert show(client, form["document_id"])[0] == 404  # nothing is awaited


def test_only_admins_and_editors_of_the_knowledge_base_change_documents(
    client: Client, environment: dict[str, str]
) -> None:
    access = open_access(environment)
    access.allow("key:editor", frozenset({KB}), as_editor=True, deadline=soon())
    access.allow("key:reader", frozenset({KB}), deadline=soon())
    access.allow("key:elsewhere", frozenset({"other"}), as_editor=True, deadline=soon())
    callers = ("admin", "editor", "reader", "elsewhere", "unlisted")
    assert [ask(client, "right.md", caller)[0] for caller in callers] == [201, 201, 403, 403, 403]
    document = document_id("uploads/right.md")
    assert [remove(client, document, caller)[0] for caller in callers[2:]] == [403] * 3
    assert [show(client, document, caller)[1].get("uploaded_by") for caller in ("editor", "reader")] == [
        "key:editor",
        None,
    ]
    assert show(client, document, "elsewhere")[0] == 403
    listed = [client.request("GET", PATH, caller=caller, **query(kb_id=KB))[1].get("may_edit") for caller in callers]
    assert listed == [True, True, False, None, False]
    access.revoke("key:editor", frozenset({KB}), only_editing=True, deadline=soon())
    other = Client(make_api(environment))  # which has not asked before
    assert (ask(other, "right.md", "editor")[0], show(other, document, "editor")[0]) == (403, 200)


def test_a_service_without_a_bucket_takes_nothing(settings: dict[str, str]) -> None:
    client = Client(make_api(settings))
    for status, problem in (ask(client, "a.md"), remove(client, "a")):
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:uploads-unavailable")
        assert "gleaner ingest" in problem["detail"]
    assert client.request("GET", PATH, caller="admin")[1]["may_edit"] is False


def test_forms_go_to_the_address_that_browsers_reach(environment: dict[str, str]) -> None:
    headers = {"content-type": "application/json", "host": "localhost:9000"}
    for address, expected in (
        ("/local/storage", "http://localhost:9000/local/storage"),
        ("https://s3.example.org", ""),
    ):
        client = Client(make_api(environment | {"DOCUMENTS_ENDPOINT_URL": address}))
        form = client.post(PATH, {"name": "a.md"}, caller="admin", headers=headers)[1]
        assert form["url"] == f"{expected or address}/{BUCKET}"


def test_at_aws_the_page_may_send_forms_to_the_host_that_they_name(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for region in ("us-east-1", "eu-central-1"):
        monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        variables = {"DOCUMENTS_BUCKET": "gleaner-dev", "DOCUMENTS_TABLE": "t", "AWS_REGION": region}
        store = object_store.connect(bucket="gleaner-dev")
        form = store.presign_post("kb/a.md", content_type="text/markdown", metadata={}, sizes=(1, 2), seconds=9)
        origin = read_document_storage(variables).form_origin
        assert form.url == f"{origin}/" == f"https://gleaner-dev.s3.{region}.amazonaws.com/"
        client = Client(make_api(settings | variables | {"DOCUMENTS_TABLE": settings["DOCUMENTS_TABLE"]}))
        page = client.send(proxy_event("GET", "/", "admin"))
        [policy] = page["multiValueHeaders"]["Content-Security-Policy"]
        assert f"connect-src 'self' {origin};" in policy
        assert form.fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256"


def test_the_same_file_twice_at_once_is_one_document(
    client: Client, environment: dict[str, str], bucket: DocumentsBucket
) -> None:
    clients = [Client(make_api(environment)) for _ in range(4)]  # an environment serves a request at a time
    with ThreadPoolExecutor(8) as pool:
        forms = [form for _ in range(2) for form in pool.map(lambda one: form_for(one, "twice.md"), clients)]
        sent = list(pool.map(lambda one: send_form(one[1], b"%d" % one[0])[0], enumerate(forms)))
    assert sent == [204] * 8
    assert len({form["document_id"] for form in forms}) == 1
    assert bucket.find(f"{KB}/uploads/twice.md") is not None
    listed = client.request("GET", PATH, caller="admin", **query(kb_id=KB, limit="100"))[1]["documents"]
    assert [one["state"] for one in listed if one["source_file_path"] == "uploads/twice.md"] == ["queued"]


def test_a_new_upload_of_a_loaded_document_waits_and_keeps_what_is_known(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    form = form_for(client, "again.md")
    assert finish(table, take(table, form), chunk_count=2, groups=frozenset({"hr"}))
    put_chunks(environment, form, groups=("hr",))
    loaded = show(client, form["document_id"])[1]
    assert (loaded["state"], loaded["chunk_count"], loaded["size_bytes"]) == ("loaded", 2, 3)
    # A holder may end as the object was before this upload.
    DocumentStore(table, clock=lambda: 5e9).request_upload(
        KB,
        form["document_id"],
        source_file_path=form["source_file_path"],
        uploaded_by="key:admin",
        upload_id="U",
        groups=None,
        known=DocumentStore(table).find(KB, form["document_id"], deadline=soon()),
        seconds=900,
        deadline=soon(),
    )
    waiting = show(client, form["document_id"])[1]
    assert (waiting["state"], waiting["chunk_count"], waiting["groups"]) == ("queued", 2, ["hr"])


def test_removing_deletes_the_object_and_leaves_the_rest_to_its_event(
    client: Client, environment: dict[str, str], bucket: DocumentsBucket, table: Table
) -> None:
    form = form_for(client, "removed.md")
    send_form(form, b"x")
    assert finish(table, take(table, form))
    put_chunks(environment, form)
    for _ in range(2):  # safe to repeat
        status, body = remove(client, form["document_id"])
        assert (status, body["finished"]) == (202, False)
    assert bucket.find(f"{KB}/uploads/removed.md") is None
    assert show(client, form["document_id"])[0] == 200


def test_nobody_awaits_the_upload_of_a_document_that_was_removed(client: Client, table: Table) -> None:
    """Its form is good for some time yet, but who removes a document does not see it wait for that."""
    form = form_for(client, "short.md")
    send_form(form, b"x")
    assert finish(table, take(table, form))
    assert remove(client, form["document_id"])[0] == 202
    assert DocumentLeases(table).remove(take(table, form, "event"), deadline=soon())
    assert show(client, form["document_id"])[0] == 404
    used = form_for(client, "used.md")
    assert finish(table, take(table, used))
    assert DocumentLeases(table).remove(take(table, used, "event"), deadline=soon())  # deleted from the bucket itself
    assert show(client, used["document_id"])[0] == 404
    offered = form_for(client, "offered only.md")
    assert remove(client, offered["document_id"])[0] == 200
    assert show(client, offered["document_id"])[0] == 404


def test_a_document_without_an_object_is_removed_at_once(client: Client, environment: dict[str, str]) -> None:
    path = "docs/laptop.md"
    form = {"document_id": document_id(path), "source_file_path": path}
    put_chunks(environment, form, 3)
    assert show(client, form["document_id"])[1]["state"] == "loaded"
    assert remove(client, form["document_id"]) == (
        200,
        {"document_id": form["document_id"], "kb_id": KB, "finished": True},
    )
    assert show(client, form["document_id"])[0] == 404
    assert remove(client, form["document_id"])[0] == 404


def test_a_document_that_is_being_loaded_is_left_to_its_loader(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    form = form_for(client, "loading.md")
    lease = take(table, form)
    put_chunks(environment, form)
    status, body = remove(client, form["document_id"])
    assert (status, body["finished"]) == (202, False)
    assert show(client, form["document_id"])[1]["state"] == "loading"
    assert not finish(table, lease)  # it has been told to look again


def test_records_of_other_programs_are_removed_by_their_own_ids(client: Client, environment: dict[str, str]) -> None:
    one = Record(id="a/b c", text="W", title="T", source_file_path="x/../y", chunk_index=0, content_hash="h")
    index = pinecone.connect(host=environment["PINECONE_INDEX_HOST"], api_key=lambda: "k")
    index.upsert(KB, [one], timeout=20)
    listed = client.request("GET", PATH, caller="admin", **query(kb_id=KB, limit="100"))[1]["documents"]
    [found] = [item["document_id"] for item in listed if item["source_file_path"] == "x/../y"]
    assert remove(client, quote(found))[0] == 200
    assert index.fetch(KB, ["a/b c"], timeout=20) == {}


def test_an_erased_caller_is_not_named_any_more(client: Client, items: Any, table: Table) -> None:
    form = form_for(client, "erased.md")
    assert finish(table, take(table, form))
    form_for(client, "offered.md")
    status, report = client.request("DELETE", "/api/callers/key:admin", caller="admin")
    assert (status, report["documents"]) == (200, 2)
    assert "key:admin" not in json.dumps(items("DOCUMENTS_TABLE"), default=str)
    assert show(client, form["document_id"])[1]["uploaded_by"] is None


def read_list(client: Client, **parameters: str) -> tuple[int, Any]:
    return client.request("GET", PATH, caller="admin", **query(**({"kb_id": KB} | parameters)))


def test_documents_in_one_state_are_listed_in_pages(client: Client, environment: dict[str, str], table: Table) -> None:
    kb_id, states = "states", (DocumentState.SKIPPED, DocumentState.LOADED, DocumentState.FAILED)
    for number in range(9):
        form = form_for(client, f"{number}.md", kb_id=kb_id)
        lease = DocumentLeases(table).take(
            kb_id, form["document_id"], source_file_path="x", holder=f"h{number}", seconds=60, deadline=soon()
        )
        assert lease is not None
        assert finish(table, lease, states[number % 3], reason="why" if number % 3 == 0 else None)
    found, cursor = [], ""
    while True:
        status, page = read_list(
            client, kb_id=kb_id, state="skipped", limit="2", **({"cursor": cursor} if cursor else {})
        )
        assert status == 200, page
        found += page["documents"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert {one["document_id"] for one in found} == {document_id(f"uploads/{number}.md") for number in (0, 3, 6)}
    assert {(one["state"], one["reason"]) for one in found} == {("skipped", "why")}
    changed = [one["updated_at"] for one in found]
    assert changed == sorted(changed, reverse=True)
    # Nothing of them is in the index, so none is shown as loaded.
    assert read_list(client, kb_id=kb_id, state="loaded", limit="100")[1]["documents"] == []


def test_a_cursor_belongs_to_its_list(client: Client) -> None:
    for number in range(3):
        form_for(client, f"cursor{number}.md")
    cursor = read_list(client, limit="1")[1]["next_cursor"]
    assert read_list(client, limit="1", cursor=cursor)[0] == 200
    of_queued = read_list(client, limit="1", state="queued")[1]["next_cursor"]
    for parameters in (
        {"cursor": cursor, "state": "queued"},
        {"cursor": cursor, "kb_id": "other"},
        {"cursor": of_queued},
        {"cursor": cursor[:-1]},
        {"cursor": "\x00"},
        {"cursor": "é"},
    ):
        status, problem = read_list(client, limit="1", **parameters)
        assert (status, problem["type"]) == (400, "urn:gleaner:problem:invalid-cursor"), parameters
    assert read_list(client, state="gone")[0] == 400


def test_a_knowledge_base_without_documents_has_an_empty_list_and_takes_the_first(client: Client) -> None:
    def listed(caller: str) -> tuple[int, Any]:
        return client.request("GET", PATH, caller=caller, **query(kb_id="new-one"))

    assert listed("admin") == (200, {"documents": [], "next_cursor": None, "may_edit": True})
    assert client.post("/api/chat/query", {"query": "What is a moor?", "kb_id": "new-one"}, caller="admin")[0] == 404
    assert ask(client, "moor.md", kb_id="new-one")[0] == 201
    [document] = listed("admin")[1]["documents"]
    assert (document["source_file_path"], document["state"]) == ("uploads/moor.md", "queued")


def test_a_document_under_a_decomposed_key_is_removed_with_its_own_object(
    client: Client, bucket: DocumentsBucket, table: Table
) -> None:
    decomposed, composed = "uploads/Gro\u0308ße.md", "uploads/Größe.md"
    s3 = ministack.session().client("s3", endpoint_url=bucket.variables["AWS_ENDPOINT_URL_S3"])
    objects = object_store.ObjectStore(s3, BUCKET)
    for path in (decomposed, composed):
        objects.put(f"{KB}/{path}", b"# Moor")
    name = read_key(f"{KB}/{decomposed}")
    lease = DocumentLeases(table).take(
        KB, document_id(decomposed), source_file_path=decomposed, holder="h", seconds=60, deadline=soon()
    )
    assert lease is not None and finish(table, lease, DocumentState.SKIPPED, reason=name.objection)
    document = encode_document(document_id(decomposed))
    status, shown = show(client, document)
    assert (status, shown["state"], shown["source_file_path"]) == (200, "skipped", decomposed)
    assert "composed name (NFC)" in shown["reason"]
    assert remove(client, document)[0] == 202
    assert [facts.key for facts in objects.list(f"{KB}/uploads/Gr")] == [f"{KB}/{composed}"]


def editors(environment: dict[str, str], **groups: str) -> None:
    """Make callers editors, and members of a group if one is named."""
    access = open_access(environment)
    for name, group in groups.items():
        access.allow(f"key:{name}", frozenset({KB}), as_editor=True, deadline=soon())
        if group:
            access.add_groups(f"key:{name}", frozenset({group}), deadline=soon())


def upload_for(client: Client, environment: dict[str, str], table: Table, name: str, *groups: str) -> Any:
    """A document that hanna uploaded for groups, and that is loaded."""
    status, form = ask(client, name, "hanna", groups=list(groups))
    assert status == 201, form
    put_chunks(environment, form, groups=groups)
    facts = {"groups": frozenset(groups), "chunk_count": 2, "upload_id": form["fields"]["x-amz-meta-upload"]}
    assert finish(table, take(table, form), **facts)
    return form


def test_an_editor_gets_nothing_of_a_restricted_document_by_asking_for_its_form(
    client: Client, environment: dict[str, str], table: Table, bucket: DocumentsBucket
) -> None:
    editors(environment, hanna="hr", mary="", rita="hr")
    form = upload_for(client, environment, table, "merger.md", "hr")
    send_form(form, b"x")
    status, problem = ask(client, "merger.md", "mary")
    assert (status, problem["type"]) == (403, "urn:gleaner:problem:not-allowed")
    assert "hr" not in problem["detail"]
    status, problem = ask(client, "merger.md", "mary", groups=["staff"])
    assert status == 403
    for path in (f"{PATH}/{form['document_id']}", f"{PATH}/{document_id('uploads/nothing.md')}"):
        assert client.request("GET", path, caller="mary", **query(kb_id=KB))[0] == 404
    for state in ({}, {"state": "queued"}, {"state": "loaded"}):
        listed = client.request("GET", PATH, caller="mary", **query(kb_id=KB, limit="100", **state))[1]["documents"]
        assert form["document_id"] not in [one["document_id"] for one in listed]
    assert remove(client, form["document_id"], "mary")[0] == 404
    assert bucket.find(f"{KB}/uploads/merger.md") is not None
    # Somebody of the group may replace it, which does not make it that caller's.
    assert ask(client, "merger.md", "rita")[0] == 201
    assert show(client, form["document_id"], "rita")[0] == 200
    assert show(client, form["document_id"], "mary")[0] == 404


def test_a_form_for_what_only_the_index_holds_shows_nothing_of_it(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    editors(environment, mary="")
    path = "uploads/by hand.md"
    document = {"document_id": document_id(path), "source_file_path": path}
    assert ask(client, "by hand.md", "mary")[0] == 201  # before there is anything
    put_chunks(environment, document, groups=("hr",))
    assert show(client, document["document_id"], "mary")[0] == 404
    assert remove(client, document["document_id"], "mary")[0] == 404
    assert ask(client, "by hand.md", "mary")[0] == 403
    take(table, document)
    assert show(client, document["document_id"], "mary")[0] == 404


def test_who_uploaded_a_document_for_others_sees_its_state_and_may_replace_it(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    editors(environment, hanna="", rita="board")
    form = upload_for(client, environment, table, "for the board.md", "board")
    for _ in range(2):
        status, shown = show(client, form["document_id"], "hanna")
        assert (status, shown["uploaded_by"], shown["groups"]) == (200, "key:hanna", [])
        status, again = ask(client, "for the board.md", "hanna")
        assert status == 201
        assert again["fields"]["x-amz-meta-upload"] == form["fields"]["x-amz-meta-upload"]
    assert show(client, form["document_id"], "rita")[1]["uploaded_by"] == "key:hanna"


def test_a_new_version_keeps_the_groups_that_the_upload_does_not_name(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    editors(environment, hanna="hr")
    upload_for(client, environment, table, "kept.md", "hr")
    kept = ask(client, "kept.md", "hanna")[1]["fields"]
    assert read_upload_metadata(of_object(kept)) == UploadMetadata(
        kept=("hr",), replaces=mark_groups(["hr"]), upload_id=kept["x-amz-meta-upload"]
    )
    for named, expected in ((["board"], ("board",)), ("all", ())):
        said = read_upload_metadata(of_object(ask(client, "kept.md", "hanna", groups=named)[1]["fields"]))
        assert (said.groups, said.kept, said.replaces) == (expected, (), mark_groups(["hr"]))


def of_object(fields: dict[str, str]) -> dict[str, str]:
    """The metadata that the fields of a form give its object."""
    start = "x-amz-meta-"
    return {name.removeprefix(start): value for name, value in fields.items() if name.startswith(start)}


def test_of_many_who_ask_at_once_none_is_allowed_by_groups_that_have_changed(
    client: Client, environment: dict[str, str], table: Table
) -> None:
    """The check and the note are one write: the document is restricted between the two."""
    editors(environment, hanna="hr", mary="")
    form = form_for(client, "raced.md")
    store = DocumentStore(table)
    seen = store.find(KB, form["document_id"], deadline=soon())
    assert finish(table, take(table, form), groups=frozenset({"hr"}))
    noted = store.request_upload(
        KB,
        form["document_id"],
        source_file_path=form["source_file_path"],
        uploaded_by="key:mary",
        upload_id="M",
        groups=None,
        known=seen,
        seconds=900,
        deadline=soon(),
    )
    assert not noted
    assert ask(client, "raced.md", "mary")[0] == 403
