"""Corpus metrics compared: the counts of rows kept beside the scores, and resampled."""

from __future__ import annotations

import itertools
import json
import math
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.corpus_values import many_values
from fastmetrics.stats.mean_interval import INTERVALS
from fastmetrics.stats.significance import Packed, PairedCounts, counts_interval, swap_p
from tests.reference import resampling

CORPUS = ["corpus_bleu", "corpus_chrf", "corpus_chrf++", "abstention_f1"]
ASKED = ["bleu", "token_f1", *CORPUS]
WORDS = [*"abcdefg", "the", "cat.", "sat", "I don't know.", "да", "中"]


def rows(n, seed, noise=0.3):
    """Answers that are their references with noise; some rows lack an answer, some references are several."""
    chance = random.Random(99)
    references = [
        [" ".join(chance.choices(WORDS, k=chance.randint(0, 9))) for _ in range(1 + r % 3 // 2)] for r in range(n)
    ]
    chance = random.Random(seed)
    answers = [
        " ".join(w if chance.random() > noise else chance.choice(WORDS) for w in some[0].split()) for some in references
    ]
    return {
        "id": [f"q{r}" for r in range(n)],
        "answer": [None if r % 29 == 7 else one for r, one in enumerate(answers)],
        "reference": references,
        "answerable": [r % 2 == 0 for r in range(n)],
        "language": ["en", "ru", "zh"] * (n // 3) + ["en"] * (n % 3),
    }


def scored(table, metrics=ASKED, **options):
    made = fm.score(table, metrics, keep_counts=True, **options)
    return made.append_column("language", pa.array(table["language"]))


OLD, NEW = rows(120, 1), rows(120, 2, 0.25)
RUNS = {"old": scored(OLD), "new": scored(NEW)}
SMALL = {"resamples": 300, "bootstrap": 200}


def counts_of(table, name):
    return [one for one in table[f"{name}.counts"].to_pylist() if one is not None]


@pytest.mark.parametrize("name", CORPUS)
def test_the_counts_of_rows_add_up_to_the_metric(name):
    sums = np.sum(counts_of(RUNS["old"], name), axis=0)
    columns = list(parse(name).metric.needs)
    wanted = getattr(fm, name)(*(OLD[column] for column in columns)).score
    assert many_values(name, sums[None])[0] == wanted == fm.summarize(RUNS["old"]).figures[name]
    missing = [r for r, one in enumerate(RUNS["old"][f"{name}.counts"].to_pylist()) if one is None]
    assert missing == [r for r, one in enumerate(OLD["answer"]) if one is None]


@given(st.sampled_from(CORPUS), st.integers(0, 10**6), st.integers(1, 30))
def test_many_values_are_those_of_finish(name, seed, n):
    """The formula for many sums gives the bits of the metric's own, for sums of any rows."""
    counts = np.array(counts_of(RUNS["new"], name))
    sums = counts[np.random.default_rng(seed).integers(0, len(counts), (n, 3))].sum(axis=1)
    asked = parse(name)
    wanted = [float(asked.metric.corpus.finish(row, **asked.options).score) for row in sums.tolist()]
    assert np.array_equal(many_values(name, sums), wanted, equal_nan=True)


@given(st.lists(st.lists(st.integers(-(2**33), 2**33), min_size=4, max_size=4), min_size=1, max_size=9))
def test_packed_columns_are_unpacked(given_rows):
    counts = np.array([[*row, row[0], abs(row[1])] for row in given_rows])
    packed = Packed.of(counts, np.abs(counts).sum(axis=0), signed=True)
    assert len(packed.fields) == len({tuple(column) for column in counts.T.tolist()})
    for size in range(len(counts) + 1):
        sums = packed.words[:, :size].sum(axis=1)[None]
        assert packed.unpacked(sums).tolist() == [counts[:size].sum(axis=0).tolist()]


@pytest.mark.parametrize("name", CORPUS)
def test_figures_are_those_of_plain_python(name):
    pair = [one.filter(RUNS["old"]["corpus_bleu.counts"].is_valid()) for one in RUNS.values()]
    order = np.argsort(pair[0]["id"].to_pylist())
    first, second = ([counts_of(one, name)[row] for row in order] for one in pair)
    found = fm.compare(RUNS, metrics=name, seed=5, interval="percentile", **SMALL)[name]

    def value(sums):
        return float(many_values(name, np.array([sums]))[0])

    everything = range(len(first))
    assert found.mean_baseline == value(resampling.added(first, everything))
    assert found.mean_other == value(resampling.added(second, everything))
    assert found.delta == found.mean_other - found.mean_baseline
    assert found.p == resampling.swap_p(first, second, value, 300, 5)
    differences = resampling.bootstrapped(first, second, value, 200, 5)
    assert [found.low, found.high] == np.quantile(differences, [(1 - 0.95) / 2, (1 + 0.95) / 2]).tolist()


@given(st.integers(1, 40), st.integers(0, 2**31 - 1), st.sampled_from(INTERVALS), st.booleans())
def test_threads_and_row_order_do_not_matter(n, seed, interval, clustered):
    how = {"seed": seed, "interval": interval, "metrics": CORPUS, **SMALL}
    how["cluster"] = "language" if clustered else None
    runs = {name: table.slice(0, n) for name, table in RUNS.items()}
    turned = {name: table.take(list(range(len(table)))[::-1]) for name, table in runs.items()}
    one = fm.compare(runs, threads=1, **how)
    assert repr(one) == repr(fm.compare(runs, threads=2, **how)) == repr(fm.compare(turned, threads=2, **how))


def test_threads_do_not_matter_for_shared_work():
    counts = np.random.default_rng(1).integers(0, 50, (2, 3000, 13))
    for clusters in (None, np.arange(3000) // 2):
        pair = PairedCounts.of(*counts, lambda sums: sums[:, 0] / sums[:, 1], clusters)
        found = [
            (swap_p(pair, 3000, 1, n), counts_interval(pair, 0.9, "percentile", resamples=3000, seed=1, threads=n))
            for n in (1, 2, 3)
        ]
        assert found[0] == found[1] == found[2]


def test_few_rows_try_every_pattern():
    first, second = (np.array(counts_of(one, "corpus_bleu")[:9]) for one in RUNS.values())

    def formula(sums):
        return many_values("corpus_bleu", sums)

    pair = PairedCounts.of(first, second, formula)
    reached = []
    for keep in itertools.product([True, False], repeat=9):
        both = [np.where(np.array(keep)[:, None], *two).sum(axis=0) for two in ((first, second), (second, first))]
        a, b = formula(np.stack(both))
        reached.append(abs(b - a) >= abs(pair.values[1] - pair.values[0]))
    assert swap_p(pair, 2**8, 0, 1) == np.mean(reached)
    assert swap_p(pair, 2**8 - 1, 0, 1) != np.mean(reached)


def test_rows_of_a_cluster_stay_together():
    """A table whose rows are each there three times, as clusters, says what it says with each row once."""
    first, second = (np.array(counts_of(one, "corpus_chrf")[:60]) for one in RUNS.values())
    once = PairedCounts.of(first, second, lambda sums: many_values("corpus_chrf", sums))
    thrice = [np.repeat(counts, 3, axis=0) for counts in (first, second)]
    clustered = PairedCounts.of(*thrice, once.formula, np.repeat(np.arange(60), 3))
    assert clustered.values == once.values
    assert swap_p(clustered, 500, 3, 1) == swap_p(once, 500, 3, 1)
    for kind in INTERVALS:
        single, triple = (counts_interval(pair, 0.95, kind, resamples=20_000, seed=3) for pair in (once, clustered))
        assert (triple.low, triple.high) == pytest.approx((single.low, single.high), abs=0.6), kind
        assert triple.kind == single.kind


@pytest.mark.parametrize("clusters", [np.arange(200), np.arange(200) // 3 * (np.arange(200) > 20)])
def test_means_as_corpus_metrics_have_the_interval_of_means(clusters):
    """A formula that is a mean: every kind of interval agrees with that of the differences of scores."""
    values = np.random.default_rng(4).integers(0, 100, (2, 200))
    runs = {name: {"id": range(200), "s": one, "c": clusters} for name, one in zip("ab", values, strict=True)}
    groups, cluster = (None, None) if clusters[1] else (clusters, "c")
    counts = [np.stack([one, np.ones_like(one)], axis=1) for one in values]
    pair = PairedCounts.of(*counts, lambda sums: sums[:, 0] / sums[:, 1])
    for interval in INTERVALS:
        wanted = fm.compare(runs, metrics="s", interval=interval, on="id", cluster=cluster)["s"]
        order = np.argsort([str(n) for n in range(200)])
        own = None if groups is None else groups[order]
        placed = PairedCounts.of(counts[0][order], counts[1][order], pair.formula, own)
        found = counts_interval(placed, 0.95, interval, threads=1)
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
        assert found.kind == wanted.interval
        assert groups is not None or found.note == wanted.interval_note  # few clusters have one of unbounded means
        assert math.isclose(swap_p(placed, 10_000, 0, 1), wanted.p)


def test_equal_runs_have_the_worst_case_within_the_bounds():
    """Where no row changed, the interval is that of rows that were not seen: within the bounds of a change."""
    found = fm.compare({"a": RUNS["old"], "b": RUNS["old"]}, metrics="corpus_bleu", **SMALL)["corpus_bleu"]
    unseen = 1 - 0.025 ** (1 / found.n_paired)
    assert found.interval == "worst_case"
    assert (found.low, found.high) == pytest.approx((-100 * unseen, 100 * unseen))
    (checked,) = fm.gate(RUNS["old"], "corpus_bleu.drop <= 99", baseline=RUNS["old"])
    assert (checked.low, checked.high) == pytest.approx((-100 * unseen, 100 * unseen))


def test_fields_undefined_for_corpus_metrics_are_null():
    found = fm.compare(
        {**RUNS, "again": RUNS["old"]}, metrics=["bleu", "corpus_bleu"], tests="fisher,t,wilcoxon", **SMALL
    )
    corpus = [one for one in json.loads(found.to_json())["comparisons"] if one["metric"] == "corpus_bleu"]
    assert len(corpus) == 9
    for one in corpus:
        assert [one[key] for key in ("d_z", "wins", "ties", "losses", "detectable")] == [None] * 5
        assert (one["p"] is None) == (one["p_corrected"] is None) == (one["test"] != "fisher")
    assert [ranking.metric for ranking in found.rankings] == ["bleu"]
    assert found.to_arrow()["wins"].null_count == 9
    assert any("corpus_bleu" in note and "ranking" in note for note in found.notes)
    assert "corpus\\_bleu" in found.to_latex()
    assert "corpus_bleu" in found.to_markdown()
    assert found.verdict(fm.compare(RUNS, metrics="corpus_bleu")[0]) in ("better", "worse", "–")


def test_segments_and_rows_on_one_side():
    short = scored({name: column[:90] for name, column in NEW.items()})
    found = fm.compare({"old": RUNS["old"], "new": short}, by="language", metrics=["corpus_bleu", "bleu"], **SMALL)
    for one in found:
        beside = next(o for o in found if (o.metric, o.segment) == ("bleu", one.segment))
        keys = ("n_paired", "n_only_baseline", "n_only_other")
        assert [getattr(one, key) for key in keys] == [getattr(beside, key) for key in keys]
    english = [r for r in range(90) if r % 3 == 0 and OLD["answer"][r] is not None]
    wanted = fm.corpus_bleu([OLD["answer"][r] for r in english], [OLD["reference"][r] for r in english]).score
    assert next(o for o in found if o.metric == "corpus_bleu" and o.segment == "language=en").mean_baseline == wanted
    assert any("could reverse" in note and "corpus_bleu" in note for note in found.notes)


def test_undefined_values():
    """F1 of abstaining over rows that say nothing of it: no figure, no interval, no error."""
    answers = {"id": range(30), "answer": ["Rome"] * 30, "answerable": [True] * 30, "language": ["en"] * 30}
    one = scored(answers, "abstained,abstention_f1")
    found = fm.compare([one, one], metrics="abstention_f1")[0]
    assert all(map(math.isnan, (found.delta, found.p, found.low, found.high)))
    some = scored(
        {**answers, "answer": ["I don't know."] + ["Rome"] * 29, "answerable": [False] + [True] * 29},
        "abstained,abstention_f1",
    )
    found = fm.compare([some, some], metrics="abstention_f1")[0]
    assert (found.delta, found.p, found.interval) == (0, 1, "none")
    assert found.interval_note == "no interval: the metric is undefined without one of the rows"
    resampled = fm.compare([some, some], metrics="abstention_f1", interval="percentile")[0]
    assert math.isnan(resampled.low)


def test_one_row_and_no_row():
    one = {name: table.slice(0, 1) for name, table in RUNS.items()}
    found = fm.compare(one, metrics="corpus_bleu")[0]
    assert found.p == 1
    assert math.isnan(found.low)
    assert found.n_paired == 1
    none = {name: table.slice(7, 1) for name, table in RUNS.items()}
    found = fm.compare(none, metrics="corpus_bleu")[0]
    assert found.n_paired == 0
    assert all(map(math.isnan, (found.delta, found.p, found.low, found.all_other)))


def test_runs_without_counts_share_their_other_metrics():
    bare = fm.score(NEW, ASKED)
    assert {one.metric for one in fm.compare({"old": RUNS["old"], "new": bare}, **SMALL)} == {"bleu", "token_f1"}


def test_counts_of_no_metric_are_not_compared():
    other = {"id": [1, 2], "bleu": [0.1, 0.2], "my.counts": [[1], [2]]}
    assert {one.metric for one in fm.compare([other, other])} == {"bleu"}


@pytest.mark.parametrize("name", ["bleu", "token_f1", "corpus_chrf"])
def test_any_metric_alone_by_position(name):
    """Also one that is not the first of the runs, whose column alone is read."""
    found = fm.compare(RUNS, metrics=name, pairing="position", **SMALL)[name]
    assert found.mean_baseline == fm.compare(RUNS, metrics=name, **SMALL)[name].mean_baseline


def test_a_gate_judges_the_drop_of_a_corpus_metric():
    rule = "corpus_bleu.drop <= 1.5"
    found = fm.compare({"baseline": RUNS["new"], "scores": RUNS["old"]}, metrics="corpus_bleu")[0]
    checked = next(iter(fm.gate(RUNS["old"], rule, baseline=RUNS["new"])))
    assert (checked.value, checked.low, checked.high) == (-found.delta, -found.high, -found.low)
    assert checked.met == (checked.high <= 1.5)


def test_one_more_word_in_every_row_has_the_same_p_both_ways():
    longer = {**OLD, "answer": [None if one is None else f"{one} word" for one in OLD["answer"]]}
    runs = {"old": RUNS["old"], "longer": scored(longer)}
    there = fm.compare(runs, metrics="corpus_bleu")[0]
    back = fm.compare(dict(reversed(runs.items())), metrics="corpus_bleu")[0]
    assert there.p == back.p < 0.01
