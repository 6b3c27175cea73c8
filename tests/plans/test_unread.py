"""Rows with a value that cannot be read: undefined, counted by reason, told of everywhere, the worst in a gate."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ScoreWarning
from fastmetrics.metrics.batch import Raw, Unread
from fastmetrics.metrics.metric import Corpus
from fastmetrics.results.opening_scores import open_file
from fastmetrics.results.summary import summarize
from tests.support.program import program, unfolded

UNIT, BOTH, NONE = "hold an unknown unit; write it out", "hold two units", "state nothing"
N = 40
UNITS, TWO, NOTHING, MISSING = (3, 17, 38), (17, 20), (5, 6), (9,)
"""The rows by what is wrong with them: 17 has both an unknown unit and two, and counts for the first."""


def has(batch, sign):
    return pc.fill_null(pc.match_substring(batch.columns["answer"], sign), False).to_numpy(zero_copy_only=False)


def cannot_read(batch, options):
    yield Unread("hold an unknown unit", has(batch, "?"), "write it out")
    yield Unread("hold two units", has(batch, "&"))
    yield Unread("state nothing", has(batch, "!"), scored=True)


@pytest.fixture(autouse=True)
def declared():
    @fm.metric(bounds=(0, 1), better="higher", unread=cannot_read)
    def same_as_it(answer: pa.Array, reference: pa.Array) -> np.ndarray:
        return np.asarray(pc.fill_null(pc.equal(answer, reference), False).cast(pa.float64()))

    @fm.metric(
        bounds=(0, N),
        better="higher",
        unread=cannot_read,
        corpus=Corpus(lambda sums: type("S", (), {"score": sums[0]})),
    )
    def count_of_all(answer: Raw) -> np.ndarray:
        return np.ones((len(answer), 1), np.int64)


def rows():
    answers = [str(row % 4) for row in range(N)]
    for sign, places in (("?", UNITS), ("&", TWO), ("!", NOTHING)):
        for row in places:
            answers[row] += sign
    return {
        "id": [f"q{row}" for row in range(N)],
        "answer": [None if row in MISSING else answer for row, answer in enumerate(answers)],
        "reference": [str(row % 4) for row in range(N)],
        "half": ["first" if row < N // 2 else "second" for row in range(N)],
    }


LOST = 4
SCORED = N - LOST - len(MISSING)
STORED = {UNIT: [3, 3, 0], NONE: [2, 5, 1], BOTH: [1, 20, 0]}
TOLD = {reason: dict(zip(("rows", "first", "scored"), counts, strict=True)) for reason, counts in STORED.items()}
NOTES = [
    f"same_as_it: 3 of {N} rows (first: row 3) hold an unknown unit, and are undefined; write it out",
    f"same_as_it: 2 of {N} rows (first: row 5) state nothing, and count as wrong",
    f"same_as_it: 1 of {N} rows (first: row 20) hold two units, and are undefined",
]


@pytest.fixture(params=["memory", "file", "csv", "folder"])
def scores(request, tmp_path, monkeypatch):
    """The scores of the rows, in memory and as files."""
    if request.param == "memory":
        return fm.score(rows(), "same_as_it", keep=["id", "half"])
    output = tmp_path / {"file": "s.parquet", "csv": "s.csv", "folder": "s/"}[request.param]
    files = fm.tables.FileSettings(batch_rows=7)
    done = fm.score(rows(), "same_as_it", keep=["id", "half"], output=output, threads=2, files=files)
    assert [note for note in done.summary.notes if note.startswith("same_as_it")] == NOTES
    return output


def test_they_are_undefined_and_counted_by_reason_in_summaries(scores):
    summary = summarize(scores)
    found = summary["same_as_it"]
    assert (found.n, found.n_missing, found.n_undefined, found.n_unread, found.n_error) == (SCORED, 1, 0, LOST, 0)
    assert found.mean == pytest.approx((SCORED - len(NOTHING)) / SCORED)
    assert found.unread == summary.to_dict()["metrics"]["same_as_it"]["unread"] == TOLD
    assert [note for note in summary.notes if note.startswith("same_as_it")] == NOTES
    header, line = str(summary).splitlines()[:2]
    assert header.split()[-3:] == ["n", "missing", "unread"]
    assert line.split()[-3:] == [str(SCORED), "1", str(LOST)]


def test_a_gate_counts_them_as_the_worst_score(scores):
    worst = (SCORED - len(NOTHING)) / N
    rules = [f"same_as_it >= {worst}", f"same_as_it > {worst}", f"same_as_it.n_unread <= {LOST}"]
    rules += [f"same_as_it.share_unread <= {LOST / N}", "same_as_it.n_missing <= 1", "same_as_it.n_undefined <= 0"]
    rules += ["same_as_it > 0.9 where half=second", "same_as_it >= 0.94 with unpaired=ignore"]
    found = fm.gate(scores, rules)
    assert [one.met for one in found] == [True, False, True, True, True, True, False, True]
    assert found[0].n_worst == LOST + 1
    assert [note.partition(": ")[2] for note in found.notes if "same_as_it:" in note][: len(NOTES)] == NOTES


@pytest.mark.parametrize(("batch_rows", "threads"), [*itertools.product((1, 3, 64), (1, 2))])
def test_counts_and_first_rows_do_not_depend_on_batches_and_threads(batch_rows, threads, tmp_path):
    files = fm.tables.FileSettings(batch_rows=batch_rows)
    fm.score(rows(), "same_as_it", output=tmp_path / "s.parquet", threads=threads, files=files)
    stored = open_file(tmp_path / "s.parquet").metadata.to_json()
    assert stored["unread"] == {"same_as_it": STORED}
    assert list(stored["unread"]["same_as_it"]) == list(STORED)
    assert stored["metrics"]["same_as_it"]["n_undefined"] == LOST


def test_files_together_count_all_rows_from_the_first_file_on(tmp_path):
    for name in "ab":
        fm.score(rows(), "same_as_it", output=tmp_path / f"{name}.parquet")
    found = summarize([tmp_path / "a.parquet", tmp_path / "b.parquet"])["same_as_it"]
    assert found.unread == {reason: {**told, "rows": 2 * told["rows"]} for reason, told in TOLD.items()}
    done = program("summarize", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert f"same_as_it: 6 of {2 * N} rows (first: row 3) hold an unknown unit" in unfolded(done.out)


def test_of_other_rows_nothing_is_known():
    part = fm.score(rows(), "same_as_it").slice(0, 30)
    found = summarize(part)["same_as_it"]
    assert (found.n_undefined, found.n_unread, found.unread) == (3, 0, {})


def test_a_function_of_columns_warns():
    with pytest.warns(ScoreWarning, match=r"same_as_it: 3 of 40 rows \(first: row 3\) hold an unknown unit"):
        values = fm.same_as_it(rows()["answer"], rows()["reference"])
    assert np.flatnonzero(np.isnan(values)).tolist() == sorted({*UNITS, *TWO, *MISSING})


def test_a_metric_of_tables_leaves_them_out():
    with pytest.warns(ScoreWarning, match="count_of_all: 3 of 40 rows"):
        assert fm.count_of_all(rows()["answer"]).score == SCORED


def test_scores_without_them_have_no_count():
    told = fm.score({"answer": ["1"], "reference": ["1"]}, "same_as_it, token_f1")
    assert "unread" not in json.loads(told.schema.metadata[b"fastmetrics"])
    assert "unread" not in str(summarize(told))
