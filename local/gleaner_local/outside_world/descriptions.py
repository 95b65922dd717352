"""Reads the long descriptions of the installed Python distributions as sections of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, distributions
from typing import cast
from urllib.parse import quote

from gleaner_local.outside_world._markdown_text import markdown_sections
from gleaner_local.outside_world._rst_text import rst_sections

# The beginning of a description says what a package is; change logs follow beyond this length.
MAX_DESCRIPTION_CHARS = 60_000
MIN_SECTION_WORDS = 4
OWN_NAME = "gleaner"  # this project is not part of the outside world

# Labels of project URLs, the most useful first.
_URL_LABELS = ("homepage", "documentation", "docs", "repository", "source", "sourcecode", "code", "github")
# A change log ends the useful part of a description.
_CHANGE_LOG = re.compile(
    r"change ?log|what'?s (changed|new)|^(changes|changed|fixed|added|removed|deprecated)\b|^new features|history|"
    r"release notes?|^v?\d+\.\d+",
    re.IGNORECASE,
)
# Sections that answer no question; a list of sponsors, for example, matches words of every kind.
_UNINFORMATIVE = re.compile(
    r"licen[cs]e|merch|testimonials|who'?s using|used by|^(table of )?contents|badges|sponsor|contribut|credits|"
    r"authors?|thanks|donate|acknowledge?ments?|backers|funding|code of conduct|security policy",
    re.IGNORECASE,
)
# A line such as "Documentation: https://…" is only a link.
_BARE_LINK = re.compile(r"^(?:[^\s:]+\s?){0,3}:?\s*<?https?://\S+$")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of one package's description. `title` is `name` or `name - heading`; the lead has the summary."""

    project: str
    title: str
    url: str
    text: str

    @property
    def is_lead(self) -> bool:
        """Whether this section says what the package is."""
        return self.title == self.project


def installed_sections() -> list[Section]:
    """The sections of all other installed distributions, ordered by project; the first says what it is."""
    by_name: dict[str, Distribution] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name and name.lower() != OWN_NAME:
            by_name.setdefault(name.lower(), distribution)
    return [section for name in sorted(by_name) for section in _sections(by_name[name])]


def _sections(distribution: Distribution) -> Iterator[Section]:
    # importlib.metadata returns an email.message.Message, but its annotation promises less.
    metadata = cast(Message, distribution.metadata)
    name = str(metadata["Name"])
    url = project_url(metadata)
    summary = str(metadata.get("Summary") or "").strip().rstrip(".")
    lead = [f"{name}: {summary}."] if summary and summary != "UNKNOWN" else []
    others = []
    body = _body(metadata)[:MAX_DESCRIPTION_CHARS]
    is_markdown = "markdown" in str(metadata.get("Description-Content-Type") or "").lower()
    for heading, raw in markdown_sections(body) if is_markdown else rst_sections(body):
        if _CHANGE_LOG.search(heading):
            break
        text = "\n\n".join(line for line in raw.split("\n\n") if not _BARE_LINK.match(line))
        if _UNINFORMATIVE.search(heading) or len(text.split()) < MIN_SECTION_WORDS:
            continue
        if not heading or heading.lower() == name.lower():
            lead.append(text)
        else:
            others.append(Section(name, f"{name} - {heading}", url, text))
    if lead:
        yield Section(name, name, url, "\n\n".join(lead))
    yield from others


def project_url(metadata: Message) -> str:
    """The project's address from its metadata, else that of its page on the package index."""
    url_by_label = {}
    for entry in metadata.get_all("Project-URL") or ():
        label, _, url = str(entry).partition(",")
        url_by_label[re.sub(r"[^a-z]", "", label.lower())] = url.strip()
    urls = [url_by_label[label] for label in _URL_LABELS if label in url_by_label]
    for url in [*urls, str(metadata.get("Home-page") or "").strip()]:
        if url.startswith(("http://", "https://")):
            return url
    return f"https://pypi.org/project/{quote(str(metadata['Name']))}/"


def _body(metadata: Message) -> str:
    payload = metadata.get_payload()
    body = payload if isinstance(payload, str) else ""
    if body.strip():
        return body
    # Old metadata has the description in a header, with indented lines.
    return re.sub(r"\n {8}|\n {7}\|", "\n", str(metadata.get("Description") or ""))
