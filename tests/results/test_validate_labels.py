"""How ``fm.validate`` matches rows with labels: ids, positions, raters, and labels without a score."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from fastmetrics.cli.commands import load
from fastmetrics.results.validate import validate
from fastmetrics.stats.raters import cohen_kappa, krippendorff_alpha

SCORE_TABLE = pa.table(
    {"id": ["a", "b", "c", "d", "e"], "f1": [0.1, 0.9, None, 0.4, 0.3], "judge": [0.0, 1.0, 1.0, math.nan, 1.0]}
)


LABEL_TABLE = pa.table({"id": ["e", "d", "x", "a", "b", "c"], "correct": [None, True, True, False, True, False]})


def test_rows_are_matched_by_id_and_missing_ones_counted() -> None:
    found = validate(SCORE_TABLE.slice(0, 5), LABEL_TABLE)
    assert (found.joined_by, found.label, found.positive) == ("id", "correct", 1.0)
    assert (found.n_rows, found.n_no_label, found.n_only_scores, found.n_only_labels) == (5, 1, 0, 1)
    assert (found["f1"].n, found["f1"].n_no_score) == (3, 1)
    assert found["f1"].auc.value == 1.0
    assert found["f1"].decision.threshold == 0.4
    assert found["judge"].n == 3
    as_rater = found["judge"].agreement
    assert as_rater is not None
    assert as_rater.pairs[0].kappa.value == cohen_kappa([0, 1, 1], [0, 1, 0])
    assert found["f1"].agreement is None
    assert list(found) == ["f1", "judge"]
    assert len(found) == 2
    assert "5 rows paired by id; label 'correct'" in str(found)
    assert "1 rows only in the labels" in str(found)
    fewer = validate(SCORE_TABLE, LABEL_TABLE.slice(1), metrics=["judge"])
    assert (fewer.n_only_scores, fewer.n_no_label, list(fewer)) == (1, 0, ["judge"])


def test_ids_of_different_types_and_names() -> None:
    scores = {"f1": [0.1, 0.9, 0.5], "q": pa.array([3, 1, None])}
    labels = {"q": ["1", "2", "3", None], "correct": [1, 0, 0, 1]}
    found = validate(scores, labels, on="q")
    assert (found.n_rows, found.n_only_scores, found.n_only_labels) == (2, 1, 2)
    assert found["f1"].auc.value == 1.0


@pytest.mark.parametrize(
    "labels",
    [
        [0, None, 1, 1],
        np.array([0, math.nan, 1, 1]),
        pa.array([False, None, True, True]),
        pa.chunked_array([[0, None], [1, 1]]),
        pd.Series([0, None, 1, 1]),
        pl.Series([0, None, 1, 1]),
        {"correct": [0, None, 1, 1]},
        pl.DataFrame({"correct": [0, None, 1, 1], "who": ["a", "b", "c", "d"]}),
        [pa.table({"correct": [0, None]}), pa.table({"correct": [1, 1]})],
    ],
)
def test_labels_are_matched_by_position_in_any_form(labels: object) -> None:
    found = validate({"f1": [0.1, 0.5, 0.9, 0.4]}, labels)
    assert (found.joined_by, found.n_rows, found.n_no_label) == ("position", 4, 1)
    assert found["f1"].auc.value == 1.0


def test_several_raters_in_columns_or_lists() -> None:
    first, second = [1.0, 2.0, 4.0, None], [2.0, 2.0, 3.0, None]
    scores = {"f1": [0.1, 0.2, 0.9, 0.3]}
    columns = validate(scores, {"ann": first, "bob": second}, raters=["ann", "bob"])
    lists = validate(scores, {"grades": [[1, 2], [2, 2], [4, 3], None]})
    for found in (columns, lists):
        assert found["f1"].n == 3
        assert found["f1"].pearson.value == pytest.approx(np.corrcoef([0.1, 0.2, 0.9], [1.5, 2, 3.5])[0, 1])
        assert found.raters is not None
        assert found.raters.alpha_interval.value == krippendorff_alpha([first, second], level="interval")
        assert found.positive is None
        assert "graded" in str(found)
    assert "grades[0] × grades[1]" in str(lists)
    words = {"ann": ["yes", "no", "no", "no"], "bob": ["yes", "no", "yes", "no"], "truth": [1, 0, 1, 0]}
    told = validate(scores, words, raters=["ann", "bob"], label="truth")
    assert told.raters is not None
    assert told.raters.pairs[0].kappa.value == 0.5
    assert "ann × bob" in str(told)


def test_graded_labels_with_a_positive_grade_and_a_fixed_threshold() -> None:
    scores, labels = {"f1": [0.1, 0.5, 0.9, 0.4]}, [1, 3, 4, 2]
    found = validate(scores, labels, positive=3, thresholds={"f1": 0.45})
    assert found["f1"].auc.value == 1.0
    assert found["f1"].decision.threshold == 0.45
    assert found["f1"].f1.value == 1.0
    assert validate(scores, [1, 2, 2, 1]).positive is None  # two grades of a sample are no classes


def test_dictionary_json_arrow_and_tables() -> None:
    found = validate(SCORE_TABLE, LABEL_TABLE)
    table = found.to_arrow()
    assert table["metric"].to_pylist() == ["f1", "judge"]
    assert table["auc"].to_pylist() == [1.0, found["judge"].auc.value]
    assert table["threshold"][0].as_py() == 0.4
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    assert "judge × correct" in console.export_text()


def test_validate_command(tmp_path: Path) -> None:
    scores, labels = tmp_path / "scores.parquet", tmp_path / "labels.csv"
    pq.write_table(SCORE_TABLE, scores)
    LABEL_TABLE.to_pandas().to_csv(labels, index=False)
    app = typer.Typer()
    app.command()(load("validate"))
    shown = CliRunner().invoke(app, [str(scores), str(labels)])
    assert shown.exit_code == 0
    assert shown.stdout == str(validate(SCORE_TABLE, LABEL_TABLE)) + "\n"
    options = ["--metrics", "f1", "--json", "--on", "id", "--label", "correct"]
    fields = json.loads(CliRunner().invoke(app, [str(scores), str(labels), *options]).stdout)
    assert list(fields["metrics"]) == ["f1"]


def test_id_column_is_not_a_label() -> None:
    assert validate({"f1": [0.1, 0.2]}, {"id": [1, 2], "c": [0, 1]}).label == "c"


def test_the_columns_about_a_judges_calls_are_no_metrics():
    judged = {"row": [0, 1, 2, 3], "judge_x": [1.0, 2.0, 1.0, 3.0], "judge_x_repairs": [None] * 4}
    judged |= {f"judge_x_{what}": [5, 6, 7, 9] for what in ("prompt_tokens", "completion_tokens", "latency_ms")}
    assert list(validate(judged, [0, 1, 0, 1])) == ["judge_x"]
    assert list(validate(judged, [0, 1, 0, 1], metrics=["judge_x_latency_ms"])) == ["judge_x_latency_ms"]
