"""Measures the cost of paging through a long history.

    .venv/bin/python benchmarks/conversations.py [--messages 1000]

cost.py measures the store requests of a turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.model import Answered, TokenUsage, new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import Session, Turn, TurnFacts
from gleaner.stores.conversations import ConversationStore
from harness.capacity import Requests
from harness.local_services import running
from harness.own_environment import positive

OWNER = "key:benchmark"
PAGE = 100


def main() -> None:
    """Write a session of `--messages` messages and page through it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=positive, default=1000)
    messages = parser.parse_args().messages
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
