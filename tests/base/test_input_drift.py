"""Rows far from the labelled rows of a fitted score are noted, and rows like them are not, however few."""

import math

import numpy as np
import pytest

from fastmetrics.base.score_metadata import FAR, InputDrift, InputShares, drift_notes, stability, summed_drifts
from fastmetrics.fitting.fit import _shares

SHAPES = ("normal", "flag", "rare", "grades", "often_zero")


def columns(rng, n, shift=0.0):
    """Scores of several shapes, some missing or undefined, of which one is moved by ``shift``."""
    values = {
        "normal": np.where(rng.random(n) < 0.02, np.nan, rng.normal(size=n) + shift),
        "flag": (rng.random(n) < 0.3) * 1.0,
        "rare": (rng.random(n) < 0.01) * 1.0,
        "grades": rng.integers(1, 6, n) * 1.0,
        "often_zero": np.where(rng.random(n) < 0.5, 0.0, rng.random(n)),
    }
    present = rng.random(n) > 0.05
    return {name: (np.where(present, column, np.nan), present) for name, column in values.items()}


def drift(rng, labelled, n, shift=0.0):
    """The distributions of ``n`` rows beside those of labelled ones."""
    learned, here = columns(rng, labelled), columns(rng, n, shift)
    spreads = {name: _shares(learned[name]) for name in SHAPES}
    inputs = [
        InputShares(name, spreads[name].shares.tolist(), spreads[name].counts(here[name]).tolist()) for name in SHAPES
    ]
    return InputDrift(labelled, inputs)


@pytest.mark.parametrize("labelled", [30, 300, 3000])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 1000])
def test_rows_like_the_labelled_ones_are_not_noted(labelled, n):
    rng = np.random.default_rng([labelled, n])
    false = sum(bool(drift(rng, labelled, n).far()) for _ in range(200))
    assert false <= 3  # of 200, where at most one in a thousand is expected


@pytest.mark.parametrize(("labelled", "n"), [(100, 50), (300, 30), (3000, 1000)])
def test_rows_that_moved_are_noted(labelled, n):
    rng = np.random.default_rng([labelled, n, 1])
    far = [drift(rng, labelled, n, shift=3.0).far() for _ in range(50)]
    assert sum("normal" in names for names in far) >= 49
    assert sum(len(names) > 1 for names in far) <= 1


def test_many_rows_with_a_small_change_are_not_far():
    rng = np.random.default_rng(5)
    assert not drift(rng, 100_000, 100_000, shift=0.1).far()


def plain_index(counts, shares, labelled):
    """The population stability index, half a row more in each part that any row is in."""
    used = [(count, share) for count, share in zip(counts, shares, strict=True) if count or share]
    n, k = sum(count for count, _ in used), len(used)
    here = [(count + 0.5) / (n + k / 2) for count, _ in used]
    there = [(share * labelled + 0.5) / (labelled + k / 2) for _, share in used]
    return sum((p - q) * math.log(p / q) for p, q in zip(here, there, strict=True))


@pytest.mark.parametrize(
    ("counts", "shares"), [([3, 0, 7], [0.5, 0.5, 0.0]), ([10, 20, 30, 0], [0.2, 0.2, 0.5, 0.1]), ([5, 0], [0.0, 1.0])]
)
def test_the_index_is_that_of_plain_python(counts, shares):
    index, _ = stability(np.array(counts), np.array(shares), 40, 0.001)
    assert index == pytest.approx(plain_index(counts, shares, 40), rel=1e-12)


def test_the_limit_of_chance_is_a_quantile_of_chi_squared():
    from scipy.stats import chi2

    _, by_chance = stability(np.array([3, 4, 5]), np.array([0.3, 0.3, 0.4]), 40, 0.001)
    assert by_chance == pytest.approx(chi2.ppf(0.999, 2) * (1 / 12 + 1 / 40))


@pytest.mark.parametrize("counts", [[0, 0], [5, 0]])
def test_no_rows_and_one_part_are_never_far(counts):
    assert stability(np.array(counts), np.array([1.0, 0.0]), 40, 0.001) == (0.0, 0.0)


def test_counts_of_parts_are_added_and_read_back():
    parts = [InputDrift(50, [InputShares("token_f1", [0.5, 0.5], counts)]) for counts in ([1, 2], [30, 0], [0, 40])]
    total = summed_drifts({"mine": part} for part in parts)
    assert [list(part.counts) for part in total["mine"].inputs] == [[31, 42]]
    assert summed_drifts([]) == {}


def test_scores_of_other_labelled_rows_are_not_added():
    parts = [InputDrift(50, [InputShares("token_f1", shares, [9, 9])]) for shares in ([0.5, 0.5], [0.4, 0.6])]
    assert summed_drifts({"mine": part} for part in parts) == {}


def test_a_note_names_the_metrics_that_moved():
    moved = InputDrift(
        200, [InputShares("token_f1", [0.5, 0.5], [0, 100]), InputShares("answer_words", [0.5, 0.5], [50, 50])]
    )
    (note,) = drift_notes({"mine": moved, "verdict": moved})
    index = plain_index([0, 100], [0.5, 0.5], 200)
    assert note.startswith("mine, verdict: these 100 rows are far from the labelled rows")
    assert f"differs for 1 of 2 metrics (population stability index: token_f1 {index:.2f}; from {FAR} on)" in note
    same = InputDrift(200, [InputShares("token_f1", [0.5, 0.5], [50, 50])])
    assert drift_notes({"mine": same}) == []
