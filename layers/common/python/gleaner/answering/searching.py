"""Searches a knowledge base outside of a question: for clients whose own model reads the passages."""

from __future__ import annotations

from collections.abc import Sequence

from gleaner.answering.question import Services, require_knowledge_base, search_for
from gleaner.model import LearningMode, Passage
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.schema import caller_hash


def search_passages(
    query: str,
    kb_id: str | None,
    *,
    caller_id: str,
    groups: frozenset[str],
    query_id: str,
    top_k: int,
    services: Services,
    deadline: Deadline,
) -> Sequence[Passage]:
    """The `top_k` best passages for `query`, best first; `kb_id` None is the default knowledge base.

    They are those that the caller, a member of `groups`, may read. Stored web answers are among them as far as the
    caller may find them, and their keywords count as used.
    Raises UnknownKnowledgeBase, ServiceUnavailable or DeadlineExceeded.
    """
    kb_id = kb_id or services.default_kb_id
    require_knowledge_base(kb_id, services, deadline)
    caller = caller_hash(caller_id)
    passages = search_for(caller, groups, kb_id, query, services, top_k=top_k, deadline=deadline).passages
    keyword_ids = list(dict.fromkeys(keyword_id for passage in passages for keyword_id in passage.keyword_ids))
    if keyword_ids:
        is_private = services.learning_policy.mode(kb_id) is LearningMode.CALLER
        use = KeywordUse(
            kb_id=kb_id, query_id=query_id, session_id=None, answer=None, caller=caller, is_private=is_private
        )
        background = Background(services.io_executor, deadline)
        background.submit("keyword use", lambda: services.learning.count_uses(keyword_ids, use, deadline=deadline))
        background.flush()
    return passages
