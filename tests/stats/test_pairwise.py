"""Judgements in both orders, and the strengths of many systems, against plain counts, choix and published figures."""

from __future__ import annotations

import collections
import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

import fastmetrics as fm
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import mean_interval

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
