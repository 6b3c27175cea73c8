"""Scores of the answers within longer texts: in memory, in files, in frames, on the command line, and resumed."""

from __future__ import annotations

import pytest

import fastmetrics as fm
from tests.support.program import jsonl, program

ANSWERS = ["<think>#### 3</think>6 · 7 = 42\n#### 42", "So the answer is 7.", "I cannot say.", None]
TABLE = {"id": [1, 2, 3, 4], "response": ANSWERS, "reference": ["42", "7", "5", "6"]}
NOTE = "response: answers were extracted from 2 of 3 texts; 1 text has none and counts as an empty answer"
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
    assert (done.code, NOTE in " ".join(done.out.split())) == (0, True)
    found = fm.summarize(out)
    assert (found["exact_match"].mean, NOTE in found.notes) == (pytest.approx(1 / 3), True)
    done = program(*words, "--resume")
    assert (done.code, "extract" in done.err) == (4, True), "another setting of the run"


def test_bad_extractors_are_refused_before_anything_is_read(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"response": "a", "reference": "a"})
    done = program("score", path, "-m", "exact_match", "--extract", "regex:a")
    assert (done.code, "--extract" in done.err, "has no group" in done.err) == (2, True, True)
    with pytest.raises(fm.errors.OptionError, match="needs a column of answers"):
        fm.score({"retrieved_ids": [["a"]], "relevant_ids": [["a"]]}, extract="boxed")
