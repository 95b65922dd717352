"""Puts the footnotes of a page below the paragraphs that refer to them, which say what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

_BLOCKS = ("p", "table", "ul", "ol", "dl", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
_REFERENCE_CLASSES = frozenset(("footnote-ref", "footnote-reference", "footnote"))
_BACK_CLASSES = frozenset(("footnote-back", "footnote-backref", "fn-backref", "reversefootnote"))
_NOTES = ("li", "aside", "div", "p")


def place_notes(notes: Iterable[tuple[Tag, Tag]]) -> None:
    """Move each note below the block of its reference, after "[1]"; a note is moved once. Takes (reference, note)."""
    last: dict[int, Tag] = {}  # by the id of a block: the last note below it
    moved: set[int] = set()
    for reference, note in notes:
        if id(note) in moved or any(parent is note for parent in reference.parents):
            continue
        moved.add(id(note))
        block = _outermost_block(reference)
        note.extract()
        note.name = "div"
        first = note.find("p") or note
        first.insert(0, f"[{reference.get_text().strip(' []()')}] ")
        last.get(id(block), block).insert_after(note)
        last[id(block)] = note


def find_notes(page: BeautifulSoup) -> Iterator[tuple[Tag, Tag]]:
    """References to footnotes with the notes, as ARIA, EPUB, GitHub and converters of Markdown mark them."""
    references = [link for link in page.find_all("a", href=True) if _is_reference(link)]
    by_id = {str(tag["id"]): tag for tag in page.find_all(_NOTES, id=True)} if references else {}
    for reference in references:
        note = by_id.get(unquote(str(reference["href"]).removeprefix("#")))
        if note is None:
            continue
        for back in note.find_all(["a", "span"]):
            if not back.decomposed and (_leads_back(back) or "label" in back.get_attribute_list("class")):
                back.decompose()
        if note.get_text(strip=True):
            yield reference, note


def _is_reference(link: Tag) -> bool:
    return (
        "doc-noteref" in (link.get("role"), f"doc-{link.get('epub:type')}")
        or link.has_attr("data-footnote-ref")
        or not _REFERENCE_CLASSES.isdisjoint(link.get_attribute_list("class"))
    )


def _leads_back(link: Tag) -> bool:
    return (
        link.get("role") == "doc-backlink"
        or link.has_attr("data-footnote-backref")
        or not _BACK_CLASSES.isdisjoint(link.get_attribute_list("class"))
    )


def _outermost_block(tag: Tag) -> Tag:
    blocks = [parent for parent in tag.parents if parent.name in _BLOCKS]
    return blocks[-1] if blocks else tag
