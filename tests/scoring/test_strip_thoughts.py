"""Answers of reasoning models: a note tells of their thoughts, and an option leaves them out."""

import pytest

import fastmetrics as fm
from tests.support.program import jsonl, program

ANSWERS = ["<think>Rome? No, Paris.</think>\n\nParis", "Paris", "<think>Rome? No, Pa", None]
TABLE = {"id": [1, 2, 3, 4], "response": ANSWERS, "reference": ["Paris"] * 4}
NOTE = (
    "response: 2 answers hold the thoughts of a model, which were scored with the answer; "
    "strip_thoughts=True (--strip-thoughts) leaves them out"
)
STRIPPED = "response: thoughts were left out of 2 answers; 1 of them end within a thought, without an answer"


def test_thoughts_are_noted_and_left_out_on_request():
    with pytest.warns(fm.ScoreWarning) as said:
        assert fm.score(TABLE, "exact_match")["exact_match"].to_pylist() == [0.0, 1.0, 0.0, None]
    assert [str(one.message) for one in said] == [NOTE]
    with pytest.warns(fm.ScoreWarning) as said:
        scores = fm.score(TABLE, "exact_match,answer_words", strip_thoughts=True)
    assert [str(one.message) for one in said] == [STRIPPED]
    assert scores["exact_match"].to_pylist() == [1.0, 1.0, 0.0, None]
    assert scores["answer_words"].to_pylist() == [1.0, 1.0, 0.0, None]
    with pytest.warns(fm.ScoreWarning, match="left out of 2"):
        rows = fm.with_scores(TABLE, "exact_match", strip_thoughts=True)
    assert (rows["exact_match"], rows["response"]) == ([1.0, 1.0, 0.0, None], ANSWERS)


def test_files_say_whether_thoughts_were_left_out(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", *({"response": text, "reference": "Paris"} for text in ANSWERS))
    for suffix in ("parquet", "csv"):
        out = tmp_path / f"o.{suffix}"
        done = program("score", path, "-o", out, "-m", "exact_match", "--strip-thoughts")
        assert (done.code, STRIPPED in " ".join(done.out.split())) == (0, True)
        found = fm.summarize(out)
        assert (found["exact_match"].mean, STRIPPED in found.notes) == (pytest.approx(2 / 3), True)
        done = program("score", path, "-o", out, "-m", "exact_match", "--resume")
        assert (done.code, "strip_thoughts" in done.err) == (4, True), "another setting of the run"
    done = program("score", path, "-o", out, "-m", "exact_match", "--overwrite")
    assert NOTE in " ".join(done.out.split())
