"""DynamoDB requests of a turn, by what waits for them; and the cost of paging through a long history.

    .venv/bin/python benchmarks/conversations.py [--messages 1000]

The requests are counted in the client of the real services, over ministack, the embedded index and a scripted
model. A request of the main thread is on the critical path: the answer waits for it and for nothing else. The
keyword look-up goes on beside the vector search; records and counts of use go on beside the model calls.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.answering import Asked, Services, answer_question
from gleaner.clients import pinecone
from gleaner.deadline import Deadline
from gleaner.model import Record, TokenUsage, new_id, utc_now
from gleaner.pricing import Cost
from gleaner.settings import Settings
from gleaner.stores import dynamodb
from gleaner.stores.conversation_items import Session, Turn, TurnFacts
from gleaner.wiring import build_services
from gleaner_local import ministack, pinecone_server
from gleaner_local.asgi import AsgiServer
from gleaner_local.index.embedded import EmbeddedIndex
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_web import ScriptedWeb, result

OWNER = "key:benchmark"
TEXT = "Duplicate keywords are merged by a conditional write."
PAGE = 100


class Requests:
    """Counts the requests of a DynamoDB client by operation, apart for the main thread."""

    def __init__(self, client: Any) -> None:
        self.critical: Counter[str] = Counter()
        self.beside: Counter[str] = Counter()
        client.meta.events.register("before-call.dynamodb", self._count)

    def clear(self) -> None:
        """Begin anew."""
        self.critical.clear()
        self.beside.clear()

    def _count(self, model: Any, **_: Any) -> None:
        main = threading.current_thread() is threading.main_thread()
        (self.critical if main else self.beside)[model.name] += 1


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1000)
    messages = parser.parse_args().messages
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as (services, requests, model, web):
        print_turns(services, requests, model, web)
        print_history(services, requests, messages)


def print_turns(services: Services, requests: Requests, model: ScriptedModel, web: ScriptedWeb) -> None:
    """One line for each kind of turn."""
    web.finds("Starlette 1.0 came in 2026 [1].", result(1, "https://starlette.example/", "Starlette"))
    from_web = (
        calls(search("Starlette release")),
        calls(("perplexity_search", {"query": "When was Starlette released?"})),
        calls(index("Starlette release", "ASGI framework"), answer("2026. [web-1]", ("web-1",))),
    )
    from_knowledge = (calls(search("merging keywords")), calls(answer()))
    learned = (calls(search("release of Starlette")), calls(answer("2026. [web-1]", ("web-1",))))
    session_id = ask(services, None)
    print(f"{'turn in a session':22}{'on the critical path':45}beside the search and the model calls")
    for name, script in (("knowledge base", from_knowledge), ("web", from_web), ("learned", learned)):
        model.plays(*script)
        requests.clear()
        ask(services, session_id)
        critical = sum(requests.critical.values())
        print(f"{name:22}{f'{critical}: {shown(requests.critical)}':45}{shown(requests.beside)}")


def print_history(services: Services, requests: Requests, messages: int) -> None:
    """Write a session of `messages` messages and page through it."""
    now = utc_now()
    session = Session(session_id=new_id(), owner=OWNER, created_at=now, updated_at=now)
    store = services.conversations
    store.create(session, deadline=Deadline.after(10))
    for number in range(messages // 2):
        turn = a_turn(session.session_id, f"question {number} " + "words " * 40)
        store.add_turn(turn, new_session=None, deadline=Deadline.after(10))
    requests.clear()
    began, read, after = time.perf_counter(), 0, ""
    while page := store.messages(session.session_id, limit=PAGE, after=after, deadline=Deadline.after(10)):
        read, after = read + len(page), page[-1][0]
    took = time.perf_counter() - began
    print(f"\nhistory of {read} messages in pages of {PAGE}: {shown(requests.critical)}, {took * 1000:.0f} ms")


def ask(services: Services, session_id: str | None) -> str:
    """Ask a question; the id of its session."""
    asked = Asked(query="A question?", caller_id=OWNER, session_id=session_id)
    return answer_question(asked, new_id(), services, Deadline.after(20)).session_id


def a_turn(session_id: str, text: str) -> Turn:
    """A turn as it is kept."""
    facts = TurnFacts(
        tool_call_count=2,
        used_tools=("knowledge_base_search", "generate_response"),
        keyword_count=0,
        retrieval_count=5,
        top_chapter="Keywords",
        latency_ms=1000.0,
        model="m",
        cost=Cost(usage=TokenUsage(), web_searches=0, estimated_usd=None),
    )
    return Turn(
        query_id=new_id(),
        session_id=session_id,
        owner=OWNER,
        question=text,
        answer=text,
        mode="whole_book",
        asked_at=utc_now(),
        answered_at=utc_now(),
        facts=facts,
    )


def shown(counted: Counter[str]) -> str:
    """`2 Query, 1 TransactWriteItems`."""
    return ", ".join(f"{number} {name}" for name, number in sorted(counted.items())) or "nothing"


@contextlib.contextmanager
def running(folder: Path) -> Iterator[tuple[Services, Requests, ScriptedModel, ScriptedWeb]]:
    """The services over local servers."""
    model, web = ScriptedModel(), ScriptedWeb()
    embedded = EmbeddedIndex(folder / "index", None)
    store = ministack.Ministack(folder / "dynamodb", folder / "log")
    apps = (model.app, web.app, pinecone_server.create_app(embedded))
    servers = [AsgiServer(app) for app in apps]
    with contextlib.ExitStack() as stack:
        for server in (*servers, store):
            server.start()
            stack.callback(server.stop)
        settings = Settings.from_env(environment(store, *(server.url for server in servers)))
        ministack.create_tables(ministack.admin_client(store.url), ministack.table_schemas(TABLES))
        record = Record(
            id="d#0", text=TEXT, title="T", source_file_path="t.md", chunk_index=0, content_hash="h", chapter="C"
        )
        pinecone.connect(host=servers[2].url, api_key=lambda: "k").upsert("default_kb", [record], timeout=5)
        client = dynamodb.connect(endpoint_url=store.url)
        model.plays(calls(search("merging keywords")), calls(answer()))
        yield build_services(settings, client), Requests(client), model, web


TABLES = {variable: variable.lower() for variable in ministack.TABLES}


def environment(store: ministack.Ministack, model_url: str, web_url: str, index_url: str) -> dict[str, str]:
    """The variables of a function over these servers."""
    os.environ.update(ministack.CREDENTIALS)  # boto3 takes them from there
    keys = dict.fromkeys(("OPENAI_API_KEY", "PINECONE_API_KEY", "PERPLEXITY_API_KEY"), "k")
    urls = {
        "OPENAI_BASE_URL": f"{model_url}/v1",
        "PERPLEXITY_BASE_URL": web_url,
        "PINECONE_INDEX_HOST": index_url,
        "AWS_ENDPOINT_URL_DYNAMODB": store.url,
    }
    return keys | urls | TABLES


if __name__ == "__main__":
    main()
