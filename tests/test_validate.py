"""Scores against labels: scipy and scikit-learn for the figures, a plain bootstrap for the intervals."""

from __future__ import annotations

import io
import json
import math
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats
from sklearn import metrics as sk
from typer.testing import CliRunner

from fastmetrics.commands.validate import validate as command
from fastmetrics.errors import ColumnError, FileFormatError, InputError, OptionError, UnknownNameError
from fastmetrics.kernels.stats.bootstrap import draw
from fastmetrics.results.read_table import read
from fastmetrics.results.validation import validate
from fastmetrics.stats.agreement import cohen_kappa, krippendorff_alpha
from fastmetrics.stats.association import associate

DATA = os.environ.get("FASTMETRICS_DATA")
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100).map(lambda x: round(x, 3)))


def by_scipy(function: object, x: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(x, y).statistic) if len(x) > 1 else math.nan  # type: ignore[operator]


def best_f1(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    found = [(sk.f1_score(y, x >= threshold, zero_division=0), threshold) for threshold in np.unique(x)]
    best = max(f1 for f1, _ in found)
    return best, max(threshold for f1, threshold in found if f1 >= best - 1e-12)


@given(st.lists(st.tuples(SCORES, st.integers(0, 3)), min_size=2, max_size=25))
@settings(max_examples=150, deadline=None)
def test_figures_equal_scipy_and_scikit_learn(rows: list[tuple[float, int]]) -> None:
    x, y = np.array([a for a, _ in rows]), np.array([float(b) for _, b in rows])
    found = associate(x, y, positive=2.0, resamples=1, threads=1)
    assert found.n == len(rows)
    assert found.pearson.value == pytest.approx(by_scipy(stats.pearsonr, x, y), abs=1e-9, nan_ok=True)
    assert found.spearman.value == pytest.approx(by_scipy(stats.spearmanr, x, y), abs=1e-12, nan_ok=True)
    assert found.kendall.value == pytest.approx(by_scipy(stats.kendalltau, x, y), abs=1e-12, nan_ok=True)
    good = y >= 2
    if good.all() or not good.any():
        assert math.isnan(found.auc.value)
    else:
        assert found.auc.value == pytest.approx(sk.roc_auc_score(good, x), abs=1e-12)
    if not good.any():
        assert math.isnan(found.f1.value)
        assert math.isnan(found.decision.threshold)
        return
    f1, threshold = best_f1(x, good)
    called = x >= threshold
    assert found.f1.value == pytest.approx(f1, abs=1e-12)
    assert found.decision.threshold == threshold
    assert found.decision.accuracy == pytest.approx(sk.accuracy_score(good, called))
    assert found.decision.precision == pytest.approx(sk.precision_score(good, called))
    assert found.decision.recall == pytest.approx(sk.recall_score(good, called))
    assert found.decision.kappa == pytest.approx(cohen_kappa(good, called), nan_ok=True)


def rows_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = np.round(generator.random(n), 2)
    return x, (generator.random(n) < 0.2 + 0.6 * x).astype(float)


def test_resampled_figures_equal_those_of_the_drawn_rows() -> None:
    x, y = rows_of(40)
    found = associate(x, y, positive=1, threshold=0.5, resamples=60, confidence=0.5, seed=3)
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    figures = []
    for number in range(1, 61):
        weights = np.empty(40)
        draw(np.uint64(3), number, weights)
        a, b = np.repeat(x, weights.astype(int)), np.repeat(y, weights.astype(int))
        assert len(a) == 40
        one = stats.pearsonr(a, b).statistic, stats.spearmanr(a, b).statistic, sk.roc_auc_score(b, a)
        figures.append((*one, sk.f1_score(b, a >= 0.5)))
    for place, name in enumerate(("pearson", "spearman", "auc", "f1")):
        low, high = np.quantile([row[place] for row in figures], [0.25, 0.75])
        assert (getattr(found, name).low, getattr(found, name).high) == pytest.approx((low, high), abs=1e-9)


def test_draws_are_uniform_and_independent() -> None:
    draws = np.empty((400, 30))
    for number, weights in enumerate(draws):
        draw(np.uint64(11), number, weights)
    assert (draws.sum(axis=1) == 30).all()
    assert stats.chisquare(draws.sum(axis=0)).pvalue > 0.001
    assert draws.var() == pytest.approx(29 / 30, rel=0.05)
    assert len({row.tobytes() for row in draws}) == 400


def test_kendall_interval_is_close_to_the_bootstrap() -> None:
    x, y = rows_of(150, 5)
    tau = associate(x, y, resamples=1).kendall
    generator = np.random.default_rng(0)
    picks = [generator.integers(0, 150, 150) for _ in range(600)]
    resampled = [stats.kendalltau(x[pick], y[pick]).statistic for pick in picks]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert (tau.low, tau.high) == pytest.approx((low, high), abs=0.04)


def test_threads_and_order_do_not_change_bits() -> None:
    x, y = rows_of(90, 1)
    first = associate(x, y, positive=1, resamples=200, seed=8, threads=1)
    mixed = np.random.default_rng(2).permutation(90)
    assert associate(x[mixed], y[mixed], positive=1, resamples=200, seed=8, threads=2) == first
    assert associate(x, y, positive=1, resamples=200, seed=9) != first


def test_intervals_contain_the_figure_and_narrow_with_more_rows() -> None:
    few, many = (associate(*rows_of(n, 3), positive=1, resamples=150) for n in (30, 240))
    for found in (few, many):
        for name in ("pearson", "spearman", "kendall", "auc", "f1"):
            estimate = getattr(found, name)
            assert estimate.low < estimate.value < estimate.high
    assert many.auc.high - many.auc.low < few.auc.high - few.auc.low


def test_constant_columns_are_undefined() -> None:
    for x, y in (([0.1, 0.1, 0.1], [0, 1, 1]), ([1e15, 1e15 + 1, 1e15], [1, 1, 1])):
        found = associate(x, y, positive=1, resamples=5)
        assert all(math.isnan(getattr(found, name).value) for name in ("pearson", "spearman", "kendall"))
    empty = associate([], [], positive=1, resamples=5)
    assert empty.n == 0
    assert math.isnan(empty.auc.value)
    assert math.isnan(empty.decision.threshold)
    graded = associate([1.0, 2.0, 3.0], [1, 2, 3], threshold=2.0, resamples=5)
    assert graded.pearson.value == pytest.approx(1.0)
    assert math.isnan(graded.auc.value)
    assert math.isnan(graded.f1.value)
    assert math.isnan(graded.decision.accuracy)


def test_invalid_options_and_columns_raise() -> None:
    with pytest.raises(OptionError, match="resamples=0"):
        associate([1.0], [1.0], resamples=0)
    with pytest.raises(OptionError, match="confidence=1"):
        associate([1.0], [1.0], confidence=1)
    with pytest.raises(InputError, match="of equal length"):
        associate([1.0], [1.0, 0.0])
    with pytest.raises(InputError, match="finite numbers"):
        associate([math.nan], [1.0])


SCORE_TABLE = pa.table(
    {"id": ["a", "b", "c", "d", "e"], "f1": [0.1, 0.9, None, 0.4, 0.3], "judge": [0.0, 1.0, 1.0, math.nan, 1.0]}
)
LABEL_TABLE = pa.table({"id": ["e", "d", "x", "a", "b", "c"], "correct": [None, True, True, False, True, False]})


def test_rows_are_matched_by_id_and_missing_ones_counted() -> None:
    found = validate(SCORE_TABLE.slice(0, 5), LABEL_TABLE, resamples=20)
    assert (found.joined_by, found.label, found.positive) == ("id", "correct", 1.0)
    assert (found.n_rows, found.n_no_label, found.n_only_scores, found.n_only_labels) == (5, 1, 0, 1)
    assert (found["f1"].n, found["f1"].n_no_score) == (3, 1)
    assert found["f1"].auc.value == 1.0
    assert found["f1"].decision.threshold == 0.4
    assert found["judge"].n == 3
    as_rater = found["judge"].agreement
    assert as_rater is not None
    assert as_rater.pairs[0].kappa == cohen_kappa([0, 1, 1], [0, 1, 0])
    assert found["f1"].agreement is None
    assert list(found) == ["f1", "judge"]
    assert len(found) == 2
    assert "5 rows paired by id; label 'correct'" in str(found)
    assert "1 rows only in the labels" in str(found)
    fewer = validate(SCORE_TABLE, LABEL_TABLE.slice(1), metrics=["judge"], resamples=20)
    assert (fewer.n_only_scores, fewer.n_no_label, list(fewer)) == (1, 0, ["judge"])


def test_ids_of_different_types_and_names() -> None:
    scores = {"f1": [0.1, 0.9, 0.5], "q": pa.array([3, 1, None])}
    labels = {"q": ["1", "2", "3", None], "correct": [1, 0, 0, 1]}
    found = validate(scores, labels, on="q", resamples=20)
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
    found = validate({"f1": [0.1, 0.5, 0.9, 0.4]}, labels, resamples=20)
    assert (found.joined_by, found.n_rows, found.n_no_label) == ("position", 4, 1)
    assert found["f1"].auc.value == 1.0


def test_several_raters_in_columns_or_lists() -> None:
    first, second = [1.0, 2.0, 4.0, None], [2.0, 2.0, 3.0, None]
    scores = {"f1": [0.1, 0.2, 0.9, 0.3]}
    columns = validate(scores, {"ann": first, "bob": second}, raters=["ann", "bob"], resamples=20)
    lists = validate(scores, {"grades": [[1, 2], [2, 2], [4, 3], None]}, resamples=20)
    for found in (columns, lists):
        assert found["f1"].n == 3
        assert found["f1"].pearson.value == pytest.approx(np.corrcoef([0.1, 0.2, 0.9], [1.5, 2, 3.5])[0, 1])
        assert found.raters is not None
        assert found.raters.alpha_interval == krippendorff_alpha([first, second], "interval")
        assert found.positive is None
        assert "graded" in str(found)
    assert "grades[0] × grades[1]" in str(lists)
    words = {"ann": ["yes", "no", "no", "no"], "bob": ["yes", "no", "yes", "no"], "truth": [1, 0, 1, 0]}
    told = validate(scores, words, raters=["ann", "bob"], label="truth", resamples=20)
    assert told.raters is not None
    assert told.raters.pairs[0].kappa == 0.5
    assert "ann × bob" in str(told)


def test_graded_labels_with_a_positive_grade_and_a_fixed_threshold() -> None:
    scores, labels = {"f1": [0.1, 0.5, 0.9, 0.4]}, [1, 3, 4, 2]
    found = validate(scores, labels, positive=3, thresholds={"f1": 0.45}, resamples=20)
    assert found["f1"].auc.value == 1.0
    assert found["f1"].decision.threshold == 0.45
    assert found["f1"].f1.value == 1.0
    assert validate(scores, [1, 2, 2, 1], resamples=5).positive == 2.0


def test_dictionary_json_arrow_and_tables() -> None:
    found = validate(SCORE_TABLE, LABEL_TABLE, resamples=20)
    fields = json.loads(found.to_json())
    assert fields["metrics"]["f1"]["auc"]["value"] == 1.0
    assert fields["metrics"]["f1"]["agreement"] is None
    assert fields["n_no_label"] == 1
    table = found.to_arrow()
    assert table["metric"].to_pylist() == ["f1", "judge"]
    assert table["auc"].to_pylist() == [1.0, found["judge"].auc.value]
    assert table["threshold"][0].as_py() == 0.4
    assert set(table.schema.names) > {"kendall_low", "pearson_high", "kappa", "n_no_score"}
    assert "<table>" in found._repr_html_()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    assert "judge × correct" in console.export_text()


def test_unmatched_labels_raise() -> None:
    scores = {"f1": [0.1, 0.5], "id": ["a", "b"]}
    with pytest.raises(ColumnError, match="2 rows of scores and 3 of labels cannot be matched by position"):
        validate(scores, [1, 0, 1])
    with pytest.raises(ColumnError, match="the labels have no column 'id'"):
        validate(scores, {"c": [1, 0]}, on="id")
    with pytest.raises(InputError, match="column 'id' of the labels: expected unique ids, but 'a' occurs twice"):
        validate(scores, {"id": ["a", "a"], "c": [1, 0]})
    with pytest.raises(ColumnError, match="column 'f1' of the scores holds double, not ids"):
        validate(scores, {"f1": [1, 0]}, on="f1")
    with pytest.raises(ColumnError, match="candidates: c, d"):
        validate(scores, {"c": [1, 0], "d": [1, 0]})
    with pytest.raises(ColumnError, match="candidates: none"):
        validate(scores, {"c": ["yes", "no"]})
    with pytest.raises(ColumnError, match="unknown column 'corect'; did you mean 'correct'"):
        validate(scores, {"correct": [1, 0]}, label="corect")
    with pytest.raises(ColumnError, match="column 'c' of the labels holds string"):
        validate(scores, {"c": ["yes", "no"]}, label="c")
    with pytest.raises(ColumnError, match="column 'c' of the labels holds string"):
        validate(scores, {"c": ["yes", "no"], "d": ["yes", "no"]}, raters=["c", "d"])
    with pytest.raises(UnknownNameError, match="unknown metric 'f2'; known: f1"):
        validate(scores, [1, 0], metrics=["f2"])
    with pytest.raises(UnknownNameError, match="unknown metric 'f2'"):
        validate(scores, [1, 0], thresholds={"f2": 1.0})


def test_validate_command(tmp_path: Path) -> None:
    scores, labels = tmp_path / "scores.parquet", tmp_path / "labels.csv"
    pq.write_table(SCORE_TABLE, scores)
    LABEL_TABLE.to_pandas().to_csv(labels, index=False)
    app = typer.Typer()
    app.command()(command)
    shown = CliRunner().invoke(app, [str(scores), str(labels), "--resamples", "20"])
    assert shown.exit_code == 0
    assert shown.stdout == str(validate(SCORE_TABLE, LABEL_TABLE, resamples=20)) + "\n"
    options = ["--metrics", "f1", "--json", "--on", "id", "--label", "correct", "--resamples", "20"]
    fields = json.loads(CliRunner().invoke(app, [str(scores), str(labels), *options]).stdout)
    assert list(fields["metrics"]) == ["f1"]


def test_unreadable_files_raise(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(FileFormatError, match=r"a\.xls: unknown format"):
        read(tmp_path / "a.xls")
    with pytest.raises(FileFormatError, match=r"a\.parquet: "):
        read(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"no Parquet")
    with pytest.raises(FileFormatError, match=r"b\.parquet: "):
        read(tmp_path / "b.parquet")


def test_lists_of_any_length_in_slices_and_chunks() -> None:
    grades = [[9, 9, 9, 9], [1.0], None, [], [2, None, 4], [5, 6]]
    column = pa.chunked_array(
        [pa.array(grades[:3], pa.list_(pa.float64())), pa.array(grades[3:], pa.list_(pa.float64()))]
    )
    flags = pa.array([[True], [True, True], [False, False], [False], [True, False], None], pa.large_list(pa.bool_()))
    scores = {"f1": [0.3, 0.1, 0.4, 0.4, 0.9]}
    found = validate(scores, pa.table({"grades": column}).slice(1), resamples=5)
    assert (found["f1"].n, found.n_no_label) == (3, 2)
    assert found["f1"].pearson.value == pytest.approx(np.corrcoef([0.3, 0.4, 0.9], [1, 3, 5.5])[0, 1])
    assert found.raters is not None
    assert found.raters.alpha_interval == krippendorff_alpha([[2, 5], [None, 6], [4, None]], "interval")
    mixed = validate(scores, pa.table({"flags": flags}).slice(1), positive=0.5, resamples=5)
    assert (mixed["f1"].n, mixed.n_no_label) == (4, 1)
    assert mixed["f1"].decision.threshold == 0.3


def test_rows_without_a_finite_score_are_excluded_and_counted() -> None:
    scores = [0.1, math.inf, 0.4, -math.inf, math.nan, 0.8]
    found = validate({"f1": scores}, [0, 1, 1, 0, 1, 1], resamples=5)["f1"]
    assert (found.n, found.n_no_score) == (3, 3)
    assert found.auc.value == 1.0


def test_infinite_label_raises() -> None:
    with pytest.raises(ColumnError, match="column 'label' of the labels, row 1: expected a finite label"):
        validate({"f1": [0.1, 0.2]}, [1.0, math.inf])


def test_id_column_is_not_a_label() -> None:
    assert validate({"f1": [0.1, 0.2]}, {"id": [1, 2], "c": [0, 1]}, resamples=5).label == "c"
    with pytest.raises(ColumnError, match="candidates: none"):
        validate({"f1": [0.1]}, {"c": [["yes"]]})


@pytest.mark.skipif(DATA is None, reason="FASTMETRICS_DATA is not set")
def test_published_scores_against_human_labels() -> None:
    table = pq.read_table(Path(str(DATA)) / "dev" / "mtrag_human_eval.parquet")
    names = [name for name in table.column_names if name.startswith("official_")]
    found = validate(table.select(["id", *names]), table.select(["id", "human_faithfulness"]), resamples=20)
    assert found.raters is not None
    frame = table.to_pandas()
    for name, metric in found.items():
        both = frame[[name, "human_faithfulness_mean"]].dropna()
        expected = stats.spearmanr(both[name], both["human_faithfulness_mean"]).statistic
        assert metric.spearman.value == pytest.approx(expected, abs=1e-9)
