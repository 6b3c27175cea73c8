"""Judging that ends once the answer is known: which rows are asked, what it says, and how often it ends wrongly."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.judge_until import Until, judge_until, parse_until
from fastmetrics.models.prompts import find_rubrics
from fastmetrics.results.open_runs import open_run
from fastmetrics.results.score_file import ScoreFile
from fastmetrics.stats.mean_interval import confidence_sequence
from tests.models.test_judge_calls import number_in, written
from tests.support.judge_server import judge_server, user_message
from tests.support.program import jsonl, program


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def good(body):
    """4 or 5 by the number of the question."""
    return json.dumps({"reason": "r", "score": 4 + number_in(user_message(body)) % 2})


def judged(folder, judge, path, name="o.jsonl", **more):
    """The rows of a file judged until a condition, and the result."""
    output = {key: more.pop(key) for key in ("resume", "overwrite", "until", "baseline", "seed") if key in more}
    usual = {"store": folder / "s.sqlite", "pause": 0.01, "base_url": judge.url, **more}
    made = fm.judge(path, fm.JudgeSettings("safety", "m", **usual), output=folder / name, **output)
    rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    return rows, made


def statuses(rows):
    """The rows by status."""
    return Counter(row["judge_safety_status"] for row in rows)


def test_judging_ends_when_the_interval_is_narrow(tmp_path):
    path = written(tmp_path / "rows.jsonl", 600)
    with judge_server(reply=good) as judge:
        rows, made = judged(tmp_path, judge, path, until="safety.width < 1")
        asked = statuses(rows)["ok"]
        assert judge.count == asked < 200
        assert statuses(rows) == {"ok": asked, "unasked": 600 - asked}
        assert [row["id"] for row in rows] == list(range(600))
        numbers = [row["id"] for row in rows if row["judge_safety_status"] == "ok"]
        assert numbers[-1] > 500
        unasked = next(row for row in rows if row["judge_safety_status"] == "unasked")
        assert (unasked["judge_safety"], unasked["judge_safety_reason"]) == (None, "not asked: --until was met")
        ended = made.ended
        assert (ended.met, ended.rows, ended.total) == (True, asked, 600)
        known = ended.estimates["judge_safety", False]
        assert known.reading("width") < 1
        assert known.reading("low") <= known.reading("mean") <= known.reading("high")
        assert made.summary["judge_safety"].n == asked
        assert made.summary["judge_safety"].n_error == 0
        assert f"'safety.width < 1' is met: {asked} of 600 rows judged, in random order (seed 0)" in made.summary.notes
        figures = fm.summarize(tmp_path / "o.jsonl")["judge_safety"]
        assert (figures.n, figures.n_error, figures.n_undefined) == (asked, 0, 600 - asked)
        assert fm.gate(tmp_path / "o.jsonl", "judge_safety >= 4").passed
        assert fm.judge_report(tmp_path / "o.jsonl").axes[0].error_rate == 0


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("safety.low > 4", 1),
        ("safety.low > 4 or safety.width < 1", 1),
        ("safety.low > 4 and correctness.n > 5", 2),
        ("width < 1 or safety.delta.low > 0 and delta.high < 2", 4),
    ],
)
def test_the_means_and_changes_that_a_condition_reads_hold_together(text, read):
    """Each at 1 − 5 %/m for m of them, and a change within bounds twice as wide as those of a score."""
    rubrics = find_rubrics(["safety", "correctness"])
    rng = np.random.default_rng(2)
    scores, before = ({rubric.axis: rng.integers(1, 6, 40).astype(float) for rubric in rubrics} for _ in range(2))
    estimates = parse_until(text, rubrics).estimates(scores, before)
    assert len(estimates) == read
    for (axis, is_change), estimate in estimates.items():
        values = scores[axis] - before[axis] if is_change else scores[axis]
        expected = confidence_sequence(values, (-4.0, 4.0) if is_change else (1.0, 5.0), 1 - 0.05 / read)
        assert (estimate.estimate.low, estimate.estimate.high) == (expected.low, expected.high)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 5, 64])
def test_the_same_rows_are_asked_at_any_concurrency_and_in_memory(tmp_path, concurrency, monkeypatch):
    monkeypatch.setattr(SIZES, "until_rows", 40)
    path = written(tmp_path / "rows.jsonl", 300)
    with judge_server(reply=good) as judge:
        first, made = judged(tmp_path, judge, path, until="width < 1.2", seed=7)
        count = judge.count
        other, again = judged(tmp_path, judge, path, "b.jsonl", until="width < 1.2", seed=7, concurrency=concurrency)
        assert (first, judge.count, again.spending.from_store) == (other, count, count)
        table = {
            name: [row[name] for row in map(json.loads, path.read_text().splitlines())]
            for name in ("id", "question", "answer")
        }
        options = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        memory = fm.judge(table, "safety", until="width < 1.2", seed=7, concurrency=concurrency, **options)
        assert memory["judge_safety_status"].to_pylist() == [row["judge_safety_status"] for row in first]
        assert memory["judge_safety"].to_pylist() == [row["judge_safety"] for row in first]
        said = json.loads(memory.schema.metadata[b"fastmetrics"])
        assert said["ended_by_until"] == json.loads(json.dumps(made.ended.to_json()))
        assert judge.count == count
        seeds = {
            tuple(
                row["id"]
                for row in judged(tmp_path, judge, path, "c.jsonl", until="n >= 16", seed=seed, overwrite=True)[0]
                if row["judge_safety"]
            )
            for seed in (1, 2)
        }
        assert len(seeds) == 2


@pytest.mark.slow
def test_a_change_against_a_baseline_ends_judging(tmp_path):
    old = written(tmp_path / "old.jsonl", 400)
    worse = lambda body: json.dumps({"reason": "r", "score": 2 + number_in(user_message(body)) % 2})  # noqa: E731
    with judge_server(reply=worse) as judge:
        judged(tmp_path, judge, old, "before.jsonl")
        new = jsonl(
            tmp_path / "new.jsonl", *({"id": n, "question": f"question {n}?", "answer": "new"} for n in range(400))
        )
        judge.reply, before = good, judge.count
        rows, made = judged(
            tmp_path, judge, new, until="safety.delta.low > 0 or width < 0.02", baseline=tmp_path / "before.jsonl"
        )
        asked = judge.count - before
        assert statuses(rows) == {"ok": asked, "unasked": 400 - asked}
        assert asked <= 48
        change = made.ended.estimates["judge_safety", True]
        assert (change.reading("mean"), change.n) == (2.0, asked)
        assert 0 < change.reading("low") <= 2
        [delta] = fm.compare([tmp_path / "before.jsonl", tmp_path / "o.jsonl"], metrics="judge_safety")
        assert (delta.delta, delta.n_paired) == (2.0, asked)
        command = [
            "judge",
            new,
            "-o",
            tmp_path / "p.parquet",
            "--model",
            "m",
            "--base-url",
            judge.url,
            "--rubrics",
            "safety",
        ]
        command += [
            "--store",
            tmp_path / "s.sqlite",
            "--until",
            "delta.low > 0",
            "--baseline",
            tmp_path / "before.jsonl",
        ]
        done = program(*command)
        assert (done.code, judge.count - before) == (0, asked), done.err
        assert f"'delta.low > 0' is met: {asked} of 400 rows judged, in random order (seed 0)" in done.out
        assert "judge_safety change: 2" in done.out
        metadata = ScoreFile.open(tmp_path / "p.parquet").metadata
        assert metadata.until == {"condition": "delta.low > 0", "seed": 0, "baseline": "before.jsonl"}
        assert metadata.ended_by_until["rows"] == asked


def test_a_condition_that_is_not_met_judges_all_rows(tmp_path):
    path = written(tmp_path / "rows.jsonl", 50)
    with judge_server(reply=good) as judge:
        rows, made = judged(tmp_path, judge, path, until="safety.high < 2")
        assert (statuses(rows), judge.count, made.ended.met) == ({"ok": 50}, 50, False)
        assert "'safety.high < 2' is not met: 50 of 50 rows judged, in random order (seed 0)" in made.summary.notes
        empty = jsonl(tmp_path / "one.jsonl", {"id": 1, "question": "question 1?", "answer": "answer 1"})
        rows, made = judged(tmp_path, judge, empty, "e.jsonl", until="n >= 5")
        assert (statuses(rows), made.ended.rows) == ({"ok": 1}, 1)


def test_a_spent_budget_ends_judging_and_another_run_goes_on(tmp_path):
    path = written(tmp_path / "rows.jsonl", 300)
    with judge_server(reply=good) as judge:
        rows, made = judged(tmp_path, judge, path, until="width < 1", max_calls=20)
        assert (statuses(rows), judge.count, made.ended.met) == ({"ok": 20, "budget": 280}, 20, False)
        rows, made = judged(tmp_path, judge, path, until="width < 1", overwrite=True)
        assert made.ended.met
        assert statuses(rows)["ok"] == judge.count == made.ended.rows
        whole, _ = judged(tmp_path, judge, path, "whole.jsonl")
        assert (statuses(whole), judge.count) == ({"ok": 300}, 300)


def test_a_run_that_was_interrupted_ends_where_it_would_have_ended(tmp_path):
    path = written(tmp_path / "rows.jsonl", 300)
    with judge_server(reply=good) as judge:
        expected, made = judged(tmp_path, judge, path, until="width < 1")
        asked, judge.count = judge.count, 0
        judge.draw = lambda body, seen: "401" if judge.count > 30 else None
        with pytest.raises(fm.base.errors.ServiceError):
            judged(tmp_path, judge, path, "r.jsonl", until="width < 1", store=tmp_path / "other.sqlite", concurrency=1)
        judge.draw, paid = (lambda body, seen: None), 30
        judge.count = 0
        rows, again = judged(
            tmp_path, judge, path, "r.jsonl", until="width < 1", store=tmp_path / "other.sqlite", resume=True
        )
        assert (rows, again.ended.to_json(), judge.count) == (expected, made.ended.to_json(), asked - paid)


def test_failed_rows_are_no_values_and_bad_rows_are_left_out(tmp_path):
    rows = [
        {"id": n, "question": f"question {n}?", "answer": None if n % 5 == 0 else f"answer {n}"} for n in range(300)
    ]
    path = jsonl(tmp_path / "rows.jsonl", *rows[:100], b'{"id": ', *rows[100:])
    with judge_server(reply=good) as judge:
        settings = fm.JudgeSettings("safety", "m", store=tmp_path / "s.sqlite", base_url=judge.url)
        made = fm.judge(
            path, settings, output=tmp_path / "o.parquet", until="width < 1", files=fm.FileSettings(on_error="skip")
        )
        found = pq.read_table(tmp_path / "o.parquet")
        counts = Counter(found["judge_safety_status"].to_pylist())
        assert counts["ok"] == judge.count == made.ended.estimates["judge_safety", False].n
        assert counts["ok"] + counts["missing"] == made.ended.rows
        assert (sum(counts.values()), made.run.rejected) == (300, 1)
        before = judge.count
        with pytest.raises(fm.base.errors.FileFormatError, match="line 101"):
            fm.judge(path, settings, output=tmp_path / "p.parquet", until="n >= 200")
        assert judge.count == before


TEXTS = pa.table({"id": [1], "question": ["q"], "answer": ["a"]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one of >="),
        ("safety.width", "expected one of >="),
        ("safety.median > 3", "expected n, mean, low, high, width, delta.mean"),
        ("drop <= 0.01", "expected n, mean, low"),
        ("robustness.low > 3", "'robustness' is no rubric of this run: safety"),
        ("(width < 1 or n > 5) and low > 3", "parentheses are not supported"),
        ("width < 2%", "without %"),
        ("mean == 3", "expected <, <=, > or >="),
        ("low > 3 where id=4", "without 'where' and 'with'"),
        ("safety.delta.low > 0", r"until='safety.delta.low > 0': delta is a change .* baseline="),
    ],
)
def test_conditions_that_cannot_be_read_raise(text, message):
    with pytest.raises(OptionError, match=message):
        fm.judge(TEXTS, "safety", model="m", base_url="http://localhost:1/v1", max_calls=0, until=text)


def test_baselines_that_do_not_fit_raise(tmp_path):
    options = {"model": "m", "base_url": "http://localhost:1/v1", "max_calls": 0, "store": tmp_path / "s.sqlite"}
    before = fm.judge(TEXTS, "safety", **options)
    for table, baseline, message in (
        (TEXTS, {"judge_safety": [3.0]}, "has no id column"),
        (TEXTS, {"id": [1], "judge_other": [3.0]}, "has no column 'judge_safety'"),
        (TEXTS.drop_columns("id"), before, "the rows have no id column"),
    ):
        with pytest.raises(ColumnError, match=message):
            fm.judge(table, "safety", until="delta.low > 0", baseline=baseline, **options)
    with pytest.raises(OptionError, match="judged with another model \\('m', not 'other'\\)"):
        fm.judge(TEXTS, "safety", until="delta.low > 0", baseline=before, **{**options, "model": "other"})
    with pytest.raises(OptionError, match="baseline= is read by the delta of until="):
        fm.judge(TEXTS, "safety", baseline=before, **options)
    with pytest.raises(OptionError, match="baseline=: is not needed"):
        fm.judge(TEXTS, "safety", until="n > 3", baseline=before, **options)


def test_and_binds_before_or_and_a_comparison_without_a_name_is_for_all_rubrics():
    rubrics = find_rubrics(["safety", "robustness"])
    condition = parse_until("n >= 5 and safety.low > 4 or judge_robustness.high < 2", rubrics)
    scores = {"judge_safety": np.full(40, 5.0), "judge_robustness": np.full(4, 3.0)}

    def met(safety, robustness):
        rows = {"judge_safety": np.full(300, np.nan), "judge_robustness": np.full(300, np.nan)}
        rows["judge_safety"][: len(safety)], rows["judge_robustness"][: len(robustness)] = safety, robustness
        return condition.met(condition.estimates(rows, {}))

    assert not met(scores["judge_safety"], scores["judge_robustness"])
    assert met(np.full(300, 5.0), np.full(5, 3.0))
    assert not met(np.full(300, 4.0), np.full(5, 3.0))
    assert met([], np.full(300, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "population"])
def test_false_stops_are_rare(kind, full):
    """No change in the mean of the table, or of the population that its rows come from; a look at each step."""
    rng = np.random.default_rng(5)
    plan = SimpleNamespace(axes=["judge_safety"], rubrics=find_rubrics("safety"), identity={"id": "id"})
    stops, trials = Counter(), 400 if full else 40
    for trial in range(trials):
        before, after = (rng.choice([1.0, 3.0, 4.0, 5.0], 300) for _ in range(2))
        if kind == "table":
            after = rng.permutation(before)
        ids = np.arange(300)
        baseline = open_run({"id": ids, "judge_safety": before})
        for text in ("delta.low > 0", "delta.high < 0 or delta.low > 0"):
            until = Until(plan, parse_until(text, plan.rubrics), trial, baseline)
            table = pa.table({"id": ids, "judge_safety": after})
            ended, _ = judge_until(
                until, 300, lambda rows, table=table: table.take(pa.array(rows)), lambda batch: batch, lambda: False
            )
            stops[text] += ended.met
    assert all(count <= 0.05 * trials for count in stops.values()), stops


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_samples_and_several_files_are_judged_in_random_order(tmp_path, suffix):
    rows = [{"id": n, "question": f"question {n}?", "answer": f"answer {n}"} for n in range(240)]
    paths = []
    for number, some in enumerate((rows[:100], rows[100:], rows[:0])):
        table = pa.Table.from_pylist(
            some, pa.schema([("id", pa.int64()), ("question", "string"), ("answer", "string")])
        )
        paths.append(tmp_path / f"{number}.{suffix}")
        if suffix == "parquet":
            pq.write_table(table, paths[-1], row_group_size=30)
        elif suffix == "csv":
            pa.csv.write_csv(table, paths[-1])
        else:
            jsonl(paths[-1], *some)
    with judge_server(reply=good) as judge:
        settings = fm.JudgeSettings("safety", "m", store=tmp_path / "s.sqlite", base_url=judge.url)
        fm.judge(paths, settings, output=tmp_path / "o.parquet", until="n >= 40", sample=200)
        found = pq.read_table(tmp_path / "o.parquet")
        asked = [int(row["id"]) for row in found.to_pylist() if row["judge_safety_status"] == "ok"]
        assert (found.num_rows, len(asked), judge.count) == (200, 48, 48)
        assert asked == sorted(asked)
        assert {number // 100 for number in asked} == {0, 1, 2}
        assert found["judge_safety"].drop_null().to_pylist() == [4 + number % 2 for number in asked]
