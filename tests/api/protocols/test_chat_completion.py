"""Chat completions of any answer: its marks are cited where they stand, and a stream of it says the same."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from gleaner.answering.events import AnswerDelta, AnswerWithdrawn, Started
from gleaner.answering.exchange import Answer
from gleaner.api.protocols.chat_completion import ChatCompletion, to_completion
from gleaner.api.protocols.chat_completion_stream import ChatCompletionStream
from gleaner.api.protocols.footnotes import cut_footnotes
from gleaner.api.protocols.model_names import ModelName
from gleaner.guards.answer_text import find_marked_ids
from gleaner.model import Answered, AnswerStatus, Passage, Place, SourceType, Support, TokenUsage, utc_now
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import TurnFacts
from tests.doubles.completion_stream import content_of, read_chunks

ADDRESS = "https://gleaner.example/dev"
PIECES = st.sampled_from(
    [
        "[kb-1]",
        "[kb-2]",
        "[web-1]",
        "[kb-9]",
        " ",
        "Merged 🙂. ",
        "👩‍👩‍👧",
        "`[kb-1]`",
        "```\n[kb-1]\n```\n",
        "`",
        "\n\n",
        "é",
        "\u2028",
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map(" ".join)
SOURCES = st.lists(st.sampled_from(["kb-1", "kb-2", "web-1"]), unique=True)


def passage(source_id: str) -> Passage:
    is_page = source_id.startswith("web")
    return Passage(
        key=source_id,
        id=source_id,
        content="Merged.",
        score=0.5,
        source_type=SourceType.EXTERNAL if is_page else SourceType.KNOWLEDGE_BASE,
        title=f"Title of {source_id}",
        source_url=f"https://example.org/{source_id}" if is_page else None,
        place=None if is_page else Place(kb_id="default_kb", key=source_id),
    )


def answered(text: str, source_ids: list[str]) -> Answer:
    cost = Cost(
        usage=TokenUsage(input_tokens=7, cached_input_tokens=3, output_tokens=2), web_searches=0, estimated_usd=None
    )
    facts = TurnFacts(
        answered=Answered.FOUND,
        tool_call_count=2,
        used_tools=(),
        keyword_count=0,
        retrieval_count=1,
        top_chapter=None,
        latency_ms=1.0,
        model="m",
        cost=cost,
    )
    return Answer(
        query_id="Q",
        session_id=None,
        message_id="Q-assistant",
        created_at=utc_now(),
        status=AnswerStatus.SUCCESS,
        text=text,
        sources=tuple(map(passage, source_ids)),
        supports=dict.fromkeys(source_ids, Support.FOUND),
        supporting_texts=dict.fromkeys(source_ids, (None,)),
        confidence_score=None,
        facts=facts,
    )


def complete(answer: Answer, *, has_footnotes: bool = False) -> ChatCompletion:
    return to_completion(answer, ModelName(has_footnotes=has_footnotes), "gleaner", absolute=ADDRESS.__add__)


@given(TEXTS, SOURCES, st.booleans())
@example("`[kb-1]` 🙂 [kb-1] ```x``` [web-1]", ["web-1", "kb-1", "kb-2"], True)
def test_citations_stand_where_the_marks_are(text: str, source_ids: list[str], has_footnotes: bool) -> None:
    completion = complete(answered(text, source_ids), has_footnotes=has_footnotes)
    message = completion.choices[0].message
    marked, at_end = [], []
    for annotation in message.annotations:
        cited = annotation.url_citation
        source_id = cited.title.removeprefix("Title of ")
        assert cited.url == passage(source_id).source_url or cited.url.startswith(f"{ADDRESS}/api/passages/default_kb.")
        if cited.start_index == cited.end_index:
            assert cited.start_index == len(text)
            at_end.append(source_id)
        else:
            assert message.content[cited.start_index : cited.end_index] == f"[{source_id}]"
            marked.append((cited.start_index, source_id))
    assert marked == sorted(marked)
    expected = [source_id for source_id in find_marked_ids(text) if source_id in source_ids]
    assert [source_id for _, source_id in marked] == expected
    assert at_end == [source_id for source_id in source_ids if source_id not in expected]
    assert message.content == text if not (has_footnotes and source_ids) else cut_footnotes(message.content) == text


@given(TEXTS, SOURCES, st.booleans(), st.data())
def test_the_stream_of_an_answer_is_its_text(
    text: str, source_ids: list[str], has_footnotes: bool, data: st.DataObject
) -> None:
    completion = complete(answered(text, source_ids), has_footnotes=has_footnotes)
    encoder = ChatCompletionStream("gleaner", with_usage=False)
    body = encoder.encode(Started(query_id="Q", session_id=None))
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    for start, end in zip([0, *ends], ends, strict=False):
        body += encoder.encode(AnswerDelta(text=text[start:end]))
    if data.draw(st.booleans()):  # the request is sent again, and the same answer comes
        body += encoder.encode(AnswerWithdrawn()) + encoder.encode(AnswerDelta(text=text))
    body += encoder.finish(completion.model_dump_json())
    chunks, error = read_chunks(body.decode())
    assert (content_of(chunks), error) == (completion.choices[0].message.content, None)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    cited = [one for delta in deltas for one in delta.get("annotations", [])]
    assert cited == [one.model_dump() for one in completion.choices[0].message.annotations]


def test_usage_is_that_of_all_calls() -> None:
    usage = complete(answered("Merged.", [])).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (7, 2, 9)
    assert usage.prompt_tokens_details.cached_tokens == 3
