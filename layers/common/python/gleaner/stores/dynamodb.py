"""One DynamoDB table: reads and conditional writes, retried within the deadline."""

from __future__ import annotations

import logging
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
from gleaner.stores._sending import send_directly
from gleaner.stores.failures import (
    existing_items,
    failed_conditions,
    log_throttled_statements,
    log_throttling,
    retry_within,
)
from gleaner.stores.items import from_item, to_item
from gleaner.stores.schema import Index, TableSchema
from gleaner.stores.statements import MAX_STATEMENTS, NOT_EXECUTED, Result, Statement, read_result

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

T = TypeVar("T")

Position = tuple[str, ...]  # of an item in a list: the sort key of an index, then what orders items that share it

_MAX_ATTEMPTS = 64  # enough when dozens of writers update one keyword; the deadline usually ends retries earlier
# DynamoDB's limits for one request.
_MAX_BATCH_GET_KEYS = 100
_MAX_BATCH_WRITE_ITEMS = 25
MAX_TRANSACTION_ACTIONS = 100

_NAME = re.compile(r"#(\w+)")
_USUAL_KEYS = TableSchema()
_RETURN_EXISTING = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


LIMITS = Config(  # of a client that does not retry by itself: `Table` retries within the deadline
    connect_timeout=1,
    read_timeout=3,
    retries={"total_max_attempts": 1},
    max_pool_connections=50,
    parameter_validation=False,  # requests are built here, and the tests have each validated
    user_agent="gleaner",  # botocore would otherwise build its own twice per request
)


class ConditionFailed(GleanerError):
    """Conditions of a write failed and nothing was written. `positions` are those of the failed actions.

    `existing_items` maps positions to the items that exist, for actions with `return_existing` (`Table.update`).
    """

    def __init__(self, positions: tuple[int, ...], existing_items: Mapping[int, dict[str, Any]]) -> None:
        super().__init__("The condition of a write failed.")
        self.positions = positions
        self.existing_items = existing_items


class Table:
    """A table with the string keys `pk` and `sk`. Every method raises StoreUnavailable when the store fails."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        self._client = client
        self._name = name

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    def get(self, key: Mapping[str, str], *, deadline: Deadline) -> dict[str, Any] | None:
        """The item under `key`, read consistently, or None."""
        response = self._call(
            lambda: self._client.get_item(TableName=self._name, Key=to_item(key), ConsistentRead=True),
            deadline,
        )
        return from_item(response["Item"]) if "Item" in response else None

    def get_many(
        self, keys: Sequence[Mapping[str, str]], *, deadline: Deadline, consistent: bool = False
    ) -> list[dict[str, Any]]:
        """The items under `keys` that exist, in no particular order."""
        items: list[dict[str, Any]] = []
        pending: list[Any] = [to_item(key) for key in keys]
        while pending:
            batch, pending = pending[:_MAX_BATCH_GET_KEYS], pending[_MAX_BATCH_GET_KEYS:]
            request: Any = {self._name: {"Keys": batch, "ConsistentRead": consistent}}
            response = self._call(partial(self._client.batch_get_item, RequestItems=request), deadline)
            items += [from_item(item) for item in response["Responses"].get(self._name, [])]
            unprocessed = response.get("UnprocessedKeys", {}).get(self._name)
            if unprocessed:
                self._wait_until_unthrottled("BatchGetItem", response, deadline)
                pending += unprocessed["Keys"]
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
        """At most `limit` items of a partition, ordered by sort key, in one round trip."""
        condition, values = "pk = :pk", {":pk": partition}
        if begins_with:
            condition, values = "pk = :pk AND begins_with(sk, :sk)", {":pk": partition, ":sk": begins_with}
        response = self._call(
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
        return [from_item(item) for item in response["Items"]]

    def query_all(
        self,
        *,
        partition: str,
        begins_with: str,
        after: str = "",
        limit: int | None,
        deadline: Deadline,
        keys: TableSchema = _USUAL_KEYS,
    ) -> list[dict[str, Any]]:
        """The items of a partition after the sort key `after`, ordered by sort key, in as many round trips as needed.

        `after` may be any text: without the prefix `begins_with` it still reveals no other items of the partition.
        `keys` names the keys of a table that has others.
        """
        # BETWEEN is inclusive. Nothing sorts between a key and the same key with NUL appended.
        first, last = max(begins_with, f"{after}\x00"), f"{begins_with}\uffff"
        if first > last:  # DynamoDB rejects an empty range
            return []
        request: dict[str, Any] = {
            "TableName": self._name,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :from AND :to",
            "ExpressionAttributeNames": {"#pk": keys.partition_key, "#sk": keys.sort_key},
            "ExpressionAttributeValues": to_item({":pk": partition, ":from": first, ":to": last}),
            "ConsistentRead": True,
        }
        items: list[dict[str, Any]] = []
        while limit is None or len(items) < limit:
            page = request if limit is None else request | {"Limit": limit - len(items)}
            response = self._call(partial(self._client.query, **page), deadline)
            items += map(from_item, response["Items"])
            if not response.get("LastEvaluatedKey"):  # some stores end with an empty key
                break
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
        return items

    def delete_many(self, keys: Sequence[Mapping[str, str]], *, deadline: Deadline) -> None:
        """Delete items unconditionally. Missing items are ignored."""
        pending: list[Any] = [{"DeleteRequest": {"Key": to_item(key)}} for key in keys]
        while pending:
            batch, pending = pending[:_MAX_BATCH_WRITE_ITEMS], pending[_MAX_BATCH_WRITE_ITEMS:]
            request: Any = {self._name: batch}
            response = self._call(partial(self._client.batch_write_item, RequestItems=request), deadline)
            unprocessed = response.get("UnprocessedItems", {}).get(self._name, [])
            if unprocessed:
                self._wait_until_unthrottled("BatchWriteItem", response, deadline)
                pending += unprocessed

    def query_index(
        self,
        index: Index,
        *,
        partition: str,
        position: Callable[[dict[str, Any]], Position],
        after: Position | None,
        limit: int,
        deadline: Deadline,
        skip: Callable[[dict[str, Any]], bool] = lambda _item: False,
    ) -> list[dict[str, Any]]:
        """The `limit` items of an index's partition with the greatest positions below `after`, greatest first.

        A position begins with the sort key and orders the items that share it, which DynamoDB returns in any order: a
        page that ends among them reads all of them, or the next page would miss some. Items for which `skip` is true
        are left out. Further round trips are made only while these, or items with one sort key, leave the page short.
        """
        items: list[dict[str, Any]] = []
        request = _index_request(self._name, index, partition, after[0] if after else None, limit + 1)
        while True:
            response = self._call(partial(self._client.query, **request), deadline)
            read = [from_item(item) for item in response["Items"]]
            items += [item for item in read if not (skip(item) or (after is not None and position(item) >= after))]
            is_last = not response.get("LastEvaluatedKey")
            # Sort keys descend: with a smaller one, all items that share the last one of the page have been read.
            if is_last or (
                len(items) >= limit and read and read[-1][index.sort_key] < items[limit - 1][index.sort_key]
            ):
                return sorted(items, key=position, reverse=True)[:limit]
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def iter_oldest(
        self, index: Index, *, partition: str, before: str, page: int, deadline: Deadline
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the items of an index's partition with sort keys below `before`, lowest first, page by page."""
        request: dict[str, Any] = {
            "TableName": self._name,
            "IndexName": index.name,
            "KeyConditionExpression": "#p = :p AND #s < :s",
            "ExpressionAttributeNames": {"#p": index.partition_key, "#s": index.sort_key},
            "ExpressionAttributeValues": to_item({":p": partition, ":s": before}),
            "Limit": page,
        }
        while True:
            response = self._call(partial(self._client.query, **request), deadline)
            yield from map(from_item, response["Items"])
            if not response.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def iter_all(self, *, deadline: Deadline) -> Iterator[dict[str, Any]]:
        """Iterate over all items of the table, in no particular order. Only for small tables."""
        request: dict[str, Any] = {"TableName": self._name, "ConsistentRead": True}
        while True:
            response = self._call(partial(self._client.scan, **request), deadline)
            yield from map(from_item, response["Items"])
            if not response.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def put_new(self, item: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Put an item unless one exists under its key. Returns False if one does, as after a retried write."""
        try:
            self.write(self.new_item(item), deadline=deadline)
        except ConditionFailed:
            return False
        return True

    def write(self, action: Mapping[str, Any], *, deadline: Deadline) -> None:
        """Perform one action without a transaction, at half of its price. Raises ConditionFailed as `transact` does."""
        [(kind, request)] = action.items()
        calls: Mapping[str, Callable[..., object]] = {
            "Put": self._client.put_item,
            "Update": self._client.update_item,
            "Delete": self._client.delete_item,
        }
        self._call(partial(calls[kind], **request), deadline)

    def update_and_read(self, action: Mapping[str, Any], *, deadline: Deadline) -> dict[str, Any]:
        """Perform one update as `write` does, and return the item as it is then."""
        call = partial(self._client.update_item, **action["Update"], ReturnValues="ALL_NEW")
        return from_item(self._call(call, deadline)["Attributes"])

    def execute(self, statements: Sequence[Statement], *, deadline: Deadline) -> list[Result]:
        """Execute statements, which may name other tables, each alone. A request that is refused executed none."""
        results: list[Result] = []
        for start in range(0, len(statements), MAX_STATEMENTS):
            batch = statements[start : start + MAX_STATEMENTS]
            requests: Any = [statement.request() for statement in batch]
            try:
                response = self._call(partial(self._client.batch_execute_statement, Statements=requests), deadline)
            except StoreUnavailable as error:
                _require_refusal(error)
                results += [NOT_EXECUTED] * len(batch)
            else:
                log_throttled_statements("BatchExecuteStatement", response["Responses"])
                results += map(read_result, response["Responses"])
        return results

    def transact(self, actions: Sequence[Mapping[str, Any]], *, deadline: Deadline) -> None:
        """Perform all actions or none. Raises ConditionFailed when a condition fails."""
        items: Any = list(actions)
        self._call(lambda: self._client.transact_write_items(TransactItems=items), deadline)

    def new_item(self, item: Mapping[str, Any], *, return_existing: bool = False) -> dict[str, Any]:
        """Action: put an item that must not exist yet, so that a repeated write changes nothing.

        `return_existing` as for `update`.
        """
        return self.put(item, condition="attribute_not_exists(#pk)", return_existing=return_existing)

    def put(
        self,
        item: Mapping[str, Any],
        *,
        condition: str,
        values: Mapping[str, Any] | None = None,
        return_existing: bool = False,
    ) -> dict[str, Any]:
        """Action: put an item under a condition, in place of what is there. `return_existing` as for `update`."""
        action = {"Item": to_item(item)} | self._conditional(condition, values or {})
        return {"Put": action | (_RETURN_EXISTING if return_existing else {})}

    def update(
        self,
        key: Mapping[str, str],
        *,
        expression: str,
        condition: str,
        values: Mapping[str, Any],
        return_existing: bool = False,
    ) -> dict[str, Any]:
        """Action: update an item under a condition. With `return_existing`, ConditionFailed holds the existing item.

        Write attributes as `#name` in expressions: many common names are reserved words.
        """
        action = {"Key": to_item(key), "UpdateExpression": expression}
        action |= self._conditional(condition, values, expression)
        return {"Update": action | (_RETURN_EXISTING if return_existing else {})}

    def delete(
        self, key: Mapping[str, str], *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Action: delete an item, under an optional condition."""
        return {"Delete": {"Key": to_item(key)} | self._conditional(condition, values or {})}

    def check(
        self, key: Mapping[str, str], *, condition: str, values: Mapping[str, Any], return_existing: bool = False
    ) -> dict[str, Any]:
        """Action: fail the transaction unless a condition holds. `return_existing` as for `update`."""
        action = {"Key": to_item(key)} | self._conditional(condition, values)
        return {"ConditionCheck": action | (_RETURN_EXISTING if return_existing else {})}

    def _conditional(self, condition: str, values: Mapping[str, Any], expression: str = "") -> dict[str, Any]:
        action: dict[str, Any] = {"TableName": self._name}
        if condition:
            action["ConditionExpression"] = condition
        if names := {f"#{name}": name for name in _NAME.findall(f"{expression} {condition}")}:
            action["ExpressionAttributeNames"] = names
        if values:
            action["ExpressionAttributeValues"] = to_item(values)
        return action

    def _call(self, call: Callable[[], T], deadline: Deadline) -> T:
        deadline.timeout(1.0)  # raises if no time is left
        try:
            retry_after = retry_within(deadline, self._name)
            return with_retries(call, retry_after=retry_after, deadline=deadline, attempts=_MAX_ATTEMPTS)
        except ClientError as error:
            positions = failed_conditions(error)
            if positions:
                items = {position: from_item(item) for position, item in existing_items(error).items()}
                raise ConditionFailed(positions, items) from error
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise StoreUnavailable(f"The store failed ({code}).") from error
        except BotoCoreError as error:
            raise StoreUnavailable("The store could not be reached.") from error

    def _wait_until_unthrottled(self, operation: str, response: object, deadline: Deadline) -> None:
        """Wait for a random time: DynamoDB leaves part of a batch unprocessed when it throttles."""
        log_throttling(self._name, operation, response)
        time.sleep(min(deadline.timeout(1.0), random.uniform(0.02, 0.2)))  # noqa: S311 - jitter, not security


def _require_refusal(error: StoreUnavailable) -> None:
    """Raise the error unless DynamoDB refused a request with statements, for which there are other requests."""
    if not isinstance(error.__cause__, ClientError):
        raise error
    logger.warning("statements were refused", exc_info=error)


def _index_request(table: str, index: Index, partition: str, up_to: str | None, limit: int) -> dict[str, Any]:
    has_bound = up_to is not None
    return {
        "TableName": table,
        "IndexName": index.name,
        "KeyConditionExpression": "#p = :p AND #s <= :s" if has_bound else "#p = :p",
        "ExpressionAttributeNames": {"#p": index.partition_key} | ({"#s": index.sort_key} if has_bound else {}),
        "ExpressionAttributeValues": to_item({":p": partition, ":s": up_to}),
        "Limit": limit,
        "ScanIndexForward": False,
    }


def connect(
    *, endpoint_url: str | None, session: boto3.Session | None = None, config: Config = LIMITS
) -> DynamoDBClient:
    """A DynamoDB client that sends nothing yet; by default it does not retry, for `Table` does within the deadline."""
    open_client = boto3.client if session is None else session.client
    client = open_client("dynamodb", endpoint_url=endpoint_url, config=config)
    send_directly(client)
    return client
