"""Repeated answers and rows in clusters: passes, variances, and intervals over questions."""

from __future__ import annotations

import itertools
import json
import math
import statistics

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

import fastmetrics as fm
from fastmetrics.stats.association import associate
from fastmetrics.stats.attempts import question_scores
from tests.support.program import program


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n + 1))))
def test_passes_equal_enumeration_of_all_draws(case):
    n, c, k = case
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    expected = [math.nan] * 2 if not draws else [sum(map(rule, draws)) / len(draws) for rule in (any, all)]
    assert [fm.stats.pass_at_k(n, c, k), fm.stats.pass_hat_k(n, c, k)] == pytest.approx(expected, nan_ok=True)


def test_passes_are_unbiased():
    """The mean over samples of n answers of a question with known probability."""
    n, p, k = 5, 0.3, 3
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    assert sum(w * fm.stats.pass_at_k(n, c, k) for c, w in enumerate(weights)) == pytest.approx(1 - (1 - p) ** k)
    assert sum(w * fm.stats.pass_hat_k(n, c, k) for c, w in enumerate(weights)) == pytest.approx(p**k)


scores = st.none() | st.floats(-5, 5) | st.sampled_from([0.0, 1.0, 0.1])


@given(st.lists(st.tuples(st.integers(0, 5), scores), min_size=1, max_size=25), st.randoms())
def test_variances_equal_the_analysis_of_variance(rows, chance):
    by_question = {}
    for question, score in rows:
        if score is not None:
            by_question.setdefault(question, []).append(score)
    groups = [by_question[question] for question in sorted(by_question)]
    values = np.array([math.nan if score is None else score for _, score in rows])
    questions = np.array([question for question, _ in rows])
    result = question_scores(values, questions)
    assert result.means == pytest.approx([statistics.fmean(group) for group in groups], abs=1e-12)
    squares = sum(sum((score - statistics.fmean(group)) ** 2 for score in group) for group in groups)
    freedom = sum(len(group) - 1 for group in groups)
    within = squares / freedom if freedom else math.nan
    assert result.within == pytest.approx(within, abs=1e-9, nan_ok=True)
    if len(groups) > 1 and freedom:
        noise = within * statistics.fmean(1 / len(group) for group in groups)
        between = max(statistics.variance(map(statistics.fmean, groups)) - noise, 0)
        assert result.between == pytest.approx(between, abs=1e-9)
    order = chance.sample(range(len(rows)), len(rows))
    shuffled = question_scores(values[order], questions[order])
    assert shuffled.means.tobytes() == result.means.tobytes()
    assert repr((shuffled.within, shuffled.between)) == repr((result.within, result.between))


def repeated(seed, n=20, answers=3, column=True, shift=0.0):
    rng = np.random.default_rng(seed)
    ids = np.repeat([f"q{question}" for question in range(n)], answers)
    table = {"id": ids, "language": ["ru" if int(one[1:]) % 2 else "en" for one in ids]}
    table |= {"repeat": np.tile(np.arange(answers), n)} if column else {}
    table["m"] = np.repeat(np.random.default_rng(5).random(n), answers) + rng.random(n * answers) / 5 + shift
    table["exact_match"] = (rng.random(n * answers) < 0.5).astype(float)
    return pa.table(table)


def means(table):
    grouped = table.group_by("id", use_threads=False).aggregate(
        [("m", "mean"), ("exact_match", "mean"), ("language", "min")]
    )
    return grouped.rename_columns(["id", "m", "exact_match", "language"])


@pytest.mark.parametrize("column", [True, False])
def test_compare_pairs_questions_by_the_means_of_their_answers(column):
    a, b = repeated(1, column=column), repeated(2, column=column, shift=0.1)
    ours = fm.compare({"a": a, "b": b}, metrics=["m", "exact_match"], by="language")
    plain = fm.compare({"a": means(a), "b": means(b)}, metrics=["m", "exact_match"], by="language")
    for one, other in zip(ours, plain, strict=True):
        assert one.n_paired == other.n_paired
        assert (one.delta, one.p) == pytest.approx((other.delta, other.p), abs=1e-12)
    runs = {"a": a.take(np.random.default_rng(1).permutation(60)), "b": b}
    assert fm.compare(runs, metrics=["m", "exact_match"], by="language")["m"] == ours["m"]
    assert [one.metric for one in fm.compare([a, b])] == ["exact_match"]
    assert any("3 answers to each of 20 questions" in note for note in ours.notes)


def test_one_run_may_have_repeats_alone():
    a, b = repeated(1), means(repeated(2))
    found = fm.compare({"a": a, "b": b}, metrics="m")["m"]
    single = fm.compare({"a": means(a), "b": b}, metrics="m")["m"]
    assert (found.n_paired, found.delta, found.high) == pytest.approx((single.n_paired, single.delta, single.high))


def test_numbered_answers_may_be_more_to_one_question_than_to_another():
    runs = {
        "a": {"id": ["p", "p", "q"], "repeat": [1, 2, 1], "token_f1": [0.2, 0.4, 0.5]},
        "b": {"id": ["p", "q", "q", "q"], "repeat": [1, 1, 2, 3], "token_f1": [0.5, 0.1, 0.2, 0.6]},
    }
    found = fm.compare(runs)["token_f1"]
    assert (found.n_paired, found.mean_baseline, found.mean_other) == (2, pytest.approx(0.4), pytest.approx(0.4))
    unnumbered = {name: {key: run[key] for key in ("id", "token_f1")} for name, run in runs.items()}
    same = fm.compare(unnumbered)["token_f1"]
    assert (same.n_paired, same.mean_baseline, same.mean_other) == (2, found.mean_baseline, found.mean_other)


def test_answers_of_failed_calls_leave_the_mean_of_the_rest():
    a = repeated(1).to_pydict()
    a["m"][0] = None
    a["m"][3] = a["m"][4] = a["m"][5] = None
    compared = fm.compare({"a": a, "b": repeated(2)}, metrics="m")["m"]
    assert (compared.n_paired, compared.n_only_other) == (19, 1)


def test_corpus_metrics_add_the_counts_of_all_answers():
    rng = np.random.default_rng(3)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", "in", "paris", "and", "slept"])
    rows = {
        "id": np.repeat(np.arange(12), 2).tolist(),
        "repeat": np.tile([1, 2], 12).tolist(),
        "answer": [" ".join(rng.choice(words, 6)) for _ in range(24)],
        "reference": ["the cat sat on a mat"] * 24,
    }
    runs = [
        fm.score(rows | {"answer": rows["answer"][at:] + rows["answer"][:at]}, "corpus_bleu", keep_counts=True)
        for at in (0, 5)
    ]
    runs = [run.append_column("repeat", pa.array(rows["repeat"])) for run in runs]
    compared = fm.compare(runs, metrics="corpus_bleu")["corpus_bleu"]
    plain = [float(fm.corpus_bleu(rows["answer"][at:] + rows["answer"][:at], rows["reference"])) for at in (0, 5)]
    assert compared.n_paired == 12
    assert (compared.mean_baseline, compared.mean_other) == pytest.approx(plain)


def test_questions_need_no_equal_numbers_of_answers():
    table = {"id": [1, 2, 3, 4, 5, 6], "question": ["p", "p", "p", "q", "r", "r"], "m": [0.0, 0.5, 1.0, 0.4, 0.2, 0.6]}
    report = fm.results.repeats(table, on="question")["m"]
    assert (report.n_questions, report.n_answers) == (3, 6)
    assert report.mean.value == pytest.approx((0.5 + 0.4 + 0.4) / 3)
    by_id = fm.results.repeats(table | {"id": table["question"]})
    assert by_id["m"] == report
    assert "1 to 3 answers to each of 3 questions" in by_id.answers
    other = table | {"m": [0.3, 0.3, 0.3, 0.5, 0.1, 0.9]}
    by_name = [run | {"id": table["question"]} for run in (table, other)]
    for found in (fm.compare([table, other], metrics="m", on="question"), fm.compare(by_name, metrics="m")):
        pair = found["m"]
        assert (pair.n_paired, pair.mean_baseline, pair.mean_other) == (
            3,
            pytest.approx(1.3 / 3),
            pytest.approx(1.3 / 3),
        )
        assert "rows doubled by a broken resume look the same" in str(found)


def test_report_of_repeats():
    table = repeated(4, n=30, answers=4)
    report = fm.results.repeats(table, metrics=["m", "exact_match"], k=(1, 2, 4, 9))
    metric = report["exact_match"]
    correct = table["exact_match"].to_numpy().reshape(30, 4).sum(axis=1).astype(int)
    assert metric.passes[0].pass_at_k.value == pytest.approx(metric.mean.value)
    assert metric.passes[1].pass_at_k.value == pytest.approx(np.mean([fm.stats.pass_at_k(4, c, 2) for c in correct]))
    assert metric.passes[2].pass_hat_k.value == pytest.approx(np.mean(correct == 4))
    assert (metric.passes[3].n_questions, math.isnan(metric.passes[3].pass_at_k.value)) == (0, True)
    assert metric.n_answers == 120
    assert not report["m"].passes
    assert fm.results.repeats(table, metrics="m", threshold=0.5)["m"].passes
    assert report.to_arrow().num_rows == 5
    with pytest.raises(KeyError):
        report["other"]


def test_notes_name_the_kinds_of_intervals():
    """The same kinds as of any mean over the questions; equal answers have an interval from the metric's bounds."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(40), 2)
    table = {"id": ids, "token_f1": rng.random(80), "exact_match": np.repeat(rng.integers(0, 2, 40), 2)}
    table |= {"bleu": np.full(80, 25.0), "mine": np.full(80, 0.5)}
    report = fm.results.repeats(table, k=1)
    means = {name: np.asarray(values, np.float64)[::2] for name, values in table.items() if name != "id"}
    means["token_f1"] = np.asarray(table["token_f1"]).reshape(40, 2).mean(axis=1)
    plain = {one.metric: one for one in fm.results.summarize_by(means)}
    for one in report:
        expected = plain[one.metric]
        assert (one.mean.interval, one.mean.low) == (expected.interval, pytest.approx(expected.low, nan_ok=True))
    kinds = {one.metric: one.mean.interval for one in report}
    assert kinds == {"token_f1": "skew_t", "exact_match": "exact", "bleu": "worst_case", "mine": "none"}


def test_command_equals_function(tmp_path):
    path = str(tmp_path / "scores.parquet")
    pq.write_table(repeated(4), path)
    printed = json.loads(program("repeats", path, "-m", "exact_match", "-k", "2", "-k", "3", "--json").out)
    assert printed == json.loads(fm.results.repeats(path, metrics="exact_match", k=(2, 3)).to_json())


FIGURES = ("pearson", "spearman", "auc", "f1")


def rows_of(groups: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores and labels of rows that share an effect within their group, and the groups."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(groups), size)
    shared = generator.normal(size=(2, groups))[:, clusters]
    own = generator.normal(size=(2, groups * size))
    score = 2 * shared[0] + own[0]
    return score, 0.5 * score + 2 * shared[1] + own[1], clusters


def by_hand(x: np.ndarray, y: np.ndarray, threshold: float) -> tuple[float, ...]:
    good = y >= 0
    one = stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic
    return (*one, sk.roc_auc_score(good, x), sk.f1_score(good, x >= threshold))


def test_groups_of_one_row_are_rows_and_their_order_is_no_matter() -> None:
    x, y, clusters = rows_of(15, 3, 2)
    order = np.lexsort((y, x))
    place = np.empty(45, np.int64)
    place[order] = np.arange(45)
    for figure in ("pearson", "spearman", "kendall", "auc"):
        by_group, by_row = (getattr(associate(x, y, positive=0.0, clusters=some), figure) for some in (place, None))
        assert (by_group.low, by_group.high) == pytest.approx((by_row.low, by_row.high), rel=1e-9)
    one = associate(x, y, positive=0.0, clusters=clusters)
    mixed = np.random.default_rng(1).permutation(45)
    assert associate(x[mixed], y[mixed], positive=0.0, clusters=clusters[mixed]) == one
    tied = np.round(x), np.round(y) + 0.0
    again = associate(tied[0][mixed], tied[1][mixed], positive=0.0, clusters=clusters[mixed])
    assert again == associate(*tied, positive=0.0, clusters=clusters)


def test_kendalls_margin_adds_up_within_groups() -> None:
    x, y, clusters = rows_of(40, 6, 4)
    alone, grouped = (associate(x, y, clusters=c).kendall for c in (None, clusters))
    assert grouped.value == alone.value
    resampled = []
    generator = np.random.default_rng(5)
    for _ in range(300):
        rows = np.concatenate([np.flatnonzero(clusters == one) for one in generator.integers(0, 40, 40)])
        resampled.append(stats.kendalltau(x[rows], y[rows]).statistic)
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert (grouped.low, grouped.high) == pytest.approx((low, high), abs=0.05)
    assert grouped.high - grouped.low > 1.3 * (alone.high - alone.low)


def test_intervals_of_grouped_rows_cover_the_truth(full: bool) -> None:
    """In samples of 40 groups of 8 rows, 95 % intervals hold the true figures; those of rows alone do not."""
    samples = 300 if full else 120
    truth = by_hand(*rows_of(100_000, 2, 0)[:2], 0.0)
    tau = stats.kendalltau(*(part[::10] for part in rows_of(100_000, 2, 0)[:2])).statistic
    held = {name: [0, 0] for name in (*FIGURES, "kendall")}
    for seed in range(samples):
        x, y, clusters = rows_of(40, 8, seed + 1)
        for place, groups in enumerate((clusters, None)):
            found = associate(x, y, positive=0, threshold=0, clusters=groups)
            for name, value in zip((*FIGURES, "kendall"), (*truth, tau), strict=True):
                estimate = getattr(found, name)
                held[name][place] += estimate.low <= value <= estimate.high
    for name, (grouped, alone) in held.items():
        assert 0.90 * samples <= grouped <= (0.985 if full else 1) * samples, (name, grouped)
        assert alone < 0.82 * samples, (name, alone)


def test_an_opposed_score_is_turned_around() -> None:
    generator = np.random.default_rng(9)
    y = (generator.random(60) < 0.4).astype(float)
    x = np.round(generator.random(60) - 0.4 * y, 1)
    found = associate(x, y, positive=1, opposed=True)
    plain = associate(x, y, positive=1)
    for name in ("pearson", "spearman", "kendall"):
        assert getattr(found, name).value == pytest.approx(getattr(plain, name).value, abs=1e-12)
        assert getattr(found, name).low <= getattr(found, name).value <= getattr(found, name).high
    assert found.pearson.value < 0
    assert found.auc.value == pytest.approx(sk.roc_auc_score(y, -x))
    best = max((sk.f1_score(y, x <= cut), -cut) for cut in np.unique(x))
    assert (found.f1.value, found.decision.threshold) == (pytest.approx(best[0]), -best[1])
    called = x <= found.decision.threshold
    assert found.decision.accuracy == pytest.approx(sk.accuracy_score(y, called))
    assert found.decision.recall == pytest.approx(sk.recall_score(y, called))
    fixed = associate(x, y, positive=1, opposed=True, threshold=0.3)
    assert fixed.decision.threshold == 0.3
    assert fixed.f1.value == pytest.approx(sk.f1_score(y, x <= 0.3))
    zero = associate([0.0, 0.0, 1.0], [1, 1, 0], positive=1, opposed=True).decision.threshold
    assert (zero, math.copysign(1, zero)) == (0.0, 1.0)
