"""The rows of a run are units: questions, with the mean of their answers, alike in every command."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm

QUESTIONS = np.arange(60)
CHANCE = np.random.default_rng(4).random(60)


def answered(repeats: int, seed: int = 0) -> dict[str, list]:
    """Answers to 60 questions, each right with the chance of its question."""
    right = np.random.default_rng(seed).random((60, repeats)) < CHANCE[:, None]
    ids = [f"q{n}" for n in np.repeat(QUESTIONS, repeats)]
    numbers = [*range(repeats)] * 60
    return {"id": ids, "repeat": numbers, "topic": [one[1] for one in ids], "exact_match": right.ravel() * 1.0}


def means_of(table: dict[str, list]) -> dict[str, list]:
    """The same table with one row per question."""
    means = np.reshape(table["exact_match"], (60, -1)).mean(axis=1)
    each = len(table["id"]) // 60
    return {"id": table["id"][::each], "topic": table["topic"][::each], "exact_match": means}


def test_intervals_of_repeated_answers_are_over_questions(tmp_path):
    table = answered(5)
    for options in ({}, {"by": "topic"}, {"cluster": "topic"}):
        found = fm.results.summarize_by(table, metrics="exact_match", **options)
        plain = fm.results.summarize_by(means_of(table), metrics="exact_match", **options)
        assert list(found) == list(plain)
        assert "60 questions" in "\n".join(found.remarks())
    (one,) = fm.results.repeats(table, metrics="exact_match")
    (mean,) = fm.results.summarize_by(table, metrics="exact_match")
    assert (one.mean.low, one.mean.high) == (mean.low, mean.high)
    rows = pa.table({**table, "answer": ["a " * (n % 7 + 1) for n in range(300)]})
    fm.score(rows, "answer_words", output=tmp_path / "run.parquet", keep=["exact_match", "topic", "repeat"], name="run")
    (point,) = fm.trend(tmp_path, "answer_words")
    (clustered,) = fm.trend(tmp_path, "answer_words", cluster="topic")
    assert (point.n, clustered.n) == (60, 60)
    assert (point.low, point.high) != (clustered.low, clustered.high)


def test_unpaired_runs_count_questions():
    first, second = answered(5), answered(3, seed=1)
    found = fm.compare([first, second], pairing="none", metrics="exact_match")["exact_match"]
    plain = fm.compare([means_of(first), means_of(second)], pairing="none", metrics="exact_match")["exact_match"]
    assert (found.n_only_baseline, found.n_only_other, found.low, found.p) == (60, 60, plain.low, plain.p)


def test_a_rule_reads_the_same_with_and_without_a_baseline():
    easy = {"id": ["easy"] * 81 + [f"q{n}" for n in range(9)], "repeat": [*range(81)] + [0] * 9}
    scores = {**easy, "exact_match": [1.0] * 81 + [0.0] * 9}
    for rule in ("exact_match >= 0.6", "exact_match.n >= 1", "exact_match.std <= 1", "exact_match.high <= 1"):
        (alone,) = fm.gate(scores, rule, min_n=1)
        (beside,) = fm.gate(scores, rule, min_n=1, baseline=scores)
        assert (alone.value, alone.low, alone.n) == pytest.approx((beside.value, beside.low, beside.n), nan_ok=True)
    assert fm.gate(scores, "exact_match >= 0.6", min_n=1)[0].value == 0.1


def test_differences_by_rounding_are_known_to_gates():
    base = np.linspace(0.1, 0.8, 40)
    runs = [{"id": range(40), "token_f1": (base + shift).astype(np.float32)} for shift in (0, 0.1)]
    pair = fm.compare(runs)["token_f1"]
    (rule,) = fm.gate(runs[1], "token_f1.delta >= -1", baseline=runs[0])
    assert rule.interval == pair.interval == "worst_case"
    assert (rule.low, rule.high) == (pair.low, pair.high)


def test_an_infinite_score_is_undefined_in_every_command():
    base = {"id": range(40), "ratio": [0.5] * 20 + [0.7] * 20}
    scores = {"id": range(40), "ratio": [math.inf, *([0.5] * 19), *([0.7] * 20)]}
    note = "ratio: 1 infinite score counts as undefined"
    summary = fm.summarize(pa.table(scores))
    means = fm.results.summarize_by(scores)
    pair = fm.compare({"base": base, "new": scores})
    gate = fm.gate(scores, ["ratio <= 0.7", "ratio.p95 <= 0.7", "ratio.max <= 0.7", "ratio.n_undefined == 1"], min_n=1)
    mean = math.fsum(scores["ratio"][1:]) / 39
    assert [summary["ratio"].mean, means[0].mean, pair["ratio"].mean_other, gate[0].value] == pytest.approx([mean] * 4)
    assert (summary["ratio"].n, summary["ratio"].n_undefined, summary["ratio"].max) == (39, 1, 0.7)
    assert summary.figures["ratio.mean"] == summary["ratio"].mean
    assert gate.passed
    for found in (summary, means, gate):
        assert any(line.endswith(note) for line in found.remarks())
    assert any(line.endswith(note) for line in pair.notes)


def test_a_corpus_metric_of_no_rows_is_undefined_in_every_command(tmp_path):
    rows = {"id": [1, 2], "answer": ["a b", None], "reference": [None, "x"]}
    metrics = ["corpus_bleu", "corpus_chrf", "abstention_f1"]
    path = tmp_path / "scores.parquet"
    table = pa.table(rows, pa.schema([("id", pa.int64()), ("answer", pa.string()), ("reference", pa.string())]))
    found = fm.score(table.slice(0, 0), metrics, output=path, keep_counts=True)
    for summary in (found.summary, fm.summarize(path)):
        assert all(math.isnan(summary.figures[name]) for name in metrics)
    for name in metrics:
        (rule,) = fm.gate(path, f"{name} >= 0", unpaired="ignore", min_n=1)
        pair = fm.compare([path, path], metrics=name)[name]
        assert math.isnan(rule.value)
        assert math.isnan(pair.mean_other)
    bleu = fm.score(table, "corpus_bleu", output=tmp_path / "uncounted.parquet").summary
    assert math.isnan(bleu.figures["corpus_bleu"])
