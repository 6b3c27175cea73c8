"""A metric over the runs of a folder."""

from __future__ import annotations

import json

import pytest

import fastmetrics as fm

BOUNDS = ("file", "name", "began", "n", "mean", "low", "high")


@pytest.fixture
def folder(tmp_path):
    """Runs in the order of their file names, should two begin within a second."""
    answers, made = tmp_path / "rows.jsonl", tmp_path / "runs"
    made.mkdir()
    for place, (name, right, count) in enumerate((("c", 10, 40), ("a", 20, 40), ("b", 30, 40), ("fewer", 30, 38))):
        rows = [{"id": n, "answer": "yes" if n < right else "no", "reference": "yes"} for n in range(count)]
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
        fm.score(answers, output=made / f"{place}.parquet", metrics="token_f1", name=name, times=True)
    fm.score(answers, output=made / "late.parquet", metrics="answer_words")
    return made


def test_runs_are_ordered_by_start_time_with_means(folder):
    found = fm.trend(folder, "token_f1")
    assert [one.name for one in found] == ["c", "a", "b", "fewer"]
    assert [one.mean for one in found] == [0.25, 0.5, 0.75, 30 / 38]
    assert [one.other_rows for one in found] == [None, False, False, True]
    for one in found:
        alone = fm.results.summarize_by(folder / one.file, metrics="token_f1")[0]
        assert (one.n, one.low, one.high) == (alone.n, alone.low, alone.high)
    assert found.to_arrow().column_names == [*BOUNDS, "interval", "interval_note", "other_rows"]


def test_rows_are_compared_with_those_of_the_run_before(tmp_path):
    for name, count in (("a", 3), ("b", 2), ("c", 2), ("d", 3)):
        rows = {"id": list(range(count)), "answer": ["yes"] * count, "reference": ["yes"] * count}
        fm.score(rows, "token_f1", output=tmp_path / f"{name}.parquet", name=name)
    assert [one.other_rows for one in fm.trend(tmp_path, "token_f1")] == [None, True, False, True]
