"""Sheets for people: which rows are drawn, what stands on them, and that they are read back."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError
from tests.support.program import program

N = 100
SCORES = [None if n % 20 == 0 else float(1 + n % 4) for n in range(N)]
JUDGED = pa.table(
    {
        "id": [f"q{n:03}" for n in range(N)],
        "question": [f"Question {n}?" for n in range(N)],
        "answer": [f"Answer {n}." for n in range(N)],
        "judge_x": pa.array(SCORES, pa.float64()),
        "judge_x_status": ["ok"] * N,
        "judge_x_scores": [[1.0, 1.0 + n / 50] if n % 3 else [2.0, None] for n in range(N)],
    }
)


@pytest.mark.parametrize("strategy", ["random", "stratified", "disagreement"])
def test_seed_determines_the_sample(strategy):
    found = fm.results.sample_rows(JUDGED, n=30, strategy=strategy, seed=5)
    assert found.column_names == ["id", "question", "answer", "human"]
    assert (found.num_rows, found["human"].null_count, len(set(found["id"].to_pylist()))) == (30, 30, 30)
    assert all(f"Question {int(row['id'][1:])}?" == row["question"] for row in found.to_pylist())
    shuffled = JUDGED.take(np.random.default_rng(0).permutation(N))
    assert fm.results.sample_rows(shuffled, n=30, strategy=strategy, seed=5).equals(found)
    assert fm.results.sample_rows(JUDGED, n=1000, strategy=strategy).num_rows == N
    other = fm.results.sample_rows(JUDGED, n=30, strategy=strategy, seed=6)
    assert other.equals(found) == (strategy == "disagreement")


def test_stratified_sample_has_expected_counts():
    found = fm.results.sample_rows(JUDGED, n=40, strategy="stratified")
    scores = dict(zip(JUDGED["id"].to_pylist(), SCORES, strict=True))
    drawn = [scores[one] for one in found["id"].to_pylist()]
    assert {one: drawn.count(one) for one in (1.0, 2.0, 3.0, 4.0, None)} == {1: 8, 2: 10, 3: 10, 4: 10, None: 2}


@pytest.mark.parametrize("n", [1, 2, 5, 9, 10, 33, 99])
def test_rows_left_over_go_to_the_strata_with_the_largest_remainders(n):
    """By exact fractions; of equal remainders, the stratum of the lower score comes first."""
    sizes = {1.0: 3, 2.0: 17, 3.0: 29, 4.0: 51}
    scores = [score for score, size in sizes.items() for _ in range(size)]
    judged = {"id": range(100), "answer": ["a"] * 100, "judge_x": scores, "judge_x_status": ["ok"] * 100}
    shares = {score: Fraction(n * size, 100) for score, size in sizes.items()}
    expected = {score: int(share) for score, share in shares.items()}
    by_remainder = sorted(sizes, key=lambda score: (expected[score] - shares[score], score))
    for score in by_remainder[: n - sum(expected.values())]:
        expected[score] += 1
    sheet = fm.results.sample_rows(judged, n=n, strategy="stratified")
    drawn = [scores[int(row)] for row in sheet["id"].to_pylist()]
    assert {score: drawn.count(score) for score in sizes} == expected


def test_disagreement_selects_rows_with_the_largest_difference():
    found = fm.results.sample_rows(JUDGED, n=5, strategy="disagreement")
    assert found["id"].to_pylist() == ["q092", "q094", "q095", "q097", "q098"]
    once = JUDGED.drop_columns(["judge_x_scores"])
    with pytest.raises(InputError, match="give several judged files"):
        fm.results.sample_rows(once, n=5, strategy="disagreement")
    other = once.set_column(3, "judge_x", pa.array([5.0 if n == 41 else SCORES[n] for n in range(N)], pa.float64()))
    assert fm.results.sample_rows([once, other], n=1, strategy="disagreement")["id"].to_pylist() == ["q041"]


def test_missing_texts_are_taken_from_the_answers():
    bare = JUDGED.drop_columns(["question", "answer"])
    with pytest.raises(ColumnError, match="neither question nor answer; give the judged file with texts="):
        fm.results.sample_rows(bare, n=5)
    found, kept = fm.results.sample_rows(bare, n=5, texts=JUDGED), fm.results.sample_rows(JUDGED, n=5)
    assert (found.column_names, found.to_pylist()) == (kept.column_names, kept.to_pylist())


def test_invalid_samples_raise():
    for wrong, said in (({"strategy": "best"}, "strategy='best'"), ({"n": 0}, "n=0"), ({"label": "answer"}, "label=")):
        with pytest.raises(OptionError, match=said):
            fm.results.sample_rows(JUDGED, **wrong)
    with pytest.raises(InputError, match="occurs in 2 rows"):
        fm.results.sample_rows(pa.concat_tables([JUDGED, JUDGED.slice(0, 1)]))


def test_labelling_sheet_round_trip(tmp_path):
    judged, sheet = tmp_path / "judged.parquet", tmp_path / "to_label.csv"
    pq.write_table(JUDGED, judged)
    done = program("judge", "sample", judged, "-n", "20", "--strategy", "stratified", "-o", sheet)
    assert (done.code, done.err, done.out) == (0, "", f"20 rows: {sheet}\n")
    assert program("judge", "sample", judged, "-o", sheet).code == 4
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for place, row in enumerate(rows):
        row["human"] = str(1 + place % 5) if place else ""
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    told = program("validate", judged, sheet, "-m", "judge_x")
    assert (told.code, told.err) == (0, "")
    assert "label 'human'" in told.out
    told = program("judge", "report", judged, "--labels", sheet)
    assert (told.code, told.err) == (0, "")
    assert fm.results.estimate(judged, sheet).n_labelled in (18, 19)


def test_a_sheet_of_rows_without_ids_finds_them_again():
    judged = {"answer": list("abcdef"), "judge_x": [1.0, 2.0, 3.0, 4.0, 5.0, 1.0], "judge_x_status": ["ok"] * 6}
    sheet = fm.results.sample_rows(judged, n=4, seed=1)
    rows = sheet["row"].to_pylist()
    assert sheet.column_names == ["row", "answer", "human"]
    assert sheet["answer"].to_pylist() == ["abcdef"[row] for row in rows]
    labelled = sheet.set_column(2, "human", pa.array([judged["judge_x"][row] for row in rows]))
    report = fm.judge_report(judged, labelled)
    assert (report.axes[0].people.n, report.axes[0].people.accuracy.value) == (4, 1.0) or report.axes[
        0
    ].people.spearman.value == 1.0
    assert fm.results.estimate(judged, labelled).n_labelled == 4
    [texts] = [fm.results.sample_rows({"judge_x": judged["judge_x"]}, n=4, seed=1, score="judge_x", texts=judged)]
    assert texts["answer"].to_pylist() == sheet["answer"].to_pylist()
    with pytest.raises(InputError, match="expected each row once"):
        fm.results.estimate(judged, pa.concat_tables([labelled, labelled]))


@pytest.mark.parametrize("on", [None, "nr"])
def test_texts_of_files_without_ids_meet_by_position_or_by_a_column(tmp_path, on):
    judged, order = tmp_path / "judged.jsonl", "abcd" if on is None else "dbca"
    judged.write_text("".join(f'{{"nr": "n{one}", "judge_x": 1.0, "judge_x_status": "ok"}}\n' for one in "abcd"))
    texts = {"nr": [f"n{one}" for one in order], "answer": list(order)}
    sheet = fm.results.sample_rows(judged, n=3, score="judge_x", texts=texts, on=on).to_pylist()
    assert len(sheet) == 3
    assert all(row["answer"] == ("abcd"[row["row"]] if on is None else row["id"][1:]) for row in sheet)
