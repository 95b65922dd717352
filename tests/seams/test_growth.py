"""Everything that reads text from outside takes linear time: twice the text takes about twice as long."""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from gleaner import text
from gleaner.api.schemas import TurnQuery
from gleaner.clients.perplexity_answer import read_answer
from gleaner.errors import GleanerError
from gleaner.guards import answer_text, disclosure, redaction, untrusted
from gleaner.guards.release import cut_open, cut_unsettled
from gleaner.guards.support import judge_support
from gleaner.knowledge.answered_question import MAX_LENGTH, choose_answered_question
from gleaner.knowledge.differences import StoredAnswer, find_difference
from gleaner.knowledge.learning import check_keywords, extract_keywords
from gleaner.knowledge.selection import Selection
from gleaner.model import Citation, Passage, SourceType, WebAnswer
from gleaner.sentences import split_sentences
from gleaner.small_talk import without_small_talk
from gleaner.tools.parameter_checks import check_keyword, check_query, neutralise
from gleaner_documents.chunking import chunk_text
from gleaner_documents.model import UnreadableDocument
from gleaner_documents.reading import read_document

pytestmark = pytest.mark.slow

LENGTH = 25_000  # characters; suspects are measured at twice and at four times as many
# The functions that take longest begin with shorter texts.
SHORTER = dict.fromkeys(("check_query", "check_keyword", "judge_support", "chunk_text", "read Markdown"), 4_000)
SHORTER |= dict.fromkeys(("judge_support of a mark", "neutralise", "extract_keywords"), 8_000)
MAX_LENGTHS = {"check a question": 50_000, "read a web answer": 20_000}  # what is longer is refused or cut
MAX_GROWTH = 6.0  # for four times the length: 4 is linear, 16 is quadratic
MIN_SECONDS = 0.02  # of the whole text: shorter times are mostly noise, and do no harm
# Other programs only ever add time, so the shortest of several measurements counts.
MEASUREMENTS = 4
ALLOWED = "https://starlette.dev/release"
LINKS = answer_text.AllowedLinks.of({ALLOWED}, [f"It is at {ALLOWED}/2, too."])

# Repeated, each is the worst case of some pattern, parser or normal form: what opens and never closes, what might
# start anywhere, what sorts or nests.
UNITS = (
    *("\u0301\u0316", "\u0344\u0316", "\u0f81", "\u0301" * 32 + "\u200b", "\u0316" * 16 + "\u0301" * 16 + "\u180b"),
    *("a\u0301", "\u200d", "\ufe0f", "漢\U000e0100", "👩\u200d", "\u1100\u1161", "\ud800", "\u202e", "ﷺ", "İ", "ß"),
    *(".", "...", ". ", '?!"', ".)", "。", "!'", "a. ", "\n", "\n\n", " ", "\t", "a ", "a", "A", "9", "9,", "9.", "9_"),
    *(
        "1_000",
        "½",
        "⑨",
        "9½",
        "one ",
        "hundred ",
        "IV ",
        "X",
        "million and ",
        "9**",
        "9\u0301",
        "-",
        "--- ",
        "=",
        "-\n",
    ),
    *("`", "``a", "` ", "`a\n", "```a\n", "```\n", "   ```\n", "~~~\n", "    ```\n", "`` ` ", "\\`", "> ```\n", "1. "),
    *("[", "]", "![", "[a](", "[a](x(", "](", "[[", "[a]: b\n", "[a\n", "[^1]: ", "- [ ] [", "[kb-1", "[kb-1,", "[ "),
    *("[1", "[web:1,", "|", "|-", "| a |\n", "a | b\n---|---\n", "*a_", "**a", "_", "__a", "- ", "> ", "#", "# a\n"),
    *(
        "<",
        "<!--",
        "<!-- x",
        "<![",
        "<![CDATA[",
        "<!",
        "<?",
        "</",
        "<a '",
        '<a "',
        '<a href="',
        "<a b=",
        "<a b='c",
        "<x ",
    ),
    *("<div>", "<p hidden>", "<svg>", "<title>", "<ul>", "<li>", "<td>x", "<script>", "<textarea>", "<h1>", "<pre>"),
    *("<table><tr><td rowspan=65534 colspan=1000>x", "<tr><td>x", '<a href="http://a.b/">x', "<a href=#>", "<sup>1"),
    *("<p role=tabpanel>", "<b role=tab>x", "<details><summary>x</summary>", "<dt>x<dd>y", "<button>", "<math><msup>"),
    *("<b>", '<b a="`', "<http://", "<https://a", "<|", "<|a", "‹|a", "<s ", "<system ", "⟦INST", "[/INST", "</s"),
    *("&", "&#", "&#5", "&#58;", "&colon", "http://", "www.", "//a.", "//", "https\\:", "mailto:", "xmpp:a@"),
    *(
        ALLOWED,
        f"{ALLOWED}[",
        f"[a]({ALLOWED}",
        f"[1]({ALLOWED}",
        "http://a ",
        "system:",
        "\nsystem",
        "### ",
        "ignore all ",
        "you are ",
    ),
    *(
        "password=",
        'password: "',
        "token is ",
        "Bearer ",
        "a:b@",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",  # pragma: allowlist secret
        "eyJaaaaaaaa.",
    ),
    *("sk-", "4111 ", "+1 ", "(555) ", "AKIA", "cookie: a=", "a@b.", "DE00 ", "\\u0041", '{"a":', "[[1,", "\\", '"'),
    *(
        "' or ",
        "../",
        "{{",
        "${",
        "$(",
        "; rm ",
        "union select ",
        "0x41",
        "aGVsbG8g",
        "%41",
        "%c0%80",
        "/*",
        "a-b_",
        "i g n ",
    ),
    *("AbCd", "1gn0re ", "snoitcurtsni ", "key: value\n", "---\nk: v\n", "exam-\n", "word word word word word word\n"),
)

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "clean": text.clean,
    "fold": text.fold,
    "stems": text.stems,
    "find_visible_start": text.find_visible_start,
    "check a question": lambda value: TurnQuery(query=value),
    "check a selection": lambda value: TurnQuery.model_validate(
        {"query": "a", "mode": "selected_text", "selected_text": value}
    ),
    "search a selection": lambda value: Selection(value, None).search("merged keywords", top_k=5),
    "split_marks": answer_text.split_marks,
    "keep_marks": lambda value: answer_text.keep_marks(value, ["kb-1"]),
    "collect_addresses": lambda value: answer_text.AllowedLinks.of((), [value]),
    "remove_foreign_links": lambda value: answer_text.remove_foreign_links(value, LINKS),
    "cut_open": lambda value: cut_open(text.clean(value)),
    "cut_unsettled": lambda value: cut_unsettled(text.clean(value)),
    "defuse": untrusted.defuse,
    "restore_tokens": lambda value: untrusted.restore_tokens(text.clean(value)),
    "collect_runs": lambda value: disclosure.collect_runs([value]),
    "redact": redaction.redact,
    "redact_json": redaction.redact_json,
    "redact broken JSON": lambda value: redaction.redact_json(json.dumps(value)[:-1]),
    "judge_support": lambda value: judge_support(text.clean(value), [_passage(value)]),
    "judge_support of a mark": lambda value: judge_support(f"{text.clean(value)} [kb-1]", [_passage("Merged.")]),
    "check_query": check_query,
    "neutralise": neutralise,
    "check_keyword": check_keyword,
    "check_keywords": lambda value: check_keywords([value]),
    "extract_keywords": lambda value: extract_keywords(_web_answer(value)),
    "find_difference": lambda value: find_difference(value[:LENGTH], _stored_answer(value), now=datetime.now(UTC)),
    "choose_answered_question": lambda value: choose_answered_question(value[:MAX_LENGTH], _web_answer(value), value),
    "without_small_talk": without_small_talk,
    "read a web answer": lambda value: read_answer(_web_body(value)),
    "split_sentences": split_sentences,
    "chunk_text": chunk_text,
    "read Markdown": lambda value: read_document("a.md", value.encode("utf-8", "replace")),
    "read HTML": lambda value: read_document("a.html", value.encode("utf-8", "replace")),
    "read text": lambda value: read_document("a.txt", value.encode("utf-8", "replace")),
}


@pytest.fixture(scope="module", autouse=True)
def _no_old_objects() -> Iterator[None]:
    """Take what is alive before the tests out of the garbage collections between measurements."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_length_alone(name: str) -> None:
    slow = {}
    for unit in UNITS:
        for end in ("", " >") if "<" in unit else ("",):  # some searches only take long if they find an end
            growth = _measure_growth(name, unit, end)
            if growth > MAX_GROWTH:
                slow[unit + end] = round(growth, 1)
    assert slow == {}


def _measure_growth(name: str, unit: str, end: str) -> float:
    """Return how many times longer four times the text takes.

    A text that seems to take too long is measured again at greater lengths: there noise weighs less, and what grows
    with the square of the length weighs more.
    """
    growth, first = 0.0, SHORTER.get(name, LENGTH)
    for length in (first, 2 * first, 4 * first):
        growth = _compare(FUNCTIONS[name], unit, end, min(length, MAX_LENGTHS.get(name, length)))
        if growth <= MAX_GROWTH:
            break
    return growth


def _compare(function: Callable[[str], object], unit: str, end: str, length: int) -> float:
    whole = part = float("inf")
    for _ in range(MEASUREMENTS):
        whole = min(whole, _measure(function, unit, end, length))
        if whole < MIN_SECONDS:
            return 0.0
        part = min(part, _measure(function, unit, end, length // 4))
        if whole <= MAX_GROWTH * part:
            break
    return whole / part


def _measure(function: Callable[[str], object], unit: str, end: str, length: int) -> float:
    """Return the processor time of one call: other programs do not count, except for what they drive from caches."""
    value = (unit * (length // len(unit) + 1))[: length - len(end)] + end
    gc.collect()
    gc.disable()  # a collection looks at everything that is alive, and comes at times of its own
    started_at = time.process_time()
    try:
        with contextlib.suppress(ValueError, GleanerError, UnreadableDocument):  # a refusal must be fast, too
            function(value)
        return time.process_time() - started_at
    finally:
        gc.enable()


def _passage(content: str) -> Passage:
    return Passage(key="p", id="kb-1", content=content, score=0.5, source_type=SourceType.KNOWLEDGE_BASE, title="")


def _web_answer(answer: str) -> WebAnswer:
    citation = Citation(url="https://a.example", title="A", snippet="", date=None)
    return WebAnswer(
        result_id="r",
        kb_id="kb",
        query="q",
        answer=answer,
        citations=(citation,),
        model="m",
        created_at=datetime.now(UTC),
    )


def _stored_answer(value: str) -> StoredAnswer:
    return StoredAnswer(question=value[::-1], answer=value, created_at=datetime.now(UTC))


def _web_body(answer: str) -> bytes:
    found = {"type": "search_results", "results": [{"id": 1, "url": "https://a.example", "title": "A"}]}
    message = {"type": "message", "content": [{"type": "output_text", "text": answer}]}
    return json.dumps({"status": "completed", "output": [found, message]}).encode()
