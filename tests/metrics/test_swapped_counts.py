"""p of corpus metrics: the same in both directions, and that of all patterns of swapped rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.batch import Light
from fastmetrics.metrics.metric import Corpus
from fastmetrics.plans.corpus_values import many_values
from fastmetrics.stats.significance import PairedCounts, swap_p

CORPUS = ["corpus_bleu", "corpus_chrf", "corpus_chrf++", "abstention_f1"]
CHANCE = np.random.default_rng(4)
TEXTS = [" ".join(CHANCE.choice([*"abcdefg", "the", "cat.", "sat"], CHANCE.integers(0, 9))) for _ in range(120)]
ANSWERS = [text if n % 3 else f"{text} I don't know." for n, text in enumerate(TEXTS[::-1])]
ROWS = {"id": range(120), "answer": ANSWERS, "reference": TEXTS, "answerable": [n % 2 == 0 for n in range(120)]}
POOL = fm.score(ROWS, CORPUS, keep_counts=True)


def check(first, second, formula):
    """Assert that p is that of an enumeration of all patterns both ways, and the same both ways from random draws."""
    n = len(first)
    there, back = (PairedCounts.of(*both, formula) for both in ((first, second), (second, first)))
    keep = np.arange(2**n)[:, None] >> np.arange(n) & 1
    sums = keep @ first + (1 - keep) @ second
    values = np.abs(formula(sums) - formula((first + second).sum(axis=0) - sums))
    delta = abs(there.values[1] - there.values[0])
    exact = math.nan if math.isnan(delta) else float(np.mean(~(values < delta * (1 - 1e-12))))
    drawn = []
    for pair in (there, back):
        p = swap_p(pair, 2**n, 0, 1)
        assert p == exact or (math.isnan(p) and math.isnan(exact))
        drawn.append(swap_p(pair, 2**n // 4 + 20, 3, 1))
    assert drawn[0] == drawn[1] or math.isnan(exact)


@given(st.sampled_from(CORPUS), st.integers(1, 10), st.integers(0, 10**6), st.integers(0, 1))
def test_p_does_not_depend_on_the_direction_and_is_that_of_all_patterns(name, n, seed, extra):
    """Signed sums of differences of one sign are negative too."""
    pool = np.array(POOL[f"{name}.counts"].to_pylist())
    first = pool[np.random.default_rng(seed).integers(0, len(pool), n)]
    check(first, first + extra * (first.max(axis=1, keepdims=True) > 0), partial(many_values, name))
    other = pool[np.random.default_rng(seed + 1).integers(0, len(pool), n)]
    check(first, other, partial(many_values, name))


@dataclass(frozen=True)
class Value:
    """The value of a corpus metric."""

    score: float


def ratio(sums):
    """Words of both texts by words of the reference: undefined without any."""
    return Value(sums[0] / sums[1] if sums[1] else math.nan)


def root(sums):
    """A formula of differences, which may be negative and not linear."""
    return Value(math.copysign(math.sqrt(abs(sums[0] - sums[1])), sums[0] - sums[1]))


@pytest.mark.parametrize("finish", [ratio, root])
def test_p_of_a_plugins_corpus_metric_is_that_of_all_patterns(finish):
    """Also from the scores that ``compare`` reads, where rows may have counts of 0."""

    @fm.metric(bounds=(-math.inf, math.inf), better="higher", corpus=Corpus(finish=finish))
    def swapped_words(answer: Light, reference: Light):
        """Counts of the words of the answer and of the reference."""
        return np.stack([text.stops - text.starts for text in (answer, reference)], axis=1).astype(np.int64)

    formula = partial(many_values, "swapped_words")
    for n in range(1, 11):
        rng = np.random.default_rng(n)
        first, second = rng.integers(0, [[4, 3]], (2, n, 2))
        check(first, second, formula)
        check(first, first + np.array([1, 0]), formula)
    rows = {"id": range(10), "reference": TEXTS[:10]}
    runs = [fm.score(rows | {"answer": ANSWERS[at : at + 10]}, "swapped_words", keep_counts=True) for at in (0, 10)]
    counts = [np.array(run["swapped_words.counts"].to_pylist()) for run in runs]
    expected = swap_p(PairedCounts.of(*counts, formula), 2**10, 0, 1)
    compared = [fm.compare(pair, metrics="swapped_words")["swapped_words"].p for pair in (runs, runs[::-1])]
    assert compared == pytest.approx([expected, expected], nan_ok=True)
