"""Checks that the stored turns and keywords are complete."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from gleaner_local.aws import ministack
from tests.keyword_fixtures import associations_of, heads_of, words_of
from tests.stored_items import read_item


class TurnChecks:
    """Reads the tables of an environment directly, bypassing any proxy."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._client = ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
        self._environment = environment
        self._last_count = self.count()

    def new(self) -> int:
        """The number of turns added since the last call."""
        previous, self._last_count = self._last_count, self.count()
        return self._last_count - previous

    def count(self) -> int:
        """The number of stored questions."""
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._environment["CONVERSATIONS_TABLE"],
            Select="COUNT",
            FilterExpression="#role = :user",
            ExpressionAttributeNames={"#role": "role"},
            ExpressionAttributeValues={":user": {"S": "user"}},
        )
        return sum(page["Count"] for page in pages)

    def assert_turns_complete(self) -> None:
        """Assert that every question has its answer, and that every session counts its messages."""
        sessions: dict[str, Any] = {}
        turns: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for item in self.items("CONVERSATIONS_TABLE"):
            if "role" in item:
                turns[item["pk"], item["sk"].rsplit("#", 1)[0]].append(item["role"])
            elif "message_count" in item or "owner" in item:
                sessions[item["pk"]] = item
        assert all(sorted(roles) == ["assistant", "user"] for roles in turns.values())
        for session, item in sessions.items():
            assert item.get("message_count", 0) == 2 * sum(pk == session for pk, _ in turns)
        assert {pk for pk, _ in turns} <= set(sessions)

    def items(self, variable: str) -> list[dict[str, Any]]:
        """All items of a table."""
        pages = self._client.get_paginator("scan").paginate(TableName=self._environment[variable])
        return [read_item(item) for page in pages for item in page["Items"]]

    def assert_keywords_complete(self) -> None:
        """Assert that keywords have associations and postings, and associations their stored answers."""
        items = self.items("KEYWORDS_TABLE")
        heads = {item["keyword_id"]: item for item in heads_of(items)}
        answers = {item["result_id"]: item for item in items if item["sk"] == "ANSWER"}
        associations = associations_of(items)
        served = [item for item in items if item["sk"].startswith("U#")]
        uses = Counter(item["keyword_id"] for item in (*associations, *served))
        found = {posting.keyword_id for _, posting in words_of(items)}
        assert set(heads) == {item["keyword_id"] for item in associations}
        for item in associations:
            assert item["keyword_id"] in answers[item["perplexity_result_id"]]["keyword_ids"]
        for keyword, head in heads.items():
            assert head["usage_count"] == uses[keyword]
        assert set(heads) <= found
