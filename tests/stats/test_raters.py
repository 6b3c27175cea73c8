"""Raters and judges: agreement, consistency, decisions, contests, and how often their intervals hold."""

from __future__ import annotations

import collections
import itertools
import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

import fastmetrics as fm
from fastmetrics.stats.estimates import Estimate, Sample
from fastmetrics.stats.judge_quality import Consistency, judge_latency, status_counts
from fastmetrics.stats.mean_interval import f1_share, mean_interval, share
from fastmetrics.stats.raters import agreement, cohen_kappa, krippendorff_alpha
from tests.reference.agreement import krippendorff_alpha as plain

N = None
PUBLISHED = [  # four observers, twelve units: Krippendorff 2011, section D
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_published_alpha_value(level: str, published: float) -> None:
    assert round(krippendorff_alpha(PUBLISHED, level=level), 3) == published
    assert krippendorff_alpha(PUBLISHED, level=level) == pytest.approx(plain(PUBLISHED, level), rel=1e-12)


RATINGS = st.integers(1, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([-2.0, 0.0, 1.0, 1.5, 7.0])), min_size=raters, max_size=raters),
        max_size=12,
    ).map(lambda units: [list(column) for column in zip(*units, strict=True)] or [[]] * raters)
)


@given(RATINGS, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_equals_the_coincidence_matrix_definition(ratings: list[list[float | None]], level: str) -> None:
    expected = plain(ratings, level)
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert getattr(agreement(dict(enumerate(ratings))), f"alpha_{level}").value == pytest.approx(
        expected, abs=1e-9, nan_ok=True
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30))
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_equals_scikit_learn(weights: str, pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = cohen_kappa(first, second, weights=weights)
    if len(set(first + second)) < 2:
        assert math.isnan(found)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = None if weights == "none" else weights
        expected = cohen_kappa_score(first, second, labels=range(5), weights=name)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_kappa_uses_units_rated_by_both() -> None:
    assert cohen_kappa([1, 0, None, 1.0], [1, 0, 1, math.nan]) == 1.0
    assert math.isnan(cohen_kappa([], []))
    assert cohen_kappa(["good", "bad", "good", "bad"], ["good", "bad", "bad", "bad"]) == 0.5


@pytest.mark.parametrize(
    "column",
    [
        *[np.array([True, False, True]), pd.Series([True, False, True]), pl.Series([1, 0, 1])],
        *[pa.chunked_array([[1, 0], [1]]), pa.array(["b", "a", "b"]).dictionary_encode()],
        pa.array(["b", "a", "b"], pa.large_string()),
    ],
)
def test_ratings_of_every_type_are_accepted(column: object) -> None:
    assert krippendorff_alpha([column, column]) == 1.0
    assert cohen_kappa(column, column) == 1.0


ANN, BOB, CAT = [1, 2, 3, None, 4], [1, 2, 2, 3, 4], [None, None, None, 1, 4]
NAMES = {"ann": ANN, "bob": BOB, "cat": CAT}
LONG = [
    {"unit": unit, "rater": name, "rating": rating}
    for name, ratings in NAMES.items()
    for unit, rating in enumerate(ratings)
    if rating is not None
]

TABLES = {
    **{"dict": dict(NAMES), "dict with ids": {"ID": [7, 8, 9, 10, 11], **NAMES}, "pandas": pd.DataFrame(NAMES)},
    "pandas with an index": pd.DataFrame({"qid": [1, 2, 3, 4, 5], **NAMES}, index=[9, 8, 7, 6, 5]),
    "pandas nullable": pd.DataFrame(NAMES).convert_dtypes(),
    "pandas long": pd.DataFrame(LONG).pivot(index="unit", columns="rater", values="rating"),
    **{"polars": pl.DataFrame({"query_id": ["a", "b", "c", "d", "e"], **NAMES}), "polars lazy": pl.LazyFrame(NAMES)},
    "polars long": pl.DataFrame(LONG).pivot("rater", index="unit", values="rating").drop("unit"),
    "arrow": pa.table(NAMES),
    "arrow of pandas": pa.Table.from_pandas(pd.DataFrame(NAMES, index=[0.5, 1.5, 2.5, 3.5, 4.5])),
    **{"record batch": pa.RecordBatch.from_pydict(NAMES), "batches": pa.table(NAMES).to_batches(max_chunksize=2)},
    **{"rows": pl.DataFrame(NAMES).to_dicts(), "columns": [ANN, BOB, CAT], "array": np.array([ANN, BOB, CAT], float)},
    "chunks": [pa.chunked_array([column[:2], column[2:]], pa.int64()) for column in (ANN, BOB, CAT)],
}


@pytest.mark.parametrize("form", sorted(TABLES))
def test_raters_are_the_columns_of_a_table(form):
    found = fm.stats.agreement(TABLES[form])
    for level in ("nominal", "ordinal", "interval"):
        expected = plain([ANN, BOB, CAT], level)
        assert fm.stats.krippendorff_alpha(TABLES[form], level=level) == pytest.approx(expected, abs=1e-12)
        assert getattr(found, f"alpha_{level}").value == pytest.approx(expected, abs=1e-12)
    assert (found.n_units, [pair.n for pair in found.pairs]) == (5, [4, 1, 2])
    named = [(pair.first, pair.second) for pair in found.pairs]
    by_place = [f"ratings[{place}]" for place in range(3)]
    assert named == list(itertools.combinations(NAMES if form not in ("columns", "array", "chunks") else by_place, 2))
    assert found.pairs[0].kappa_linear.value == fm.stats.cohen_kappa(ANN, BOB, weights="linear")


def test_raters_can_be_selected_by_name():
    table = {**NAMES, "meta": [{"a": 1}, 1, "x", None, object()], "note": ["a", "b", "c", "d", "e"]}
    assert fm.stats.krippendorff_alpha(table, raters="ann,bob") == fm.stats.krippendorff_alpha([ANN, BOB])
    assert [pair.second for pair in fm.stats.agreement(pd.DataFrame(table), raters=["ann", "cat"]).pairs] == ["cat"]


SCALE = ["poor", "fair", "good", "superb"]
WORDS = st.lists(st.tuples(st.sampled_from(SCALE), st.sampled_from([*SCALE, None])), min_size=1, max_size=20)


@given(WORDS, st.permutations(SCALE))
def test_word_ratings_use_the_given_order(pairs, order):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    both = [(a, b) for a, b in pairs if b is not None]
    for weights in ("none", "linear", "quadratic"):
        found = fm.stats.cohen_kappa(first, second, weights=weights, order=order)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = {a for pair in both for a in pair}
            name = None if weights == "none" else weights
            expected = (
                math.nan if len(kinds) < 2 else cohen_kappa_score(*zip(*both, strict=True), labels=order, weights=name)
            )
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    found = fm.stats.agreement({"a": first, "b": second}, order=order)
    assert found.pairs[0].kappa_quadratic.value == pytest.approx(expected, abs=1e-12, nan_ok=True)
    places = [[None if word is None else order.index(word) for word in column] for column in (first, second)]
    assert found.alpha_ordinal.value == pytest.approx(plain(places, "ordinal"), abs=1e-9, nan_ok=True)
    assert math.isnan(found.alpha_interval.value)


def test_weighted_kappa_of_words_needs_an_order():
    first, second = ["good", "poor", "fair"], ["good", "fair", "fair"]
    found = fm.stats.agreement({"a": first, "b": second})
    assert found.pairs[0].kappa.value == fm.stats.cohen_kappa(first, second)
    unknown = [found.pairs[0].kappa_linear.value, found.pairs[0].kappa_quadratic.value]
    unknown += [found.alpha_ordinal.value, found.alpha_interval.value]
    assert all(map(math.isnan, unknown))
    assert not math.isnan(found.alpha_nominal.value)


def test_ordered_categoricals_use_their_own_order():
    first, second = ["good", "poor", "fair", "poor"], ["good", "fair", "fair", "superb"]
    expected = fm.stats.cohen_kappa(first, second, weights="linear", order=SCALE)
    pandas = pd.DataFrame({"a": first, "b": second}, dtype=pd.CategoricalDtype(SCALE, ordered=True))
    polars = pl.DataFrame({"a": first, "b": second}, schema={"a": pl.Enum(SCALE), "b": pl.Enum(SCALE)})
    for table in (pandas, polars, polars.to_arrow()):
        assert fm.stats.agreement(table).pairs[0].kappa_linear.value == expected
        assert fm.stats.cohen_kappa(table["a"], table["b"], weights="linear") == expected
    assert fm.stats.agreement(pandas, order=SCALE[::-1]).pairs[0].kappa_linear.value == pytest.approx(expected)
    unlike = pandas.assign(b=pandas["b"].cat.reorder_categories(SCALE[::-1]))
    loose = pandas.assign(b=pd.Categorical(second))
    for table in (
        unlike,
        loose,
        pl.DataFrame({"a": first, "b": second}, schema={"a": pl.Categorical, "b": pl.Categorical}),
    ):
        assert math.isnan(fm.stats.agreement(table).pairs[0].kappa_linear.value)
    numbers = pd.DataFrame({"a": [3, 1, 2], "b": [3, 2, 2]}, dtype=pd.CategoricalDtype([2, 1, 3], ordered=True))
    assert fm.stats.agreement(numbers).pairs[0].kappa_linear.value == fm.stats.cohen_kappa(
        [3, 1, 2], [3, 2, 2], weights="linear", order=[2, 1, 3]
    )


def test_numeric_ratings_use_the_given_order():
    first, second = [1, 2, 5, 5], [1, 5, 5, 2]
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert fm.stats.cohen_kappa(first, second, weights="quadratic", order=[1, 2, 3, 4, 5]) == pytest.approx(expected)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_a_grade_that_nobody_gave_keeps_its_place(weights):
    """Whole numbers are their own scale, and so are their halves, tenths and any other unit."""
    first, second = np.array([1, 2, 4, 5, 5]), np.array([2, 2, 5, 5, 4])
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights=weights)
    for unit in (1, 0.5, 0.1, 1e-300, 1e300):
        assert fm.stats.cohen_kappa(unit * first, unit * second, weights=weights) == pytest.approx(expected)
    found = fm.stats.agreement([first, second]).pairs[0]
    assert {"linear": found.kappa_linear, "quadratic": found.kappa_quadratic}[weights].value == pytest.approx(expected)
    validated = fm.validate({"my_grade": first}, second)["my_grade"].agreement
    assert validated is None or validated.pairs[0].kappa_linear.value == found.kappa_linear


NAN = math.nan


@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("span", [(1, 5), (0, 1), (-2, 2), (0, 100)])
def test_consistency_is_the_share_of_close_pairs_on_any_range(repeats, span):
    rng = np.random.default_rng(repeats)
    steps = rng.integers(0, 9, (60, repeats)) / 8  # the tolerance is one step
    steps[rng.random(steps.shape) < 0.1] = NAN
    found = fm.stats.judge_consistency(span[0] + steps * (span[1] - span[0]), range=span)
    shares = []
    for i, j in itertools.combinations(range(repeats), 2):
        near = [abs(a - b) <= 0.125 for a, b in steps[:, [i, j]] if not math.isnan(a + b)]
        shares.append(sum(near) / len(near))
    assert found.share.value == pytest.approx(sum(shares) / len(shares), rel=1e-12)
    assert found.tolerance == pytest.approx((span[1] - span[0]) / 8)
    several = [row[~np.isnan(row)] for row in steps if (~np.isnan(row)).sum() >= 2]
    deviation = np.mean([row.std(ddof=1) for row in several]) * (span[1] - span[0])
    assert (found.n, found.deviation) == (len(several), pytest.approx(deviation))
    assert found.alpha == pytest.approx(fm.stats.krippendorff_alpha(steps.T, level="interval"))


def test_consistency_at_the_tolerance_counts_though_decimals_round():
    assert fm.stats.judge_consistency([[0.7, 0.575]], range=(0, 1)).share.value == 1.0
    assert fm.stats.judge_consistency([[0.7, 0.574]], range=(0, 1)).share.value == 0.0
    assert fm.stats.judge_consistency([[3, 4]], tolerance=1).share.value == 1.0


@pytest.mark.parametrize("rows", [[], [[]], [[1]], [[1, None], [None, 2]]])
def test_without_two_scores_consistency_is_undefined(rows):
    found = fm.stats.judge_consistency(rows)
    assert (math.isnan(found.share.value), math.isnan(found.deviation), found.n) == (True, True, 0)
    assert found.reading == "undefined"


@pytest.mark.parametrize(
    ("share", "reading"), [(1.0, "reliable"), (0.9, "fair"), (0.7, "fair"), (0.69, "unstable"), (0.0, "unstable")]
)
def test_readings(share, reading):
    assert Consistency(Estimate(share, NAN, NAN), 0.0, 0.0, 1, 0.5).reading == reading


def test_rows_that_were_not_asked_about_are_no_errors():
    statuses = [
        "ok",
        "unparsed",
        "truncated",
        "refused",
        "http",
        "timeout",
        "budget",
        "missing",
        "too_long",
        "identical",
        None,
    ]
    assert fm.stats.judge_error_rate(statuses) == 5 / 6
    assert math.isnan(fm.stats.judge_error_rate(["missing", None]))
    assert status_counts(["ok", None, "http", "ok"]) == {"http": 1, "none": 1, "ok": 2}


def test_latency_is_that_of_numpy():
    values = np.random.default_rng(0).gamma(2, 100, 333)
    found = judge_latency([*values, None, NAN])
    assert (found.n, found.mean) == (333, pytest.approx(values.mean()))
    assert list(found.percentiles.values()) == np.percentile(values, [50, 90, 95, 99]).tolist()
    assert math.isnan(judge_latency([]).mean)
    assert math.isnan(judge_latency([]).percentiles["p99"])
    rows = [[*values[:3], None], None, values[3:].tolist()]
    for lists in (rows, pa.array(rows), pa.chunked_array([rows[:1], rows[1:]]), [values[:3], values[3:]]):
        assert judge_latency(lists) == judge_latency(values)
    assert judge_latency([[], [None], None]).n == 0


def test_decisions_are_those_of_scikit_learn_and_their_intervals_exact():
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.6
    shown = labels ^ (rng.random(200) < 0.2)
    found = fm.stats.judge_decisions(shown, labels, latency_ms=[1, 2, 3])
    tp, fp, fn = int((shown & labels).sum()), int((shown & ~labels).sum()), int((~shown & labels).sum())
    assert (found.tp, found.fp, found.fn, found.tn) == (tp, fp, fn, 200 - tp - fp - fn)
    assert found.accuracy.value == (shown == labels).mean()
    assert (found.precision.value, found.recall.value) == (tp / (tp + fp), tp / (tp + fn))
    precision, recall = found.precision.value, found.recall.value
    assert found.f1.value == pytest.approx(2 * precision * recall / (precision + recall))
    for one in (found.accuracy, found.precision, found.recall, found.f1):
        assert 0.02 < one.high - one.low < 0.25
        assert one.low < one.value < one.high
    order = rng.permutation(200)
    again = fm.stats.judge_decisions(shown[order], labels[order], latency_ms=[1, 2, 3])
    assert again == found
    narrow = fm.stats.judge_decisions(shown, labels, confidence=0.8)
    for one, n in ((narrow.precision, tp + fp), (narrow.recall, tp + fn)):
        assert (one.low, one.high) == pytest.approx(proportion_confint(tp, n, 0.2, "beta"))


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 7), (81, 263), (1, 1)])
def test_shares_have_exact_intervals(hits, n):
    found = share(hits, n)
    assert (found.low, found.high) == pytest.approx(proportion_confint(hits, n, method="beta"), abs=1e-12)
    f1 = f1_share(hits, n - hits)
    assert f1.value == pytest.approx(2 * hits / (n + hits))
    assert (f1.low, f1.high) == pytest.approx(tuple(2 * one / (1 + one) for one in (found.low, found.high)))


@pytest.mark.parametrize(
    ("shown", "labels"), [([], []), ([0, 0], [0, 0]), ([0, 0], [1, 1]), ([1, 1], [0, 0]), ([None], [1])]
)
def test_nothing_by_nothing_is_zero(shown, labels):
    found = fm.stats.judge_decisions(shown, labels)
    assert (found.precision.value, found.recall.value, found.f1.value) == (0.0, 0.0, 0.0)
    assert found.n_left_out == sum(one is None for one in shown)


WINS = [[0, 14, 18, 17], [8, 0, 12, 12], [8, 5, 0, 11], [1, 9, 5, 0]]
CHOIX = [0.8408199107201232, 0.1260804478787562, -0.20730370749674107, -0.7595966511021383]
"""What ``ilsr_pairwise`` of choix 0.4.1 makes of these wins."""


def contests(wins):
    return [(f"s{i}", f"s{j}", f"s{i}") for i, row in enumerate(wins) for j, n in enumerate(row) for _ in range(n)]


def test_counts_of_wins_and_flips():
    first = ["A", "A", "B", "tie", None, "A", None]
    second = ["A", "B", "B", "A", "A", None, None]
    found = fm.stats.pairwise(first, second)
    assert (found.n, found.n_one_order, found.n_none) == (4, 2, 1)
    assert found.win_rate.value == (2 + 1 + 0 + 1.5) / 2 / 4
    assert found.flips.value == 2 / 4
    assert found.first_place.value == (3 + 2) / (4 + 5)
    other = fm.stats.pairwise(second, first, a="B", b="A")
    assert other.win_rate.value == pytest.approx(1 - found.win_rate.value)
    assert other.first_place == found.first_place


def test_position_biased_judge_always_flips():
    found = fm.stats.pairwise(["A"] * 9, ["B"] * 9)
    assert (found.win_rate.value, found.flips.value, found.first_place.value) == (0.5, 1.0, 1.0)
    assert found.flips.low > 0.6


def test_repeats_of_a_row_are_one_row():
    first, second = ["A", "B", "tie"] * 30, ["A", "A", "tie"] * 30
    rows = [row for row in range(30) for _ in range(3)]
    repeated = fm.stats.pairwise(first, second, rows=rows)
    assert (repeated.n, repeated.n_one_order, repeated.n_none) == (30, 0, 0)
    assert (repeated.win_rate.value, repeated.flips.value) == pytest.approx((2 / 3, 1 / 3))
    assert (
        repeated.flips.note == "wider than its level needs: all values agree"
    )  # every row has the same share of flips
    assert fm.stats.pairwise(first, second, rows=list(range(90))) == fm.stats.pairwise(first, second)
    partial = fm.stats.pairwise(["A", None, "A", None], ["A", None, None, None], rows=[1, 1, 2, 3])
    assert (partial.n, partial.n_one_order, partial.n_none) == (1, 1, 1)


@pytest.mark.parametrize("kind", [list, np.array, pa.array, pd.Series, lambda marks: pa.chunked_array([marks])])
def test_identical_answers_count_in_the_win_rate_only(kind):
    first, second = ["A", "A", "tie", "tie", "B"], ["A", "B", "tie", "tie", None]
    found = fm.stats.pairwise(first, second, identical=kind([False, False, False, True, False]))
    assert (found.n, found.n_identical, found.n_one_order) == (4, 1, 1)
    assert found.win_rate == fm.stats.pairwise(first, second).win_rate
    assert found.win_rate.value == 2.5 / 4
    wins = mean_interval(Sample.of(np.array([1.0, 0.5, 0.5, 0.5]), bounds=(0.0, 1.0)))
    assert (found.win_rate.low, found.win_rate.high) == (wins.low, wins.high)
    assert (found.flips.value, found.flips.interval) == (1 / 3, "exact")
    assert found.first_place == fm.stats.pairwise(first, second).first_place


def test_only_identical_answers_leave_no_flips():
    found = fm.stats.pairwise(["tie"] * 4, ["tie"] * 4, rows=[1, 1, 2, 2], identical=[True, True, True, None])
    assert (found.n, found.n_identical, found.win_rate.value) == (2, 2, 0.5)
    assert math.isnan(found.flips.value)
    assert fm.stats.pairwise(["A"], ["B"], identical=[True]).first_place.value != 1.0


def test_empty_input_is_undefined_and_invalid_verdicts_raise():
    found = fm.stats.pairwise([None], ["A"])
    assert (found.n, math.isnan(found.win_rate.value), found.n_one_order) == (0, True, 1)


def test_strengths_equal_choix():
    found = fm.stats.bradley_terry(contests(WINS))
    assert [found[f"s{i}"].value for i in range(4)] == pytest.approx(CHOIX, abs=1e-12)
    order = np.random.default_rng(0).permutation(sum(map(sum, WINS)))
    assert fm.stats.bradley_terry([contests(WINS)[i] for i in order]) == found


@pytest.mark.parametrize("seed", range(5))
def test_strengths_with_ties_maximise_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    systems = 3 + seed
    played = [(f"s{i}", f"s{j}", rng.choice([f"s{i}", f"s{j}", "tie"])) for i in range(systems) for j in range(i)] * 2
    played += [(f"s{i}", f"s{(i + 1) % systems}", f"s{i}") for i in range(systems)]

    def loss(s):
        total = 0.0
        for a, b, winner in played:
            margin = s[int(a[1:])] - s[int(b[1:])]
            share = 0.5 if winner == "tie" else float(winner == a)
            total += math.log1p(math.exp(-margin)) * share + math.log1p(math.exp(margin)) * (1 - share)
        return total

    best = minimize(loss, np.zeros(systems), tol=1e-12).x
    found = fm.stats.bradley_terry(played)
    assert [found[f"s{i}"].value for i in range(systems)] == pytest.approx(best - best.mean(), abs=1e-4)
    assert sum(one.value for one in found.values()) == pytest.approx(0, abs=1e-12)


def test_intervals_contain_the_strengths():
    rng, true, trials, held = np.random.default_rng(8), np.array([0.8, 0.0, -0.8]), 400, 0
    for _ in range(trials):
        wins = np.zeros((3, 3), int)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            wins[i, j] = rng.binomial(80, 1 / (1 + math.exp(true[j] - true[i])))
            wins[j, i] = 80 - wins[i, j]
        found = fm.stats.bradley_terry(contests(wins))
        held += sum(found[f"s{i}"].low <= true[i] <= found[f"s{i}"].high for i in range(3))
    assert held / trials / 3 == pytest.approx(0.95, abs=0.02)


def test_published_position_bias_of_judges(data_folder):
    """Each judge's published count of equal verdicts, as far as the rows at hand, a part of all, can meet it."""
    published = json.loads((data_folder / "oracles/llmbar/statistics.json").read_text())
    columns = ["dataset", "judge", "winner_order1", "winner_order2"]
    judged = collections.defaultdict(list)
    for row in pq.read_table(data_folder / "dev/llmbar_judgements.parquet", columns=columns).to_pylist():
        judged[f"{row['dataset']}|{row['judge']}"].append((row["winner_order1"], row["winner_order2"]))
    mine, expected, rows = 0, 0.0, 0
    for name, pairs in judged.items():
        equal, of = (int(count) for count in published[name]["equal"].split("=")[0].split("/"))
        found = fm.stats.pairwise(*zip(*pairs, strict=True), a="1", b="2")
        same = found.n - round(found.flips.value * found.n if found.n else 0)
        same += found.n_none  # the publication counts two orders without a verdict as equal
        assert equal - (of - len(pairs)) <= same <= equal, name
        mine, expected, rows = mine + same, expected + equal / of * len(pairs), rows + len(pairs)
    assert len(judged) == len(published)
    assert mine / rows == pytest.approx(expected / rows, abs=0.01)


RIGHT = 0.85
"""The share of units in which each of two raters sees the truth."""


@pytest.fixture
def trials(full):
    return 250 if full else 80


def kappa(share):
    """κ of two raters who each err by themselves; α is the same for so many units, since their habits are equal."""
    ones = share * RIGHT + (1 - share) * (1 - RIGHT)
    agree, chance = RIGHT**2 + (1 - RIGHT) ** 2, ones**2 + (1 - ones) ** 2
    return (agree - chance) / (1 - chance)


@pytest.mark.parametrize("n", [20, 60, 200])
def test_alpha_holds_at_least_its_level(n, trials):
    """Over 1,500 trials, 98.5 % of the intervals of 20 units contain α, and 96.3 % of those of 200."""
    rng, held = np.random.default_rng(n), 0
    for _ in range(trials):
        truth = rng.random(n) < 0.5
        first, second = (np.where(rng.random(n) < RIGHT, truth, ~truth).astype(int) for _ in range(2))
        found = fm.stats.agreement({"a": first, "b": second}).alpha_nominal
        held += found.low <= kappa(0.5) <= found.high
    assert held / trials >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("n", [40, 200])
def test_auc_and_kappa_hold_their_level_or_have_a_note(n, trials):
    """AUC of normal scores a standard deviation apart; κ of the labels and a rater that errs by itself."""
    rng, auc, pair = np.random.default_rng(n), [], []
    area = 0.5 * (1 + math.erf(0.5))  # Φ(1/√2)
    for _ in range(trials // 2):
        truth = rng.random(n) < 0.5
        labels, judge = (np.where(rng.random(n) < RIGHT, truth, ~truth).astype(float) for _ in range(2))
        found = fm.validate({"my_score": rng.normal(labels, 1), "judge": judge}, {"correct": labels})
        one = found["my_score"].auc
        auc.append(one.low <= area <= one.high or one.note is not None)
        two = found["judge"].agreement.pairs[0].kappa
        pair.append(two.low <= kappa(0.5) <= two.high or two.note is not None)
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(auc))
    assert (np.mean(auc) >= least, np.mean(pair) >= least) == (True, True), (np.mean(auc), np.mean(pair))


def test_units_with_one_rating_do_not_count() -> None:
    assert fm.stats.agreement({"a": [1, 2, 1, None], "b": [1, 2, None, None]}).n_units == 2
