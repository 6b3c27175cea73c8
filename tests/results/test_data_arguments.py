"""Arguments of data: which are paths, which are tables and which are columns, by one rule for all functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError
from fastmetrics.tables.opening import is_paths

IDS = ["a", "b", "c", "d", "e", "f"]
SCORES = pa.table({"id": IDS, "token_f1": [0.1, 0.4, 0.5, 0.6, 0.7, 0.8]})
OTHER = pa.table({"id": IDS, "token_f1": [0.2, 0.4, 0.6, 0.5, 0.7, 0.9]})
LABELS = pa.table({"id": IDS, "label": [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]})
SEGMENTS = pa.table({"id": IDS, "language": ["de", "de", "de", "en", "en", "en"]})
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}


def _halves(folder: Path, table: pa.Table) -> list[Path]:
    """The rows of a table in two files."""
    paths = [folder / f"{table.column_names[1]}-{part}.parquet" for part in (1, 2)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(3 * number, 3), path)
    return paths


def test_the_rule(tmp_path: Path) -> None:
    assert all(is_paths(paths, or_column=True) for paths in ("a.csv", tmp_path, [tmp_path], (tmp_path, tmp_path)))
    assert is_paths(["a.csv", tmp_path])
    assert not is_paths(["yes", "no"], or_column=True)
    assert not any(is_paths(data, or_column=both) for data in ([], [1], SCORES, {"id": IDS}) for both in (False, True))


def test_several_files_are_one_table(tmp_path: Path) -> None:
    def compared(segments: Any) -> str:
        return str(fm.compare([SCORES, OTHER], by="language", segments=segments))

    segments = _halves(tmp_path, SEGMENTS)
    assert compared(segments) == compared([str(path) for path in segments]) == compared(SEGMENTS)
    labels = _halves(tmp_path, LABELS)
    assert fm.results.estimate(SCORES, labels=labels) == fm.results.estimate(SCORES, labels=LABELS)
    assert str(fm.validate(SCORES, labels)) == str(fm.validate(SCORES, LABELS))
    scores = _halves(tmp_path, SCORES)
    assert fm.results.estimate(list(map(str, scores)), labels=LABELS) == fm.results.estimate(SCORES, labels=LABELS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fm.compare([SCORES, OTHER], by="language", segments=5), "segments: expected a table, got a value of"),
        (lambda: fm.compare([SCORES, 5]), "run 2: expected a table, got a value of type int"),
        (lambda: fm.scoring.assert_scores(5, "token_f1 > 0"), "table: expected a table, got a value of type int"),
        (lambda: fm.scoring.assert_scores(["a.csv", "b.csv"], "token_f1 > 0"), "scores: expected one run, got 2 paths"),
        (lambda: fm.gate(SCORES, "token_f1 > 0", baseline=7), "baseline: expected a table, got a value of type int"),
        (lambda: fm.gate(SCORES, "token_f1 > 0", latest=True), "latest=True: expected the path of a folder of runs"),
        (lambda: fm.gate("nowhere", "token_f1 > 0", latest=True), "nowhere: cannot be read: No such file"),
        (lambda: fm.results.estimate(5, labels=[1.0]), "judged: expected a table of scores, got int"),
        (lambda: fm.results.estimate(SCORES, labels=5), "labels: expected a table of scores, got int"),
        (lambda: fm.results.estimate(SCORES, labels=["yes", "no"]), "6 rows of scores and 2 of labels cannot"),
        (lambda: fm.validate(SCORES, ["a"] * 6), "labels: expected numbers or booleans, got string"),
        (lambda: fm.judge_report(SCORES, labels=["yes"]), "run 1 has no judged column"),
        (lambda: fm.worst_rows(SCORES, "token_f1", answers=5), "answers: expected a table, got a value of type int"),
        (lambda: fm.logs.check_dataset(5), "table: expected a table, got a value of type int"),
        (
            lambda: fm.results.compare_rankings("a.run", QRELS),
            "rankings: expected a list of files, or a dict of names and",
        ),
        (
            lambda: fm.results.compare_rankings([QRELS, QRELS], QRELS),
            "rankings: expected a list of files, or a dict of names",
        ),
        (lambda: fm.results.compare_rankings(["a", "a"], QRELS), "rankings: the path 'a' occurs twice"),
        (lambda: fm.compare([SCORES, OTHER], on=["group"]), "on=['group']: expected a name"),
        (lambda: fm.compare([SCORES, OTHER], better="lower"), "better='lower': expected names with higher or lower"),
        (lambda: fm.gate(SCORES, "token_f1 > 0", cluster=5), "cluster=5: expected a name"),
        (lambda: fm.validate(SCORES, LABELS, metrics=[1]), "metrics=[1]: expected a name or a list of names"),
        (lambda: fm.worst_rows(SCORES, ["token_f1"]), "metric=['token_f1']: expected a name"),
        (lambda: fm.match(5, {}), "questions: expected a table, got a value of type int"),
    ],
)
def test_messages_name_the_argument(call: Any, message: str) -> None:
    with pytest.raises(FastmetricsError) as raised:
        call()
    assert str(raised.value).startswith(message)
