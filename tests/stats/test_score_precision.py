"""Scores of different types and sizes: ties in the narrower type, tiny and huge numbers, constant shifts."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_equal_scores_of_a_narrower_type_are_ties(narrow):
    values = RNG.random(50).astype(narrow)
    exact = np.round(values.astype(np.float64), 2)
    runs = {"a": {"id": range(50), "m": exact.astype(narrow)}, "b": {"id": range(50), "m": exact}}
    for both in (runs, dict(reversed(runs.items()))):
        found = fm.compare(both, tests="t,fisher,wilcoxon")
        assert [(one.delta, one.ties, one.p) for one in found] == [(0.0, 50, 1.0)] * 3


def test_equal_ratings_of_a_narrower_type_agree():
    exact = np.array([0.7, 0.1, 0.3, 0.7, 0.2])
    narrow = exact.astype(np.float32)
    assert fm.stats.cohen_kappa(narrow, exact) == fm.stats.cohen_kappa(exact, narrow) == 1.0
    for level in ("nominal", "ordinal", "interval"):
        assert fm.stats.krippendorff_alpha({"a": narrow, "b": exact}, level=level) == 1.0
    assert fm.validate({"m": narrow}, {"label": exact})["m"].agreement.pairs[0].kappa.value == 1.0


@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_judge_and_people_agree_in_the_narrower_type(narrow):
    exact = np.array([0.7, 0.1, 0.3, 0.7, 0.2, 0.9])
    for scores, labels in ((exact.astype(narrow), exact), (exact, exact.astype(narrow))):
        judged = {"id": list(range(6)), "judge_x": scores, "judge_x_status": ["ok"] * 6}
        for people in (labels, pa.array([[one, one] for one in labels], pa.list_(pa.from_numpy_dtype(labels.dtype)))):
            table = {"id": list(range(6)), "human": people}
            found = fm.judge_report(judged, table, ranges={"judge_x": (0, 1)}, positive=0.7).axes[0].people
            figures = (found.accuracy, found.f1, found.kappa, found.kappa_quadratic, found.alpha_nominal)
            assert [figure.value for figure in figures] == [1.0] * 5
            powered = fm.judge_report(judged, table).axes[0].powered
            assert powered.judge_mean == powered.plain.value
    two = [
        {"id": list(range(6)), "judge_x": one, "judge_x_status": ["ok"] * 6} for one in (exact, exact.astype(narrow))
    ]
    assert fm.judge_report(two).pairs[0].kappa.value == 1.0


@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_question_means_and_gates_compare_in_the_narrower_type(narrow):
    ids = np.repeat(np.arange(30), 3)
    exact = np.round(RNG.random(90), 1)
    before, after = {"id": ids, "m": exact.astype(narrow)}, {"id": ids, "m": exact}
    for runs in ({"a": before, "b": after}, {"a": after, "b": before}):
        [found] = fm.compare(runs)
        assert (found.delta, found.ties, found.p) == (0.0, 30, 1.0)
        for rule in ("m.delta >= 0", "m.delta.point == 0", "m.drop <= 0"):
            assert fm.gate(runs["b"], rule, baseline=runs["a"], better={"m": "higher"}).passed, rule
    single = [{"id": np.arange(90), "m": one} for one in (exact.astype(narrow), exact)]
    for first, second in (single, single[::-1]):
        assert fm.gate(second, "m.delta.point == 0", baseline=first).passed


@pytest.mark.parametrize("scale", [1e-165, 1e155])
def test_differences_of_any_size_have_the_same_figures(scale):
    values = np.array([1.0, 3.0, -2.0, 5.0, 4.0, 0.5, 2.5, 1.5, -1.0, 3.5])
    plain, scaled = (
        fm.compare(
            {"a": {"id": range(10), "m": np.zeros(10)}, "b": {"id": range(10), "m": values * size}},
            tests="t,fisher",
            interval="t",
        )
        for size in (1.0, scale)
    )
    for one, other in zip(plain, scaled, strict=True):
        assert (other.p, other.d_z) == pytest.approx((one.p, one.d_z), rel=1e-9)
        bounds = (other.low / scale, other.high / scale, other.detectable / scale)
        assert bounds == pytest.approx((one.low, one.high, one.detectable), rel=1e-9)


def test_constant_shift_has_no_t_test():
    """0.2 − 0.1 and 0.4 − 0.3 differ by their rounding only."""
    first = np.array([0.1, 0.2, 0.3])
    for shift in (0.1, 0.0):
        found = fm.compare(
            {"a": {"id": range(3), "token_f1": first}, "b": {"id": range(3), "token_f1": first + shift}}, tests="t"
        )[0]
        assert math.isnan(found.d_z)
        assert math.isnan(found.detectable)
        assert found.interval == "worst_case"
        assert found.low < found.delta < found.high
        assert math.isnan(found.p) if shift else found.p == 1.0


@pytest.mark.parametrize("interval", ["auto", "t", "percentile"])
def test_summaries_do_not_depend_on_the_order_of_rows(interval):
    table = pa.table({"m": RNG.exponential(1, 60), "session": RNG.integers(0, 9, 60), "language": ["en", "ru"] * 30})
    turned = table.take(RNG.permutation(60))
    for cluster in (None, "session"):
        how = {"metrics": "m", "cluster": cluster, "interval": interval}
        one, other = (fm.results.summarize_by(some, by="language", **how) for some in (table, turned))
        assert [repr(row) for row in one] == [repr(row) for row in other]


def test_null_and_the_text_null_are_two_segments():
    values = {"id": [1, 2, 3, 4], "m": [0.1, 0.2, 0.3, 0.4], "language": [None, "null", "null", "en"]}
    found = fm.results.summarize_by(values, by="language", metrics="m")
    assert [(one.segment, one.n) for one in found[1:]] == [
        ("language=en", 1),
        ('language="null"', 2),
        ("language=null", 1),
    ]


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.float64(), pa.int64()])
def test_column_of_nulls_clusters_nothing(kind):
    table = pa.table({"id": range(9), "m": RNG.random(9), "s": pa.array([None] * 9, kind)})
    named = table.set_column(2, "s", pa.array([None] * 9, pa.string()))
    alone = fm.results.summarize_by(table, metrics="m")[0]
    clustered = fm.results.summarize_by(table, metrics="m", cluster="s")[0]
    assert (clustered.n_clusters, clustered.low) == (9, pytest.approx(alone.low))
    for runs in ([table, named], [named, table]):
        assert fm.compare(runs, metrics="m", cluster="s")[0].n_clusters == 9
        assert {one.segment for one in fm.compare(runs, metrics="m", by="s")} == {None, "s=null"}
