"""FAQ matching against a plain-Python bot that looks at every row, and names of columns."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import fastmetrics as fm
from fastmetrics.cli.commands import load
from fastmetrics.retrieval.faq import Matcher, StrictMatchBot, match_faq
from tests.support.program import jsonl, program

STRIPPED = ".,!?;:()[]{}\"'`«»“”‘’…"


def words(text):
    return {word for word in (part.strip(STRIPPED) for part in text.lower().split()) if word}


def cosine(a, b):
    return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0


def plain(question, faq, k):
    """The k best rows, by (score descending, row ascending)."""
    own = words(question)
    scores = [cosine(own, row) for row in faq]
    order = sorted(range(len(faq)), key=lambda row: (-scores[row], row))[:k]
    return order, [scores[row] for row in order]


def assert_plain(questions, faq, k, **options):
    found = match_faq(questions, faq, k, **options)
    sets = [words(row) for row in faq]
    for at, question in enumerate(questions):
        rows, scores = plain(question, sets, k)
        assert found.index[at, : len(rows)].tolist() == rows
        assert found.score[at, : len(rows)].tolist() == scores


@given(
    st.lists(st.text("abcde ,", max_size=14), min_size=1, max_size=12),
    st.lists(st.text("abcdef ,", max_size=14), min_size=1, max_size=12),
    st.integers(1, 4),
)
def test_equals_looking_at_every_row(questions, faq, k):
    assert_plain(questions, faq, k)


def test_many_rows_of_common_and_rare_words():
    rng = np.random.default_rng(0)
    vocabulary = [f"w{number}" for number in range(300)]
    chance = 1 / np.arange(1, 301)
    chance /= chance.sum()
    draw = lambda n: [" ".join(rng.choice(vocabulary, rng.integers(0, 12), p=chance)) for _ in range(n)]  # noqa: E731
    assert_plain(draw(400), draw(1500), 5)
    assert_plain(draw(100), draw(40), 40)


@pytest.mark.parametrize("rows", [20, 3000])
def test_long_texts_and_many_ties(rows):
    rng = np.random.default_rng(rows)
    letters = list("abcdefgh")
    faq = [" ".join(rng.choice(letters, rng.integers(0, 6))) for _ in range(rows)]
    faq[7] = " ".join(f"w{number}" for number in range(300)) + " a b"
    long = " ".join(f"w{number}" for number in range(280))
    questions = [long, f"{long} a b c", "a b c d e f g h", "a", *rng.permutation(faq)[:40]]
    for k in (1, 4, 25):
        assert_plain(questions, faq, k)


def test_ties_go_to_the_first_row_and_no_common_word_scores_zero():
    found = match_faq(["x y", "nothing", ""], ["q", "y x!", "X, Y"], 2)
    assert found.index.tolist() == [[1, 2], [0, 1], [0, 1]]
    assert found.score.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_a_null_question_and_too_few_rows():
    found = match_faq(pa.array(["a", None, "a"]), ["a", "b"], 3)
    assert found.index.tolist() == [[0, 1, -1], [-1, -1, -1], [0, 1, -1]]
    assert np.isnan(found.score[0, 2])
    assert np.isnan(found.score[1]).all()
    assert match_faq([], ["a"], 2).index.shape == (0, 2)


def test_any_container_thread_count_and_order_gives_the_same():
    faq = [f"question number {number} about {number % 7}" for number in range(500)]
    questions = [f"about {number % 7} number {number}" for number in range(20_000)]
    one = match_faq(questions, faq, threads=1)
    for other in (
        match_faq(questions, faq, threads=3),
        match_faq(pa.chunked_array([questions[:9], questions[9:]]), pa.array(faq, pa.large_string())),
        match_faq(np.array(questions), pa.array(faq).dictionary_encode()),
    ):
        assert np.array_equal(one.index, other.index)
        assert np.array_equal(one.score, other.score)
    backwards = match_faq(questions[::-1], faq)
    assert np.array_equal(one.index, backwards.index[::-1])


def test_a_matcher_is_safe_in_several_threads():
    matcher = Matcher([f"w{number} common" for number in range(200)])
    questions = [[f"w{number} own{thread}" for number in range(200)] for thread in range(4)]
    found = [None] * 4

    def ask(thread):
        found[thread] = [int(matcher.match([question]).index[0, 0]) for question in questions[thread]]

    threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(200))] * 4


def test_the_bot_answers_with_the_stored_answer():
    faq = {"Query": ["Where is my card?", "How do I pay?"], "answer": ["In the mail.", None]}
    bot = StrictMatchBot(faq)
    reply = bot.answer("my card, where?")
    assert (reply.answer, reply.index) == ("In the mail.", 0)
    assert reply.score == pytest.approx(3 / math.sqrt(12))
    assert 0 < reply.latency_ms < 60_000
    batch = StrictMatchBot(pa.table(faq)).answer_all(["my card, where?", "pay", None])
    assert batch["answer"].to_pylist() == ["In the mail.", None, None]
    assert batch["score"].to_pylist() == [reply.score, 0.5, None]
    assert batch["index"].to_pylist() == [0, 1, None]
    nothing = bot.answer(None)
    assert (nothing.answer, nothing.index) == (None, -1)
    assert math.isnan(nothing.score)
    assert StrictMatchBot(pa.RecordBatch.from_pydict(faq)).answer("card").answer == "In the mail."


def test_a_question_without_a_common_word_has_no_answer():
    faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["In the mail.", "Online."]}
    asked = {"question": ["Zzz?", "", "pay", None]}
    lost = StrictMatchBot(faq).answer("Zzz?")
    assert (lost.answer, lost.index, lost.score) == (None, -1, 0.0)
    found = fm.match(asked, faq).select(["answer", "score", "index"]).to_pydict()
    assert found == {
        "answer": [None, None, "Online.", None],
        "score": [0.0, 0.0, 0.5, None],
        "index": [None, None, 1, None],
    }
    answered = fm.answer(asked, StrictMatchBot(faq))
    names = ["system", "answer", "answer_status", "answer_reason"]
    none = "no row of the FAQ shares a word with it"
    assert [tuple(row.values()) for row in answered.select(names).to_pylist()] == [
        ("faq", None, "no_match", none),
        ("faq", None, "no_match", none),
        ("faq", "Online.", "ok", None),
        ("faq", None, "missing", "null: question"),
    ]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_latency_of_a_faq_bot_is_that_of_one_question(monkeypatch, n):
    bot = StrictMatchBot({"question": ["where", "when"], "answer": ["here", "now"]})
    ends = np.cumsum(np.arange(1.0, n + 1))
    clock = iter(np.column_stack([ends - np.arange(1.0, n + 1), ends]).ravel().tolist())  # the k-th takes k seconds
    monkeypatch.setattr("fastmetrics.retrieval.faq.time", SimpleNamespace(perf_counter=clock.__next__))
    questions = pa.array(["when"] * n, pa.string())
    answered = fm.answer({"question": questions}, bot)
    assert answered["latency_ms"].to_pylist() == [1000.0 * k for k in range(1, n + 1)]
    assert answered["answer"].to_pylist() == ["now"] * n == bot.answer_all(questions)["answer"].to_pylist()


def test_a_null_question_has_no_latency():
    bot = StrictMatchBot({"question": ["where"], "answer": ["here"]})
    answered = fm.answer({"question": ["where", None]}, bot)
    assert answered["latency_ms"][0].as_py() > 0
    names = ["answer", "answer_status", "answer_reason", "latency_ms"]
    assert [answered[name][1].as_py() for name in names] == [None, "missing", "null: question", None]


def test_questions_matched_together_have_no_latency(tmp_path):
    bot = StrictMatchBot({"question": ["where"], "answer": ["here"]})
    assert bot.answer_all(["where", None]).column_names == ["answer", "score", "index"]
    path = jsonl(tmp_path / "faq.jsonl", {"question": "where", "answer": "here"})
    assert program("match", path, path, "-o", tmp_path / "o.jsonl").code == 0
    expected = {"question": "where", "answer": "here", "score": 1.0, "index": 0}
    assert json.loads((tmp_path / "o.jsonl").read_text()) == expected


def test_real_questions_against_a_real_faq(data_folder):
    faq = parquet.read_table(data_folder / "common" / "covid_faq_kb.parquet")["question"].to_pylist()
    asked = parquet.read_table(data_folder / "dev" / "covid_question_pairs.parquet")["question"].to_pylist()
    assert_plain(asked, faq, 3)


ASKED, STORED = ["where is it", "how to pay"], ["Where is it?", "How to pay"]
TEXTS = ["in the mail", "online"]


@pytest.mark.parametrize(
    ("questions", "faq", "columns"),
    [
        ("question", ("question", "answer"), {}),
        ("text", ("question", "answer"), {"question": "text"}),
        ("question", ("title", "body"), {"question": "title", "answer": "body"}),
        ("text", ("text", "body"), {"question": "text", "answer": "body"}),
        ("text", ("question", "body"), {"question": "text", "answer": "body"}),
    ],
)
def test_names_apply_to_both_tables(
    tmp_path: Path, questions: str, faq: tuple[str, str], columns: dict[str, str]
) -> None:
    asked, stored = pa.table({questions: ASKED}), pa.table(dict(zip(faq, (STORED, TEXTS), strict=True)))
    assert fm.match(asked, stored, columns=columns)["answer"].to_pylist() == TEXTS
    pq.write_table(asked, tmp_path / "asked.parquet")
    pq.write_table(stored, tmp_path / "faq.parquet")
    out = tmp_path / "out.parquet"
    named = [f"{canonical}={yours}" for canonical, yours in columns.items()]
    files = {"questions": str(tmp_path / "asked.parquet"), "faq": str(tmp_path / "faq.parquet")}
    load("match")(**files, output=str(out), columns=named)
    assert pq.read_table(out)["answer"].to_pylist() == TEXTS


@pytest.mark.parametrize("columns", [{}, {"question": "asked"}])
def test_an_faq_has_names_of_its_own(tmp_path, columns):
    """Both tables may have names of their own for the same thing."""
    name = columns.get("question", "question")
    questions, faq = tmp_path / "q.csv", tmp_path / "f.csv"
    questions.write_text(f"{name},id\n" + "".join(f"{text},{n}\n" for n, text in enumerate(ASKED)))
    faq.write_text("frage,antwort\n" + "".join(map("{},{}\n".format, STORED, TEXTS)))
    own = ["--faq-columns", "frage=x"], ["--faq-columns", "question=frage,answer=antwort"]
    named = ["--columns", "question=asked"] if columns else []
    for words in (("match", questions, faq), ("answer", questions, "--bot", "faq", "--faq", faq)):
        done = program(*words, *named, *own[1], "-o", tmp_path / f"{words[0]}.jsonl")
        assert (done.code, done.err) == (0, "")
        rows = map(json.loads, (tmp_path / f"{words[0]}.jsonl").read_text().splitlines())
        assert [row["answer"] for row in rows] == TEXTS
        refused = program(*words, *named, "-o", tmp_path / "o.jsonl")
        assert (refused.code, "set its name with --faq-columns question=..." in refused.err) == (3, True)


def test_a_bot_takes_names_of_columns() -> None:
    stored = pa.table({"question": STORED, "body": TEXTS})
    assert fm.retrieval.StrictMatchBot(stored, columns={"answer": "body"}).answer("how to pay").answer == "online"
