"""Scores of the answers within longer texts, and of answers without the thoughts before them."""

import polars as pl
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.tables.opening import open_table
from fastmetrics.text.extraction import extracted
from tests.support.program import jsonl, program

ANSWERS = ["<think>#### 3</think>6 · 7 = 42\n#### 42", "So the answer is 7.", "I cannot say.", None]
TABLE = {"id": [1, 2, 3, 4], "response": ANSWERS, "reference": ["42", "7", "5", "6"]}
NOTE = "response: 2 of 3 texts have an answer by hashes, answer; 1 has none and counts as wrong"
HOW = {"extract": ["hashes", "answer"], "strip_thoughts": True}


def test_answers_are_extracted_for_all_metrics():
    for score in (fm.score, fm.with_scores):
        with pytest.warns(fm.ScoreWarning) as said:
            scores = score(TABLE, "exact_match,answer_words", **HOW)
        assert NOTE in str(said[0].message)
        assert [list(map(as_value, scores[name])) for name in ("exact_match", "answer_words")] == [
            [1.0, 1.0, 0.0, None]
        ] * 2


def as_value(value):
    return value.as_py() if hasattr(value, "as_py") else value


def test_files_say_how_answers_were_extracted(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", *({"response": text, "reference": "42"} for text in ANSWERS))
    out = tmp_path / "o.parquet"
    words = ("score", path, "-o", out, "-m", "exact_match", "--strip-thoughts")
    done = program(*words, "--extract", "hashes", "--extract", r"regex:is (\d+)[,.]")
    note = NOTE.replace("hashes, answer", r"hashes, regex:is (\d+)[,.]")
    assert (done.code, note in " ".join(done.out.split())) == (0, True)
    found = fm.summarize(out)
    assert (found["exact_match"].mean, note in found.notes) == (pytest.approx(1 / 3), True)
    done = program(*words, "--resume")
    assert (done.code, "extract" in done.err) == (4, True), "another setting of the run"


TWO = {"answer": ["It is 7.\n#### 42", "#### 1 of 6", None, "six"], "reference": ["42", "6", "6", "6"]}


def test_metrics_of_a_run_extract_in_ways_of_their_own():
    own = ["exact_match(extract='hashes')", "exact_match(extract=['hashes', 'whole'])", "number_match", "answer_words"]
    with pytest.warns(fm.ScoreWarning, match="2 of 3 texts have an answer by hashes; 1 has none"):
        scores = fm.score(TWO, [*own, "token_f1(extract='last_number')"], extract="first_line", keep_extracted=True)
    assert scores.to_pydict() == {
        "extracted": ["It is 7.", "#### 1 of 6", None, "six"],
        "extracted('hashes')": ["42", "1 of 6", None, ""],
        "extracted(('hashes', 'whole'))": ["42", "1 of 6", None, "six"],
        "extracted('last_number')": ["42", "6", None, ""],
        "exact_match(extract='hashes')": [1.0, 0.0, None, 0.0],
        "exact_match(extract=('hashes', 'whole'))": [1.0, 0.0, None, 0.0],
        "number_match": [0.0, 1.0, None, 1.0],
        "answer_words": [3.0, 3.0, None, 1.0],
        "token_f1(extract='last_number')": [1.0, 1.0, None, 0.0],
    }


def test_scores_are_those_of_texts_extracted_before():
    texts = [f"<b>{n}</b>, so: **{n % 7} words** of {n}.\nThe answer is {n % 5}." for n in range(300)]
    rows = pa.table({"answer": texts, "reference": [f"{n % 4}" for n in range(300)]})
    before = pa.table({"answer": extracted(rows["answer"].chunk(0), ["answer"]), "reference": rows["reference"]})
    metrics = "token_f1,chrf,number_match,exact_match,answer_length,corpus_bleu"
    expected = fm.score(before, metrics)
    pieces = pa.concat_tables([rows.slice(start, 37) for start in range(0, 300, 37)])
    for table, threads in ((rows, 1), (rows, 3), (pieces, 2)):
        assert fm.score(table, metrics, extract="answer", threads=threads).equals(expected)
    alone = fm.token_f1(rows["answer"], rows["reference"], extract="answer")
    assert alone.tolist() == expected["token_f1"].to_pylist()


def test_references_that_are_solutions_are_read_without_their_working():
    solutions = ["3 + 4 = 7 and 1\n#### 7", "7", ["so \\boxed{7}", "8"], None]
    scores = fm.score({"answer": ["#### 7"] * 4, "reference": solutions}, "exact_match", extract=["hashes", "boxed"])
    assert scores["exact_match"].to_pylist() == [1.0, 1.0, 1.0, None]
    assert fm.exact_match(["7", "7"], ["1 #### 7", "7"], extract="last_number").tolist() == [0.0, 1.0]


def test_extracted_answers_are_kept_in_every_kind_of_output(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", *({"id": n, "answer": f"#### ={n}", "reference": "1"} for n in range(4)))
    for suffix in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"o.{suffix}"
        words = ("score", path, "-o", out, "-m", "exact_match", "--extract", "hashes", "--keep-extracted")
        assert program(*words).code == 0
        assert open_table(out).names[:3] == ["id", "extracted", "exact_match"]
        assert program(*words, "--resume").code == 0
    assert fm.summarize(out)["exact_match"].n == 4
    frame = pl.DataFrame(TWO)
    with pytest.warns(fm.ScoreWarning, match="have an answer by hashes"):
        added = fm.with_scores(frame, "exact_match", extract="hashes", keep_extracted=True)
    assert added["extracted"].to_list() == ["42", "1 of 6", None, ""]
    lazy = fm.with_scores(frame.lazy(), "exact_match", extract="whole", keep_extracted=True)
    assert lazy.collect()["extracted"].to_list() == TWO["answer"]


THOUGHTS = ["<think>Rome? No, Paris.</think>\n\nParis", "Paris", "<think>Rome? No, Pa", None]
THOUGHTFUL = {"id": [1, 2, 3, 4], "response": THOUGHTS, "reference": ["Paris"] * 4}
OF_THOUGHTS = (
    "response: 2 answers hold the thoughts of a model, which were scored with the answer; "
    "strip_thoughts=True (--strip-thoughts) leaves them out"
)
STRIPPED = "response: thoughts were left out of 2 answers; 1 of them end within a thought, without an answer"


def test_thoughts_are_noted_and_left_out_on_request():
    with pytest.warns(fm.ScoreWarning) as said:
        assert fm.score(THOUGHTFUL, "exact_match")["exact_match"].to_pylist() == [0.0, 1.0, 0.0, None]
    assert [str(one.message) for one in said] == [OF_THOUGHTS]
    with pytest.warns(fm.ScoreWarning) as said:
        scores = fm.score(THOUGHTFUL, "exact_match,answer_words", strip_thoughts=True)
    assert [str(one.message) for one in said] == [STRIPPED]
    assert scores["exact_match"].to_pylist() == [1.0, 1.0, 0.0, None]
    assert scores["answer_words"].to_pylist() == [1.0, 1.0, 0.0, None]
    with pytest.warns(fm.ScoreWarning, match="left out of 2"):
        rows = fm.with_scores(THOUGHTFUL, "exact_match", strip_thoughts=True)
    assert (rows["exact_match"], rows["response"]) == ([1.0, 1.0, 0.0, None], THOUGHTS)


def test_files_say_whether_thoughts_were_left_out(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", *({"response": text, "reference": "Paris"} for text in THOUGHTS))
    for suffix in ("parquet", "csv"):
        out = tmp_path / f"o.{suffix}"
        done = program("score", path, "-o", out, "-m", "exact_match", "--strip-thoughts")
        assert (done.code, STRIPPED in " ".join(done.out.split())) == (0, True)
        found = fm.summarize(out)
        assert (found["exact_match"].mean, STRIPPED in found.notes) == (pytest.approx(2 / 3), True)
        done = program("score", path, "-o", out, "-m", "exact_match", "--resume")
        assert (done.code, "strip_thoughts" in done.err) == (4, True), "another setting of the run"
    done = program("score", path, "-o", out, "-m", "exact_match", "--overwrite")
    assert OF_THOUGHTS in " ".join(done.out.split())
