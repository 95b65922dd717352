"""How well cited passages support an answer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner.guards.support import find_supporting_texts, judge_support
from gleaner.model import Passage, SourceType, Support

MERGING = "Duplicate keywords are merged by a conditional write within 1,500 ms: the usage count rises by ninety-five."
WEATHER = "In Lisbon the summer of 2003 was dry and hot, with 41.50 degrees in August."


def passage(content: str, number: int = 1, title: str = "") -> Passage:
    return Passage(
        key=f"p{number}",
        id=f"kb-{number}",
        content=content,
        score=0.5,
        source_type=SourceType.KNOWLEDGE_BASE,
        title=title,
    )


def judge(answer: str, content: str = MERGING) -> Support:
    return judge_support(answer, [passage(content)])["kb-1"]


@pytest.mark.parametrize(
    ("content", "answer", "support"),
    [
        ("图书馆周一开门。逾期每天罚款两元。", "图书馆周一开门。[kb-1]逾期每天罚款两元。 [kb-1]", Support.FOUND),
        ("图书馆周一开门。逾期每天罚款两元。", "灯塔的守卫给灯加油。[kb-1]", Support.NONE),
        ("पुस्तकालय सोमवार को खुलता है।", "सोमवार को पुस्तकालय खुलता है। [kb-1]", Support.FOUND),
        ("ห้องสมุดเปิดวันจันทร์", "วันจันทร์ห้องสมุดเปิด [kb-1]", Support.FOUND),
        ("تفتح المكتبة يوم الاثنين.", "تُفتح مكتبةٌ يوم الاثنين. [kb-1]", Support.FOUND),
    ],
)
def test_statements_are_judged_in_every_script(content: str, answer: str, support: Support) -> None:
    assert judge(answer, content) == support


@pytest.mark.parametrize(
    "answer",
    [
        "Duplicate keywords are merged by a conditional write. [kb-1]",
        "A conditional write merges duplicates of keywords [kb-1].",
        "1. Keywords that are duplicates get merged [kb-1]\n2. Nothing else.",
        "It takes 1500 ms. [kb-1]",
        "It takes 1\u202f500 ms within a conditional write. [kb-1]",
        "The usage count rises by 95. [kb-1]",
        "Merged by a conditional write.\n[kb-1]",
        "Yes. [kb-1] Duplicate keywords are merged by a conditional write. [kb-1]",
    ],
)
def test_a_fully_supported_statement_is_found(answer: str) -> None:
    assert judge(answer) is Support.FOUND


PORTAL = "Moorings are paid at https://pay.example/moor/2026?berth=12. The router is at <http://192.0.2.7:8080/st>."


@pytest.mark.parametrize(
    "answer",
    [
        "Moorings are paid at https://pay.example/moor/2026?berth=12 [kb-1].",
        "Moorings are paid [here](HTTPS://pay.example/moor/2026/?berth=12). [kb-1]",
        "The router: http://192.0.2.7:8080/st [kb-1]",
        "The router has the address 192.0.2.7. [kb-1]",
        "https://pay.example/moor/2026?berth=12 [kb-1]",
    ],
)
def test_an_address_is_one_term(answer: str) -> None:
    assert judge(answer, PORTAL) is Support.FOUND


@pytest.mark.parametrize("answer", ["Moorings are paid since 2026. [kb-1]", "Moorings are paid for 12 berths. [kb-1]"])
def test_numbers_in_an_address_state_nothing(answer: str) -> None:
    assert judge(answer, PORTAL) is Support.WEAK


def test_the_address_of_a_page_is_supported_by_the_page() -> None:
    page = replace(passage("Starlette routes requests."), urls=("https://starlette.dev/2/routing",))
    assert judge_support("Starlette routes requests: https://starlette.dev/2/routing [kb-1]", [page]) == {
        "kb-1": Support.FOUND
    }


@pytest.mark.parametrize(
    "answer",
    [
        "Duplicate keywords are merged within 2500 ms. [kb-1]",  # another number
        "Keywords are merged, deleted, exported and archived weekly. [kb-1]",  # partly supported
        "Keywords are merged by a conditional write. [kb-1] Lisbon was dry in August. [kb-1]",  # one of two sentences
    ],
)
def test_a_partly_supported_statement_is_weak(answer: str) -> None:
    assert judge(answer) is Support.WEAK


@pytest.mark.parametrize(
    "answer", ["Lisbon had a hot and dry summer. [kb-1]", "42 [kb-1]", "Merged keywords. Lisbon was dry. [kb-1]"]
)
def test_an_unsupported_statement_has_no_support(answer: str) -> None:
    assert judge(answer) is Support.NONE


def test_numbers_match_in_any_spelling() -> None:
    assert judge("It was 41,5 degrees hot in Lisbon [kb-1]", WEATHER) is Support.FOUND
    assert judge("It was ４１.5 degrees hot in Lisbon [kb-1]", WEATHER) is Support.FOUND


def test_a_sentence_with_two_sources_may_take_a_number_from_each() -> None:
    first, second = passage("The limit of a query is 2000 characters.", 1), passage("The limit of a query is 5 s.", 2)
    answer = "The limit of a query is 2000 characters and 5 s. [kb-1] [kb-2]"
    assert set(judge_support(answer, [first, second]).values()) == {Support.FOUND}
    assert judge_support(answer.replace("[kb-2]", ""), [first, second])["kb-1"] is Support.WEAK


def test_a_source_without_a_mark_is_judged_by_the_sentence_it_supports_best() -> None:
    answer = f"{WEATHER} [kb-1] Duplicates of keywords are merged."
    verdicts = judge_support(answer, [passage(WEATHER, 1), passage(MERGING, 2), passage("Nothing of this kind.", 3)])
    assert verdicts == {"kb-1": Support.FOUND, "kb-2": Support.FOUND, "kb-3": Support.NONE}


def test_an_answer_of_common_words_is_compared_by_them() -> None:
    assert judge("Seven. [kb-1]", "The days are seven.") is Support.FOUND
    assert judge("Seven. [kb-1]", "The days are many.") is Support.NONE


def test_the_title_counts_as_part_of_the_passage() -> None:
    assert (
        judge_support("Starlette is fast. [kb-1]", [passage("It is fast.", title="Starlette")])["kb-1"] is Support.FOUND
    )


def test_a_mark_in_code_is_ignored() -> None:
    answer = "Lisbon was dry. [kb-1]\n\n```\nx = 1 # [kb-2]\n```\n\nKeywords are merged."
    assert judge_support(answer, [passage(WEATHER, 1), passage(MERGING, 2)])["kb-2"] is Support.FOUND


def test_scripts_without_spaces_are_compared() -> None:
    content = "東京は日本の首都であり、世界最大の都市の一つである。"
    assert judge("日本の首都は東京である。[kb-1]", content) is Support.FOUND
    assert judge("パンダは竹を食べる動物だ。[kb-1]", content) is Support.NONE


_WORDS = st.lists(
    st.sampled_from("alpha beta gamma delta 12 3.5 seven omega kappa sigma".split()), min_size=1, max_size=12
)
_SENTENCES = st.lists(_WORDS.map(lambda words: f"{' '.join(words)}."), min_size=1, max_size=5)


@given(_SENTENCES)
def test_a_quote_is_always_found(sentences: list[str]) -> None:
    answer = " ".join(f"{sentence} [kb-1]" for sentence in sentences)
    assert judge_support(answer, [passage(" ".join(sentences))])["kb-1"] is Support.FOUND


@given(_SENTENCES, st.integers(1000, 9999))
def test_a_quote_with_another_number_is_never_found(sentences: list[str], number: int) -> None:
    answer = " ".join(f"{sentence[:-1]} {number}. [kb-1]" for sentence in sentences)
    assert judge_support(answer, [passage(" ".join(sentences))])["kb-1"] is not Support.FOUND


@given(st.text(max_size=300), st.lists(st.text(max_size=100), max_size=3))
def test_every_source_gets_a_verdict(answer: str, contents: list[str]) -> None:
    sources = [passage(content, number) for number, content in enumerate(contents, start=1)]
    assert set(judge_support(answer, sources)) == {source.id for source in sources}


@given(st.text(alphabet="a1.!? [kb-]\n", max_size=300))
def test_nothing_supports_an_answer_without_words_in_common(answer: str) -> None:
    spoken = re.sub(r"\w", lambda letter: "q" if letter[0] == "a" else letter[0], answer)
    assert judge_support(spoken.replace("1", ""), [passage("Other words entirely.")])["kb-1"] is Support.NONE


ASSEMBLY = "The assembly of the northern region elects delegates for the council every spring in the capital."


@pytest.mark.parametrize(
    "number",
    [
        *("900", "_900_", "g900", "900px", ".900", "$.99", "1_000", "9**00**", "9<b>00</b>", "9\\.5", "007", "1e6"),
        *("4½", "½", "⑨⑨", "⑫", "⁹", "10⁹", "H₂O", "９００", "٩٠٠", "9️⃣0️⃣", "①⓪⓪⓪", "⒐", "❾"),
        *("XIV", "MCMXC", "Part V", "Ⅷ", "ⅩⅣ", "World War II", "iii", "_XIV_", "XIXth"),
        *("ninety", "nine hundred", "Twenty-first", "two million", "2 million", "a thousand", "twelfth", "zero"),
    ],
)
def test_a_number_that_no_passage_holds_is_never_found(number: str) -> None:
    answer = f"The assembly of the northern region elects {number} delegates for the council every spring. [kb-1]"
    assert judge(answer.replace(f" {number}", ""), ASSEMBLY) is Support.FOUND
    assert judge(answer, ASSEMBLY) is Support.WEAK
    assert judge(answer, ASSEMBLY.replace("delegates", f"{number} delegates")) is Support.FOUND


@pytest.mark.parametrize(
    ("claimed", "held"),
    [
        *(("_900_", "900"), ("0.9", ".900"), ("4½", "4.5"), ("0.25", "¼"), ("⑨⑨", "99"), ("1,000", "1_000")),
        *(("XIV", "14"), ("1990", "MCMXC"), ("Part 5", "Part V"), ("Ⅷ", "8"), ("nine hundred", "900")),
        *(("21", "twenty-first"), ("2,300,005", "two million three hundred thousand and five")),
        *(("1.5 million", "1,500,000"), ("101", "one hundred and one"), ("٩٠٠", "９００"), ("9**00**", "900")),
    ],
)
def test_spellings_of_the_same_number_match(claimed: str, held: str) -> None:
    answer = f"The assembly of the northern region elects {claimed} delegates for the council every spring. [kb-1]"
    assert judge(answer, ASSEMBLY.replace("delegates", f"{held} delegates")) is Support.FOUND


@pytest.mark.parametrize(
    "word", ["one of the", "the CI and CD", "no one but", "MIX", "vi or", "I mean", "the second round of", "v or x"]
)
def test_words_that_only_look_like_numbers_are_none(word: str) -> None:
    answer = f"The assembly of the northern region elects {word} delegates for the council every spring. [kb-1]"
    assert judge(answer, ASSEMBLY) is Support.FOUND


@pytest.mark.parametrize(
    "answer",
    [
        "Lisbon was hot and dry in 2003,\nand duplicate keywords are merged. [kb-1]",
        "Lisbon was hot and dry in 2003, \\\nand duplicate keywords are merged. [kb-1]",
        "Lisbon was hot and dry in 2003,  \nand duplicate keywords are merged.\n[kb-1]",
        "- Lisbon was hot and dry in 2003,\n  and duplicate keywords are merged. [kb-1]",
        "> Lisbon was hot and dry in 2003,\n> and duplicate keywords are merged. [kb-1]",
        "Lisbon was hot and dry in `2003`,\n`and` duplicate **keywords**\n**are** merged. [kb-1]",
        "A title\n---\nLisbon was hot and dry in 2003,\nand duplicate keywords are merged. [kb-1]",
    ],
)
def test_a_soft_line_break_does_not_end_a_sentence(answer: str) -> None:
    assert judge(answer) is not Support.FOUND
    assert judge(answer, f"{MERGING} {WEATHER}") is Support.FOUND


@pytest.mark.parametrize(
    "between", ["\n\n", "\n- ", "\n2. ", "\n## ", "\n| a | b |\n", "\n---\n", "\n```\nx = 1\n```\n", "\n> \n> "]
)
def test_the_end_of_a_block_ends_a_sentence(between: str) -> None:
    answer = (
        f"Lisbon was hot and dry in the year 2003{between}Duplicate keywords are merged by a conditional write [kb-1]"
    )
    assert judge(answer) is Support.FOUND


SETTS = """# Badgers › Setts

## How do badgers dig their setts?

Badgers are shy. A sett has up to 50 rooms,
which badgers line with hay.

- Cubs are born in February.
- They stay below ground for 8 weeks.

| animal | home |
|---|---|
| hedgehog | nest of leaves |
"""


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("Setts have 50 rooms [kb-1].", ["A sett has up to 50 rooms, which badgers line with hay."]),
        ("Setts have 50 rooms. [kb-1]", ["A sett has up to 50 rooms, which badgers line with hay."]),
        (
            "Cubs stay below ground for 8 weeks [kb-1]. They are born in February [kb-1], and wombats fly.",
            ["- They stay below ground for 8 weeks.", "- Cubs are born in February."],
        ),
        ("A hedgehog makes a nest of leaves. [kb-1][kb-2]", ["| hedgehog | nest of leaves |"]),
        ("Wombats produce cubes. [kb-1] Badgers are shy. [kb-1]", [None, "Badgers are shy."]),
        ("Call `lookup[kb-1]`. Badgers are shy. [kb-1]", ["Badgers are shy."]),
        ("Yes. [kb-1]", [None]),
        ("Badgers are shy. [kb-2]", ["Badgers are shy."]),  # a source without a mark
        (  # a heading states nothing
            "How do badgers dig their setts? [kb-1]",
            ["A sett has up to 50 rooms, which badgers line with hay."],
        ),
    ],
)
def test_each_mark_has_the_sentence_that_it_rests_on(answer: str, texts: list[str | None]) -> None:
    found = find_supporting_texts(answer, [passage(SETTS), passage("Hay.", 2)])
    assert list(found["kb-1"]) == texts


def test_a_supporting_sentence_is_cut_and_many_marks_are_not_all_told() -> None:
    long = f"Badgers are shy and {'very ' * 1000}careful."
    found = find_supporting_texts("Badgers are shy. [kb-1]\n\n" * 50, [passage(long)])["kb-1"]
    assert len(found) == 20 and {len(text or "") for text in found} == {300}


@pytest.mark.parametrize(
    ("content", "expected"),
    [("0>\n0", "0> 0"), ("> 0\n> 0", "0 0"), ("<b>0\n0</b>", "<b>0 0</b>")],
    ids=["a sign", "a quotation", "a tag"],
)
def test_only_the_signs_of_a_quotation_are_left_out(content: str, expected: str) -> None:
    assert find_supporting_texts("0 [kb-1]", [passage(content)]) == {"kb-1": (expected,)}


@given(st.text(), st.text())
@example("0", "0>\n0").via("a sign that is no quotation's")
@example("0", "0\n> 0").via("a quotation")
def test_what_supports_a_mark_is_text_of_its_passage(answer: str, content: str) -> None:
    def bare(text: str) -> str:
        return "".join(text.split()).replace(">", "")  # which a quotation has before each line

    [texts] = find_supporting_texts(f"{answer} [kb-1]", [passage(content)]).values()
    assert all(text is None or bare(text) in bare(content) for text in texts)
