"""Reads one stored web answer for a caller who may find it by a search."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gleaner.errors import UnknownKeyword, UnknownPassage
from gleaner.groups import may_read
from gleaner.guards.blocked_hosts import BlockedHosts
from gleaner.knowledge.page_attribution import remove_marks
from gleaner.model import LearningMode, WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.learning_policy import LearningPolicy
from gleaner.stores.keyword_catalog import KeywordCatalog
from gleaner.stores.keywords import KeywordStore


class LearnedPassages:
    """The stored web answers, with the rights of a search. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(
        self,
        keywords: KeywordStore,
        catalog: KeywordCatalog,
        policy: LearningPolicy,
        blocked_hosts: BlockedHosts,
    ) -> None:
        self._keywords = keywords
        self._catalog = catalog
        self._policy = policy
        self._blocked_hosts = blocked_hosts

    def read(
        self, kb_id: str, answer_id: str, *, viewer: str | None, groups: Collection[str] = (), deadline: Deadline
    ) -> WebAnswer:
        """The answer without citation marks. `viewer` is the hash of the caller, a member of `groups`; None: an admin.

        Raises UnknownPassage if it is gone, or a search would not hand it out to the viewer.
        """
        mode = self._policy.mode(kb_id)
        found = [] if mode is LearningMode.OFF else self._keywords.get_answers([answer_id], deadline=deadline)
        answer = next(iter(found), None)
        if (
            answer is None
            or answer.kb_id != kb_id
            or not answer.keyword_ids
            or any(self._blocked_hosts.blocks(citation.url) for citation in answer.citations)
            or (viewer is not None and not may_read(answer.groups, groups))
            or (mode is LearningMode.CALLER and viewer is not None and not self._caused(answer, viewer, deadline))
        ):
            raise UnknownPassage("This web answer is not stored any more. Ask again.")
        return replace(answer, answer=remove_marks(answer.answer))

    def _caused(self, answer: WebAnswer, viewer: str, deadline: Deadline) -> bool:
        for keyword_id in sorted(answer.keyword_ids):
            try:
                details = self._catalog.get(keyword_id, viewer=viewer, deadline=deadline)
            except UnknownKeyword:
                continue
            if any(association.perplexity_result_id == answer.result_id for association in details.associations):
                return True
        return False
