"""The rows of a rule: those without a score, those of one run, those that it names, and how many it read."""

from __future__ import annotations

import datetime
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.results.gate import Gate
from tests.reference.gate import drop_of_rule, mean_of_rule
from tests.support.judge_server import judge_server, user_message
from tests.support.program import jsonl, program

N = 100
EASY = np.r_[np.full(50, 0.9), np.full(50, 0.2)] + np.tile([-0.05, 0.0, 0.05, 0.0], 25)
OLD = {"id": list(range(N)), "token_f1": EASY.tolist()}
NEW = (EASY + 0.03 + np.tile([0.01, -0.01], 50)).tolist()
"""Better than the old scores, by different amounts."""
RULES = ("token_f1.drop <= 0.01", "delta >= 0", "token_f1 >= 0.6", "token_f1.low >= 0.6")


def mean_with(values, worst):
    """The mean of values, of which None counts as the worst."""
    return float(np.mean([worst if one is None else one for one in values]))


def gone(values):
    """The scores of a system that lacks the hard rows."""
    return {"id": OLD["id"][:50], "token_f1": values[:50]}


def nulled(values):
    """The scores of a system whose hard rows have no score."""
    return {"id": OLD["id"], "token_f1": [*values[:50], *[None] * 50]}


def undefined(values):
    """The scores of a system whose hard rows are undefined."""
    return pa.table({"id": OLD["id"], "token_f1": pa.array([*values[:50], *[math.nan] * 50], from_pandas=False)})


@pytest.mark.parametrize("failing", [gone, nulled, undefined])
@pytest.mark.parametrize("rule", RULES)
def test_a_system_that_fails_the_hard_rows_does_not_pass(failing, rule):
    new = failing(NEW)
    found = fm.gate(new, rule, baseline=OLD)
    (one,) = found
    assert (found.passed, one.n, one.n_worst, one.worst) == (False, 50, 50, 0.0)
    filled = [*NEW[:50], *[None] * 50]
    expected = mean_with(filled, 0.0) - ("delta" in rule) * EASY.mean()
    expected = EASY.mean() - mean_with(filled, 0.0) if "drop" in rule else expected
    assert one.value == pytest.approx(expected, abs=1e-15)
    assert "token_f1: 50 rows" in str(found)
    assert "count as 0" in str(found)
    ignored = fm.gate(new, f"{rule} with unpaired=ignore", baseline=OLD)
    assert ignored.passed
    assert "50 rows" in str(ignored)
    assert "are ignored (unpaired=ignore)" in " ".join(str(ignored).split())
    assert fm.gate(new, rule, baseline=OLD, unpaired="ignore")[0].n_ignored == 50


def test_without_a_baseline_missing_rows_count_and_undefined_rows_do_not():
    values = [*OLD["token_f1"][:50], *[None] * 50]
    (one,) = fm.gate({"token_f1": values}, "token_f1 >= 0.6")
    assert (one.met, one.value, one.n, one.n_worst) == (False, pytest.approx(mean_with(values, 0.0)), 50, 50)
    (one,) = fm.gate(undefined(OLD["token_f1"]), "token_f1 >= 0.6")
    assert (one.met, one.value, one.n, one.n_worst) == (True, pytest.approx(EASY[:50].mean()), 50, 0)
    for figure, expected in [("min", 0.0), ("p10", 0.0), ("max", EASY[:50].max()), ("sum", EASY[:50].sum())]:
        (one,) = fm.gate({"token_f1": values}, f"token_f1.{figure} >= 0")
        assert one.value == pytest.approx(expected)
    padded = [one or 0.0 for one in values]
    assert fm.gate({"token_f1": values}, "token_f1.p70 >= 0")[0].value == np.percentile(padded, 70)
    assert fm.gate({"token_f1": values}, "token_f1.std >= 0")[0].value == pytest.approx(np.std(padded))
    for reading, expected in [
        *[("n", 50), ("n_missing", 50), ("n_undefined", 0), ("share_missing", 0.5), ("n_unpaired", 50)]
    ]:
        (one,) = fm.gate({"token_f1": values}, f"token_f1.{reading} >= 0")
        assert (one.value, one.met) == (expected, True)


def test_the_worst_score_is_that_of_the_direction():
    values = [0.1] * 20 + [None] * 5
    (one,) = fm.gate({"hallucination": values}, "hallucination <= 0.2")
    assert (one.met, one.worst, one.value) == (False, 1.0, pytest.approx(mean_with(values, 1.0)))
    (one,) = fm.gate(
        {"id": range(25), "hallucination": values},
        "hallucination.drop <= 0.1",
        baseline={"id": range(25), "hallucination": [0.1] * 25},
    )
    assert (one.met, one.value) == (False, pytest.approx(5 * 0.9 / 25))
    (one,) = fm.gate({"answer_length": [9.0] * 20 + [None]}, "answer_length >= 8")
    assert (one.met, one.worst) == (True, 0.0)
    (one,) = fm.gate({"answer_length": [9.0] * 20 + [None]}, "answer_length <= 12")
    assert (one.met, "has no worst score" in one.reason) == (False, True)


def test_a_metric_without_a_worst_score_names_the_options():
    scores = {"id": range(30), "latency_ms": [*np.linspace(10, 20, 28), None, None]}
    for rule in ("latency_ms <= 800", "latency_ms.p95 < 800", "latency_ms.high < 800", "latency_ms.max < 800"):
        found = fm.gate(scores, rule)
        assert not found.passed
        assert found[0].reason == (
            "2 rows have no score, and latency_ms has no worst score to count for them; add 'with unpaired=ignore' to "
            "the rule"
        )
        assert fm.gate(scores, f"{rule} with unpaired=ignore").passed
    base = {"id": range(30), "latency_ms": np.linspace(10, 20, 30)}
    assert not fm.gate(scores, "latency_ms.drop <= 100", baseline=base).passed
    assert fm.gate(scores, "latency_ms.drop <= 100 with unpaired=ignore", baseline=base).passed
    undeclared = {"my_score": [0.5] * 20 + [None]}
    assert "has no worst score" in fm.gate(undeclared, "my_score >= 0.4", better={"my_score": "higher"})[0].reason


@pytest.mark.parametrize("keep_counts", [False, True])
def test_a_corpus_metric_with_rows_without_a_score_names_the_only_option(keep_counts):
    rows = {"id": [1, 2], "answer": ["the cat sat on the mat", None], "reference": ["the cat sat on the mat", "x"]}
    scores = fm.score(rows, "corpus_bleu", keep_counts=keep_counts)
    (one,) = fm.gate(scores, "corpus_bleu >= 5 with n >= 1")
    assert (one.met, one.reason) == (
        False,
        "1 row has no score, and corpus_bleu has no worst score to count for them; add 'with unpaired=ignore' to the "
        "rule",
    )
    ignored = fm.gate(scores, "corpus_bleu >= 5 with n >= 1, unpaired=ignore")
    assert ignored.passed
    said = "corpus_bleu: 1 row without a score is ignored (unpaired=ignore)"
    assert said in " ".join(str(ignored).split())


def test_rows_that_only_the_scores_have_are_in_no_change():
    """Counting them for the baseline as the worst score would let new easy rows hide a drop."""
    old = {"id": range(40), "token_f1": [0.8, 0.7] * 20}
    new = {"id": range(400), "token_f1": [0.6, 0.5] * 20 + [1.0] * 360}
    (one,) = fm.gate(new, "token_f1.drop <= 0.1", baseline=old)
    assert (one.met, one.n, one.n_new, one.n_worst, one.value) == (False, 40, 360, 0, pytest.approx(0.2))
    assert "360 rows that the baseline does not score are in no change" in str(fm.gate(new, "delta >= 0", baseline=old))
    old["token_f1"][:5] = [None] * 5
    (one,) = fm.gate(new, "token_f1.drop <= 0.1", baseline=old)
    assert (one.n, one.n_new) == (35, 365)
    assert fm.gate(new, "token_f1.n_unpaired == 365", baseline=old).passed
    assert fm.gate(new, "token_f1.share_unpaired <= 92%", baseline=old).passed
    assert not fm.gate(new, "token_f1.share_unpaired <= 91%", baseline=old).passed


def test_a_segment_in_which_everything_failed_is_not_skipped():
    languages = ["en"] * 30 + ["ru"] * 30
    old = {"id": range(60), "token_f1": [0.8] * 60, "language": languages}
    new = {"id": range(30), "token_f1": [0.85, 0.9] * 15, "language": languages[:30]}
    for rule in ("token_f1 >= 0.5 where language=*", "token_f1.drop <= 0.1 where language=*"):
        found = fm.gate(new, f"{rule} with n >= 10", baseline=old)
        assert [(one.segment, one.met, one.n, one.n_worst) for one in found] == [
            ("language=en", True, 30, 0),
            ("language=ru", False, 0, 30),
        ]
    assert not fm.gate(new, "token_f1 >= 0.5 where language=ru", baseline=old).passed


ROWS = [{"id": n, "answer": "in Paris", "reference": "in Paris"} for n in range(20)]
RANKED = {"retrieved_ids": ["a"], "relevant_ids": ["a"]}


def test_files_distinguish_failed_missing_and_undefined_rows(tmp_path):
    """What the metadata count: rejected rows, missing inputs, and rows where a metric is undefined."""
    bad = ['{"id": 90, "answer": {"a": 7}}'] * 3
    missing = [{"id": 100 + n, "answer": None, "reference": "in Paris"} for n in range(4)]
    jsonl(tmp_path / "rows.jsonl", *ROWS, *missing, *bad)
    done = program(
        *("score", tmp_path / "rows.jsonl", "-o", tmp_path / "s.parquet", "-m", "token_f1,corpus_bleu"),
        *("--on-error", "skip", "--keep-counts"),
    )
    assert done.code == 0, done.err
    (one,) = fm.gate(tmp_path / "s.parquet", "token_f1 >= 0.9")
    assert (one.met, one.n, one.n_worst, one.value) == (False, 20, 7, pytest.approx(20 / 27))
    found = fm.gate(tmp_path / "s.parquet", ["token_f1.n_error == 3", "token_f1.n_missing == 4", "token_f1.n == 20"])
    assert found.passed, str(found)
    summary = fm.summarize(tmp_path / "s.parquet")["token_f1"]
    assert [one.value for one in found] == [summary.n_error, summary.n_missing, summary.n]
    assert [row[-1] for row in found.grids()[0].rows] == ["7"] * 3, "as under a rule on the mean"
    (one,) = fm.gate(tmp_path / "s.parquet", "corpus_bleu >= 0")
    assert (one.met, "7 rows have no score" in one.reason) == (False, True)
    assert fm.gate(tmp_path / "s.parquet", "corpus_bleu >= 0 with unpaired=ignore").passed
    jsonl(tmp_path / "ranked.jsonl", *({"id": n, **RANKED, "relevant_ids": ["a"] * (n % 4 > 0)} for n in range(40)))
    fm.score(tmp_path / "ranked.jsonl", output=tmp_path / "ranked.parquet", metrics="ndcg,reciprocal_rank")
    (one,) = fm.gate(tmp_path / "ranked.parquet", "ndcg >= 0.99")
    assert (one.met, one.n, one.n_worst, one.value) == (True, 30, 0, 1.0)
    jsonl(
        tmp_path / "mixed.jsonl",
        *({"id": n, "kind": "ab"[n % 2], **RANKED, "relevant_ids": ["a"] * (n % 4 > 0)} for n in range(40)),
        *({"id": 100 + n, "kind": "a", "retrieved_ids": None, "relevant_ids": ["a"]} for n in range(5)),
    )
    fm.score(tmp_path / "mixed.jsonl", output=tmp_path / "mixed.parquet", metrics="ndcg", keep=["kind"])
    (one,) = fm.gate(tmp_path / "mixed.parquet", "ndcg >= 0.99")
    assert (one.met, one.n, one.n_worst, one.value) == (False, 30, 5, pytest.approx(30 / 35))
    found = fm.gate(tmp_path / "mixed.parquet", "ndcg >= 0 where kind=*")
    assert [(one.n, one.n_worst) for one in found] == [(10, 5), (20, 0)]
    assert any("do not store which of the rows" in note for note in found.notes)


def test_judged_rows_without_a_score_count_as_the_worst_of_the_rubric():
    values = [4.0] * 20 + [None] * 5
    scores = {"judge_safety": {"range": [1, 5]}}
    counts = {"judge_safety": {"n_rows": 25, "n_missing": 0, "n_undefined": 0, "n_error": 5}}
    metadata = {b"fastmetrics": json.dumps({"scores": scores, "metrics": counts})}
    table = pa.table({"id": range(25), "judge_safety": values}).replace_schema_metadata(metadata)
    (one,) = fm.gate(table, "judge_safety >= 3.9")
    assert (one.met, one.worst, one.value) == (False, 1.0, pytest.approx(3.4))
    assert fm.gate(table, ["judge_safety.n_error == 5", "judge_safety.n_missing == 0"]).passed


def test_a_question_has_the_mean_of_the_answers_with_a_score():
    old = {"id": [n for n in range(20) for _ in range(3)], "token_f1": [0.8, 0.9, 0.7] * 20}
    new = {**old, "token_f1": [0.8, None, None] * 20}
    (one,) = fm.gate(new, "token_f1.drop.point <= 1e-9", baseline=old)
    assert (one.met, one.n, one.n_worst, one.value) == (True, 20, 0, pytest.approx(0, abs=1e-12))
    assert fm.gate(new, "token_f1 >= 0.799").passed


def test_corpus_metrics_refuse_lost_rows(tmp_path):
    rows = [{"id": n, "answer": f"the cat sat on {n % 7}", "reference": f"the cat sat on {n % 6}"} for n in range(40)]
    old, new = pa.Table.from_pylist(rows), pa.Table.from_pylist(rows[:20])
    scored = [fm.score(table, "corpus_bleu,bleu", keep_counts=True) for table in (old, new)]
    for rule in ("corpus_bleu >= 1", "corpus_bleu.drop <= 90", "corpus_bleu.low >= 1"):
        found = fm.gate(scored[1], rule, baseline=scored[0])
        assert (found.passed, "20 rows have no score" in found[0].reason) == (False, True)
        ignored = fm.gate(scored[1], f"{rule} with unpaired=ignore", baseline=scored[0])
        assert (ignored.passed, ignored[0].n, ignored[0].n_ignored) == (True, 20, 20)
        assert fm.gate(scored[0], rule, baseline=scored[0]).passed


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, dict, "parquet", "jsonl", "csv"])
def test_every_form_of_scores_counts_alike(tmp_path, make):
    new = {"id": list(range(30)), "token_f1": [0.75, None, 0.5] * 10}
    if make == "parquet":
        given = tmp_path / "new.parquet"
        pq.write_table(pa.table(new), given)
    elif make == "jsonl":
        given = jsonl(tmp_path / "new.jsonl", *pa.table(new).to_pylist())
    elif make == "csv":
        answers = {"id": new["id"], "answer": ["a b", None, "a"] * 10, "reference": ["a b"] * 30}
        jsonl(tmp_path / "rows.jsonl", *pa.table(answers).to_pylist())
        given = tmp_path / "new.csv"
        fm.score(tmp_path / "rows.jsonl", output=given, metrics="token_f1")
    else:
        given = make(new)
    (one,) = fm.gate(given, "token_f1 >= 0.9")
    assert (one.n, one.n_worst, one.worst) == (20, 10, 0.0)
    (one,) = fm.gate(given, "token_f1.drop <= 0", baseline={"id": range(30), "token_f1": [0.75] * 30})
    assert (one.met, one.n, one.n_worst) == (False, 20, 10)


def test_a_rule_of_a_file_ignores_unpaired_rows(tmp_path):
    for way, passed in (("ignore", True), ("worst", False)):
        (tmp_path / "rules.toml").write_text(f'[[rule]]\nrequire = "token_f1 >= 0.6"\nunpaired = "{way}"\n')
        assert fm.gate(gone(NEW), rules=tmp_path / "rules.toml", baseline=OLD).passed is passed


@pytest.mark.parametrize("n", [0, 1, 2, 5, 20])
def test_few_rows(n):
    ids = pa.array(range(n), pa.int64())
    old, new = ({"id": ids, "token_f1": pa.array([0.5] * n, pa.float64())} for _ in range(2))
    for rule in ("token_f1 >= 0.4", "token_f1.drop <= 1", "token_f1.low >= 0", "token_f1.n >= 0"):
        found = fm.gate(pa.table(new), rule, baseline=pa.table(old))
        assert found.passed is (n >= {"token_f1.n >= 0": 0, "token_f1 >= 0.4": 5}.get(rule, 20)), (rule, str(found))


SCORE = st.one_of(st.none(), st.just(math.nan), st.integers(0, 8).map(lambda eighths: eighths / 8))
RUN = st.dictionaries(st.integers(0, 12), SCORE, min_size=1, max_size=12)


@given(RUN, RUN)
def test_every_value_is_that_of_the_definition(new, old):
    new, old = {**new, 99: 0.5}, {**old, 99: 0.5}  # runs that share no row are refused
    tables = [pa.table({"id": list(run), "token_f1": pa.array(list(run.values()), pa.float64())}) for run in (new, old)]
    for unpaired, worst in (("worst", 0.0), ("ignore", None)):
        how = {"unpaired": unpaired, "min_n": 1}
        (alone,) = fm.gate(tables[0], "token_f1 >= 0", **how)
        (mean, drop) = fm.gate(tables[0], ["token_f1 >= 0", "token_f1.drop.point <= 1"], baseline=tables[1], **how)
        assert alone.value == pytest.approx(mean_of_rule(new, None, worst), abs=1e-15, nan_ok=True)
        assert mean.value == pytest.approx(mean_of_rule(new, old, worst), abs=1e-15, nan_ok=True)
        assert drop.value == pytest.approx(drop_of_rule(new, old, worst), abs=1e-15, nan_ok=True)


def test_shares_are_of_the_rows_of_the_scores_and_those_that_scoring_rejected(tmp_path):
    new = {"id": list(range(5)), "token_f1": [0.5, None, 0.5, 0.5, 0.5]}
    rules = ["token_f1.share_missing <= 20%", "token_f1.share_unpaired <= 60%", "token_f1.n_unpaired <= 6"]
    found = fm.gate(new, rules, baseline={"id": list(range(10)), "token_f1": [0.5] * 10})
    assert [one.value for one in found] == [0.2, 0.6, 6]
    rows = [{"id": n, "answer": "a", "reference": "a"} for n in range(6)]
    (tmp_path / "rows.jsonl").write_text("\n".join([*map(json.dumps, rows), "{", "{"]))
    fm.score(
        tmp_path / "rows.jsonl",
        "token_f1",
        output=tmp_path / "o.parquet",
        files=fm.tables.FileSettings(on_error="skip"),
    )
    (one,) = fm.gate(tmp_path / "o.parquet", "token_f1.share_error <= 25%")
    assert (one.value, one.met) == (0.25, True)


def test_an_infinite_score_is_no_failure_unless_the_baseline_has_one():
    scores = {"id": [1, 2], "token_f1": [math.inf, 1.0]}
    (one,) = fm.gate(scores, "token_f1 >= 0.6 with n >= 1")
    assert (one.value, one.n, one.n_worst, one.met) == (1.0, 1, 0, True)
    (one,) = fm.gate(scores, "token_f1 >= 0.6 with n >= 1", baseline={"id": [1, 2], "token_f1": [1.0, 1.0]})
    assert (one.value, one.n, one.n_worst, one.met) == (0.5, 1, 1, False)


LETTERED = 60
SCORES = np.round(np.random.default_rng(1).random(LETTERED), 3)
CHANGED = np.clip(SCORES - 0.001 * (np.arange(LETTERED) % 3), 0, 1)
KINDS = {
    "int64": pa.array([n % 2 for n in range(LETTERED)], pa.int64()),
    "int8": pa.array([n % 2 for n in range(LETTERED)], pa.int8()),
    "uint64": pa.array([n % 2 for n in range(LETTERED)], pa.uint64()),
    "float64": pa.array([float(n % 2) for n in range(LETTERED)], pa.float64()),
    "float32": pa.array([float(n % 2) for n in range(LETTERED)], pa.float32()),
    "decimal": pa.array([n % 2 for n in range(LETTERED)]).cast(pa.decimal128(30, 3)),
    "bool": pa.array([bool(n % 2) for n in range(LETTERED)]),
    "text": pa.array([str(n % 2) for n in range(LETTERED)]),
    "text of floats": pa.array([f"{n % 2}.0" for n in range(LETTERED)]),
    "text of flags": pa.array([str(bool(n % 2)) for n in range(LETTERED)]),
    "categories": pa.array([str(n % 2) for n in range(LETTERED)]).dictionary_encode(),
    "flags with null": pa.array([None if n == 0 else bool(n % 2) for n in range(LETTERED)]),
    "numbers with null": pa.array([None if n == 0 else float(n % 2) for n in range(LETTERED)]),
    "many numbers": pa.array([1.0 if n % 2 else 10.0 + n for n in range(LETTERED)]),
}


def tables(column):
    ids = [f"q{n}" for n in range(LETTERED)]
    return [pa.table({"id": ids, "token_f1": scores, "g": column}) for scores in (SCORES, CHANGED)]


@pytest.mark.parametrize("value", ["1", "1.0", "1e0", "true", "True"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_means_the_same_in_every_rule_and_column(kind, value):
    old, new = tables(KINDS[kind])
    odd = np.arange(LETTERED) % 2 == 1
    for rule in ("token_f1 >= 0", "token_f1.p50 >= 0", "token_f1.low >= 0"):
        (one,) = fm.gate(new, f"{rule} where g={value}")
        assert (one.n, one.met, one.segment) == (30, True, f"g={value}")
        assert "p50" in rule or one.value == pytest.approx(CHANGED[odd].mean(), abs=1e-15)
    for rule in ("token_f1.drop <= 0.5", "token_f1.delta.point >= -1"):
        (one,) = fm.gate(new, f"{rule} where g={value}", baseline=old)
        assert (one.n, one.met) == (30, True)
        assert abs(one.value) == pytest.approx((SCORES - CHANGED)[odd].mean(), abs=1e-15)


def test_missing_values_dates_and_texts_are_named():
    days = pa.array([datetime.date(2024, 1, 1 + n % 3) for n in range(LETTERED)])
    for column, value, n in [
        *[(days, "2024-01-02", 20), (KINDS["flags with null"], "null", 1), (KINDS["numbers with null"], "null", 1)],
        *[(pa.array(["null"] * 10 + [None] * 50), "null", 10), (pa.array(["a, b"] * LETTERED), "*", 60)],
        (pa.array([2**62 + n % 2 for n in range(LETTERED)]), str(2**62 + 1), 30),
    ]:
        for rule, options in (("token_f1 >= 0", {}), ("token_f1.delta.point >= -1", {"baseline": tables(column)[0]})):
            (one,) = fm.gate(tables(column)[1], f"{rule} where g={value}", min_n=1, **options)
            assert one.n == n, (value, rule)


def test_kept_columns_of_csv_have_the_same_rows(tmp_path):
    rows = [
        {"id": n, "answer": "a b", "reference": "a", "g": n % 2, "b": bool(n % 2), "x": n % 2 / 1.0}
        for n in range(LETTERED)
    ]
    jsonl(tmp_path / "rows.jsonl", *rows)
    for suffix in (".csv", ".parquet", ".jsonl"):
        out = tmp_path / f"scores{suffix}"
        fm.score(tmp_path / "rows.jsonl", output=out, metrics="token_f1", keep=["g", "b", "x"])
        for where in ("g=1", "g=1.0", "b=true", "b=True", "b=1", "x=1", "x=1.0"):
            rules = [f"token_f1 >= 0 where {where}", f"token_f1.drop.point <= 0 where {where}"]
            assert [one.n for one in fm.gate(out, rules, baseline=out)] == [30, 30], (suffix, where)


def test_a_rule_without_large_segments_is_no_pass():
    old, new = tables(pa.array([f"s{n // 4}" for n in range(LETTERED)]))
    for rule, options in (("token_f1 >= 0", {}), ("token_f1.drop.point <= 1", {"baseline": old})):
        found = fm.gate(new, f"{rule} where g=*", **options)
        assert (found.passed, len(found), found[0].reason) == (False, 1, "no segment has at least 5 rows")
        assert found.verdict == "FAILED: 1 of 1 check not met"
        found = fm.gate(new, f"{rule} where g=* with n >= 4", **options)
        assert (found.passed, len(found)) == (True, 15)
        found = fm.gate(new, f"{rule} where g=* with n >= 61", **options)
        assert (found.passed, found[0].reason) == (False, "no segment has at least 61 rows")
    nothing = pa.table({"token_f1": pa.array([], pa.float64()), "g": pa.array([], pa.string())})
    found = fm.gate(nothing, "token_f1 >= 0 where g=*")
    assert (found.passed, found[0].reason) == (False, "there are no rows")
    assert not Gate("scores", [], None, 0.95).passed
    assert Gate("scores", [], None, 0.95).verdict == "FAILED: no rule was checked"


def test_the_program_fails_a_rule_that_met_no_rows(tmp_path):
    _, new = tables(pa.array([f"s{n // 4}" for n in range(LETTERED)]))
    pq.write_table(new, tmp_path / "new.parquet")
    done = program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=*", "--json", "-")
    assert done.code == 6
    told = json.loads(done.out)
    assert (told["passed"], told["checks"][0]["reason"]) == (False, "no segment has at least 5 rows")
    done = program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=*", "--min-n", "4")
    assert (done.code, "passed: 15 checks met" in done.out) == (0, True)
    assert program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=x").code == 3


def test_large_segments_of_many_numbers_are_the_same_quarters_in_every_rule():
    old, new = tables(pa.array([float(n) for n in range(LETTERED)]))
    found = fm.gate(new, ["token_f1 >= 0 where g=*", "token_f1.drop.point <= 1 where g=*"], baseline=old)
    assert [one.segment for one in found[:4]] == [one.segment for one in found[4:]]
    assert [one.n for one in found] == [15] * 8


def test_pandas_flags_with_missing_values():
    frame = pd.DataFrame(
        {"token_f1": SCORES, "g": pd.array([None, *[n % 2 == 1 for n in range(1, LETTERED)]], "boolean")}
    )
    assert fm.gate(frame, "token_f1 >= 0 where g=true")[0].n == 30
    assert fm.gate(frame, "token_f1 >= 0 where g=false")[0].n == 29


def test_rows_that_scoring_rejected_are_in_no_segment(tmp_path):
    """Nobody knows their values, so they count in rules over all rows only, as worst scores or as lost counts."""
    rows = [
        {"id": n, "answer": f"on mat {n % 7}", "reference": f"on mat {n % 5}", "g": ["even", "odd"][n % 2]}
        for n in range(40)
    ]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines[:10], "{", "{", *lines[10:]]))
    out, files = tmp_path / "scores.parquet", fm.tables.FileSettings(on_error="skip")
    fm.score(tmp_path / "rows.jsonl", "token_f1,corpus_chrf", output=out, keep="g", keep_counts=True, files=files)
    scores = pq.read_table(out).to_pylist()
    means = {name: np.mean([row["token_f1"] for row in scores if row["g"] == name]) for name in ("even", "odd")}
    (whole,) = fm.gate(out, "token_f1 >= 0.1")
    assert (whole.n, whole.n_worst, whole.value) == (40, 2, pytest.approx(20 * (means["even"] + means["odd"]) / 42))
    (lost,) = fm.gate(out, "corpus_chrf >= 1")
    assert (lost.n, lost.n_worst, lost.met, lost.reason[:24]) == (40, 2, False, "2 rows have no score, an")
    for name, mean in means.items():
        found = fm.gate(out, rule := f"token_f1 >= 0.1 where g={name}")
        assert f"{rule}: 2 rows that scoring rejected are in no segment" in found.notes
        (segment,) = found
        assert (segment.n, segment.n_worst, segment.value) == (20, 0, pytest.approx(mean))
        (segment,) = fm.gate(out, f"corpus_chrf >= 1 where g={name}")
        own = [row for row in rows if row["g"] == name]
        expected = fm.corpus_chrf([row["answer"] for row in own], [row["reference"] for row in own]).score
        assert (segment.n, segment.n_worst, segment.value) == (20, 0, pytest.approx(expected))


COUNTED = 60
MISSING = {n for n in range(COUNTED) if n % 4 == 1}
"""The rows of the scores without an answer."""
ADDED = range(COUNTED, COUNTED + 9)
"""The rows that the baseline lacks."""
OLD_MISSING = {n for n in range(COUNTED) if n % 5 == 2}
LANGUAGES = ("en", "en", "ru")


def answers(rows, missing):
    """A table of answers, whose confidence is missing in further rows."""
    return pa.Table.from_pylist(
        [
            {
                "id": f"q{n:03}",
                "language": LANGUAGES[n % 3],
                "answer": None if n in missing else f"the cat sat on mat {n % 7}",
                "reference": f"the cat sat on mat {n % 6}",
                "confidence": None if n in (4, 8) else n % 10 / 10,
            }
            for n in rows
        ]
    )


def scores(tmp_path, name, table, **options):
    rows, path = tmp_path / f"{name}_rows.parquet", tmp_path / f"{name}.parquet"
    pq.write_table(table, rows)
    given = {"metrics": "token_f1,bleu,corpus_bleu,corpus_chrf,aurc", "keep": ["id", "language"], **options}
    fm.score(rows, output=path, **given)
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["sums", "counts of rows"])
def runs(tmp_path_factory, request):
    """The scores and the baseline, with or without the counts of corpus metrics for each row."""
    folder = tmp_path_factory.mktemp("gate")
    new = answers([*range(COUNTED), *ADDED], MISSING)
    old = answers(range(COUNTED), OLD_MISSING)
    return [scores(folder, name, table, keep_counts=request.param) for name, table in (("new", new), ("old", old))]


SCORED = {n for n in [*range(COUNTED), *ADDED] if n not in MISSING}
BOTH = {n for n in range(COUNTED) if n not in MISSING | OLD_MISSING}
ENGLISH = {n for n in SCORED if LANGUAGES[n % 3] == "en"}
"""Every rule, and the rows that it reads."""
READ = {
    **{"token_f1 >= 0": SCORED, "token_f1.min >= 0": SCORED, "token_f1.low >= 0": SCORED},
    **{"token_f1 >= 0 where language=en": ENGLISH, "token_f1.low >= 0 where language=en": ENGLISH},
    **{"token_f1.delta.point >= -1": BOTH, "token_f1.drop <= 1": BOTH},
    **{"token_f1.drop <= 1 where language=en": BOTH & ENGLISH, "corpus_bleu >= 0": SCORED},
    **{"corpus_chrf >= 0": SCORED, "aurc >= 0": SCORED - {4, 8}},
}
WITH_COUNTS = {
    "corpus_bleu.drop <= 100": BOTH,
    "corpus_chrf >= 0 where language=en": ENGLISH,
    "corpus_chrf.low >= 0": SCORED,
}


def check_n(rule, rows, scores, **options):
    ignoring = f"{rule} with unpaired=ignore"
    for least, met in ((len(rows), True), (len(rows) + 1, False)):
        (one,) = fm.gate(scores, f"{ignoring}, n >= {least}", **options)
        assert (one.n, one.met, one.to_dict()["n"]) == (len(rows), met, len(rows))
        assert met or one.reason.startswith(f"{len(rows)} rows with a score, expected at least {least}")
        assert f"n = {len(rows)}" in one.basis
        (one,) = fm.gate(scores, ignoring, min_n=least, **options)
        assert (one.n, one.met) == (len(rows), met)


@pytest.mark.parametrize(("rule", "rows"), READ.items(), ids=READ)
def test_n_is_that_of_the_rows_that_a_rule_reads(runs, rule, rows):
    scores, baseline = runs
    if "drop" not in rule and "delta" not in rule:
        check_n(rule, rows, scores)
    check_n(rule, rows, scores, baseline=baseline)


@pytest.mark.parametrize(("rule", "rows"), WITH_COUNTS.items(), ids=WITH_COUNTS)
def test_n_of_counted_rows(runs, rule, rows, request):
    if "sums" in request.node.name:
        return
    check_n(rule, rows, runs[0], baseline=runs[1])


def test_n_of_metrics_that_read_stored_lists(tmp_path):
    rows = [{"id": n, "ratings": None if n < 8 else [n % 3, (n + n % 2) % 3]} for n in range(30)]
    path = scores(tmp_path, "rated", pa.Table.from_pylist(rows), metrics="rater_agreement", keep=["id"])
    rule = "rater_agreement.alpha_nominal >= -1"
    check_n(rule, set(range(8, 30)), path)
    found = fm.gate(path, rule)
    assert (found.passed, found[0].n_worst) == (False, 8)
    assert "8 rows have no score" in found[0].reason


def test_rows_that_miss_an_input_of_a_corpus_metric_are_not_passed_over(runs):
    for rule in ("corpus_bleu >= 0", "corpus_chrf >= 0", "aurc >= 0"):
        (one,) = fm.gate(runs[0], rule)
        assert (one.met, one.n_worst) == (False, COUNTED + len(ADDED) - len(READ[rule]))
        assert "have no score" in one.reason


def test_shares_of_missing_and_failed_rows_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    answers = ["a", "a", None, "bad", "bad", "a", None, "bad", "a", "a"]
    path = jsonl(
        tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": a} for n, a in enumerate(answers))
    )
    fault = lambda body, seen: "400" if "bad" in user_message(body) else None  # noqa: E731
    with judge_server(draw=fault) as judge:
        settings = fm.models.JudgeSettings(
            "safety", "m", base_url=judge.url, store=tmp_path / "s.sqlite", concurrency=1
        )
        fm.judge(path, settings, output=tmp_path / "o.parquet")
    expected = {"n": 5, "n_missing": 2, "n_error": 3, "share_missing": 0.2, "share_error": 0.3}
    for figure, value in expected.items():
        for sign, passes in ((">=", True), ("<=", True), (">", False)):
            rule = f"judge_safety.{figure} {sign} {value}"
            assert fm.gate(tmp_path / "o.parquet", [rule]).passed is passes, rule


CAUSES = [
    # of a run and a rule: the rows without a score by cause
    ("gone", "drop <= 1", ["50 rows that only the baseline has count as 0"]),
    ("nulled", "mean >= 0", ["50 rows without a score count as 0"]),
    ("scored", "drop <= 1", ["1 row that only the baseline has counts", "2 rows that lack an input count"]),
    ("scored", "mean >= 0", ["1 row that only the baseline has counts", "2 rows that lack an input count"]),
    ("undefined", "drop <= 1", ["1 row undefined, though the baseline scores it, counts as 0"]),
    ("rejected", "mean >= 0", ["1 row that scoring rejected counts as 0; unpaired=ignore leaves it out"]),
]


@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
@pytest.mark.parametrize(("run", "rule", "said"), CAUSES, ids=[f"{run} {rule}" for run, rule, _ in CAUSES])
def test_each_cause_of_rows_without_a_score_is_a_note(run, rule, said, tmp_path):
    rows = [{"id": n, "retrieved_ids": ["a"], "relevant_ids": ["a"]} for n in range(30)]
    metric, base = "ndcg", fm.score(rows, "ndcg", keep=["id"])
    if run in ("gone", "nulled"):
        metric, base, scores = "token_f1", OLD, {"gone": gone, "nulled": nulled}[run](NEW)
    elif run == "rejected":
        jsonl(tmp_path / "rows.jsonl", *rows[1:], {**rows[0], "relevant_ids": "]"})
        base, scores = None, tmp_path / "o.parquet"
        fm.score(tmp_path / "rows.jsonl", "ndcg", output=scores, files=fm.tables.FileSettings(on_error="skip"))
    else:
        changes = [{"relevant_ids": []}] if run == "undefined" else [{"relevant_ids": None}, {"retrieved_ids": None}]
        changed = [{**row, **change} for row, change in zip(rows, changes, strict=False)]
        scores = tmp_path / "o.parquet"
        fm.score([*changed, *rows[len(changed) + (run == "scored") :]], "ndcg", keep=["id"], output=scores)
    notes = fm.gate(scores, f"{metric}.{rule}", baseline=base).remarks()
    counted = [note for note in notes if "unpaired=ignore" in note]
    for note, text in zip(counted, said, strict=True):
        assert note.startswith(f"{metric}: {text}")
