"""What an entry of the checklist says, and of which environments it is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from infra import environments
from infra.environment import Authorizer, Environment
from infra.limits import Quota


class Need(Enum):
    """What findings need, besides access to the account, to show something by themselves."""

    ASK = auto()  # the option that costs money
    CREDENTIALS = auto()  # those of a caller


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that not every environment has."""

    words: str  # after "Where"
    is_of: Callable[[Environment], bool]


API_KEYS = Feature("callers have API keys", lambda record: record.authorizer is Authorizer.API_KEY)
USERS = Feature("callers are users of a pool", lambda record: record.authorizer is Authorizer.COGNITO)
# The clients of `/v1` and `/mcp` cannot sign requests.
BEARER = Feature("callers have API keys or tokens", lambda record: record.authorizer is not Authorizer.IAM)
MCP_SIGN_IN = Feature("users sign in from MCP clients", lambda record: record.signs_in_to_mcp)
PAGE = Feature("the record has `chat_page`", lambda record: record.chat_page)
DOCUMENTS = Feature("the record has `documents`", lambda record: record.documents is not None)
UPLOADS = Feature(
    "the record has `documents` and `chat_page`", lambda record: record.documents is not None and record.chat_page
)
FIREWALL = Feature("the record has a `firewall`", lambda record: record.firewall is not None)
DOMAIN = Feature("the record has a `domain`", lambda record: record.domain is not None)
CANARY = Feature("the record has a `canary`", lambda record: record.canary is not None)
SNAPSHOT = Feature("the record has `snap_start`", lambda record: record.query.snap_start)
QUOTA = Feature("the `quota` of the record limits something", lambda record: record.quota != Quota())
SPENDING = Feature("the alarms of the record have `spending`", lambda record: record.alarms.spending is not None)
EMAIL = Feature("the alarms of the record have an `email`", lambda record: record.alarms.email is not None)
PIPELINE = Feature("`PIPELINE` names a repository", lambda _: environments.PIPELINE is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at. Words in capitals stand for outputs of the stacks, or for what the operator knows."""

    title: str
    look: str  # a command, or what to do, as sentences
    expected: str
    where: Feature | None = None  # only environments with this feature have it
    settled_by: str | None = None  # the subject of the findings that show it without a look
    needs: Need | None = None

    def is_of(self, record: Environment | None) -> bool:
        """Whether the environment has what this is about; True if its record is unknown."""
        return self.where is None or record is None or self.where.is_of(record)
