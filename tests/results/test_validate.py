"""Scores against labels: scipy and scikit-learn for the figures, directions, and how rows meet labels."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, UnknownNameError
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.results.summary import summarize
from fastmetrics.results.validate import validate
from fastmetrics.stats.association import associate
from fastmetrics.stats.promises import CutPromises
from fastmetrics.stats.raters import ALPHAS, KAPPAS, cohen_kappa, krippendorff_alpha
from tests.support.program import jsonl

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
def test_figures_equal_scipy_and_scikit_learn(rows: list[tuple[float, int]]) -> None:
    x, y = np.array([a for a, _ in rows]), np.array([float(b) for _, b in rows])
    found = associate(x, y, positive=2.0)
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


def test_kendall_interval_is_close_to_the_bootstrap() -> None:
    x, y = rows_of(150, 5)
    tau = associate(x, y).kendall
    generator = np.random.default_rng(0)
    picks = [generator.integers(0, 150, 150) for _ in range(600)]
    resampled = [stats.kendalltau(x[pick], y[pick]).statistic for pick in picks]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert (tau.low, tau.high) == pytest.approx((low, high), abs=0.04)


def test_order_does_not_change_bits() -> None:
    x, y = rows_of(90, 1)
    mixed = np.random.default_rng(2).permutation(90)
    assert associate(x[mixed], y[mixed], positive=1) == associate(x, y, positive=1)


def test_intervals_contain_the_figure_and_narrow_with_more_rows() -> None:
    few, many = (associate(*rows_of(n, 3), positive=1) for n in (30, 240))
    for found in (few, many):
        for name in ("pearson", "spearman", "kendall", "auc", "f1"):
            estimate = getattr(found, name)
            assert estimate.low < estimate.value < estimate.high
    assert many.auc.high - many.auc.low < few.auc.high - few.auc.low


def test_constant_columns_are_undefined() -> None:
    for x, y in (([0.1, 0.1, 0.1], [0, 1, 1]), ([1e15, 1e15 + 1, 1e15], [1, 1, 1])):
        found = associate(x, y, positive=1)
        assert all(math.isnan(getattr(found, name).value) for name in ("pearson", "spearman", "kendall"))
    empty = associate([], [], positive=1)
    assert empty.n == 0
    assert math.isnan(empty.auc.value)
    assert math.isnan(empty.decision.threshold)
    graded = associate([1.0, 2.0, 3.0], [1, 2, 3], threshold=2.0)
    assert graded.pearson.value == pytest.approx(1.0)
    assert math.isnan(graded.auc.value)
    assert math.isnan(graded.f1.value)
    assert math.isnan(graded.decision.accuracy)


def test_lists_of_any_length_in_slices_and_chunks() -> None:
    grades = [[9, 9, 9, 9], [1.0], None, [], [2, None, 4], [5, 6]]
    column = pa.chunked_array(
        [pa.array(grades[:3], pa.list_(pa.float64())), pa.array(grades[3:], pa.list_(pa.float64()))]
    )
    flags = pa.array([[True], [True, True], [False, False], [False], [True, False], None], pa.large_list(pa.bool_()))
    scores = {"f1": [0.3, 0.1, 0.4, 0.4, 0.9]}
    found = validate(scores, pa.table({"grades": column}).slice(1))
    assert (found["f1"].n, found.n_no_label) == (3, 2)
    assert found["f1"].pearson.value == pytest.approx(np.corrcoef([0.3, 0.4, 0.9], [1, 3, 5.5])[0, 1])
    assert found.raters is not None
    assert found.raters.alpha_interval.value == krippendorff_alpha([[2, 5], [None, 6], [4, None]], level="interval")
    mixed = validate(scores, pa.table({"flags": flags}).slice(1), positive=0.5)
    assert (mixed["f1"].n, mixed.n_no_label) == (4, 1)
    assert mixed["f1"].decision.threshold == 0.3


def test_rows_without_a_finite_score_are_excluded_and_counted() -> None:
    scores = [0.1, math.inf, 0.4, -math.inf, math.nan, 0.8]
    found = validate({"f1": scores}, [0, 1, 1, 0, 1, 1])["f1"]
    assert (found.n, found.n_no_score) == (3, 3)
    assert found.auc.value == 1.0


def test_published_scores_against_human_labels(data_folder) -> None:
    table = pq.read_table(data_folder / "dev" / "mtrag_human_eval.parquet")
    names = [name for name in table.column_names if name.startswith("official_")]
    found = validate(table.select(["id", *names]), table.select(["id", "human_faithfulness"]))
    assert found.raters is not None
    frame = table.to_pandas()
    for name, metric in found.items():
        both = frame[[name, "human_faithfulness_mean"]].dropna()
        expected = stats.spearmanr(both[name], both["human_faithfulness_mean"]).statistic
        assert metric.spearman.value == pytest.approx(expected, abs=1e-9)


def test_all_intervals_are_at_the_confidence():
    """Those of the metric, of its agreement with the label and of the raters: wider at a higher level."""
    rng = np.random.default_rng(7)
    labels = rng.integers(1, 4, 60).astype(float)
    table = {"id": range(60), "own": np.where(rng.random(60) < 0.7, labels, rng.integers(1, 4, 60))}
    people = {"id": range(60), "ann": labels, "bob": np.where(rng.random(60) < 0.8, labels, 1.0)}
    widths = []
    for confidence in (0.5, 0.95):
        validation = validate(table, people, label="ann", confidence=confidence)
        raters = validate(table, people, raters=["ann", "bob"], confidence=confidence).raters
        agreed = validation["own"].agreement
        intervals = [getattr(one.pairs[0], name) for one in (agreed, raters) for name in KAPPAS]
        intervals += [getattr(one, name) for one in (agreed, raters) for name in ALPHAS]
        intervals += [validation["own"].spearman]
        widths.append([interval.high - interval.low for interval in intervals])
    assert len(widths[0]) > 6
    assert all(narrow < wide for narrow, wide in zip(*widths, strict=True))


GOOD = [1, 1, 0, 1, 0, 0]
LOW = [0.0, 0.2, 0.9, 0.1, 0.1, 1.0]
HIGH = [1 - score for score in LOW]


@pytest.mark.parametrize("name", sorted({m.better: name for name, m in REGISTRY.items() if m.level == "row"}.values()))
def test_correct_metric_has_high_auc_in_either_direction(name: str) -> None:
    lower = REGISTRY[name].better == "lower"
    found = fm.validate({name: LOW if lower else HIGH}, GOOD)[name]
    assert (found.better, found.opposed) == (REGISTRY[name].better, lower)
    assert found.auc.value == pytest.approx(sk.roc_auc_score(GOOD, HIGH))
    assert found.pearson.value == pytest.approx(np.corrcoef(LOW if lower else HIGH, GOOD)[0, 1])
    called = [
        score <= found.decision.threshold if lower else score >= found.decision.threshold
        for score in (LOW if lower else HIGH)
    ]
    assert found.f1.value == pytest.approx(sk.f1_score(GOOD, called))


def test_metric_options_and_lower_is_better_labels() -> None:
    bad = [1 - good for good in GOOD]
    scores = {"hallucination(window=5)": LOW, "latency_ms": LOW, "token_f1": HIGH, "mine": LOW, "answer_words": LOW}
    found = fm.validate(scores, {"bad": bad}, better={"bad": "lower"})
    auc = {name: metric.auc.value for name, metric in found.items()}
    right = sk.roc_auc_score(bad, LOW)
    assert auc == pytest.approx(dict.fromkeys(scores, right))
    assert {name for name, metric in found.items() if metric.opposed} == {"token_f1"}
    assert "low scores count as positive, by the declared directions: token_f1" in str(found)
    good = fm.validate(scores, GOOD, better={"mine": "lower"})
    assert {name for name, metric in good.items() if metric.opposed} == {
        "hallucination(window=5)",
        "latency_ms",
        "mine",
    }
    assert good["answer_words"].better is None
    assert good["answer_words"].auc.value == pytest.approx(sk.roc_auc_score(GOOD, LOW))
    assert good["answer_words"].auc.value == pytest.approx(1 - good["mine"].auc.value)
    table = good.to_arrow().to_pydict()
    assert table["better"] == ["lower", "lower", "higher", "lower", None]
    assert table["opposed"] == [True, True, False, True, False]
    lines = str(good).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("mine")] == ["lower", "≤"]
    assert [line.split()[1] for line in lines if line.startswith("token_f1")] == ["higher", "≥"]


def test_fixed_threshold_follows_the_better_direction() -> None:
    found = fm.validate({"drift": [score / 5 for score in LOW]}, GOOD, thresholds={"drift": 0.02})["drift"]
    assert found.decision.threshold == 0.02
    assert found.decision.recall == sk.recall_score(GOOD, [score <= 0.1 for score in LOW])
    assert found.agreement is None


KINDS = {"passed": [True, False, None, True], "stars": [5, 1, 3, None], "fit": [0.875, 0.125, 0.5, 0.75]}
FORMS = {
    **{"dict": dict, "pandas": lambda columns: pd.DataFrame(columns).convert_dtypes()},
    **{"objects": lambda columns: pd.DataFrame(columns, dtype=object), "polars": pl.DataFrame, "lazy": pl.LazyFrame},
    **{"arrow": pa.table, "rows": lambda columns: pl.DataFrame(columns).to_dicts()},
    "batches": lambda columns: pa.table(columns).to_batches(max_chunksize=2),
    "narrow": lambda columns: pa.table({**columns, "stars": pa.array(columns["stars"], pa.uint8())}),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_integers_and_booleans_are_scores(form: str) -> None:
    table = FORMS[form]({"id": [4, 3, 2, 1], **KINDS, "why": ["a", "b", "c", "d"]})
    summary = fm.summarize(table)
    assert {name: (metric.mean, metric.n, metric.n_missing) for name, metric in summary.items()} == {
        "passed": (2 / 3, 3, 1),
        "stars": (3.0, 3, 1),
        "fit": (0.5625, 4, 0),
    }
    if form != "objects":
        assert summary.notes == []
    found = fm.validate(table, {"id": [1, 2, 3, 4], "label": [1, 0, 0, 1]})
    assert list(found) == list(KINDS)
    assert (found["passed"].n, found["passed"].auc.value) == (3, 1.0)
    assert found["passed"].agreement is not None
    assert (found["stars"].n, found["stars"].auc.value) == (3, 1.0)


def test_ids_labels_and_other_columns_are_not_scores() -> None:
    frame = pd.DataFrame({"QID": [1, 2], "rank": [2**60, 1], "label": [1, 0], "fit": [0.5, 0.1]}, index=[7, 8])
    assert list(fm.summarize(frame)) == ["rank", "label", "fit"]
    assert list(fm.validate(frame, frame, label="label")) == ["rank", "fit"]
    assert list(fm.validate(frame, frame, label="label", metrics="label,fit")) == ["label", "fit"]
    assert list(fm.validate(frame, frame, label="label", on="rank")) == ["fit"]
    scores = fm.score({"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "c"]}, "token_f1,corpus_bleu,bleu")
    kept = scores.append_column("year", pa.array([2024, 2025])).append_column("mine", pa.array([0.5, 1.0]))
    assert list(fm.summarize(kept)) == ["token_f1", "bleu", "mine"]


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_mixed_object_column_is_excluded_and_named(kind: type) -> None:
    rows = {"fit": [0.5, 1.0], "meta": [1, {"a": 2}], "label": [0, 1]}
    summary = fm.summarize(kind(rows))
    assert list(summary) == ["fit", "label"]
    assert summary.notes == ["left out: column 'meta': row 0 is int, row 1 is dict; expected one type"]
    found = fm.validate(kind(rows), [0, 1], metrics=["fit"])
    assert "left out: column 'meta'" in str(found)


def test_integer_scores_in_files(tmp_path: Path) -> None:
    for suffix in ("parquet", "jsonl"):
        path = tmp_path / f"scores.{suffix}"
        frame = pd.DataFrame({"id": [1, 2, 3], "passed": [True, False, True], "stars": [3, 4, 5]})
        frame.to_parquet(path) if suffix == "parquet" else frame.to_json(path, orient="records", lines=True)
        summary = summarize(path)
        assert {name: metric.mean for name, metric in summary.items()} == {"passed": 2 / 3, "stars": 4.0}


def test_rows_of_a_group_belong_together() -> None:
    generator = np.random.default_rng(0)
    sessions = [f"s{number:02}" for number in generator.integers(0, 15, 90)]
    scores = pa.table({"id": range(90), "fit": generator.random(90), "session": sessions})
    label = (generator.random(90) < 0.5).astype(float)
    order = generator.permutation(90)
    labels = pa.table({"id": np.arange(90)[order], "good": label[order]})
    groups = np.unique(sessions, return_inverse=True)[1]
    expected = associate(scores["fit"], label, positive=1, clusters=groups)
    found = fm.validate(scores, labels, cluster="session")
    assert (found["fit"].auc, found["fit"].kendall) == (expected.auc, expected.kendall)
    assert (found.cluster, found.n_clusters) == ("session", 15)
    assert "95 % intervals over 15 groups of 'session'" in str(found)
    assert found["fit"].auc != fm.validate(scores, labels)["fit"].auc
    for column in (
        sessions,
        pd.Categorical(sessions),
        pl.Series(sessions).cast(pl.Enum(sorted(set(sessions)))),
        groups,
    ):
        beside = pd.DataFrame({"id": range(90), "good": label}).assign(session=column).iloc[order]
        again = fm.validate(scores.drop_columns(["session"]), beside, label="good", cluster="session")
        assert again["fit"].auc == expected.auc
    turned = fm.validate(scores, labels, cluster="session", better={"fit": "lower"})["fit"]
    assert (turned.opposed, turned.auc.value) == (True, pytest.approx(1 - expected.auc.value))


def test_one_group_gives_no_interval() -> None:
    scores = {"id": ["a", "b", "c"], "fit": [0.1, 0.2, 0.3]}
    one = fm.validate(scores, [1, 0, 1])["fit"]
    alone = fm.validate({**scores, "of": [1, 1, 1]}, [1, 0, 1], cluster="of")["fit"]
    for name in ("pearson", "spearman", "kendall", "auc", "f1"):
        assert getattr(alone, name).value == getattr(one, name).value
        assert math.isnan(getattr(alone, name).low)
        assert math.isnan(getattr(alone, name).high)


ANSWERS = pd.DataFrame(
    {"answer": ["a b", "c", "a c", "d"], "reference": ["a b", "a b", "a b", "a b"], "label": [1, 0, 1, 0]},
    index=["p", "q", "r", "s"],
)


def test_frames_without_ids_are_matched_by_row_labels() -> None:
    scores = fm.score(ANSWERS, "token_f1")
    for labels in (ANSWERS[["label"]], ANSWERS["label"], pa.Table.from_pandas(ANSWERS[["label"]])):
        found = fm.validate(scores, labels)
        assert (found.joined_by, found["token_f1"].auc.value) == ("position", 1.0)
    for scored in (scores, scores.to_pandas()):
        for labels in (ANSWERS[["label"]].iloc[[2, 0, 3, 1]], ANSWERS["label"].sort_index(ascending=False)):
            found = fm.validate(scored, labels)
            assert (found.joined_by, found["token_f1"].auc.value) == ("row labels", 1.0)
    elsewhere = ANSWERS[["label"]].reset_index(drop=True)
    assert fm.validate(scores.to_pandas().reset_index(drop=True), elsewhere).joined_by == "position"
    assert fm.validate(scores, ANSWERS["label"].tolist()).joined_by == "position"
    twice = ANSWERS.set_axis(["p", "q", "q", "s"])
    assert fm.validate(fm.score(twice, "token_f1"), twice["label"]).joined_by == "position"


def test_ids_take_precedence_over_row_labels() -> None:
    frame = ANSWERS.assign(id=[1, 2, 3, 4])
    mixed = frame[["id", "label"]].set_axis(pd.Index([1, "a", 2, "b"], dtype=object))
    assert fm.validate(fm.score(frame, "token_f1"), mixed.iloc[::-1]).joined_by == "id"


def test_the_strongest_of_many_noise_metrics_is_not_beyond_chance() -> None:
    """Each interval of 95 % excludes 0.5 for some of 60 noise metrics; that of the strongest allows for the choice."""
    generator = np.random.default_rng(2)
    label, excluded, shown = np.repeat([0, 1], 40), 0, 0
    for _ in range(10):
        found = fm.validate({f"m{place}": generator.random(80) for place in range(60)}, label)
        excluded += any(one.auc.low > 0.5 or one.auc.high < 0.5 for one in found.values())
        assert found.best is not None
        shown += found.best.beyond_chance
        assert ("none of them is shown to rank better than chance" in str(found.notes)) == (
            not found.best.beyond_chance
        )
    assert (excluded >= 7, shown <= 2) == (True, True)
    assert fm.validate({"m": generator.random(80)}, label).best is None


def test_reversed_labels_are_said_to_be_so() -> None:
    generator = np.random.default_rng(4)
    bad = np.repeat([0, 1], 30)
    lengths = generator.random(60), 2 * generator.random(60)
    scores = {"token_f1": (1 - bad + lengths[0]) / 2, "rouge1_f1": (1 - bad + lengths[1]) / 3}
    found = fm.validate(scores, {"hallucinated": bad})
    assert found.looks_reversed
    assert found.notes[-1].startswith("labels look reversed: higher is better of token_f1, but it has AUC 0 [0, ")
    assert found.notes[-1].endswith("if low values of 'hallucinated' are good, state it (better: hallucinated=lower)")
    assert not fm.validate(scores, {"hallucinated": bad}, better={"hallucinated": "lower"}).looks_reversed
    graded = fm.validate(scores, {"faults": bad + generator.integers(0, 3, 60)})
    assert graded.looks_reversed
    assert graded.best is not None
    assert graded.best.measure == "spearman"


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
        *[[0, None, 1, 1], np.array([0, math.nan, 1, 1]), pa.array([False, None, True, True])],
        *[pa.chunked_array([[0, None], [1, 1]]), pd.Series([0, None, 1, 1]), pl.Series([0, None, 1, 1])],
        *[{"correct": [0, None, 1, 1]}, pl.DataFrame({"correct": [0, None, 1, 1], "who": ["a", "b", "c", "d"]})],
        [pa.table({"correct": [0, None]}), pa.table({"correct": [1, 1]})],
    ],
)
def test_labels_are_matched_by_position_in_any_form(labels: object) -> None:
    found = validate({"f1": [0.1, 0.5, 0.9, 0.4]}, labels)
    assert (found.joined_by, found.n_rows, found.n_no_label) == ("position", 4, 1)
    assert found["f1"].auc.value == 1.0


@pytest.mark.parametrize(
    ("ids", "on"),
    [
        ("nr", None),
        ("nr", "nr"),
        ("nr", "id"),
        ("id", None),
        ("id", "nr"),
        ("Query_ID", None),
        ("Query_ID", "Query_ID"),
    ],
)
def test_the_ids_of_scores_and_labels_may_have_other_names(tmp_path, ids, on):
    """The name that the run read, or either of both; ids are text, of which 007 is not 7."""
    rows = [{"nr": f"{n:03}", "answer": "yes" if n % 3 else "no", "reference": "yes"} for n in range(30)]
    fm.score(jsonl(tmp_path / "rows.jsonl", *rows), "exact_match", columns={"id": "nr"}, output=tmp_path / "s.parquet")
    labels = [f"{n:03},{int(n % 3 > 0)}" for n in range(0, 40, 2)][::-1]
    (tmp_path / "labels.csv").write_text("\n".join([f"{ids},good", *labels]))
    found = fm.validate(tmp_path / "s.parquet", tmp_path / "labels.csv", on=on)
    assert (found.joined_by, found["exact_match"].n, found.n_only_labels) == ("id", 15, 5)
    assert found["exact_match"].auc.value == 1.0
    judged = {"id": [1, 2], "judge_x": [1.0, 2.0], "judge_x_status": ["ok", "ok"]}
    assert fm.judge_report(judged, {"Query_ID": [2, 1, 3], "human": [2, 1, 5]}).axes[0].people.n == 2


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


def test_id_column_is_not_a_label() -> None:
    assert validate({"f1": [0.1, 0.2]}, {"id": [1, 2], "c": [0, 1]}).label == "c"


def test_the_columns_about_a_judges_calls_are_no_metrics():
    judged = {"row": [0, 1, 2, 3], "judge_x": [1.0, 2.0, 1.0, 3.0], "judge_x_repairs": [None] * 4}
    judged |= {f"judge_x_{what}": [5, 6, 7, 9] for what in ("prompt_tokens", "completion_tokens", "latency_ms")}
    assert list(validate(judged, [0, 1, 0, 1])) == ["judge_x"]
    assert list(validate(judged, [0, 1, 0, 1], metrics=["judge_x_latency_ms"])) == ["judge_x_latency_ms"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict, pa.table])
def test_labels_may_be_a_column_of_the_scores(kind):
    rows = {"id": [1, 1, 2, 3], "token_f1": [0.1, 0.4, 0.35, 0.8], "эксперт": ["нет", "нет", "да", "да"]}
    scores = kind(rows)
    apart = validate(kind({"token_f1": rows["token_f1"]}), [False, False, True, True])
    found = [validate(scores, "эксперт"), validate(scores, label="эксперт"), apart]
    assert [one["token_f1"].auc.value for one in found] == [0.75] * 3
    assert list(found[0]) == ["token_f1"]
    with pytest.raises(UnknownNameError, match="did you mean 'эксперт'"):
        validate(scores, "эксперд")
    with pytest.raises(OptionError, match="labels"):
        validate(scores)


def test_cuts_of_promises_are_columns_and_points():
    scores, labels = [n / 100 for n in range(100)], [n > 40 for n in range(100)]
    found = validate({"token_f1": scores}, labels, promises=CutPromises(precision=0.9))
    [row] = found.to_pandas().to_dict("records")
    threshold = found["token_f1"].thresholds["precision"]
    told = (row["precision_target"], row["precision_cut"], row["precision_observed"])
    assert told == (0.9, threshold.cut, threshold.observed)
    axes = found.plot(kind="precision-recall")
    at = [line.get_data() for line in axes.lines if line.get_marker() in ("o", "X")]
    cuts = found["token_f1"].decision.threshold, threshold.cut
    taken = [[n > 40 for n in range(100) if n / 100 >= cut] for cut in cuts]
    assert [(float(x[0]), float(y[0])) for x, y in at] == [(sum(some) / 59, sum(some) / len(some)) for some in taken]
