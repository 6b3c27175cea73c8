"""Intervals of means, percentiles and other figures: by SciPy, by hand, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

import fastmetrics as fm
from fastmetrics.base.notes import Note
from fastmetrics.stats.association import associate
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.figures import Pairs, correlation_of
from fastmetrics.stats.mean_interval import (
    INTERVALS,
    bootstrap_interval,
    has_long_tail,
    mean_interval,
    percentile_interval,
    spread_interval,
    trimmed_mean,
)
from fastmetrics.stats.raters import ALPHAS, KAPPAS, alpha_of, read_ratings
from tests.reference.association import tau_b

RNG = np.random.default_rng(3)
TRIALS = 1500
"""Of so many a coverage of 0.95 is found between 0.93 and 0.97 with a probability of 0.9995."""


def between(bounds):
    return (bounds.low, bounds.high)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 5), (5, 5), (1, 1), (7, 20), (450, 1000)])
def test_scores_of_0_and_1_have_the_exact_interval(hits, n):
    values = np.r_[np.ones(hits), np.zeros(n - hits)]
    found = mean_interval(Sample.of(RNG.permutation(values), None, (0.0, 1.0)), 0.9)
    assert (found.kind, mean_interval(Sample.of(values)).kind == "exact") == ("exact", False)
    assert between(found) == pytest.approx(proportion_confint(hits, n, 0.1, method="beta"), abs=1e-12)


def test_t_is_that_of_scipy():
    values = RNG.exponential(1, 40)
    found = mean_interval(Sample.of(values), 0.9, "t")
    assert between(found) == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval(0.9)), rel=1e-12)


def test_default_has_the_tail_of_t_or_a_longer_one():
    """Hall's transformation, inverted by bisection, on the side of the skewness; Student's t on the other."""
    values = RNG.exponential(1, 25)
    found, plain = (mean_interval(Sample.of(values), 0.95, kind) for kind in ("auto", "t"))
    n, error = 25, np.std(values, ddof=1) / 5
    shape = stats.skew(values) / np.sqrt(n) / 3
    flat = (stats.kurtosis(values, fisher=False) * (n + 1) / (n - 1) - 1) / 3
    a = shape * n / (n - 2) * min(max(flat, 0), 0.85)
    lowest, highest = -100.0, 0.0
    for _ in range(200):
        t = (lowest + highest) / 2
        below = t + a * t**2 + a**2 * t**3 / 3 + a / 2 < -stats.t.ppf(0.975, n - 1)
        lowest, highest = (t, highest) if below else (lowest, t)
    assert found.kind == "skew_t"
    assert found.low == pytest.approx(plain.low, rel=1e-12)
    assert found.high == pytest.approx(values.mean() - lowest * error, rel=1e-9)
    mirrored = mean_interval(Sample.of(-values))
    assert between(mirrored) == (-found.high, -found.low)


def weighted(values, bounds, draws=400_000):
    """The bounds of Gaffke by random weights: uniform over all that sum to 1."""
    weights = RNG.standard_exponential((draws, len(values) + 1))
    sides = [weights @ np.append(values, bound) / weights.sum(axis=1) for bound in bounds]
    return np.quantile(sides[0], 0.025), np.quantile(sides[1], 0.975)


@pytest.mark.parametrize(("rises", "falls", "n"), [(9, 4, 50), (3, 0, 12), (0, 0, 20), (12, 25, 90)])
def test_paired_scores_of_0_and_1_have_the_worst_case_within_the_bounds(rises, falls, n):
    change = RNG.permutation(np.repeat([1.0, -1.0, 0.0], [rises, falls, n - rises - falls]))
    first = np.where(change == 0, 1.0, (1 - change) / 2)
    found = mean_interval(Sample.between(first, first + change, bounds=(0.0, 1.0)))
    assert between(found) == pytest.approx(weighted(change, (-1, 1)), abs=0.004)
    assert found.kind == ("bounded" if rises + falls else "worst_case")
    wider = found.high - found.low > 1.2 * width(spread_interval(change.mean(), Sample.of(change).spread, kind="t"))
    assert found.note == (Note("all_agree") if not change.any() else Note("few_differ") if wider else None)


def width(interval):
    return interval.high - interval.low


@pytest.mark.parametrize("n", [50, 100, 150, 200])
def test_few_differences_far_from_the_bounds_are_little_wider_than_t(n):
    """A fifth of the pairs differs by about 0.1; to allow for the bounds −1 and 1 would be up to 6 times as wide."""
    for _ in range(20):
        change = np.zeros(n)
        change[: n // 5] = RNG.normal(0, 0.1, n // 5)
        sample = Sample.between(np.full(n, 0.5), 0.5 + change, bounds=(0.0, 1.0))
        found, plain = mean_interval(sample), mean_interval(sample, kind="t")
        assert 1 <= width(found) / width(plain) <= 1.25 or abs(sample.spread.skew) > 0.1


def test_scores_with_few_others_have_the_worst_case_within_the_bounds():
    """For scores of 0 and 1 it is the exact interval; of pairs of rows in clusters, that of half as many rows."""
    values = np.repeat([5.0, 4.0, 1.0], [40, 4, 2])
    found = mean_interval(Sample.of(values, None, (1.0, 5.0)))
    assert found.kind == "bounded"
    assert between(found) == pytest.approx(weighted(values, (1, 5)), abs=0.006)
    twice = mean_interval(Sample.of(np.repeat(values, 2), np.arange(92) // 2, (1.0, 5.0)))
    assert between(twice) == pytest.approx(between(found), rel=1e-9)
    mirrored = mean_interval(Sample.of(6 - values, None, (1.0, 5.0)))
    assert between(mirrored) == pytest.approx((6 - found.high, 6 - found.low), rel=1e-9)
    flags = np.repeat([0.0, 1.0], [17, 3])
    wide = mean_interval(Sample.of(flags, None, (0.0, 1.0 + 1e-9)))
    exact = mean_interval(Sample.of(flags, None, (0.0, 1.0)))
    assert (wide.kind, exact.kind) == ("bounded", "exact")
    assert between(wide) == pytest.approx(between(exact), abs=1e-7)


def test_noise_of_rounding_makes_no_row_differ():
    first = RNG.random(60).round(3)
    second = first + np.repeat([0.1, 0.7], [58, 2])
    clean = Sample.of(np.repeat([0.1, 0.7], [58, 2]), None, (-1.0, 1.0))
    noisy = Sample.between(first, second, bounds=(0.0, 1.0))
    assert len(np.unique(noisy.values)) > 2
    assert between(mean_interval(noisy)) == pytest.approx(between(mean_interval(clean)), rel=1e-9)


@pytest.mark.parametrize(("n", "high"), [(20, 0.035), (200, 0.03), (1000, 0.033)])
def test_rare_failures_rarely_exceed_the_bound_that_gates_read(n, high):
    """Of paired scores of 0 and 1 of which 1 % rise and 4 % fall; nominal 0.025."""
    missed = 0
    for rises, falls, _ in RNG.multinomial(n, [0.01, 0.04, 0.95], 400):
        change = np.repeat([1.0, -1.0, 0.0], [rises, falls, n - rises - falls])
        first = np.where(change == 0, 1.0, (1 - change) / 2)
        missed += mean_interval(Sample.between(first, first + change, bounds=(0.0, 1.0))).low > -0.03
    assert missed / 400 <= high + 0.01


@pytest.mark.parametrize("kind", INTERVALS)
@pytest.mark.parametrize("clusters", [None, np.arange(12) // 2])
def test_equal_values_have_no_point_as_interval(kind, clusters):
    values = np.full(12, 0.7)
    found = mean_interval(Sample.of(values, clusters, (0.0, 1.0)), kind=kind)
    unseen = 1 - 0.025 ** (1 / (12 if clusters is None else 6))
    assert found.kind == "worst_case"
    assert between(found) == pytest.approx((0.7 - 0.7 * unseen, 0.7 + 0.3 * unseen))
    assert "all values agree" in found.note
    unbounded = mean_interval(Sample.of(values, clusters), kind=kind)
    assert math.isnan(unbounded.low)
    assert "bounds of the metric are not declared" in unbounded.note


def test_shift_that_is_constant_but_for_rounding_agrees():
    first = RNG.random(50).round(3)
    sample = Sample.between(first, first + 0.02, bounds=(0.0, 1.0))
    assert len(np.unique(sample.values)) > 1
    assert sample.agree
    assert mean_interval(sample).kind == "worst_case"


@pytest.mark.parametrize(("n", "note"), [(1, "no interval"), (4, "unreliable"), (19, "approximate"), (20, None)])
def test_few_rows_have_a_note(n, note):
    found = mean_interval(Sample.of(np.linspace(0.02, 0.99, n), bounds=(0.0, 1.0)))
    assert found.note is None if note is None else found.note.startswith(note)
    same = np.repeat(np.linspace(0.02, 0.99, n), 3)
    clustered = mean_interval(Sample.of(same, np.repeat(np.arange(n), 3), (0.0, 1.0)))
    assert (clustered.note is None) == (n >= 12)


@pytest.mark.parametrize(("sign", "bounds", "least"), [(1, None, 300), (-1, None, 300), (1, (0.0, math.inf), 100)])
def test_few_rows_without_bounds_have_a_note(sign, bounds, least):
    """Latencies: the rare large values are not in these rows, whatever the rows look like."""
    for n in (least - 1, least):
        for draw in (lambda n: RNG.normal(800, 50, n), lambda n: RNG.uniform(100, 900, n)):
            found = mean_interval(Sample.of(sign * draw(n), bounds=bounds))
            assert found.note == (Note("unbounded", least=least, what="rows") if n < least else None)
    clustered = mean_interval(Sample.of(sign * RNG.random(3 * least - 3), np.arange(3 * least - 3) // 3, bounds))
    assert clustered.note == Note("unbounded", least=least, what="clusters")
    for n, skewed in ((999, True), (1000, False)):
        note = Note("unbounded", least=1000, what="rows") if bounds is None and skewed else None
        assert mean_interval(Sample.of(sign * RNG.lognormal(6, 0.4, n), bounds=bounds)).note == note
    assert mean_interval(Sample.of(sign * RNG.beta(8, 2, 400), bounds=bounds)).note is None  # the tail is towards 0
    either = RNG.normal(0, 1, 100)
    assert mean_interval(Sample.of(either)).note is None
    assert mean_interval(Sample.of(either[1:])).note.values["least"] == 100


def test_a_few_large_values_of_many_have_a_note():
    values = np.append(RNG.normal(800, 50, 990), np.full(10, 30_000.0))
    assert mean_interval(Sample.of(values)).note == Note("long_tailed", what="rows")


@pytest.mark.parametrize(("unlike", "note"), [(29, True), (30, False)])
def test_few_rows_unlike_the_others_have_a_note(unlike, note):
    either = RNG.permutation(np.append(np.linspace(-1, 1, unlike), np.zeros(200 - unlike)))
    assert mean_interval(Sample.of(either)).note == (Note("few_unlike", least=30) if note else None)
    for n_unlike, kind in ((5, "bounded"), (6, "skew_t")):
        some = np.zeros(200)
        some[:n_unlike] = 0.3 + 0.01 * np.arange(n_unlike)
        assert mean_interval(Sample.of(some, None, (-9.0, 9.0))).kind == kind
    one_sided = np.append(RNG.exponential(0.05, 20), np.zeros(180))
    assert mean_interval(Sample.of(one_sided, None, (-1.0, 1.0))).note == Note("few_unlike", least=30)


def test_bounds_far_beyond_the_spread_have_a_note():
    """A rare failure of a system that mostly scores 0.8 to 0.9 may be in none of the rows."""
    missing = Note("near_bound", what="rows")
    values = RNG.uniform(0.8, 0.9, 200)
    assert mean_interval(Sample.of(values[:99], bounds=(0.0, 1.0))).note == missing
    assert mean_interval(Sample.of(values[:99], bounds=(0.75, 0.95))).note is None
    assert mean_interval(Sample.of(values[:100], bounds=(0.0, 1.0))).note is None
    assert mean_interval(Sample.of(np.append(values[:100], 0.0), bounds=(0.0, 1.0))).note == missing
    assert mean_interval(Sample.of(RNG.uniform(0, 1, 60), bounds=(0.0, 1.0))).note is None


@given(st.integers(0, 10**6), st.integers(20, 300), st.booleans())
def test_long_tails_are_those_of_skewness(seed, n, turned):
    values = np.random.default_rng(seed).beta(0.5, 3, n)
    values = 1 - values if turned else values
    found = mean_interval(Sample.of(values, bounds=(0.0, 1.0)))
    assert has_long_tail(found, not turned) == (n < 100 * stats.skew(values) ** 2)
    assert not has_long_tail(found, turned) or stats.skew(values) * (-1 if turned else 1) < 0


@given(st.lists(st.sampled_from([0.0, 0.25, 0.3, 1.0, 7e5, -2.0, 1 / 3]), min_size=2, max_size=40), st.randoms())
def test_row_order_and_scale_do_not_matter(values, chance):
    """Also where squares would vanish or overflow."""
    clusters = [chance.randrange(4) for _ in values]
    order = list(range(len(values)))
    chance.shuffle(order)
    for kind in ("auto", "t"):
        for groups in (None, clusters):
            rows = [np.array(values), None if groups is None else np.array(groups)]
            one = mean_interval(Sample.of(*rows), kind=kind)
            turned = mean_interval(Sample.of(*(None if some is None else some[order] for some in rows)), kind=kind)
            assert repr(one) == repr(turned)
            if one.kind in ("t", "skew_t") and not {*values} <= {0.0, 1.0}:
                for power in (-540, 510):
                    scaled = mean_interval(Sample.of(np.ldexp(rows[0], power), rows[1]), kind=kind)
                    assert between(scaled) == (math.ldexp(one.low, power), math.ldexp(one.high, power))


@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda n: RNG.beta(4, 4, n), 0.5),
        (RNG.random, 0.5),
        (lambda n: RNG.beta(0.5, 0.5, n), 0.5),
        (lambda n: RNG.beta(0.5, 3, n), 0.5 / 3.5),
    ],
    ids=["bell", "uniform", "U-shaped", "skewed"],
)
def test_coverage_is_nominal(draw, mean, n):
    found = [mean_interval(Sample.of(draw(n), bounds=(0.0, 1.0))) for _ in range(TRIALS)]
    assert np.mean([one.low <= mean <= one.high for one in found]) == pytest.approx(0.953, abs=0.02)


def test_outputs_name_the_kind():
    scores = {"id": range(8), "token_f1": RNG.random(8), "exact_match": [1.0] * 8}
    summary = fm.results.summarize_by(scores)
    assert [(one.interval, one.interval_note is None) for one in summary] == [("skew_t", False), ("exact", True)]
    kinds = "95 % intervals: t widened for skewness (token_f1), exact for scores of 0 and 1 (exact_match)"
    assert kinds in summary.remarks()
    assert "† approximate: fewer than 20 rows (token_f1)" in str(summary)
    for kind in INTERVALS[1:]:
        assert fm.results.summarize_by(scores, metrics="token_f1", interval=kind)[0].interval == kind


@pytest.mark.parametrize("kind", ["auto", "t"])
def test_intervals_end_at_the_bounds(kind):
    values = np.array([1.0, 1.0, 0.95, 0.9, 0.5])
    inside, free = (mean_interval(Sample.of(values, None, bounds), 0.95, kind) for bounds in ((0.0, 1.0), None))
    assert (inside.high, inside.low) == (1.0, max(free.low, 0.0))
    assert free.high > 1.0


def test_bootstrap_intervals_have_the_number_of_samples():
    sample = Sample.of(np.random.default_rng(0).random(50))
    for resamples in (100, 2_000):
        found = mean_interval(sample, 0.95, "percentile", resamples=resamples, seed=1, threads=1)
        assert (found.low, found.high) == bootstrap_interval(sample, 0.95, resamples, 1, 1)


@pytest.mark.parametrize("hits", [0, 29, 30, 70, 71, 100])
def test_exact_intervals_need_no_note(hits):
    interval = mean_interval(Sample.of(np.repeat([1.0, 0.0], [hits, 100 - hits]), None, (0.0, 1.0)))
    assert (interval.kind, interval.note) == ("exact", None)


def test_trimmed_mean_is_that_of_scipy_and_holds_its_level():
    found = trimmed_mean(values := RNG.lognormal(6, 1, 203), 0.9)
    held = np.clip(values, *np.sort(values)[[20, 182]])
    reach = stats.t.ppf(0.95, 162) * held.std(ddof=1) * math.sqrt(203) / 163
    assert found.value == pytest.approx(stats.trim_mean(values, 0.1))
    assert between(found) == pytest.approx((found.value - reach, found.value + reach))
    draws = np.where(RNG.random((400, 60)) < 0.02, 30_000, RNG.lognormal(6, 0.5, (400, 60)))
    truth = stats.trim_mean(np.where(RNG.random(10**6) < 0.02, 30_000, RNG.lognormal(6, 0.5, 10**6)), 0.1)
    ends = [trimmed_mean(rows) for rows in draws]
    assert np.mean([one.low <= truth <= one.high for one in ends]) == pytest.approx(0.955, abs=0.03)
    assert math.isnan(trimmed_mean(np.zeros(0)).value)
    assert trimmed_mean(np.ones(9)).note == Note("no_bounds")


CHANCE = np.random.default_rng(5)


@pytest.mark.parametrize("n", [20, 60, 200, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95])
def test_bounds_are_at_the_ranks_of_the_binomial_distribution(n, share):
    """The nearest ranks beyond which the percentile lies with a probability of at most 2.5 %."""
    found = percentile_interval(CHANCE.permutation(np.arange(1, n + 1)).astype(float), share)
    beyond = stats.binom.sf(np.arange(-1, n), n, share)  # that of at least 0 to n values below the percentile
    lower = max((rank for rank in range(1, n + 1) if 1 - beyond[rank] <= 0.025), default=-math.inf)
    upper = min((rank for rank in range(1, n + 1) if beyond[rank] <= 0.025), default=math.inf)
    assert (found.low, found.high, found.kind) == (lower, upper, "order")
    outside = math.isinf(lower) or math.isinf(upper)
    level = 1.0 if outside else beyond[lower] - beyond[upper]
    assert (found.note is not None) == (level > 0.97)
    assert ("open" in str(found.note)) == outside


def test_open_sides_end_at_the_bounds_of_the_metric():
    found = percentile_interval(CHANCE.random(20), 0.95, bounds=(0.0, 1.0))
    assert found.high == 1.0
    assert found.low > 0
    nothing = percentile_interval(np.zeros(0), 0.95)
    assert math.isnan(nothing.low)


def test_equal_values_make_it_wide():
    values = CHANCE.integers(1, 6, 400).astype(float)
    assert "many equal" in str(percentile_interval(values, 0.5).note)
    assert percentile_interval(CHANCE.random(400), 0.5).note is None


def test_clusters_count_as_fewer_rows():
    """Copies of a row tell no more than the row; independent rows tell as much in any clusters."""
    values = CHANCE.random(300)
    alone = percentile_interval(values, 0.5)
    copies = percentile_interval(np.repeat(values, 5), 0.5, clusters=np.repeat(np.arange(300), 5))
    assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), abs=0.01)
    assert percentile_interval(values, 0.5, clusters=np.arange(300) % 2).note.startswith("unreliable")
    assert percentile_interval(values, 0.5, clusters=np.zeros(300, int)).kind == "none"


def test_coverage_of_clusters():
    """60 clusters of 1 to 15 rows, whose values correlate with 0.5."""
    covered = []
    for _ in range(400):
        clusters = np.repeat(np.arange(60), CHANCE.integers(1, 16, 60))
        values = CHANCE.normal(size=60)[clusters] + CHANCE.normal(size=len(clusters))
        found = percentile_interval(values, 0.9, clusters=clusters)
        covered.append(found.low <= math.sqrt(2) * stats.norm.ppf(0.9) <= found.high)
    assert np.mean(covered) == pytest.approx(0.96, abs=0.025)


def weighted_pearson(x, y, weights):
    table = np.cov(x, y, aweights=weights, ddof=0)
    return table[0, 1] / math.sqrt(table[0, 0] * table[1, 1])


def ranks(values, weights):
    return np.array([weights @ (values < one) + weights @ (values == one) / 2 for one in values])


def weighted_kappa(power):
    def figure(x, y, weights):
        distance = np.abs(x[:, None] - y) ** power if power else (x[:, None] != y).astype(float)
        return 1 - (weights @ np.diag(distance)) * weights.sum() / (weights @ distance @ weights)

    return figure


FIGURES = {
    "pearson": (Pairs.pearson, weighted_pearson),
    "spearman": (Pairs.spearman, lambda x, y, weights: weighted_pearson(ranks(x, weights), ranks(y, weights), weights)),
    "kendall": (Pairs.kendall, lambda x, y, weights: tau_b(x.tolist(), y.tolist(), weights.tolist())),
    "auc": (lambda pairs: pairs.auc(2), lambda x, y, weights: 2 * roc_auc_score(y >= 2, x, sample_weight=weights) - 1),
    "macro F1": (Pairs.mean_f1, lambda x, y, weights: 2 * f1_score(y, x, sample_weight=weights, average="macro") - 1),
    "weighted F1": (
        lambda pairs: pairs.mean_f1(weighted=True),
        lambda x, y, weights: 2 * f1_score(y, x, sample_weight=weights, average="weighted") - 1,
    ),
    "balanced accuracy": (
        Pairs.balanced_accuracy,
        lambda x, y, weights: 2 * balanced_accuracy_score(y, x, sample_weight=weights) - 1,
    ),
    "mcc": (Pairs.mcc, lambda x, y, weights: matthews_corrcoef(y, x, sample_weight=weights)),
    **{f"kappa {p}": (lambda pairs, p=p: pairs.kappa(p), weighted_kappa(p)) for p in (0, 1, 2)},
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_influence_of_a_row_is_the_change_of_the_figure_with_its_weight(name):
    of_pairs, figure = FIGURES[name]
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, 25).astype(float)
    y = np.clip(x + rng.integers(-1, 2, 25), 0, 3)
    pairs = Pairs.of(x, y, one_scale=True)
    found, weights, step = of_pairs(pairs), pairs.weights, 1e-5
    assert found.value == pytest.approx(figure(pairs.x, pairs.y, weights), abs=1e-9)
    for place in (0, 7, 24, 26, len(weights) - 2):
        more, less = (
            figure(pairs.x, pairs.y, weights + side * step * (np.arange(len(weights)) == place)) for side in (1, -1)
        )
        expected = (more - less) / (2 * step) * weights.sum()
        own = found.added[place - 25] if place >= 25 else found.rows[pairs.order[place]]
        assert own == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_the_influence_of_a_unit_is_the_change_of_alpha_with_its_weight(level):
    """By definition, from the pairs of ratings of units that weigh more or less; units have two or three ratings."""
    rng = np.random.default_rng(1)
    table = rng.integers(1, 5, (3, 12)).astype(float)
    table[2, 5:] = np.nan
    units = [column[~np.isnan(column)] for column in table.T]

    def apart(first, second):
        return (first[:, None] != second).sum() if level == "nominal" else ((first[:, None] - second) ** 2).sum()

    def defined(weights):
        n = sum(weight * len(unit) for weight, unit in zip(weights, units, strict=True))
        within = sum(w * apart(unit, unit) / (len(unit) - 1) for w, unit in zip(weights, units, strict=True))
        between = sum(
            v * w * apart(a, b)
            for v, a in zip(weights, units, strict=True)
            for w, b in zip(weights, units, strict=True)
        )
        return 1 - (n - 1) * within / between

    found, step = alpha_of(read_ratings(list(table)), level), 1e-5
    assert found.value == pytest.approx(defined(np.ones(12)))
    changes = [
        (defined(np.ones(12) + step * own) - defined(np.ones(12) - step * own)) / (2 * step) * 12 for own in np.eye(12)
    ]
    assert found.rows == pytest.approx(np.array(changes) - np.mean(changes), abs=1e-6)


def test_raters_who_never_name_the_same_unit_may_still_do_so():
    """Each of two raters names 6 of 60 units; independent raters have κ = 0, which the interval has to contain."""
    first, second = np.repeat([0, 1, 1], [6, 6, 48]), np.repeat([1, 0, 1], [6, 6, 48])
    found = fm.stats.agreement({"ann": first, "bob": second})
    phi = associate(first, second).pearson
    assert phi.value == pytest.approx(-1 / 9)
    for interval in (found.pairs[0].kappa, found.alpha_nominal, phi):
        assert interval.low < -1 / 9 < 0.1 < interval.high
        assert interval.note is None or interval.note == "wider than its level needs: few rows decide the figure"


def test_clusters_widen_the_intervals_of_agreement():
    rng = np.random.default_rng(0)
    truth, clusters = np.repeat(rng.random(30) < 0.5, 6), np.repeat(np.arange(30), 6)
    habit = np.repeat(rng.random((2, 30)) < 0.8, 6, axis=1)
    table = {"ann": np.where(habit[0], truth, ~truth).astype(int), "bob": np.where(habit[1], truth, ~truth).astype(int)}
    alone, grouped = fm.stats.agreement(table), fm.stats.agreement(table, clusters=clusters)
    for name in (*KAPPAS, *ALPHAS):
        one, other = (getattr(found.pairs[0] if name in KAPPAS else found, name) for found in (alone, grouped))
        assert other.high - other.low > 1.5 * (one.high - one.low)
    by_text = fm.stats.agreement(table, clusters=[f"c{one:02}" for one in clusters])
    assert by_text == grouped
    labels = pa.table({"ann": table["ann"], "bob": table["bob"], "session": clusters})
    validated = fm.validate({"fit": rng.random(180)}, labels, raters="ann,bob", cluster="session")
    assert validated.raters == grouped


def test_a_perfect_figure_has_an_interval_below_it():
    found = associate(np.arange(20), np.arange(20) >= 10, positive=1)
    assert (found.auc.value, found.auc.high) == (1.0, 1.0)
    assert 0.5 < found.auc.low < 0.97
    agreed = fm.stats.agreement([[0, 1] * 10, [0, 1] * 10])
    assert agreed.pairs[0].kappa.value == 1.0
    assert 0.2 < agreed.pairs[0].kappa.low < 0.97


@pytest.mark.parametrize(("rho", "n"), [(0.99, 20), (0.5, 50), (0.0, 100)])
def test_pearson_of_normal_values_has_fishers_interval(rho, n):
    """That of SciPy, or wider by what the rows say beyond it."""
    wider = []
    for seed in range(20):
        x, y = np.random.default_rng([seed, n]).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
        found, peer = associate(x, y).pearson, scipy.stats.pearsonr(x, y).confidence_interval()
        assert (found.low <= peer.low + 1e-12, found.high >= peer.high - 1e-12) == (True, True)
        wider.append((math.atanh(found.high) - math.atanh(found.low)) / (math.atanh(peer.high) - math.atanh(peer.low)))
    assert np.median(wider) < 1.06


def test_a_correlation_that_few_rows_make_says_so():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    assert associate(x, y).pearson.note is None
    x[:2], y[:2] = (20, 30), (25, 25)
    assert associate(x, y).pearson.note == "approximate: few rows far from the others decide the figure"
    assert associate(x, y).pearson.low < 0.7


@pytest.mark.parametrize(
    ("n", "far", "least", "most"), [(20, 0, 0, 0.06), (60, 0, 0, 0.06), (60, 3, 0.85, 1), (200, 10, 0.97, 1)]
)
def test_rows_far_from_the_others_are_noted_where_they_decide_and_seldom_else(n, far, least, most):
    noted = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, n])
        x, y = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], n).T
        x[:far], y[:far] = 6 * rng.normal(size=(2, far))
        noted += "far from the others" in (correlation_of(Pairs.of(x, y), "pearson", 0.95).note or "")
    assert least <= noted / 200 <= most


@pytest.mark.parametrize(("figure", "rho", "n"), [("spearman", 0.99, 10), ("pearson", 0.9, 10), ("kendall", 0.9, 20)])
def test_correlations_of_few_normal_values_hold_their_level(figure, rho, n, full):
    rng, held, trials = np.random.default_rng(n), 0, 1_000 if full else 200
    r = {"pearson": rho, "spearman": 6 / math.pi * math.asin(rho / 2), "kendall": 2 / math.pi * math.asin(rho)}[figure]
    for _ in range(trials):
        x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
        found = getattr(associate(x, y), figure)
        held += found.low <= r <= found.high
    assert held / trials >= 0.92


RARE = [(60, 0.1, 0.1, 0.0), (60, 0.1, 0.1, 0.4), (200, 0.05, 0.05, 0.0), (100, 0.3, 0.3, 0.8), (200, 0.5, 0.5, 0.4)]


@pytest.mark.parametrize(("n", "one", "other", "kappa"), RARE)
def test_intervals_of_kappa_phi_and_alpha_hold_for_rare_classes(n, one, other, kappa, full):
    """Every table of counts that occurs, with the share of samples in which it does."""
    both = one * other + kappa / 2 * (one + other - 2 * one * other)
    cells = [both, one - both, other - both, 1 - one - other + both]
    phi = (both - one * other) / math.sqrt(one * other * (1 - one) * (1 - other))
    tables, times = np.unique(
        np.random.default_rng(n).multinomial(n, cells, 2_000 if full else 100), axis=0, return_counts=True
    )
    held, silent = dict.fromkeys(("kappa", "phi", "alpha"), 0), 0
    for counts, share in zip(tables, times / times.sum(), strict=True):
        first, second = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
        if len(set(first)) < 2 or len(set(second)) < 2:
            held = {name: sum_ + share for name, sum_ in held.items()}  # undefined
            continue
        found = fm.stats.agreement({"a": first, "b": second})
        figures = {
            "kappa": (found.pairs[0].kappa, kappa),
            "phi": (associate(first, second).pearson, phi),
            "alpha": (found.alpha_nominal, kappa),
        }
        for name, (interval, truth) in figures.items():
            held[name] += share * (interval.low <= truth <= interval.high)
        silent += share * (found.pairs[0].kappa.note is None)
    assert min(held.values()) >= 0.925, held
    assert max(held.values()) <= 0.99 or silent < 0.5, held  # samples of one class count as held


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_intervals_of_auc_hold_for_five_positives_of_a_hundred(shift, full):
    rng, truth, held, trials = np.random.default_rng(7), scipy.stats.norm.cdf(shift / math.sqrt(2)), 0, 0
    labels = np.repeat([1.0, 0.0], [5, 95])
    for _ in range(600 if full else 150):
        found = associate(rng.normal(shift * labels), labels, positive=1).auc
        held, trials = held + (found.low <= truth <= found.high), trials + 1
    assert held / trials >= 0.94


def test_the_shape_of_one_success_in_four() -> None:
    """Residuals of -1/4, three times, and 3/4: s/√n is 1/4, and Σe⁴·n/(Σe²)² is 7/3."""
    spread = Sample.of(np.array([0.0, 0.0, 0.0, 1.0])).spread
    assert (spread.error, spread.freedom, spread.kurtosis) == (0.25, 3.0, pytest.approx(7 / 3))
