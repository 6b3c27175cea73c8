"""What a row is: a repeat of a question, an answer of another system, a row of a segment; alike in every command."""

from __future__ import annotations

import datetime
import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from tests.reference import repeats as reference
from tests.support.program import program

M = "exact_match"
DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
CASES = {  # the columns, by, the mean of all rows, and those of segments
    "nine and one": ({"id": ["p"] * 9 + ["q"], M: [1] * 9 + [0], "repeat": [*range(9), 0]}, "", 0.5, {}),
    "without numbers": ({"id": [7, 7, 7, 8], M: [1.0, 1.0, 1.0, 0.0]}, "", 0.5, {}),
    "one row": ({"id": ["p"], M: [1]}, "", 1.0, {}),
    "one question": ({"id": ["p", "p"], M: [1, 0]}, "", 0.5, {}),
    "a row without an id": ({"id": [None, None, "p", "p"], M: [1, 1, 1, 0]}, "", 2.5 / 3, {}),
    "a missing score": ({"id": ["p", "p", "q"], M: [1, None, 0], "repeat": [1, 2, 1]}, "", 0.5, {}),
    "systems": (
        {"id": ["p", "q", "r"] * 2, "system": ["A"] * 3 + ["B"] * 3, M: [1, 1, 1, 0, 0, 0]},
        "system",
        0.5,
        {"system=A": 1.0, "system=B": 0.0},
    ),
    "uneven systems": (
        {"id": ["p", "p", "p", "p", "q"], "system": ["A", "A", "A", "B", "B"], M: [1, 1, 0, 0, 1]},
        "system",
        (2 / 3 + 0 + 1) / 3,
        {"system=A": 2 / 3, "system=B": 0.5},
    ),
    "temperatures": (
        {"id": ["p", "p", "q", "q"] * 2, "temperature": [0.2] * 4 + [0.9] * 4, M: [1, 1, 1, 0, 0, 0, 0, 0]},
        "temperature",
        0.375,
        {"temperature=0.2": 0.75, "temperature=0.9": 0.0},
    ),
    "whole parameters": (
        {"id": [1, 1, 2], "top_k": [1, 5, 5], "model": ["a", "a", "b"], M: [1, 0, 0]},
        "top_k,model",
        1 / 3,
        {"top_k=1, model=a": 1.0, "top_k=5, model=a": 0.0, "top_k=5, model=b": 0.0},
    ),
    "languages of one id": (
        {"id": ["p", "p", "p", "q"], "language": ["en", "en", "ru", "en"], M: [1, 1, 0, 0]},
        "language",
        1 / 3,
        {"language=en": 0.5, "language=ru": 0.0},
    ),
    "a segment of nulls": (
        {"id": ["p", "p", "q", "q"], "language": ["en", None, "en", None], M: [1, 0, 1, 1]},
        "language",
        0.75,
        {"language=en": 1.0, "language=null": 0.5},
    ),
    "two columns": (
        {"id": ["p"] * 4, "language": ["en", "en", "ru", "ru"], "hard": [True, False] * 2, M: [1, 0, 0, 0]},
        "language,hard",
        0.25,
        {"language=en, hard=True": 1.0, "language=en, hard=False": 0.0, "language=ru, hard=True": 0.0},
    ),
    "days": ({"id": [1, 2] * 2, "day": [*DAYS, *DAYS], M: [1, 0, 1, 0]}, "day", 0.5, {"day=2026-01-01": 1.0}),
    "numbers in quarters": (
        {"id": [n // 2 for n in range(32)], "size": [*range(32)], M: [int(n >= 8) for n in range(32)]},
        "size",
        0.75,
        {"size=[0, 7.750)": 0.0, "size=[23.25, 31]": 1.0},
    ),
}


def forms(table, folder):
    arrow = pa.table(table)
    pq.write_table(arrow, folder / "t.parquet")
    (folder / "t.jsonl").write_text("".join(json.dumps(row, default=str) + "\n" for row in arrow.to_pylist()))
    backwards = arrow.take(pa.array(range(len(arrow) - 1, -1, -1)))
    return [table, arrow, backwards, pd.DataFrame(table), folder / "t.parquet", folder / "t.jsonl"]


@pytest.mark.parametrize("name", CASES)
def test_every_command_averages_the_repeats_of_a_question_first(name, tmp_path):
    table, by, whole, segments = CASES[name]
    for form in forms(table, tmp_path):
        assert fm.summarize(form)[M].mean == pytest.approx(whole)
        assert fm.summarize(form)[M].n == sum(score is not None for score in table[M])
        found = {one.segment: one.mean for one in fm.results.summarize_by(form, by=by or None, metrics=M)}
        assert found[None] == pytest.approx(whole)
        assert {segment: found[segment] for segment in segments} == pytest.approx(segments)
        where = f" where {', '.join(f'{column}=*' for column in by.split(','))}" if by else ""
        checked = fm.gate(form, f"{M} >= 0{where} with n >= 1", unpaired="ignore")
        read = {one.segment: one.value for one in checked}
        assert {segment: read[segment] for segment in segments or {None: 0}} == pytest.approx(segments or {None: whole})
        if name not in ("without numbers", "a row without an id", "uneven systems", "languages of one id"):
            pairs = fm.compare({"old": form, "new": form}, by=by or None, metrics=M)
            compared = {one.segment: one.mean_other for one in pairs}
            assert compared[None] == pytest.approx(whole)
            assert {segment: compared[segment] for segment in segments} == pytest.approx(segments)
    done = program("summarize", tmp_path / "t.jsonl", "--json")
    assert json.loads(done.out)["metrics"][M]["mean"] == pytest.approx(whole), done.err
    if by:
        told = json.loads(program("summarize", tmp_path / "t.parquet", "--by", by, "--json").out)["means"]
        told = {one["segment"]: one["mean"] for one in told if one["metric"] == M}
        assert {segment: told[segment] for segment in segments} == pytest.approx(segments)


def test_units_of_one_id_depend_on_each_other():
    """A system beside another one is no more questions; within one system, the questions are all there is."""
    table = {"id": [*range(20)] * 2, "system": ["A"] * 20 + ["B"] * 20, M: ([1, 0] * 10) * 2}
    found = {one.segment: one for one in fm.results.summarize_by(table, by="system")}
    alone = fm.results.summarize_by({"id": range(20), M: [1, 0] * 10})[0]
    assert (found[None].n, found[None].n_clusters, found["system=A"].n_clusters) == (40, 20, None)
    assert (found["system=A"].low, found["system=A"].high) == (alone.low, alone.high)
    other = {**table, M: ([0, 1] * 10) * 2}
    pair = fm.compare([table, other])[M]
    assert (pair.n_paired, pair.n_clusters) == (40, 20)
    with pytest.raises(InputError):
        fm.compare([table, {"id": range(20), M: [1, 0] * 10}])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_scoring_says_that_rows_of_one_id_are_one_question(suffix, tmp_path):
    rows = [{"id": f"q{n}", "answer": "a " * (n + 1)} for n in (0, 1, 2, 2)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = program("score", tmp_path / "rows.jsonl", "-m", "answer_words", "-o", tmp_path / f"out.{suffix}")
    assert "rows doubled by a broken resume look the same" in " ".join(done.out.split())
    assert fm.summarize(tmp_path / f"out.{suffix}")["answer_words"].mean == 2.0
    run = fm.score(tmp_path / "rows.jsonl", "answer_words", output=tmp_path / f"again.{suffix}")
    assert (run.summary["answer_words"].mean, run.summary["answer_words"].n) == (2.0, 4)
    doubled = tmp_path / "rows.jsonl"
    doubled.write_text(doubled.read_text().replace('"id"', '"nr"'))
    assert fm.score(doubled, "answer_words", output=tmp_path / f"bare.{suffix}").summary["answer_words"].mean == 2.25


# The order of pandas rows.


def frame(labels, start=0.0):
    return pd.DataFrame({"token_f1": [start + n / 20 for n in range(len(labels))]}, index=labels)


LABELS = {
    **{"texts": [*"abcdefg"], "numbers": [11, 12, 13, 14, 15, 16, 17], "a part of a frame": pd.RangeIndex(3, 10)},
    "days": pd.date_range("2026-01-01", periods=7),
    "two levels": pd.MultiIndex.from_arrays([[*"aabbccd"], [1, 2, 1, 2, 1, 2, 1]]),
    **{"fractions": [0.5 * n for n in range(1, 8)], "categories": pd.CategoricalIndex([*"gfedcba"])},
    **{"named": pd.Index([*"abcdefg"], name="question"), "intervals": pd.interval_range(0, 7, 7), "one row": ["a"]},
    "named categories": pd.CategoricalIndex([*"gfedcba"], name="kind"),
    "mixed": pd.Index([1, "a", 2, "b", 3, "c", 4], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_frames_in_another_order_pair_by_their_index(name):
    old = frame(LABELS[name])
    new = (old / 2).iloc[::-1]
    found = fm.compare({"old": old, "new": new})["token_f1"]
    assert (found.n_paired, found.losses) == (len(old), len(old) - 1)  # by position some would win
    rolled = (old / 2).iloc[[*range(1, len(old)), 0]]  # an order whose inverse is another one
    assert fm.compare({"old": old, "new": rolled})["token_f1"].losses == len(old) - 1
    assert fm.gate(new, "token_f1.delta.point <= 0 with n >= 1", baseline=old)[0].value == pytest.approx(found.delta)
    rows = pd.DataFrame({"answer": [f"w{n} x" for n in range(len(old))]}, index=old.index)
    rows["reference"] = rows.answer
    turned = rows.iloc[::-1]
    assert fm.exact_match(rows.answer, turned.reference).tolist() == [1.0] * len(rows)
    assert fm.exact_match(rows.answer, turned.reference.to_numpy()).sum() == len(rows) % 2
    if name not in ("intervals", "mixed"):  # Arrow keeps no such labels
        scores = [fm.score(some, M) for some in (rows, turned)]
        assert fm.compare(scores).joined_by == (old.index.name or "index")


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        *[([*"abc"], [*"abd"]), ([1, 2, 3], [2, 3, 4]), (pd.RangeIndex(1, 4), pd.RangeIndex(2, 5))],
        *[([*"abc"], [1, 2, 3]), (pd.date_range("2026-01-01", periods=3), pd.date_range("2026-02-01", periods=3))],
    ],
)
def test_indexes_that_disagree_are_refused(labels, others):
    with pytest.raises(InputError):
        fm.compare([frame(labels), frame(others)])
    answers, references = pd.Series([*"xyz"], index=labels), pd.Series([*"xyz"], index=others)
    with pytest.raises(InputError):
        fm.exact_match(answers, references)
    assert fm.compare([frame(labels), frame(others)], pairing="position").joined_by == "position"
    with pytest.raises(InputError):
        fm.stats.judge_decisions(answers == "x", references == "x")


@pytest.mark.parametrize("others", [range(3), [1, 1, 2], [2, 2, 2]])
def test_an_index_that_tells_no_rows_apart_is_no_order(others):
    answers, references = pd.Series([*"xyz"], index=[2, 1, 0]), pd.Series([*"xyz"], index=others)
    assert fm.exact_match(answers, references).tolist() == [1.0] * 3
    assert fm.compare([frame([2, 1, 0]), frame(others)]).joined_by == "position"


# The headline, flags, and bounds.


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("metric", ["overall_quality", "latency_ms", "total_tokens", "ndcg@10", "token_f1"])
def test_there_is_a_headline_for_every_main_metric(metric, n):
    for change in (0.0, 0.125):
        found = fm.compare([{"id": range(n), metric: [0.5 + more] * n} for more in (0.0, change)])
        assert found.main == metric
        assert (metric in found.headline) == bool(change)


@pytest.mark.parametrize("values", [[0.2, 0.9], [1, 2], [True, False], [1e-3, 1e3], DAYS, ["x", "y"]])
def test_any_column_names_systems(values):
    table = {"id": [n // 2 for n in range(12)], "temperature": values * 6, "token_f1": [0.5, 0.75] * 6}
    found = fm.compare(pa.table(table), system="temperature")
    assert (len(found.systems), found["token_f1"].delta, found["token_f1"].n_paired) == (2, 0.25, 6)


@pytest.mark.parametrize(
    ("name", "values", "is_flag"),
    [
        *[("retries", [0, 1] * 10, False), ("cost_usd", [0.0] * 20, False), ("retries", [0.0, 1.0] * 10, False)],
        *[("retries", [1] * 20, False), ("passed", [True, False] * 10, True), ("passed", [True] * 20, True)],
        *[("exact_match", [0, 1] * 10, True), ("exact_match", [0.0] * 20, True)],
        *[("hit_rate@5", [0.0, 1.0] * 10, True), ("wer", [0.0, 1.0] * 10, False)],
        *[("answer_words", [1, 0] * 10, False), ("judge_correctness", [1.0] * 20, False)],
    ],
)
def test_a_flag_is_declared_and_no_sample_is_taken_for_one(name, values, is_flag, tmp_path):
    table = {"id": range(20), name: values}
    (one,) = fm.results.summarize_by(table)
    assert (one.interval == "exact") == is_flag
    other = {**table, name: values[::-1]}
    pair = fm.compare([table, other])[name]
    assert (pair.interval == "bounded") == (is_flag and pair.ties < pair.n_paired)
    (rule,) = fm.gate(table, f"{name}.low >= {int(max(values))}" if name != "cost_usd" else f"{name}.low >= 0")
    assert (rule.interval == "exact") == is_flag
    stated = (
        fm.results.summarize_by(table, flags=name)[0].interval,
        fm.compare([table, other], flags=name)[name].interval,
    )
    assert stated[0] == "exact"
    assert stated[1] in ("bounded", "worst_case")
    assert fm.gate(table, f"{name}.low >= {int(max(values))}", flags=name)[0].interval == "exact"
    twice = {"id": [n // 2 for n in range(20)], name: values}
    assert bool(fm.results.repeats(twice, k=1)[0].passes) == is_flag
    assert fm.results.repeats(twice, k=1, threshold=1)[0].passes
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    told = json.loads(program("summarize", tmp_path / "t.parquet", "--intervals", "--json").out)["means"]
    assert [mean["interval"] == "exact" for mean in told] == [is_flag]
    told = json.loads(program("summarize", tmp_path / "t.parquet", "--intervals", "--flags", name, "--json").out)
    assert told["means"][0]["interval"] == "exact"


@pytest.mark.parametrize(
    ("name", "values", "row", "expected"),
    [
        ("token_f1", [0.4, 56.7], 1, "between 0 and 1; divide a percentage by 100"),
        ("token_f1", [0.4, -0.1], 1, "between 0 and 1; bring them to that scale"),
        *[("exact_match", [1, 0, 2], 2, "between 0 and 1"), ("bleu", [101.0, 4.0], 0, "between 0 and 100")],
        *[("semantic_similarity", [-1.5], 0, "between -1 and 1"), ("latency_ms", [12.0, -3.0], 1, "0 or more")],
        *[("wer", [1.4, -0.5], 1, "0 or more"), ("judge_correctness", [5, 1, 0], 2, "between 1 and 5")],
        ("ndcg@10", [math.nan, 1.5], 1, "between 0 and 1"),
        ("hallucination", [None, None, 3], 2, "between 0 and 1"),
    ],
)
def test_a_score_outside_its_bounds_is_an_error_that_names_it(name, values, row, expected, tmp_path):
    table = pa.table({"id": range(len(values)), name: values})
    pq.write_table(table, tmp_path / "t.parquet")
    said = rf"row {row}: {name} is .*, but the scores of this metric are {expected}.* or give another name to a column"
    readers = [
        *[fm.summarize, fm.results.summarize_by, lambda scores: fm.gate(scores, f"{name}.high >= 0")],
        *[lambda scores: fm.compare([scores, scores]), fm.results.histograms],
        lambda scores: fm.results.side_by_side([scores]),
        lambda scores: fm.validate(scores, [1, 0, 1][: len(values)], metrics=name),
    ]
    forms = (table.to_pandas(), table.to_pydict(), tmp_path / "t.parquet")
    for read, form in [*((read, table) for read in readers), *((fm.summarize, form) for form in forms)]:
        with pytest.raises(InputError) as raised:
            read(form)
        assert re.search(said, str(raised.value))
    with pytest.raises(InputError):
        fm.fit(table.append_column("good", pa.array([i % 2 for i in range(len(values))])), label="good", metrics=name)
    done = program("summarize", tmp_path / "t.parquet")
    assert (done.code, f"row {row}: {name} is" in done.err) == (3, True)


@pytest.mark.parametrize("value", [1 + 1e-9, -1e-9, 1.0, 0.0, 1 + 2**-23])
def test_rounding_leaves_no_bounds(value):
    assert (
        fm.results.summarize_by({"token_f1": [value, 0.5]})[0].n
        == fm.summarize({"token_f1": [value, 0.5]})["token_f1"].n
    )


# Rows that one run alone scores.


@pytest.mark.parametrize(
    ("metric", "good", "bad", "better"),
    [("token_f1", 0.8, 0.75, None), ("hallucination", 0.2, 0.25, None), ("own", 0.8, 0.75, {"own": "higher"})],
)
@pytest.mark.parametrize("way", ["null", "absent"])
def test_blank_answers_count_as_the_worst_on_request(metric, good, bad, better, way, tmp_path):
    """Of 12 rows as many rise as fall, 8 of the old run are blank: no change, or 8 times a rise from the worst."""
    blank = [None if n < 8 else (good, bad)[n % 2] for n in range(20)]
    old = {"id": [*range(20)], metric: blank}
    if way == "absent":
        old = {"id": old["id"][8:], metric: blank[8:]}
    runs = {"old": old, "new": {"id": [*range(20)], metric: [good] * 8 + [bad, good] * 6}}
    left, counted = (fm.compare(runs, missing=missing, better=better) for missing in ("ignore", "worst"))
    assert (left[metric].n_paired, left.verdict(left[metric])) == (12, "–")
    assert left[metric].delta == pytest.approx(0, abs=1e-12)
    if metric == "own":
        assert (counted[metric].n_paired, counted[metric].p) == (12, left[metric].p)
        assert "left out of own, without bounds or a direction" in counted.notes
        return
    rise = 8 * (good if metric == "token_f1" else good - 1)
    assert (counted[metric].n_paired, counted.verdict(counted[metric])) == (20, "better")
    assert counted[metric].delta == pytest.approx(rise / 20)
    for found, verdicts in ((left, ("undecided", "better")), (counted, ("better", "undecided"))):
        (note,) = [note for note in found.notes if f"{metric}, new against old: {verdicts[0]} (p " in note]
        assert f", but {verdicts[1]} (p " in note
    for name, table in runs.items():
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    told = program("compare", tmp_path / "old.parquet", tmp_path / "new.parquet", "--missing", "worst", "--json")
    assert json.loads(told.out)["comparisons"][0]["delta"] == pytest.approx(rise / 20)


def test_an_undefined_score_is_not_missing():
    old = pa.table({"id": range(20), "token_f1": [math.nan] * 8 + [0.8] * 12})
    runs = {"old": old, "new": {"id": range(20), "token_f1": [0.8] * 20}}
    assert fm.compare(runs, missing="worst")["token_f1"].n_paired == 12


@pytest.mark.parametrize(
    ("rule", "value", "n"),
    [
        ("token_f1.share_missing <= 0.1", 0.15, 40),
        ("token_f1.n_missing <= 5", 6, 40),
        ("token_f1.n >= 40", 32, 40),
        ("token_f1.share_undefined <= 0", 0.05, 40),
        ("token_f1.share_missing <= 0.1 where kind=easy", 0.3, 20),
    ],
)
def test_a_share_is_of_all_rows(rule, value, n):
    scores = pa.table(
        {"id": range(40), "kind": ["easy", "hard"] * 20, "token_f1": [None, 0.5] * 6 + [0.5] * 26 + [math.nan] * 2}
    )
    (one,) = fm.gate(scores, rule)
    assert (one.value, one.n, one.met) == (pytest.approx(value), n, False)
    assert f"over {n} rows" in one.reason


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        *[("token_f1.drop <= 0.05", "drop 0.3000"), ("token_f1.drop.point <= 0.05", "drop 0.3000")],
        *[("token_f1.drop <= 5%", "drop 75.00%"), ("token_f1.delta >= 0", "change -0.3000")],
        *[("token_f1.not_worse <= 0.05", "drop 0.3000"), ("token_f1.equivalent <= 0.01", "change -0.3000")],
    ],
)
def test_the_worst_segment_of_a_drop_is_that_of_the_largest_drop(rule, shown):
    """What is low and stays low is no drop; in percent, a small drop of a low mean is large."""
    kinds = ["high"] * 20 + ["middle"] * 20 + ["low"] * 20
    old = {"id": range(60), "kind": kinds, "token_f1": [0.9] * 20 + [0.4] * 20 + [0.1] * 20}
    new = {**old, "token_f1": [0.8] * 20 + [0.1] * 20 + [0.1] * 20}
    (one,) = fm.gate(new, rule, baseline=old)
    assert one.places.segment == f"kind=middle ({shown} over 20 rows)"


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


QUERIES = st.none() | st.sampled_from(["q1", "q2", "q3"])
LISTS = st.none() | st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)
ANSWERS = st.none() | st.sampled_from(["x", "y", ""])


@given(st.lists(st.tuples(QUERIES, LISTS, ANSWERS), max_size=12), st.integers(1, 4), st.booleans())
def test_repeats_against_the_first(rows, k, numbers):
    queries, lists, answers = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    kept = [(query, list(dict.fromkeys(ids[:k]))) for query, ids, _ in rows if query is not None and ids is not None]
    expected = reference.as_the_first(*zip(*kept, strict=True)) if kept else None
    column = pa.array(lists, pa.list_(pa.string()))
    if numbers:
        places = {"a": 1, "b": 2, "c": 3}
        column = pa.array([ids and [places[one] for one in ids] for ids in lists], pa.list_(pa.int64()))
    found = fm.retrieval_consistency(pa.array(queries, pa.string()), column, k=k, against="first").score
    assert math.isnan(found) if expected is None else found == expected
    kept = [(query, answer) for query, _, answer in rows if query is not None and answer is not None]
    expected = reference.as_the_first(*zip(*kept, strict=True)) if kept else None
    texts = pa.array(answers, pa.string())
    rate = fm.response_exact_match_rate(texts, pa.array(queries, pa.string()), against="first")
    assert math.isnan(rate.score) if expected is None else rate.score == expected
    assert rate.n_pairs == len(kept) - len({query for query, _ in kept})
    assert rate.n_missing == len(rows) - len(kept)


def test_against_first_and_pairs_differ():
    queries, lists = ["q"] * 3, [["a", "b"], ["b", "a"], ["a", "b"]]
    assert fm.retrieval_consistency(queries, lists).score == 1.0
    assert fm.retrieval_consistency(queries, lists, against="first").score == 0.5
    answers = ["x", "y", "y"]
    assert fm.response_exact_match_rate(answers, queries).score == pytest.approx(1 / 3)
    assert fm.response_exact_match_rate(answers, queries, against="first").score == 0.0


CALLS = {
    "question": ["q", "q", "q", "r", "r", "s", None],
    "answer": ["a", "a", "b", "c", "c", "d", "e"],
    "retrieved_ids": [["x"], ["x"], ["y"], ["z"], ["z"], ["w"], ["w"]],
    "answer_embedding": [[1.0, 0.0]] * 7,
    "answer_call": ["1", "1", "2", None, None, "3", "1"],
}
NAMES = ["response_exact_match_rate", "retrieval_consistency", "retrieval_rbo", "response_semantic_consistency"]


def test_rows_that_share_a_call_are_counted_and_noted(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(CALLS), path)
    without = fm.score({name: column for name, column in CALLS.items() if name != "answer_call"}, NAMES)
    assert not any("share a model call" in note for note in fm.summarize(without).notes)
    in_memory = fm.summarize(fm.score(CALLS, NAMES))
    in_files = fm.score(path, output=tmp_path / "s.parquet", metrics=NAMES).summary
    again = fm.summarize(tmp_path / "s.parquet")
    for summary in (in_memory, in_files, again):
        assert summary.corpus == fm.summarize(without).corpus
        [note] = [note for note in summary.notes if "share a model call" in note]
        assert note == (
            f"{', '.join(summary.corpus)}: 2 of 5 scored rows (40 %) share a model call with another row of their "
            "question, so they are equal by construction; answer with repeats (--repeats K) to make a call for each"
        )
        assert set(summary.corpus) == set(NAMES)
    found = fm.response_exact_match_rate(CALLS["answer"], CALLS["question"], CALLS["answer_call"])
    assert (found.n_shared, found.n_rows, found.n_missing) == (2, 5, 1)
    assert fm.response_exact_match_rate(CALLS["answer"], CALLS["question"]).n_shared == 0


def test_answers_of_one_shared_call_are_noted_and_repeats_are_not():
    answered = fm.answer({"question": ["a?", "b?", "a?"]}, lambda question: question)
    summary = fm.summarize(fm.score(answered, "response_exact_match_rate"))
    assert summary.corpus == {"response_exact_match_rate": 1.0}
    assert any("2 of 2 scored rows (100 %) share a model call" in note for note in summary.notes)
    repeated = fm.answer({"question": ["a?", "b?"]}, lambda question: question, repeats=2)
    summary = fm.summarize(fm.score(repeated, "response_exact_match_rate"))
    assert summary.corpus == {"response_exact_match_rate": 1.0}
    assert not any("share a model call" in note for note in summary.notes)


def test_infinite_answers_are_answers_without_a_score():
    table = {"id": ["p", "p", "q", "q"], "m": [1.0, math.inf, 0.0, 1.0]}
    report = fm.results.repeats(table, k=1, threshold=1)["m"]
    assert (report.n_questions, report.n_answers, report.n_missing) == (2, 3, 1)
    assert [rate.pass_at_k.value for rate in report.passes] == [0.75]
