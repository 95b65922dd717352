"""Checks of answers from the knowledge base and from the web."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from gleaner.api.schemas import ChatAnswer, Source
from gleaner.model import AnswerStatus, SourceType
from gleaner_local.verification._probe import CheckFailed, Probe, expect, short

_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_WITHOUT_CHAPTERS = (".txt", ".text")  # plain text has no headings
SEARCH, WEB, ANSWER, LEARN = "knowledge_base_search", "perplexity_search", "generate_response", "index_keywords"


def check_tools(probe: Probe, question: str) -> str:
    """The mandatory tools are called, and the recorded tool calls match the answer."""
    answer = probe.ask(question)
    calls = probe.read_tool_calls(answer.query_id, answer.tool_call_count)
    names = [call.tool_name for call in calls]
    expect(
        len(names) == answer.tool_call_count,
        f"the history holds {len(names)} calls, the answer counts {answer.tool_call_count}",
    )
    expect(names[:1] == [SEARCH], f"the first call is {', '.join(names[:1]) or 'missing'}, not {SEARCH}")
    # Keywords may be indexed in the same turn as the answer, and are then recorded after it.
    steps = [call for call in calls if call.tool_name != LEARN]
    expect(steps[-1].tool_name == ANSWER, f"the last call is {steps[-1].tool_name}, not {ANSWER}")
    expect(steps[-1].status == "success", f"the last {ANSWER} has the status {steps[-1].status}")
    expect(set(answer.used_tools) <= set(names), f"used_tools names {', '.join(answer.used_tools)}")
    expect([call.created_at for call in calls] == sorted(call.created_at for call in calls), "calls are out of order")
    return " → ".join(names)


def check_covered(probe: Probe, question: str) -> str:
    """The knowledge base answers the question: its sources have a place, and the marks resolve."""
    answer = probe.ask(question)
    marks = resolve_marks(answer)
    expect(answer.status is AnswerStatus.SUCCESS, f"status {answer.status}: {short(answer.answer)}")
    internal = [source for source in answer.sources if source.source_type is SourceType.KNOWLEDGE_BASE]
    expect(bool(internal), f"no source of the knowledge base: {short(answer.answer)}")
    for source in internal:
        expect(_has_place(source), f"{source.id} lacks its file, chapter or chunk")
    first = internal[0]
    place = " · ".join(part for part in (first.source_file_path, first.chapter) if part)
    return f"{short(answer.answer)} sources: {len(answer.sources)}, cited: {marks}; {first.id} is {place}"


def check_uncovered(probe: Probe, question: str) -> str:
    """The knowledge base does not answer the question: the web does, or the answer is that it is unknown."""
    answer = probe.ask(question)
    resolve_marks(answer)
    if not answer.sources:
        return f"unknown, and nothing is cited: {short(answer.answer)}"
    external = [source for source in answer.sources if source.source_type is SourceType.EXTERNAL]
    expect(bool(external), f"cites the knowledge base only: {short(answer.answer)}")
    for source in external:
        expect(_is_web_address(source.source_url), f"{source.id} has the address {source.source_url}")
    if WEB not in answer.used_tools:
        return f"from a stored web answer: {external[0].source_url}"
    expect(answer.keyword_count > 0, "the web was searched, but no keyword was indexed")
    return f"from the web: {external[0].source_url}; {answer.keyword_count} keywords indexed"


def check_strict(probe: Probe, question: str) -> str:
    """Strict grounding uses neither the web nor stored web answers."""
    answer = probe.ask(question, grounding="strict")
    resolve_marks(answer)
    expect_no_web(answer)
    return f"sources: {len(answer.sources)}, none external: {short(answer.answer)}"


def expect_no_web(answer: ChatAnswer) -> None:
    """Raise CheckFailed when the web was searched or is cited."""
    expect(WEB not in answer.used_tools, f"{WEB} was used")
    external = [source for source in answer.sources if source.source_type is SourceType.EXTERNAL]
    if external:
        raise CheckFailed(f"cites {external[0].id}, {external[0].source_url}")


def resolve_marks(answer: ChatAnswer) -> int:
    """How many sources the text cites; each must be listed, and the list must agree with what the answer used."""
    marks = set(_MARK.findall(answer.answer))
    unresolved = sorted(marks - {source.id for source in answer.sources})
    expect(not unresolved, f"[{'], ['.join(unresolved)}] in the answer resolves to no source")
    types = {source.source_type for source in answer.sources}
    usage = {
        SourceType.KNOWLEDGE_BASE: answer.used_internal_kb,
        SourceType.EXTERNAL: answer.used_external_kb,
    }
    for source_type, claimed in usage.items():
        expect(
            claimed == (source_type in types), f"says {claimed} for the use of {source_type}, but the sources differ"
        )
    return len(marks)


def _has_place(source: Source) -> bool:
    file = source.source_file_path
    if not file or source.chunk_index is None:
        return False
    return bool(source.chapter) or source.page_number is not None or file.lower().endswith(_WITHOUT_CHAPTERS)


def _is_web_address(url: str | None) -> bool:
    parts = urlsplit(url or "")
    return parts.scheme in ("http", "https") and bool(parts.hostname)
