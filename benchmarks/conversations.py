"""Measures the cost of paging through a long history, and how sessions and selected texts are answered.

    .venv/bin/python benchmarks/conversations.py [--messages 1000] [--misses]

The sessions are in benchmarks/session_questions.txt, over the documents in benchmarks/language_questions; the selected
texts are in benchmarks/selection_questions.txt. A turn counts if its answer says what it must and nothing that it must
not, and if small talk cites nothing. Questions about the handbook, asked in one session, must be answered as alone.
cost.py measures the store requests of a turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.model import Answered, TokenUsage, new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import Session, Turn, TurnFacts
from gleaner.stores.conversations import ConversationStore
from gleaner_documents.chunking import chunk_document
from gleaner_documents.reading import read_document
from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex
from harness.capacity import Requests
from harness.language_questions import read_questions
from harness.local_services import running
from harness.own_environment import positive
from harness.sessions import LocalSession, Message, Reply, ask_all, read_sessions, search_index, search_selection

OWNER = "key:benchmark"
PAGE = 100
HERE = Path(__file__).resolve().parent
HANDBOOK_QUESTIONS = (
    "How are duplicate keywords merged?",
    "What is a chunk?",
    "What is pruning?",
    "What is a session?",
    "How long is an idempotency key valid?",
    "Which file formats can be ingested?",
    "What does the doctor check?",
    "What happens to a chunk when its document is deleted?",
)

# Whether each turn is answered as it must be, by language.
Results = dict[str, list[bool]]


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=positive, default=1000)
    parser.add_argument("--misses", action="store_true", help="print each turn that is answered wrongly")
    options = parser.parse_args()
    measure_paging(options.messages)
    with tempfile.TemporaryDirectory() as folder:
        index = EmbeddedIndex.open(Path(folder))
        model = ExtractiveModel(Judge.installed())
        print_shares("turns of sessions", measure_sessions(index, model, misses=options.misses))
        print_shares("questions about selected texts", measure_selections(model, misses=options.misses))
        print_shares("turns of one session about the handbook, as asked alone", measure_handbook(index, model))
        index.close()


def measure_sessions(index: EmbeddedIndex, model: ExtractiveModel, *, misses: bool) -> Results:
    """Ask the sessions of each language; whether each turn is answered as it must be, by language."""
    results: Results = {}
    for language, turns in read_sessions(HERE / "session_questions.txt"):
        if language not in results:
            documents = read_questions(language).documents
            records = [(title, {"text": text, "title": title, "chapter": title}) for title, text in documents.items()]
            index.upsert(language, records)
        replies = ask_all(LocalSession(model, search_index(index, language)), turns)
        results.setdefault(language, []).extend(map(partial(judge, misses=misses), replies, turns))
    return results


def measure_selections(model: ExtractiveModel, *, misses: bool) -> Results:
    """Ask each question about a selected text in a session of its own."""
    results: Results = {}
    for selected, turns in read_sessions(HERE / "selection_questions.txt"):
        replies = [LocalSession(model, search_selection(selected)).ask(turn.text) for turn in turns]
        results.setdefault("all", []).extend(map(partial(judge, misses=misses), replies, turns))
    return results


def measure_handbook(index: EmbeddedIndex, model: ExtractiveModel) -> Results:
    """Ask unrelated questions in one session, and each alone; whether the answers are the same."""
    for path in sorted((HERE.parent / "docs").glob("*.md")):
        document = read_document(path.name, path.read_bytes())
        index.upsert(
            "handbook",
            [
                (f"{path.name}#{chunk.index}", {"text": chunk.text, "title": document.title, "chapter": chunk.chapter})
                for chunk in chunk_document(document)
            ],
        )
    search = search_index(index, "handbook")
    session = LocalSession(model, search)
    return {"all": [session.ask(text) == LocalSession(model, search).ask(text) for text in HANDBOOK_QUESTIONS]}


def judge(reply: Reply, turn: Message, *, misses: bool) -> bool:
    """Whether a reply is what its turn expects."""
    meets = reply.meets(turn)
    if misses and not meets:
        print(f"  {turn.text} {reply.queries} -> {reply.text!r}")
    return meets


def print_shares(name: str, results: Results) -> None:
    """Print how many turns are answered as they must be, together and for each language."""
    flat = [meets for values in results.values() for meets in values]
    each = ", ".join(f"{language} {sum(values)}/{len(values)}" for language, values in results.items())
    print(f"{name}: {sum(flat)} of {len(flat)} ({each})", flush=True)


def measure_paging(messages: int) -> None:
    """Write a session of `messages` messages and page through it."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as local:
        store = local.services.conversations
        session_id = write(store, messages)
        requests = Requests(local.client)
        start = time.perf_counter()
        count = page_through(store, session_id)
        seconds = time.perf_counter() - start
    operations = Counter(request.operation for request in requests.entries)
    units = sum(request.read_units for request in requests.entries)
    breakdown = ", ".join(f"{number} {name}" for name, number in sorted(operations.items()))
    print(f"history of {count} messages in pages of {PAGE}: {breakdown}, {units:g} read units, {seconds * 1000:.0f} ms")


def write(store: ConversationStore, messages: int) -> str:
    """Write a session of `messages` messages and return its id."""
    now = utc_now()
    session = Session(session_id=new_id(), owner=OWNER, created_at=now, updated_at=now)
    store.create(session, deadline=Deadline.after(10))
    for number in range(messages // 2):
        turn = make_turn(session.session_id, f"question {number} " + "words " * 40)
        store.add_turn(turn, new_session=None, deadline=Deadline.after(10))
    return session.session_id


def page_through(store: ConversationStore, session_id: str) -> int:
    """Read all messages of a session page by page and return their number."""
    count, after = 0, ""
    while page := store.list_messages(session_id, limit=PAGE, after=after, deadline=Deadline.after(10)):
        count, after = count + len(page), page[-1][0]
    return count


def make_turn(session_id: str, text: str) -> Turn:
    """A turn as the service stores it."""
    facts = TurnFacts(
        answered=Answered.FOUND,
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


if __name__ == "__main__":
    main()
