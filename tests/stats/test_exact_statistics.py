"""Statistics that no order, part or thread changes: sums, quantiles, ranks, and what rounding does."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.results.summary import summarize
from fastmetrics.stats.association import associate
from fastmetrics.stats.sums import _MANY, State, exact_sum, named_statistics
from tests.reference.association import tau_b
from tests.results.test_summary import FLOATS

SMALLEST = 5e-324


def state_of(values: list[float]) -> State:
    state = State()
    state.add(values)
    return state


@pytest.mark.parametrize(
    ("units", "deviation"),
    [
        ([0, 1, 6], 3),  # √62 / 3 = 2.62; the integer root alone would give 2.5, rounded to 2
        ([0, 1], 0),  # exactly one half, rounded to the even neighbour
        ([0, 3], 2),
        ([0, 5], 2),
        ([0, 0, 0, 1], 0),
        ([0, 1, 3, 4], 2),
    ],
)
def test_deviations_of_the_smallest_numbers_are_rounded_once_and_to_the_nearest(units, deviation):
    assert state_of([unit * SMALLEST for unit in units]).std == deviation * SMALLEST
    assert state_of([-unit * SMALLEST for unit in units]).std == deviation * SMALLEST


def test_the_mean_is_rounded_once():
    assert state_of([0.1] * 10).mean == 0.1
    assert state_of([1e308, 1e308]).mean == 1e308
    assert state_of([2.0**53, 1.0, 1.0]).mean == (2**53 + 2) / 3
    assert state_of([SMALLEST, 0.0, 0.0]).mean == 0.0
    assert state_of([SMALLEST, SMALLEST, 0.0]).mean == SMALLEST


@pytest.mark.parametrize("values", [[-0.0, 0.0], [0.0, -0.0], [-0.0]])
def test_minus_zero_is_zero(values):
    state = state_of(values)
    for number in (state.mean, state.std, state.min, state.max):
        assert math.copysign(1.0, number) == 1.0
    assert state == state_of([0.0] * len(values))


def test_missing_rows_need_consistent_counts():
    state = State()
    state.add([None, None, None, 1.0])
    for undefined, errors in ((-1, 1), (1, -1), (2, 2), (0, 4)):
        with pytest.raises(InputError, match=f"{undefined} undefined and {errors} failed of 3 missing rows"):
            state.tell_apart(undefined, errors)
    state.tell_apart(2, 1)
    assert (state.n, state.n_missing, state.n_undefined, state.n_error) == (1, 0, 2, 1)


@pytest.mark.parametrize("absent", ["n", "n_missing", "n_infinite", "n_error", "total", "squares", "min", "max"])
def test_incomplete_state_raises(absent):
    fields = json.loads(state_of([1.0, 2.0]).to_json())
    del fields[absent]
    with pytest.raises(InputError, match="expected the state of a column"):
        State.from_json(json.dumps(fields))


def part(values: list, counts: tuple[int, int, int], corpus: list[int] | None = None, rejected: int = 0) -> pa.Table:
    claim = dict(zip(("n_rows", "n_missing", "n_undefined", "n_error"), (len(values), *counts), strict=True))
    fields = {"metrics": {"f1": claim}, "n_rejected": rejected} | (
        {"counts": {"corpus_bleu": corpus}} if corpus else {}
    )
    table = pa.table({"f1": pa.array(values, pa.float64())})
    return table.replace_schema_metadata({"fastmetrics": json.dumps(fields)})


def test_rejected_rows_count_as_errors_of_the_whole_part_alone():
    whole = part([0.5, None], (0, 1, 0), rejected=3)
    assert (summarize(whole)["f1"].n_error, summarize(whole)["f1"].n_undefined) == (3, 1)
    assert summarize([whole, whole])["f1"].n_error == 6
    assert summarize(whole.slice(1))["f1"].n_error == 0


def test_empty_batches_do_not_change_corpus_counts():
    one, nothing = part([0.5, 1.0], (0, 0, 0), [1, 2]), part([], (0, 0, 0), [0, 0])
    empty = one.slice(2)
    share = lambda _, counts: counts[0] / counts[1]  # noqa: E731
    for pieces in ([one, empty], [empty, one], [one, nothing], [nothing, one], [one, one.to_reader(), empty]):
        summary = summarize(pieces, finish=share)
        assert (summary.corpus, summary.notes) == ({"corpus_bleu": 0.5}, [])


def test_failed_rows_differ_from_undefined_rows():
    metric = summarize(part([None, None, None, 1.0], (0, 1, 2)))["f1"]
    assert (metric.n_missing, metric.n_undefined, metric.n_error) == (0, 1, 2)


def test_a_reader_without_a_batch_still_names_its_columns():
    summary = summarize(pa.RecordBatchReader.from_batches(pa.schema([("f1", pa.float64())]), []))
    assert (list(summary), summary["f1"].n, summary.n_rows) == (["f1"], 0, 0)


@pytest.mark.parametrize("n", [0, 1, _MANY - 1, _MANY, 3 * _MANY + 1, 200_000])
@pytest.mark.parametrize("power", [0, 60, 300])
def test_sums_have_the_bits_of_fsum(n, power):
    random = np.random.default_rng(n + power)
    values = random.standard_normal(n) * 2.0 ** random.integers(-power, power + 1, n)
    for some in (values, np.abs(values), np.concatenate([values, -values[::-1], [5e-324]]), values[::2]):
        assert exact_sum(some).hex() == math.fsum(some).hex()


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_summed_as_fsum_does(odd):
    values = np.ones(_MANY)
    values[7] = odd
    assert str(exact_sum(values)) == str(math.fsum(values))


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@given(
    st.lists(st.one_of(FLOATS, st.floats(), st.integers(0, 3).map(float)), max_size=60),
    st.lists(st.floats(0, 100), min_size=1, max_size=4),
    st.integers(1, 20),
)
def test_percentiles_equal_numpy(values: list[float], percents: list[float], step: int) -> None:
    batches = [np.array(values[start : start + step]) for start in range(0, len(values), step)]
    names = [f"p{percent:.9f}" for percent in percents]
    found = named_statistics(State(), names, lambda: batches)
    defined = np.array([value for value in values if math.isfinite(value)])
    shares = [float(name[1:]) / 100 for name in names]
    with np.errstate(all="ignore"):
        expected = np.quantile(defined, shares) if len(defined) else np.full(len(shares), np.nan)
    assert all(same(found[name], value) for name, value in zip(names, expected.tolist(), strict=True))


def test_trimmed_mean_equals_scipy() -> None:
    values = np.random.default_rng(1).lognormal(6, 1, 1_003)
    found = named_statistics(State(), ["trimmed"], lambda: np.array_split(np.append(values, np.nan), 7))
    assert found["trimmed"] == pytest.approx(trim_mean(values, 0.1), rel=1e-14)


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


@pytest.mark.parametrize(
    "chances",
    [
        [[0.30, 0.10, 0.02], [0.05, 0.20, 0.05], [0.01, 0.07, 0.20]],
        [[0.70, 0.05], [0.05, 0.20]],
        [[0.02, 0.03, 0.15, 0.05], [0.30, 0.25, 0.15, 0.05]],
    ],
)
def test_the_interval_of_tied_rows_holds_the_truth_as_often_as_it_says(chances, full):
    """Samples of 200 rows of a known distribution: 95 % and 80 % intervals hold its tau-b in that share of samples."""
    table = np.array(chances)
    assert table.sum() == pytest.approx(1.0)
    places = list(itertools.product(*map(range, table.shape)))
    truth = tau_b([i for i, _ in places], [j for _, j in places], table.ravel().tolist())
    draws = np.random.default_rng(0).multinomial(1, table.ravel(), (400 if full else 120, 200)).argmax(axis=2)
    for confidence, least, most in ((0.95, 0.91, 0.98), (0.8, 0.75, 0.85)):
        held = 0
        for draw in draws:
            x, y = np.divmod(draw, table.shape[1])
            found = associate(x, y, confidence=confidence).kendall
            held += found.low <= truth <= found.high
        slack = 0 if full else 0.02  # of fewer samples
        assert least - slack <= held / len(draws) <= most + slack
