"""Names the pages of a stored web answer that gave the sentences which an answer cites, by the marks in its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gleaner import text
from gleaner.model import Passage, StatedPage, WebAnswer
from gleaner.sentences import split_sentences

_NUMBERED_MARK = re.compile(r"\s?\[\d+\]")  # which names a page of the stored answer
_NUMBER = re.compile(r"\[(\d{1,3})\]")
_MARK = r"\[(?:kb|web)-\d+\]"
_END = r"([.!?。！？]++)"


def remove_marks(answer: str) -> str:
    """The text of a stored answer without its marks, because the numbers of another answer name other pages."""
    return _NUMBERED_MARK.sub("", answer)


def read_pages(answer: WebAnswer) -> tuple[StatedPage, ...]:
    """The pages of a stored answer, each with the sentences that mark it."""
    sentences = split_sentences(_move_marks(answer.answer, r"\[\d+\]"))
    stated: list[list[str]] = [[] for _ in answer.citations]
    for sentence in sentences:
        for number in map(int, _NUMBER.findall(sentence)):
            if 0 < number <= len(stated):
                stated[number - 1].append(remove_marks(sentence))
    return tuple(
        StatedPage(url=citation.url, title=citation.title, sentences=tuple(said))
        for citation, said in zip(answer.citations, stated, strict=True)
    )


def name_pages(answer: str, source: Passage) -> Passage:
    """`source` with the title and the address of the page that most of its sentences in `answer` came from.

    Its `pages` are then those that any of these sentences came from. A source that is no stored answer, or whose
    sentences fit no page, is returned as it is.
    """
    citing = [sentence for sentence in split_sentences(_move_marks(answer, _MARK)) if f"[{source.id}]" in sentence]
    counts: Counter[int] = Counter()
    for sentence in citing or [answer]:
        counts.update(_find_pages(sentence, source.pages))
    if not counts:
        return source
    order = sorted(counts, key=lambda page: (-counts[page], page))
    first = source.pages[order[0]]
    return replace(
        source, title=first.title, source_url=first.url, pages=tuple(source.pages[number] for number in order)
    )


def _move_marks(answer: str, mark: str) -> str:
    """The text with the marks after a full stop before it, so that they stay with their sentence."""
    return re.sub(rf"{_END}((?:\s*+{mark})+)", r"\2\1", answer)


def _find_pages(sentence: str, pages: Sequence[StatedPage]) -> list[int]:
    """The pages whose own sentence shares most words with this one."""
    wanted = set(text.stems(re.sub(_MARK, "", sentence)))
    shares = {
        number: max((len(wanted & set(text.stems(said))) / max(len(wanted), 1) for said in page.sentences), default=0.0)
        for number, page in enumerate(pages)
    }
    best = max(shares.values(), default=0.0)
    return [number for number, share in shares.items() if share == best] if best > 0 else []
