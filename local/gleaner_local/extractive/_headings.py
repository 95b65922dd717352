"""Finds the passages whose heading asks or names something that no other document found does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from gleaner_documents.model import HEADING_SEPARATOR
from gleaner_local.extractive._conversation import Passage
from gleaner_local.extractive.question import COMMON_WEIGHT, read_question

# "Opening hours" names a subject, of which a passage may say anything.
MIN_TOPIC_WORDS, MIN_TOPIC_WORDS_OF_QUESTION = 3, 1
_QUESTION_MARK = re.compile("[?？؟]")


def find_own_headings(passages: Sequence[Passage]) -> Mapping[str, str]:
    """The heading by passage id, of the passages that can be told by it.

    The heading is a question, or has several topic words. Only one document has it: the name of an article above each
    of its parts does not say which part answers.
    """
    headings = {passage.id: _innermost_heading(passage) for passage in passages if not passage.external}
    documents: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        if passage.id in headings:
            documents[headings[passage.id]].add(passage.document or passage.id)
    return {
        passage_id: heading
        for passage_id, heading in headings.items()
        if len(documents[heading]) == 1 and _says_enough(heading)
    }


def _innermost_heading(passage: Passage) -> str:
    return passage.chapter.rpartition(HEADING_SEPARATOR)[2] or passage.title


def _says_enough(heading: str) -> bool:
    topic_words = sum(weight > COMMON_WEIGHT for weight in read_question(heading).weights.values())
    required = MIN_TOPIC_WORDS_OF_QUESTION if _QUESTION_MARK.search(heading) else MIN_TOPIC_WORDS
    return topic_words >= required
