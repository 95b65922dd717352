"""One DynamoDB table: reads and conditional writes with retries inside the deadline."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from gleaner.errors import GleanerError, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.stores.failures import existing_items, failed_conditions, retry_after
from gleaner.stores.items import from_item, to_item
from gleaner.stores.schema import Index

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")

# Attempts at one call; the deadline ends them earlier. Enough for a keyword that dozens of writers want.
_ATTEMPTS = 64
_BATCH_GET_LIMIT = 100  # keys of one BatchGetItem
_BATCH_WRITE_LIMIT = 25  # items of one BatchWriteItem
MAX_TRANSACTION_ACTIONS = 100  # actions of one TransactWriteItems

_NAME = re.compile(r"#(\w+)")
_RETURN_EXISTING = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


class ConditionFailed(GleanerError):
    """Conditions of a write did not hold; nothing was written. `positions` are the actions they belong to.

    `found` has the items of those of them that ask for it (`Table.update`), where there is one.
    """

    def __init__(self, positions: tuple[int, ...], found: Mapping[int, dict[str, Any]]) -> None:
        super().__init__("The condition of a write did not hold.")
        self.positions = positions
        self.existing_items = found


class Table:
    """A table with the string keys `pk` and `sk`. Every method raises StoreUnavailable when the store fails."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        self._client = client
        self._name = name

    def get(self, key: Mapping[str, str], *, deadline: Deadline) -> dict[str, Any] | None:
        """The item under `key`, read consistently, or None."""
        answer = self._call(
            lambda: self._client.get_item(TableName=self._name, Key=to_item(key), ConsistentRead=True),
            deadline,
        )
        return from_item(answer["Item"]) if "Item" in answer else None

    def get_many(
        self, keys: Sequence[Mapping[str, str]], *, deadline: Deadline, consistent: bool = False
    ) -> list[dict[str, Any]]:
        """The items under `keys` that exist, in no order."""
        items: list[dict[str, Any]] = []
        waiting: list[Any] = [to_item(key) for key in keys]
        while waiting:
            batch, waiting = waiting[:_BATCH_GET_LIMIT], waiting[_BATCH_GET_LIMIT:]
            request: Any = {self._name: {"Keys": batch, "ConsistentRead": consistent}}
            answer = self._call(partial(self._client.batch_get_item, RequestItems=request), deadline)
            items += [from_item(item) for item in answer["Responses"].get(self._name, [])]
            left = answer.get("UnprocessedKeys", {}).get(self._name)
            if left:  # DynamoDB returns these when it throttles; they count against the deadline
                _pause(deadline)
                waiting += left["Keys"]
        return items

    def query(
        self,
        *,
        partition: str,
        begins_with: str = "",
        limit: int,
        deadline: Deadline,
        newest_first: bool = False,
        consistent: bool = False,
    ) -> list[dict[str, Any]]:
        """At most `limit` items of a partition, by sort key, in one round trip."""
        condition, values = "pk = :pk", {":pk": partition}
        if begins_with:
            condition, values = "pk = :pk AND begins_with(sk, :sk)", {":pk": partition, ":sk": begins_with}
        answer = self._call(
            lambda: self._client.query(
                TableName=self._name,
                KeyConditionExpression=condition,
                ExpressionAttributeValues=to_item(values),
                Limit=limit,
                ScanIndexForward=not newest_first,
                ConsistentRead=consistent,
            ),
            deadline,
        )
        return [from_item(item) for item in answer["Items"]]

    def query_all(
        self, *, partition: str, begins_with: str, after: str = "", limit: int | None, deadline: Deadline
    ) -> list[dict[str, Any]]:
        """Items of a partition by sort key, those after `after` alone; in as many round trips as their size takes.

        `after` is any text: one that begins otherwise opens nothing else of the partition.
        """
        # The range is inclusive; nothing sorts between a key and the same key with a NUL behind it.
        first, last = max(begins_with, f"{after}\x00" if after else ""), f"{begins_with}\uffff"
        if first > last:  # which DynamoDB refuses
            return []
        request: dict[str, Any] = {
            "TableName": self._name,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :from AND :to",
            "ExpressionAttributeValues": to_item({":pk": partition, ":from": first, ":to": last}),
            "ConsistentRead": True,
        }
        found: list[dict[str, Any]] = []
        while limit is None or len(found) < limit:
            page = request if limit is None else request | {"Limit": limit - len(found)}
            answer = self._call(partial(self._client.query, **page), deadline)
            found += map(from_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                break
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return found

    def delete_many(self, keys: Sequence[Mapping[str, str]], *, deadline: Deadline) -> None:
        """Delete items, whatever they hold; ones that are gone are gone."""
        waiting: list[Any] = [{"DeleteRequest": {"Key": to_item(key)}} for key in keys]
        while waiting:
            batch, waiting = waiting[:_BATCH_WRITE_LIMIT], waiting[_BATCH_WRITE_LIMIT:]
            request: Any = {self._name: batch}
            answer = self._call(partial(self._client.batch_write_item, RequestItems=request), deadline)
            left = answer.get("UnprocessedItems", {}).get(self._name, [])
            if left:
                _pause(deadline)
                waiting += left

    def query_index(
        self,
        index: Index,
        *,
        partition: str,
        up_to: str | None,
        skip: Callable[[dict[str, Any]], bool],
        limit: int,
        deadline: Deadline,
    ) -> list[dict[str, Any]]:
        """At most `limit` items of an index's partition that `skip` lets pass, the greatest sort key first.

        `up_to` is the greatest sort key to read. Items to skip cost a further round trip only when they
        fill a whole page.
        """
        found: list[dict[str, Any]] = []
        request = _index_request(self._name, index, partition, up_to, limit)
        while True:
            answer = self._call(partial(self._client.query, **request), deadline)
            found += [item for item in map(from_item, answer["Items"]) if not skip(item)]
            if len(found) >= limit or "LastEvaluatedKey" not in answer:
                return found[:limit]
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def iter_oldest(
        self, index: Index, *, partition: str, before: str, page: int, deadline: Deadline
    ) -> Iterator[dict[str, Any]]:
        """Items of an index's partition whose sort key is less than `before`, the least first, read page by page."""
        request: dict[str, Any] = {
            "TableName": self._name,
            "IndexName": index.name,
            "KeyConditionExpression": "#p = :p AND #s < :s",
            "ExpressionAttributeNames": {"#p": index.partition_key, "#s": index.sort_key},
            "ExpressionAttributeValues": to_item({":p": partition, ":s": before}),
            "Limit": page,
        }
        while True:
            answer = self._call(partial(self._client.query, **request), deadline)
            yield from map(from_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def put_new(self, item: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Put an item that must not exist; False when it does, which is how a repeated write ends."""
        try:
            self._call(lambda: self._client.put_item(**self.new_item(item)["Put"]), deadline)
        except ConditionFailed:
            return False
        return True

    def transact(self, actions: Sequence[Mapping[str, Any]], *, deadline: Deadline) -> None:
        """Do all actions or none. Raises ConditionFailed when a condition does not hold."""
        items: Any = list(actions)
        self._call(lambda: self._client.transact_write_items(TransactItems=items), deadline)

    def new_item(self, item: Mapping[str, Any], *, return_existing: bool = False) -> dict[str, Any]:
        """The action that puts an item which must not exist yet: a repeated write must change nothing.

        `return_existing` as for `update`.
        """
        return {
            "Put": {
                "TableName": self._name,
                "Item": to_item(item),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
            | (_RETURN_EXISTING if return_existing else {})
        }

    def update(
        self,
        key: Mapping[str, str],
        *,
        expression: str,
        condition: str,
        values: Mapping[str, Any],
        return_existing: bool = False,
    ) -> dict[str, Any]:
        """The action that updates an item under a condition; `return_existing` has ConditionFailed tell what it found.

        Attributes are written `#name` in expressions: half of all good names are reserved words.
        """
        action = {"UpdateExpression": expression} | self._conditional(key, condition, values, expression)
        return {"Update": action | (_RETURN_EXISTING if return_existing else {})}

    def delete(
        self, key: Mapping[str, str], *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The action that deletes an item, under a condition if there is one."""
        return {"Delete": self._conditional(key, condition, values or {})}

    def check(self, key: Mapping[str, str], *, condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The action that lets a transaction go through only while a condition holds."""
        return {"ConditionCheck": self._conditional(key, condition, values)}

    def _conditional(
        self, key: Mapping[str, str], condition: str, values: Mapping[str, Any], expression: str = ""
    ) -> dict[str, Any]:
        action: dict[str, Any] = {"TableName": self._name, "Key": to_item(key)}
        if condition:
            action["ConditionExpression"] = condition
        if names := {f"#{name}": name for name in _NAME.findall(f"{expression} {condition}")}:
            action["ExpressionAttributeNames"] = names
        if values:
            action["ExpressionAttributeValues"] = to_item(values)
        return action

    def _call(self, call: Callable[[], T], deadline: Deadline) -> T:
        deadline.timeout(1.0)  # raises when nothing is left
        try:
            return with_retries(call, retry_after=retry_after, deadline=deadline, attempts=_ATTEMPTS)
        except ClientError as error:
            positions = failed_conditions(error)
            if positions:
                found = {position: from_item(item) for position, item in existing_items(error).items()}
                raise ConditionFailed(positions, found) from error
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise StoreUnavailable(f"The store failed ({code}).") from error
        except BotoCoreError as error:
            raise StoreUnavailable("The store could not be reached.") from error


def _pause(deadline: Deadline) -> None:
    """Wait a random moment after DynamoDB left a part of a batch undone, which it does when it throttles."""
    time.sleep(min(deadline.timeout(1.0), random.uniform(0.02, 0.2)))  # noqa: S311 - spreads load, guards nothing


def _index_request(table: str, index: Index, partition: str, up_to: str | None, limit: int) -> dict[str, Any]:
    bounded = up_to is not None
    return {
        "TableName": table,
        "IndexName": index.name,
        "KeyConditionExpression": "#p = :p AND #s <= :s" if bounded else "#p = :p",
        "ExpressionAttributeNames": {"#p": index.partition_key} | ({"#s": index.sort_key} if bounded else {}),
        "ExpressionAttributeValues": to_item({":p": partition, ":s": up_to}),
        "Limit": limit,
        "ScanIndexForward": False,
    }


def connect(*, endpoint_url: str | None) -> DynamoDBClient:
    """A DynamoDB client that does not retry by itself: retries are held inside the deadline."""
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        retries={"total_max_attempts": 1},
        max_pool_connections=50,
        user_agent="gleaner",  # botocore's own is put together anew, twice, for each request
    )
    return boto3.client("dynamodb", endpoint_url=endpoint_url, config=config)
