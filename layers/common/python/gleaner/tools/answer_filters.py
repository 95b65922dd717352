"""The filters that an answer passes before anyone sees it, be it whole or while it comes."""

from __future__ import annotations

from collections.abc import Sequence

from gleaner import text
from gleaner.errors import ToolCallRejected
from gleaner.guards import disclosure
from gleaner.guards.answer_text import AllowedLinks, find_marked_ids, keep_marks, remove_foreign_links, split_marks
from gleaner.guards.untrusted import restore_tokens
from gleaner.model import Passage

_MAX_FILTERINGS = 8


class AnswerFilters:
    """The filters of one answer, given the passages that the model knows.

    In order: `restore`, `draft`, `cite`, `finish`.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = {passage.id: passage for passage in passages}
        self._links: dict[tuple[str, ...], AllowedLinks] = {}
        self._clean = ""  # the last text that held no instructions
        self.has_instructions = False  # some were removed so far

    def restore(self, answer: str) -> str:
        """Remove hidden characters, and restore the tokens that the answer quotes."""
        return restore_tokens(text.clean(answer))

    def draft(self, restored: str) -> str:
        """Remove the instructions, and give each id its own mark."""
        return split_marks(self._remove_instructions(restored))

    def cite(self, sources: Sequence[str], draft: str) -> tuple[list[str], list[str]]:
        """The ids that an answer cites by its sources or marks, in order, and which of these are known."""
        cited = list(dict.fromkeys([*map(_strip_brackets, sources), *find_marked_ids(draft)]))
        return cited, [source_id for source_id in cited if source_id in self._passages]

    def finish(self, draft: str, source_ids: Sequence[str], *, may_cite_all: bool = False) -> str:
        """Remove instructions, foreign links and other marks until nothing changes: what is left may join to new ones.

        With `may_cite_all`, the links of all passages are kept. Raises ToolCallRejected if that does not end.
        """
        allowed = self._allow_links(tuple(self._passages if may_cite_all else source_ids))
        for _ in range(_MAX_FILTERINGS):
            linked = remove_foreign_links(self._remove_instructions(draft).strip(), allowed)
            answer = keep_marks(linked, source_ids)
            if answer == draft:
                return answer
            draft = answer
        # Only a hostile answer never settles.
        raise ToolCallRejected("The answer contains too many links, marks or instructions. Write it in plain words.")

    def _allow_links(self, source_ids: tuple[str, ...]) -> AllowedLinks:
        """What an answer from these sources may link to: their pages, and what the owner's documents hold."""
        if source_ids not in self._links:
            sources = [self._passages[source_id] for source_id in source_ids]
            own = [passage for passage in sources if passage.is_own]
            self._links[source_ids] = AllowedLinks.of(
                {url for passage in sources for url in passage.urls},
                own=[text for passage in own for text in (passage.content, *passage.urls)],
            )
        return self._links[source_ids]

    def _remove_instructions(self, answer: str) -> str:
        """Remove runs of words of the prompts, except those that also occur in a passage.

        They are removed rather than rejected, because a passage that asks for them would do so again in a retry.
        """
        if answer == self._clean:
            return answer
        quotable = (passage.content for passage in self._passages.values())
        remainder = disclosure.remove_runs(answer, disclosure.collect_prompt_runs(), quotable)
        if remainder == answer:
            self._clean = answer
        self.has_instructions = self.has_instructions or remainder != answer
        return remainder


def _strip_brackets(source: str) -> str:
    return source.strip().strip("[]").lower()
