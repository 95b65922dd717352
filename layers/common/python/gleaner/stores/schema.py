"""The schema of the tables: keys, indexes and their names. No other module knows how items are addressed.

Every table has the string keys `pk` and `sk`, except the idempotency table, whose items Powertools defines, the access
table, whose key is `subject`, and the documents table.

Keywords table
    ST#<stems id>            STEMS                                       a keyword (its head), and its first association
    KW#<keyword id>          A#<kb id>#<query id>#<association id>       a further association, newest last
    KW#<keyword id>          U#<query id>                                an association with a query it served
    I#<list id>              POSTINGS                                    which keywords have stems that begin so
    T#<kb id>#<prefix>       <stem>#<number of terms>#<keyword id>       look-up entry of one term that no list holds
    T#<kb id>#<stem> <stem>  #<number of terms>#<keyword id>             look-up entry of two adjacent terms
    LAYOUT                   POSTINGS                                    that no keyword is left that is in no list, and
                                                                         from when on items are compact
    W#<result id>            ANSWER                                      a stored web answer, or that it was forgotten
    C#<caller>               Q#<session id>#<query id>                   what a query taught: keywords and answers
    DOUBTS                   A#<result id>                               an answer that was rated poor
    P#<page id>              BAR                                         until when nothing is learned from a page
    BARS#<n>                 BARS                                        the same of all pages, in equal items
    L#<search id>            SEARCH                                      a running web search, or its result
    RUN#<run id>             RUN                                         a pruning run
    RUN#<run id>             K#<keyword id>                              a keyword that the run pruned
  The id of a keyword is `s<stems id>`. One of the former form has another id, a claim, and all associations as items:
    KW#<keyword id>          KEYWORD                                     its head
    ST#<stems id>            STEMS                                       its claim: near-duplicates are merged into it
  Before there were posting lists, each term had a look-up entry; now only those that a full list does not take.
  Only answers and searches expire, by `expires_at`. Callers are named by a hash. In the learning mode `caller`,
  `<kb id>@<caller>` takes the place of a knowledge base's id.
    index by_last_use: queue, last_used_at; active keywords, and items queued for a later pruning run
Conversations table
    S#<session id>           SESSION                                     the session
    S#<session id>           M#<query id>#0 and #1                       a turn: the question, the answer
    S#<session id>           EXCERPT#<query id>                          the text that a question was asked about
    S#<session id>           LONG#<sort key>#<n>                         a further piece of an item's long text
    O#<owner>                S#<session id>                              a session that is being deleted
    O#<owner>                Q#<query id>                                a query without a session, failed or not kept
  Messages sort directly before their session: one query from the end returns it with the newest messages.
    index by_owner: owner, updated_at; sessions only
Tool calls table
    Q#<query id>             C#<position>                                the tool calls of a question from this one on
    Q#<query id>             FEEDBACK                                    the caller's feedback on the answer
    indexes by_session, by_tool, by_status: that attribute, created_at; keys only
  One item holds all calls of a question, unless they are too large for one. Its `tool_name` says which tools it called,
  as in `#index_keywords+perplexity_search#02`, and it has a `status` only if a call failed. Before the compact form of
  the keywords table there was an item for each call, with the name of its tool and its own status.
  The values of both attributes end with a shard, as in `error#02`: few values would otherwise share all writes of an
  index. Calls of still earlier versions have values without a shard.
Access table
    <caller, or group of a Cognito pool>                                 the knowledge bases that it may use, its groups
Usage table
    D#<UTC day>              C#<caller>                                  what a caller used on a day; names the caller
    E#<UTC day>              ENVIRONMENT                                 what all callers used on it
  Both expire, by `expires_at`. They are partitions of their own, because every question writes to both.
Documents table
    <kb id>                  <document id>                               a document in the object store, and its lease
  Only an upload that was allowed and never came expires, by `expires_at`. It names the caller who asked for the upload.
    indexes by_state: kb_state, updated_at; by_uploader: uploaded_by, updated_at; keys only
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import combinations

KEY_SEPARATOR = "#"
PREFIX_LENGTH = 3  # characters of a stem that name its list and its partition; shorter prefixes are not searched
LONG_PREFIX_LENGTH = 6  # those that name the list of what the first does not take
ACTIVE_SHARDS = 4
BAR_LISTS = 8  # equal ones; more may be added once all lists are written anew
CALL_SHARDS = 4  # of each tool and of each status; more may be added, but none removed
# Nearly every question calls the usual tools: the partition of a question does not tell them. That of one with an
# occasional tool does, so that a list of its calls reads no other questions. A new tool is added to one of the two.
USUAL_TOOLS = ("generate_response", "knowledge_base_search")
OCCASIONAL_TOOLS = ("index_keywords", "perplexity_search")
_INVENTED = "invented"  # stands for all names that a model made up
MAX_USE_CLASS = 8  # active keywords with this many uses or more share partitions
MAX_CALLERS = 8  # of a keyword that its head names, and as many by restricted questions
ASSOCIATION_PREFIXES = ("A#", "U#")  # sort keys of associations with web answers, and with queries served


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index. Both keys are strings."""

    name: str
    partition_key: str
    sort_key: str
    keys_only: bool = False  # projects the keys instead of all attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """A table. Its keys are strings."""

    partition_key: str = "pk"
    sort_key: str | None = "sk"
    indexes: tuple[Index, ...] = ()
    ttl_attribute: str | None = None


KEYWORDS = TableSchema(indexes=(Index("by_last_use", "queue", "last_used_at"),), ttl_attribute="expires_at")
CONVERSATIONS = TableSchema(indexes=(Index("by_owner", "owner", "updated_at"),))
# Every question is written to these indexes, but few are looked up. With keys only, each entry costs one unit instead
# of those of the whole item.
BY_SESSION = Index("by_session", "session_id", "created_at", keys_only=True)
BY_TOOL = Index("by_tool", "tool_name", "created_at", keys_only=True)
BY_STATUS = Index("by_status", "status", "created_at", keys_only=True)
TOOL_CALLS = TableSchema(indexes=(BY_SESSION, BY_TOOL, BY_STATUS))
USAGE = TableSchema(ttl_attribute="expires_at")
IDEMPOTENCY = TableSchema(partition_key="id", sort_key=None, ttl_attribute="expiration")
ACCESS = TableSchema(partition_key="subject", sort_key=None)
BY_STATE = Index("by_state", "kb_state", "updated_at")
BY_UPLOADER = Index("by_uploader", "uploaded_by", "updated_at", keys_only=True)
DOCUMENTS = TableSchema(
    partition_key="kb_id", sort_key="document_id", indexes=(BY_STATE, BY_UPLOADER), ttl_attribute="expires_at"
)

Key = dict[str, str]


class PruneQueue(StrEnum):
    """Queues of items that a later pruning run has to process."""

    UNFINISHED = "UNFINISHED"  # pruned keywords whose words and associations are not all processed yet
    UNINDEXED = "UNINDEXED"  # web answers that could not be written into the vector index
    UNREFERENCED = "UNREFERENCED"  # web answers that lost a keyword, perhaps their last; forgotten ones; bars of pages


def derived_id(*parts: str) -> str:
    """A deterministic id of its parts: 128 bits of SHA-256 in hexadecimal."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def caller_hash(caller_id: str) -> str:
    """What stands for a caller in the keywords table, whose items many people may read."""
    return derived_id("caller", caller_id)


_RESTRICTED_PREFIX = "acl:"  # no hash begins with it


def caller_mark(caller: str, *, is_restricted: bool = False) -> str:
    """What names a caller (by its hash) among those of a keyword; it tells who caused it by a restricted question."""
    return f"{_RESTRICTED_PREFIX}{caller}" if is_restricted else caller


def is_restricted_mark(mark: str) -> bool:
    """Whether a mark is of a caller whose question saw documents that are for some groups only."""
    return mark.startswith(_RESTRICTED_PREFIX)


_SCOPE_SEPARATOR = "@"  # no knowledge base has it in its id


def private_scope(kb_id: str, caller: str) -> str:
    """What stands for a knowledge base in keys of what only this caller (by its hash) finds."""
    return f"{kb_id}{_SCOPE_SEPARATOR}{caller}"


def knowledge_base_of(scope: str) -> str:
    """The id of the knowledge base of a scope."""
    return scope.partition(_SCOPE_SEPARATOR)[0]


def is_private(scope: str) -> bool:
    """Whether only one caller finds what was learned in this scope."""
    return _SCOPE_SEPARATOR in scope


def former_keyword_id(folded: str) -> str:
    """The id of a keyword of the former form, by its identity (`text.fold`)."""
    return derived_id("keyword", folded)


_OF_STEMS = "s"  # no id of the former form begins with it: they are hexadecimal


def keyword_id(merge_key: str) -> str:
    """The id of the keyword of a sequence of stems (`keyword_stems.merge_key`)."""
    return f"{_OF_STEMS}{derived_id('stems', merge_key)}"


def is_of_stems(keyword: str) -> bool:
    """Whether a keyword's id is that of its stems, so that its head is in the place of a claim."""
    return keyword.startswith(_OF_STEMS)


def association_id(keyword: str, query_id: str | None, result_id: str | None) -> str:
    """The id of the association of a keyword with a query and a web answer."""
    return derived_id("association", keyword, query_id or "", result_id or "")


def active_partition(keyword: str, usage_count: int) -> str:
    """The partition of `by_last_use` that holds an active keyword.

    Keywords are partitioned by usage count, so that pruning reads only rarely used ones, and into shards, so that
    no partition takes all writes. The count may lag behind the keyword's own; pruning then reads the keyword
    once too often, but misses none.
    """
    return _active_partition(min(max(usage_count, 1), MAX_USE_CLASS), _shard(keyword))


def active_partitions(*, used_less_than: int | None = None) -> list[str]:
    """The partitions of `by_last_use` with active keywords, or with those used fewer times than given."""
    classes = range(1, MAX_USE_CLASS + 1)
    return [
        _active_partition(uses, shard)
        for uses in classes
        if used_less_than is None or uses < used_less_than
        for shard in range(ACTIVE_SHARDS)
    ]


def queue_partition(queue: PruneQueue, key: str) -> str:
    """The partition of `by_last_use` that holds an item of a queue."""
    return f"{queue.value}#{_shard(key):02d}"


def queue_partitions(queue: PruneQueue) -> list[str]:
    """All partitions of a queue."""
    return [f"{queue.value}#{shard:02d}" for shard in range(ACTIVE_SHARDS)]


def _active_partition(uses: int, shard: int) -> str:
    return f"ACTIVE#{uses}#{shard:02d}"


def _shard(key: str, shards: int = ACTIVE_SHARDS) -> int:
    return zlib.crc32(key.encode()) % shards


def keyword_key(keyword: str) -> Key:
    """Key of a keyword."""
    if is_of_stems(keyword):
        return {"pk": f"ST#{keyword.removeprefix(_OF_STEMS)}", "sk": "STEMS"}
    return {"pk": association_partition(keyword), "sk": "KEYWORD"}


def stems_key(merge_key: str) -> Key:
    """Key of what says which keyword a sequence of stems has: the head of this keyword, or the claim of another one."""
    return keyword_key(keyword_id(merge_key))


def association_partition(keyword: str) -> str:
    """The partition of a keyword's associations."""
    return f"KW#{keyword}"


def association_prefix(kb_id: str) -> str:
    """The sort key prefix of a keyword's associations in one knowledge base."""
    return f"A#{kb_id}#"


def association_key(keyword: str, kb_id: str, query_id: str | None, association: str) -> Key:
    """Key of an association."""
    sort_key = f"{association_prefix(kb_id)}{query_id or ''}#{association}"
    return {"pk": association_partition(keyword), "sk": sort_key}


def query_use_key(keyword: str, query_id: str) -> Key:
    """Key of the association of a keyword with a query that it served."""
    return {"pk": association_partition(keyword), "sk": f"U#{query_id}"}


POSTINGS = "POSTINGS"  # the sort key of every list
LAYOUT_KEY: Key = {"pk": "LAYOUT", "sk": POSTINGS}


def postings_key(kb_id: str, stem: str, *, letters: int = PREFIX_LENGTH) -> Key:
    """Key of the posting list of all stems whose first letters are those of this one.

    What follows `I#` is a hash: a list that is empty again does not tell of what.
    """
    return {"pk": f"I#{derived_id('postings', kb_id, stem[:letters])}", "sk": POSTINGS}


def term_partition(kb_id: str, stem: str) -> str:
    """Partition of the look-up entries of a stem."""
    return f"T#{kb_id}#{stem[:PREFIX_LENGTH]}"


def pair_partition(kb_id: str, first: str, second: str) -> str:
    """Partition of the look-up entries of two adjacent stems."""
    return f"T#{kb_id}#{first} {second}"


def entry_sort_key(stem: str, term_count: int, keyword: str) -> str:
    """Sort key of a look-up entry. Keywords of few terms come first: a match covers more of them."""
    return f"{stem}#{term_count:02d}#{keyword}"


def answer_key(result_id: str) -> Key:
    """Key of a stored web answer."""
    return {"pk": f"W#{result_id}", "sk": "ANSWER"}


TAUGHT_PREFIX = "Q#"


def taught_prefix(session_id: str) -> str:
    """The sort key prefix of what the queries of a session taught."""
    return f"{TAUGHT_PREFIX}{session_id}{KEY_SEPARATOR}"


def taught_key(caller: str, session_id: str | None, query_id: str) -> Key:
    """Key of the record of what a query of a caller (by its hash) taught."""
    return {"pk": f"C#{caller}", "sk": f"{taught_prefix(session_id or '')}{query_id}"}


DOUBT_PREFIX = "A#"


def doubt_key(result_id: str) -> Key:
    """Key of the record that a stored web answer was rated poor."""
    return {"pk": "DOUBTS", "sk": f"{DOUBT_PREFIX}{result_id}"}


BAR = "BAR"  # the sort key of every bar


def page_key(identity: str) -> Key:
    """Key of the bar of a web page."""
    return {"pk": f"P#{derived_id('page', identity)}", "sk": BAR}


def bars_key(spread_by: str) -> Key:
    """Key of one of the equal lists of bars."""
    return bars_keys()[_shard(spread_by, BAR_LISTS)]


def bars_keys() -> list[Key]:
    """Keys of all lists of bars."""
    return [{"pk": f"BARS#{number:02d}", "sk": "BARS"} for number in range(BAR_LISTS)]


def listed_bar(bar: Mapping[str, str]) -> str:
    """The attribute that stands for a bar in the lists, by the bar's key."""
    return "p" + bar["pk"].removeprefix("P#")[:16]


def search_key(search_id: str) -> Key:
    """Key of a web search that several questions share; its id tells nothing of the query."""
    return {"pk": f"L#{search_id}", "sk": "SEARCH"}


def run_key(run_id: str) -> Key:
    """Key of a pruning run."""
    return {"pk": f"RUN#{run_id}", "sk": "RUN"}


PRUNED_PREFIX = "K#"


def pruned_key(run_id: str, keyword: str) -> Key:
    """Key of the record that a run pruned a keyword."""
    return {"pk": f"RUN#{run_id}", "sk": f"{PRUNED_PREFIX}{keyword}"}


def session_key(session_id: str) -> Key:
    """Key of a session."""
    return {"pk": f"S#{session_id}", "sk": "SESSION"}


DOOMED_PREFIX, NOTED_PREFIX = "S#", "Q#"


def owner_partition(owner: str) -> str:
    """The partition of what leads to records of a caller that no session leads to."""
    return f"O#{owner}"


def doomed_key(owner: str, session_id: str) -> Key:
    """Key of the record that a session of a caller is being deleted."""
    return {"pk": owner_partition(owner), "sk": f"{DOOMED_PREFIX}{session_id}"}


def noted_key(owner: str, query_id: str) -> Key:
    """Key of the record of a caller's query that no session leads to."""
    return {"pk": owner_partition(owner), "sk": f"{NOTED_PREFIX}{query_id}"}


MESSAGE_PREFIX = "M#"


def message_key(session_id: str, query_id: str, position: int) -> Key:
    """Key of a message; position 0 is the question, 1 the answer."""
    return {"pk": f"S#{session_id}", "sk": f"{MESSAGE_PREFIX}{query_id}#{position}"}


def query_of_message(sort_key: str) -> str:
    """The id of the query whose message has this sort key."""
    return sort_key.removeprefix(MESSAGE_PREFIX).partition(KEY_SEPARATOR)[0]


SELECTION_PREFIX = "EXCERPT#"


def selection_key(session_id: str, query_id: str) -> Key:
    """Key of the selected text that a question was asked about."""
    return {"pk": f"S#{session_id}", "sk": f"{SELECTION_PREFIX}{query_id}"}


def piece_key(owner_key: Key, number: int) -> Key:
    """Key of the n-th further piece of the long text of the item under `owner_key`."""
    return {"pk": owner_key["pk"], "sk": f"LONG#{owner_key['sk']}#{number:02d}"}


def feedback_key(query_id: str) -> Key:
    """Key of the feedback on the answer to a query."""
    return {"pk": f"Q#{query_id}", "sk": "FEEDBACK"}


TOOL_CALL_PREFIX = "C#"


def tool_call_key(query_id: str, position: int) -> Key:
    """Key of a tool call; `position` counts the calls of one query."""
    return {"pk": f"Q#{query_id}", "sk": f"{TOOL_CALL_PREFIX}{position:04d}"}


def call_partition(value: str, query_id: str) -> str:
    """The partition of `by_tool` or `by_status` that holds a call with this value, which has no separator of keys."""
    return _call_partition(value, _shard(query_id, CALL_SHARDS))


def call_partitions(value: str) -> list[str]:
    """All partitions of `by_tool` or `by_status` with calls of this value, that of earlier versions first."""
    return [value, *(_call_partition(value, shard) for shard in range(CALL_SHARDS))]


def value_of_call_partition(partition: str) -> str:
    """The value of the calls in a partition of `by_tool` or `by_status`."""
    value, _, shard = partition.rpartition(KEY_SEPARATOR)
    return value if shard.isdecimal() else partition


def _call_partition(value: str, shard: int) -> str:
    return f"{value}{KEY_SEPARATOR}{shard:02d}"


def question_partition(tools: Iterable[str], query_id: str) -> str:
    """The partition of `by_tool` that holds the item of a question with calls of these tools."""
    return _question_partition(_told(tools), _shard(query_id, CALL_SHARDS))


def question_partitions(*tools: str) -> list[str]:
    """All partitions of `by_tool` with questions that may have called these tools, or any."""
    names = (*OCCASIONAL_TOOLS, _INVENTED)
    sets = [names_told for size in range(len(names) + 1) for names_told in combinations(names, size)]
    return [
        _question_partition(names_told, shard)
        for names_told in sets
        if _told(tools) <= set(names_told)
        for shard in range(CALL_SHARDS)
    ]


def _told(tools: Iterable[str]) -> set[str]:
    """What a partition tells of the tools that a question called."""
    return {tool if tool in OCCASIONAL_TOOLS else _INVENTED for tool in tools if tool not in USUAL_TOOLS}


def _question_partition(names_told: Collection[str], shard: int) -> str:
    # Begins with a separator, as no partition of the calls of one tool does.
    return _call_partition(f"{KEY_SEPARATOR}{'+'.join(sorted(names_told))}", shard)


def subject_key(subject: str) -> Key:
    """Key of the knowledge bases that a caller, or the members of a group, may use."""
    return {"subject": subject}


def query_of_call(call_key: Key) -> str:
    """The id of the query whose tool call has this key."""
    return call_key["pk"].removeprefix("Q#")


USED_BY_PREFIX = "C#"


def caller_usage_key(day: date, caller: str) -> Key:
    """Key of what a caller (by its hash) used on a day."""
    return {"pk": f"D#{day.isoformat()}", "sk": f"{USED_BY_PREFIX}{caller}"}


def environment_usage_key(day: date) -> Key:
    """Key of what all callers used on a day."""
    return {"pk": f"E#{day.isoformat()}", "sk": "ENVIRONMENT"}


def document_key(kb_id: str, document_id: str) -> Key:
    """Key of a document of the object store."""
    return {"kb_id": kb_id, "document_id": document_id}


def document_state_partition(kb_id: str, state: str) -> str:
    """The partition of `by_state` that holds the documents of a knowledge base in a state."""
    return f"{kb_id}{KEY_SEPARATOR}{state}"
