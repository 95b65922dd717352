"""Which knowledge base a tool call means, and which ones its caller may name.

Where the default one is not the caller's, a call that names none means the caller's only one. If there are several, it
must name one.
"""

from __future__ import annotations

from gleaner.api.protocols.mcp.tool import Choice, Choices
from gleaner.api.request import Current
from gleaner.errors import InvalidInput

KB_ID = "The knowledge base; if left out, the default one, or your only one."
NEEDED = {"kb_id": "Which of your knowledge bases."}  # where a caller has several and the default one is none of them


class KnowledgeBaseChoice:
    """The knowledge bases of the caller of the current request."""

    def __init__(self, current: Current, *, default_kb_id: str) -> None:
        self._current = current
        self._default_kb_id = default_kb_id

    def describe(self) -> Choices:
        """What the schemas of the tools say about the parameter `kb_id`; nothing if the caller may use all."""
        kb_ids = self._current().caller.kb_ids
        if not kb_ids:  # of none at all there is no choice to describe
            return {}
        return {"kb_id": Choice(values=sorted(kb_ids), is_required=self._find_usual() is None)}

    def choose(self, kb_id: str | None) -> str:
        """The knowledge base that a call means. Raises InvalidInput if it must name one, and NotAllowed."""
        caller = self._current().caller
        chosen = kb_id or self._find_usual()
        if chosen is None:
            raise InvalidInput(f"Name one of your knowledge bases as kb_id: {', '.join(sorted(caller.kb_ids or ()))}.")
        caller.require_knowledge_base(chosen)
        return chosen

    def _find_usual(self) -> str | None:
        kb_ids = self._current().caller.kb_ids
        if not kb_ids or self._default_kb_id in kb_ids:
            return self._default_kb_id
        return next(iter(kb_ids)) if len(kb_ids) == 1 else None
