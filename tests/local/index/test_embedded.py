"""The embedded index: storage, search results, and the meaning of scores."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner_local.index._postings import K1, Postings
from gleaner_local.index.embedded import FILE_NAME, EmbeddedIndex
from gleaner_local.index.embedder import Embedder, EmbeddingStopped
from gleaner_local.index.filters import compile_filter
from gleaner_local.index.terms import count_terms, query_terms
from tests.examples import examples

PASSAGES = {
    "merge": "Duplicate keywords are merged: two spellings with the same folded text are one keyword.",
    "prune": "A scheduled function prunes keywords that nobody has used for ninety days.",
    "deploy": "Run the CDK application to put the stacks into an AWS account of yours.",
    "boil": "Bring the water to a boil, add salt, and cook the noodles until they are soft.",
}


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.installed()


@pytest.fixture
def index(tmp_path: Path, embedder: Embedder) -> EmbeddedIndex:
    index = EmbeddedIndex(tmp_path, embedder)
    index.upsert("kb", [(name, {"text": text}) for name, text in PASSAGES.items()])
    return index


def search_ids(index: EmbeddedIndex, text: str, *, namespace: str = "kb", top_k: int = 10) -> list[str]:
    return [hit.id for hit in index.search(namespace, text, top_k=top_k)]


def test_finds_by_meaning_without_a_common_word(index: EmbeddedIndex) -> None:
    assert search_ids(index, "preparing pasta")[0] == "boil"


def test_finds_by_a_word_unknown_to_the_model(index: EmbeddedIndex) -> None:
    index.upsert("kb", [("code", {"text": "When you see error ZX81QQ, start it again."})])
    assert search_ids(index, "ZX81QQ")[0] == "code"


def test_an_uncovered_question_scores_lower_than_a_covered_one(index: EmbeddedIndex) -> None:
    covered = index.search("kb", "How are duplicate keywords merged?", top_k=1)[0].score
    uncovered = index.search("kb", "Who won the chess championship in 1972?", top_k=1)[0].score
    assert covered > 0.5
    assert uncovered < 0.2


def test_scores_descend_and_are_between_0_and_1(index: EmbeddedIndex) -> None:
    for query in ["keywords", "keywords that nobody used are pruned", "the of and", "?!", PASSAGES["merge"]]:
        scores = [hit.score for hit in index.search("kb", query, top_k=10)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


def test_a_heading_is_searched_with_its_passage(index: EmbeddedIndex) -> None:
    index.upsert("kb", [("zebra", {"text": "They are striped.", "chapter": "Animals › Zebras"})])
    assert search_ids(index, "zebra")[0] == "zebra"


def test_the_end_of_a_long_text_is_found_by_meaning(index: EmbeddedIndex) -> None:
    filler = "The committee met again on Tuesday and adjourned without a decision. " * 60
    index.upsert("kb", [("long", {"text": f"{filler} Felines sleep for most of the day."})])
    hits = {hit.id: hit.score for hit in index.search("kb", "how much do cats rest", top_k=10)}
    assert max(hits, key=lambda name: hits[name]) == "long"


def test_namespaces_are_isolated(index: EmbeddedIndex) -> None:
    index.upsert("other", [("merge", {"text": "Keywords of another knowledge base."})])
    assert [hit.fields["text"] for hit in index.search("other", "keywords", top_k=5)] == [
        "Keywords of another knowledge base."
    ]
    index.delete_all("other")
    assert index.counts() == {"kb": 4}


@pytest.mark.parametrize("count", [120, pytest.param(1200, marks=pytest.mark.slow)])
def test_a_filter_is_applied_before_top_k(index: EmbeddedIndex, count: int) -> None:
    index.upsert("kb", [(f"n{i}", {"text": "keywords are merged", "n": i}) for i in range(count)])
    matches = compile_filter({"n": {"$gte": count - 5}})
    hits = index.search("kb", "how are keywords merged", top_k=10, matches=matches)
    assert {hit.id for hit in hits} == {f"n{i}" for i in range(count - 5, count)}


def test_without_weights_only_words_are_searched_and_vectors_are_added_later(
    tmp_path: Path, embedder: Embedder
) -> None:
    lexical = EmbeddedIndex(tmp_path, None)
    lexical.upsert("kb", [(name, {"text": text}) for name, text in PASSAGES.items()])
    assert search_ids(lexical, "pruning keywords")[0] == "prune"
    assert search_ids(lexical, "lunch") == []
    lexical.close()
    assert search_ids(EmbeddedIndex(tmp_path, embedder), "preparing pasta")[0] == "boil"


def test_a_write_that_is_stopped_while_it_embeds_stores_nothing(tmp_path: Path, embedder: Embedder) -> None:
    index = EmbeddedIndex(tmp_path, embedder)
    records = [(str(number), {"text": f"Entry {number}. " + PASSAGES["boil"] * 10}) for number in range(500)]
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(index.upsert, "kb", records)  # half a minute of work
        with pytest.raises(TimeoutError):
            write.result(0.5)
        index.stop_embedding()
        with pytest.raises(EmbeddingStopped):
            write.result()
    assert index.counts() == {}
    index.close()


def test_a_directory_of_an_earlier_version_is_analysed_again(tmp_path: Path, embedder: Embedder) -> None:
    index = EmbeddedIndex(tmp_path, embedder)
    index.upsert("kb", [("ru", {"text": "Маяк построили рыбаки в тысяча девятьсот пятом году."})])
    index.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as file:  # the columns of the first version
        for column in ("parts", "part_counts", "familiarity", "version"):
            file.execute(f"ALTER TABLE records DROP COLUMN {column}")
        file.execute("UPDATE records SET terms = x'', counts = x''")
    file.close()
    for _ in range(2):
        index = EmbeddedIndex(tmp_path, embedder)
        assert index.search("kb", "Кто строил маяки?", top_k=1)[0].score > 0.2
        index.close()


def test_english_of_rare_words_is_known_and_other_languages_are_not(embedder: Embedder) -> None:
    english = (
        "All primary chloroplasts belong to one of these lineages: the glaucophyte chloroplast lineage, the rhodophyte "
        "chloroplast lineage, and the chloroplastidan one.",
        "Which of the glaucophytes are there?",
    )
    others = (
        "¿A qué hora se abre el faro?",
        "El faro se construyó en 1905 y lo cuida una familia de pescadores.",
        "Der Leuchtturm wurde von Fischern gebaut und man zeigt ihn Besuchern.",
        "Die Öffnungszeiten",
        "灯塔是谁建造的?",
    )
    assert embedder.familiarity(english) == [1.0] * len(english)
    assert embedder.familiarity(others) == [0.0] * len(others)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Кто построил маяк?", "Маяк построили рыбаки.", "Мельницу купили крестьяне."),
        ("من بنى المنارة؟", "بنى الصيادون منارة الميناء.", "اشترى الفلاحون طاحونة القرية."),
        ("प्रकाशस्तंभ किसने बनाया?", "मछुआरों ने प्रकाशस्तंभ बनाया।", "किसानों ने चक्की खरीदी।"),
        ("灯塔是谁建造的?", "渔民建造了灯塔。", "农民买了磨坊。"),
        ("Wer baute den Leuchtturm?", "Die Leuchttürme bauten Fischer.", "Die Mühle kauften Bauern."),
        ("등대는 누가 지었습니까?", "어부들이 등대를 지었다.", "농부들이 방앗간을 샀다."),
        ("Ποιος έχτισε τον φάρο;", "Οι ψαράδες έχτισαν τους φάρους.", "Οι αγρότες αγόρασαν τον μύλο."),
    ],
    ids=["ru", "ar", "hi", "zh", "de", "ko", "el"],
)
def test_text_that_the_model_does_not_know_is_ranked_by_words_and_their_parts(
    tmp_path: Path, embedder: Embedder, question: str, answer: str, other: str
) -> None:
    index = EmbeddedIndex(tmp_path, embedder)
    index.upsert("kb", [("other", {"text": other}), ("answer", {"text": answer})])
    best, *rest = index.search("kb", question, top_k=2)
    assert best.id == "answer"
    assert best.score > 0.2
    assert all(hit.score < 0.5 * best.score for hit in rest)


def test_a_question_in_another_script_scores_below_an_answer(index: EmbeddedIndex) -> None:
    for question in ("Как объединяются ключевые слова?", "关键词是怎么合并的?", "कीवर्ड कैसे मिलाए जाते हैं?"):
        assert all(hit.score < 0.3 for hit in index.search("kb", question, top_k=1))


def test_finds_words_in_scripts_without_spaces_and_with_accents(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path, None)
    index.upsert("kb", [("zh", {"text": "北京是中国的首都。"}), ("fr", {"text": "Le café est fermé."})])
    assert search_ids(index, "中国") == ["zh"]
    assert search_ids(index, "cafe") == ["fr"]


def test_a_killed_process_loses_no_writes(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys\n"
        "from gleaner_local.index.embedded import EmbeddedIndex\n"
        "index = EmbeddedIndex(pathlib.Path(sys.argv[1]), None)\n"
        "index.upsert('kb', [(f'd#{i}', {'text': f'passage number {i}'}) for i in range(50)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60)
    assert killed.returncode == -9
    index = EmbeddedIndex(tmp_path, None)
    assert index.counts() == {"kb": 50}
    assert search_ids(index, "number 17")[0] == "d#17"


def test_a_second_process_fails_because_the_index_is_in_use(tmp_path: Path, index: EmbeddedIndex) -> None:
    script = (
        "import pathlib, sys\n"
        "from gleaner_local.index.embedded import EmbeddedIndex\n"
        "EmbeddedIndex(pathlib.Path(sys.argv[1]), None)\n"
    )
    second = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60, capture_output=True, text=True
    )
    assert second.returncode == 1
    assert "another process is using the index" in second.stderr
    index.close()
    assert EmbeddedIndex(tmp_path, None).counts() == {"kb": 4}


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite3").write_bytes(b"this is not a database" * 100)
    with pytest.raises(OSError, match="cannot be opened"):
        EmbeddedIndex(tmp_path, None)


def test_readers_and_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path, None)
    index.upsert("kb", [(f"d#{i}", {"text": f"stable passage {i}"}) for i in range(20)])
    errors: list[BaseException] = []

    def run(step: int) -> None:
        try:
            for i in range(30):
                index.upsert("kb", [(f"w{step}#{i % 5}", {"text": f"moving passage {i}"})])
                assert len(index.search("kb", "stable passage", top_k=20)) == 20
                index.delete("kb", [f"w{step}#{(i + 2) % 5}"])
        except BaseException as error:  # noqa: BLE001 - the test asserts that there are none
            errors.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {hit.id for hit in index.search("kb", "stable", top_k=50)} == {f"d#{i}" for i in range(20)}


WORDS = ("apple", "berry", "quince", "damson")
IDS = st.sampled_from(["a#0", "a#1", "b#0", "b#1", "c#0"])
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.lists(IDS, min_size=1, max_size=3)),
        st.tuples(st.just("delete_all"), st.just([])),
        st.tuples(st.just("reopen"), st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=examples(12, 40))
@given(STEPS)
def test_any_sequence_of_writes_behaves_like_a_dictionary(steps: list[tuple[str, list]]) -> None:  # type: ignore[type-arg]
    model: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as directory:
        index = EmbeddedIndex(Path(directory), None)
        for step, argument in steps:
            if step == "upsert":
                index.upsert("kb", [(record_id, {"text": text}) for record_id, text in argument])
                model.update(argument)
            elif step == "delete":
                index.delete("kb", argument)
                model = {key: text for key, text in model.items() if key not in argument}
            elif step == "delete_all":
                index.delete_all("kb")
                model = {}
            else:
                index.close()
                index = EmbeddedIndex(Path(directory), None)
            assert index.list_ids("kb", prefix="a#", after="", limit=9) == sorted(
                key for key in model if key.startswith("a#")
            )
            for word in WORDS:
                hits = {hit.id: hit.fields["text"] for hit in index.search("kb", word, top_k=9)}
                assert hits == {key: text for key, text in model.items() if word in text.split()}
        index.close()


@given(st.lists(TEXTS, min_size=1, max_size=12), TEXTS, st.data())
def test_scores_do_not_depend_on_how_documents_were_added(texts: list[str], query: str, data: st.DataObject) -> None:
    documents = [count_terms(text) for text in texts]
    lengths = np.array([counts.sum() for _, counts in documents], dtype=np.float32)
    alive = np.ones(len(texts), dtype=np.bool_)
    single_batch = Postings()
    single_batch.add(0, documents)
    several_batches = Postings()
    cut = data.draw(st.integers(0, len(texts)))
    several_batches.add(0, documents[:cut])
    for row in range(cut, len(texts)):
        several_batches.add(row, [documents[row]])
    expected = single_batch.score(query_terms(query), lengths, alive)
    assert np.allclose(several_batches.score(query_terms(query), lengths, alive), expected)
    assert (expected >= 0).all()
    assert (expected <= K1 + 1).all()
