"""Finds the tables of a deployed environment, or of the service of a data directory; above all the access table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from gleaner.stores import dynamodb
from gleaner.stores.access import AccessStore
from gleaner.stores.dynamodb import Table
from gleaner_local import command_line
from gleaner_local.aws import ministack
from gleaner_local.errors import CannotStart
from gleaner_local.service.parts import Part
from gleaner_local.service.running import running_service
from infra.account import open_session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

OUTPUT = "AccessTable"  # of the DataStack
_LIMITS = Config(connect_timeout=3, read_timeout=8, retries={"total_max_attempts": 2})


def find_deployed_access(environment: str) -> AccessStore:
    """The table that the DataStack of an environment names, in the account and region of this process.

    Raises CannotStart.
    """
    client, outputs = connect_deployed(environment, (OUTPUT,))
    return AccessStore(Table(client, outputs[OUTPUT]))


def connect_deployed(environment: str, needed: Sequence[str]) -> tuple[DynamoDBClient, dict[str, str]]:
    """A client for the tables of an environment, and the outputs of its DataStack, among which are those `needed`.

    Raises CannotStart.
    """
    stack = f"gleaner-{environment}-data"
    try:
        session = open_session()
        client = session.client("cloudformation", config=_LIMITS)
        (description,) = client.describe_stacks(StackName=stack)["Stacks"]
        table = dynamodb.connect(endpoint_url=None, session=session)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "unknown")
        region = client.meta.region_name
        raise CannotStart(f"The stack {stack} cannot be read in {region} ({code}). {_check(environment)}") from error
    except NoRegionError as error:
        raise CannotStart("No AWS region is set. Set AWS_REGION to the region of the deployment.") from error
    except BotoCoreError as error:
        raise CannotStart(
            f"AWS gives no answer about {stack} ({type(error).__name__}). {_check(environment)}"
        ) from error
    outputs = {output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", ())}
    for name in needed:
        if name not in outputs:
            raise CannotStart(
                f"{stack} has no output {name}. Deploy it again: make deploy ENV={environment} STACK=data"
            )
    return table, outputs


def _check(environment: str) -> str:
    return f"`gleaner doctor --env {environment}` says more."


def find_local_access(data_dir: Path) -> tuple[AccessStore, bool | None]:
    """The table of the service that uses `data_dir`, and whether unlisted callers may use all knowledge bases there.

    The latter is None if a service of an earlier version does not tell. Raises CannotStart if none runs, and NotReady.
    """
    client, state = connect_local(data_dir)
    return AccessStore(Table(client, state["access_table"])), state.get("unlisted_may_use_all")


def connect_local(data_dir: Path) -> tuple[DynamoDBClient, dict[str, Any]]:
    """A client for the tables of the service that uses `data_dir`, and its published state.

    Raises CannotStart if none runs, and NotReady.
    """
    state = running_service(data_dir)
    if "access_table" not in state:
        start = command_line.format_command("serve", data_dir=data_dir)
        raise CannotStart(f"No service uses {data_dir}. Start one with `{start}`, or name an environment with --env.")
    local = state["local"].get(Part.TABLES.value)
    remote = os.environ.get(Part.TABLES.value)  # as the service was started
    return ministack.table_client(local) if local else dynamodb.connect(endpoint_url=remote), state
