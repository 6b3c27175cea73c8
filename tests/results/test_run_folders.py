"""Runs in a folder: what their outputs say of them, their order, the last of them, their trend, in what two differ."""

from __future__ import annotations

import copy
import itertools
import json
import os
import random
import re
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.stats.fingerprints import fingerprint, fingerprint_text, is_hashable
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.resume import compare, differences
from tests.support.program import jsonl, program

texts = st.none() | st.text(max_size=12)
ROWS = [{"id": f"q{n}", "question": f"what is {n}?", "answer": "Paris", "reference": "Paris"} for n in range(50)]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def prints(path):
    return read_metadata(path).get("fingerprint")


def added(*parts):
    return [sum(numbers) for numbers in zip(*parts, strict=True)]


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(0, 10), st.randoms(use_true_random=False))
def test_row_order_and_parts_do_not_change_fingerprint(rows, cut, chance):
    def of(rows):
        return fingerprint([pa.array([row[at] for row in rows], pa.string()) for at in (0, 1)])

    mixed = chance.sample(rows, len(rows))
    assert (
        fingerprint_text(of(mixed))
        == fingerprint_text(of(rows))
        == fingerprint_text(added(of(rows[:cut]), of(rows[cut:])))
    )


def test_different_rows_have_different_fingerprints():
    """Texts, nulls, empty texts, places in the row, and how often a row is there."""
    cells = ["", None, "a", "b", "ab", "aa", "\0", "1"]
    pairs = list(itertools.product(cells, repeat=2))
    tables = [[pair] for pair in pairs] + [[pair] * 2 for pair in pairs] + list(itertools.combinations(pairs, 2)) + [[]]
    found = [
        fingerprint_text(fingerprint([pa.array([row[at] for row in rows], pa.string()) for at in (0, 1)]))
        for rows in tables
    ]
    assert len(set(found)) == len(tables)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_text_layout_does_not_change_fingerprint(kind):
    column = pa.array(["7", None, "12", "7"])
    assert fingerprint([column]) == fingerprint([column.cast(kind)]) == fingerprint([column.cast(pa.int64())])
    assert is_hashable(kind)
    assert not is_hashable(pa.float64())


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv", "arrow", ""])
def test_every_output_format_has_fingerprints(tmp_path, suffix):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    out = tmp_path / f"scores.{suffix}" if suffix else tmp_path / "scores"
    fm.score(rows, output=out, metrics="token_f1", name="mine")
    expected = {
        "ids": fingerprint_text(fingerprint([pa.array([row["id"] for row in ROWS])])),
        "questions": fingerprint_text(
            fingerprint([pa.array([row[name] for row in ROWS]) for name in ("id", "question")])
        ),
    }
    assert prints(out) == expected
    assert read_metadata(out)["name"] == "mine"
    assert not {"began", "ended"} & set(read_metadata(out))


def test_questions_are_read_only_if_needed(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    asked = {"plain": {}, "kept": {"keep": "question"}, "named": {"name": "a"}, "read": {"metrics": "jaccard"}}
    for name, options in asked.items():
        fm.score(rows, output=tmp_path / f"{name}.parquet", **{"metrics": "token_f1", **options})
    found = {name: prints(tmp_path / f"{name}.parquet") for name in asked}
    assert set(found["plain"]) == {"ids"}
    assert found["kept"] == found["named"] == found["read"]
    assert found["plain"]["ids"] == found["read"]["ids"]


def test_fingerprint_ignores_input_format_order_parts_and_threads(tmp_path):
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    inputs = [write(tmp_path / "a.jsonl", ROWS), write(tmp_path / "b.jsonl", shuffled)]
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet", row_group_size=7)
    (tmp_path / "d.csv").write_text(
        "\n".join(",".join(row.values()) for row in [{name: name for name in ROWS[0]}, *ROWS]) + "\n"
    )
    found = []
    for place, path in enumerate([*inputs, tmp_path / "c.parquet", tmp_path / "d.csv"]):
        for size, threads in ((3, 1), (1000, 2)):
            out = tmp_path / f"out{place}{size}.parquet"
            fm.score(
                path,
                output=out,
                metrics="token_f1",
                name="n",
                files=fm.tables.FileSettings(batch_rows=size),
                threads=threads,
            )
            found.append(prints(out))
    assert all(one == found[0] for one in found)


def test_integers_are_fingerprinted_as_text_and_lists_are_not(tmp_path):
    numbers = write(tmp_path / "a.jsonl", [{"id": 7, "answer": "a"}])
    strings = write(tmp_path / "b.jsonl", [{"id": "7", "answer": "a"}])
    lists = write(tmp_path / "c.jsonl", [{"question": [1, 2], "answer": "a"}])
    for path in (numbers, strings, lists):
        fm.score(path, output=path.with_suffix(".parquet"), metrics="answer_words", name="n")
    assert prints(tmp_path / "a.parquet") == prints(tmp_path / "b.parquet") != None  # noqa: E711
    assert prints(tmp_path / "c.parquet") is None


def test_fingerprint_excludes_rejected_rows(tmp_path):
    rows = write(tmp_path / "a.jsonl", ROWS)
    rows.write_text(rows.read_text() + '{"id": "bad", "answer": {"a": 7}}\n')
    fm.score(rows, output=tmp_path / "a.parquet", metrics="answer_words", files=fm.tables.FileSettings(on_error="skip"))
    fm.score(write(tmp_path / "b.jsonl", ROWS), output=tmp_path / "b.parquet", metrics="answer_words")
    assert prints(tmp_path / "a.parquet") == prints(tmp_path / "b.parquet")


def test_run_bytes_are_reproducible_without_times(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    outs = [tmp_path / "one" / "s.parquet", tmp_path / "two" / "s.parquet"]
    for out in outs:
        out.parent.mkdir()
        fm.score(rows, output=out, metrics="token_f1", name="n")
    assert outs[0].read_bytes() == outs[1].read_bytes()
    fm.score(rows, output=tmp_path / "t.parquet", metrics="token_f1", times=True)
    about = read_metadata(tmp_path / "t.parquet")
    assert about["began"] <= about["ended"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", about["began"])


class StoppedError(Exception):
    """What ends a run early here."""


def test_resumed_run_has_the_name_of_its_last_call(tmp_path):
    table = pa.table({"id": range(300_000), "answer": ["a b"] * 300_000, "reference": ["a"] * 300_000})
    pq.write_table(table, tmp_path / "rows.parquet")

    def stop(progress):
        if progress.rows > 140_000:
            raise StoppedError

    out = tmp_path / "scores.parquet"
    with pytest.raises(StoppedError):
        fm.score(tmp_path / "rows.parquet", output=out, metrics="token_f1", name="first", progress=stop)
    assert fm.results.list_runs(tmp_path).num_rows == 0  # unfinished runs are not listed
    found = fm.score(tmp_path / "rows.parquet", output=out, metrics="token_f1", name="second", resume=True)
    assert found.resumed_rows > 0
    undisturbed = tmp_path / "once" / "scores.parquet"
    undisturbed.parent.mkdir()
    fm.score(tmp_path / "rows.parquet", output=undisturbed, metrics="token_f1", name="second")
    assert out.read_bytes() == undisturbed.read_bytes()
    assert [run["name"] for run in fm.results.list_runs(tmp_path).to_pylist()] == ["second"]


def test_runs_of_a_folder_are_listed(tmp_path):
    rows = write(tmp_path / "rows.jsonl", ROWS)
    fm.score(rows, output=tmp_path / "b.parquet", metrics="token_f1", name="second", times=True)
    fm.score(rows, output=tmp_path / "a.csv", metrics="token_f1,exact_match")
    fm.score(rows, output=tmp_path / "parts", metrics="token_f1", name="third")
    (tmp_path / "notes.txt").write_text("no run")
    np.save(tmp_path / "vectors.npy", np.zeros((2, 2)))
    (tmp_path / "empty").mkdir()
    found = fm.results.list_runs(tmp_path).to_pylist()
    assert [(run["file"], run["name"], run["rows"]) for run in found] == [
        ("b.parquet", "second", 50),
        ("a.csv", None, 50),
        ("parts", "third", 50),
    ]
    assert found[1]["metrics"] == ["token_f1", "exact_match"]
    assert len({run["ids"] for run in found}) == 1
    assert found[0]["inputs"].startswith("rows.jsonl (")
    printed = program("runs", "list", tmp_path)
    assert printed.code == 0
    assert [line.split()[0] for line in printed.out.splitlines()] == ["file", "b.parquet", "a.csv", "parts"]
    assert json.loads(program("runs", "list", tmp_path, "--json").out) == found


RIGHT = [{"id": n, "answer": "in Paris", "reference": "in Paris"} for n in range(9)]
WORSE = [{**row, "answer": "no"} for row in RIGHT]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three nightly runs, the last of which failed."""
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "good.jsonl", *RIGHT)
    jsonl(tmp_path / "bad.jsonl", *WORSE)
    (tmp_path / "runs").mkdir()
    for day, rows in (("1", "good"), ("2", "good"), ("3", "bad")):
        fm.score(f"{rows}.jsonl", output=f"runs/day-{day}.parquet", metrics="token_f1")
    return tmp_path / "runs"


def test_the_latest_run_is_the_last_of_the_trend(folder):
    found = fm.gate("runs", "token_f1 >= 0.6", latest=True)
    assert (found.passed, found.scores) == (False, "day-3")
    assert (
        "day-3.parquet is the last of 3 runs in runs, by file name, since no run stores when it began (score --times)"
        in (found.notes)
    )
    assert [one.file for one in fm.trend("runs", "token_f1")][-1] == "day-3.parquet"
    done = program("gate", "runs", "--latest", "-r", "token_f1 >= 0.6")
    assert (done.code, "day-3 FAILED" in done.out) == (1, True)
    (folder / "day-3.parquet").unlink()
    assert program("gate", "runs", "--latest", "-r", "token_f1 >= 0.6").code == 0


def test_times_order_the_runs(folder, tmp_path):
    (tmp_path / "timed").mkdir()
    for day, rows, began in (("0", "bad", "2026-01-09T00:00:00"), ("9", "good", "2026-01-05T00:00:00")):
        with mock.patch("fastmetrics.scoring.score_runs.now", lambda began=began: began):
            fm.score(f"{rows}.jsonl", output=f"timed/day-{day}.parquet", metrics="token_f1", times=True)
    found = fm.gate("timed", "token_f1 >= 0.6", latest=True)
    assert (found.passed, found.scores) == (False, "day-0")


def test_one_run_in_parts_and_parts_without_metadata_are_one_table(folder, tmp_path):
    fm.score("good.jsonl", output=tmp_path / "parts/", metrics="token_f1")
    assert fm.gate("parts", "token_f1 >= 0.6").passed
    (tmp_path / "plain").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"id": range(part * 9, part * 9 + 9), "token_f1": [0.8] * 9}), f"plain/{part}.parquet")
    (one,) = fm.gate("plain", "token_f1 >= 0.6")
    assert (one.met, one.n) == (True, 27)
    assert fm.summarize("runs").n_rows == 27


def test_trend_and_the_report_give_the_same_interval(folder, tmp_path):
    rows = [{**row, "answer": ["in Paris", "no", "Paris"][row["id"] % 3]} for row in RIGHT]
    jsonl(tmp_path / "mixed.jsonl", *rows)
    fm.score("mixed.jsonl", output="runs/day-4.parquet", metrics="token_f1")
    points = fm.trend("runs", "token_f1")
    fm.report("runs/day-4.parquet", tmp_path / "report.html", runs="runs")
    page = (tmp_path / "report.html").read_text()
    assert points[3].low < points[3].mean < points[3].high
    for grid_line in points.grids()[0].rows:
        assert grid_line[4] in page


def test_a_change_can_be_against_the_mean_of_the_last_runs(tmp_path):
    """Night k answers question n with n % 5 + k words, in another order each night; the first one lacks a question."""
    for night in range(5):
        order = list(range(0 if night else 1, 40))[:: -1 if night % 2 else 1]
        rows = [{"id": f"q{n}", "answer": "a " * (n % 5 + night)} for n in order]
        fm.score(
            pa.Table.from_pylist(rows), "answer_words", output=tmp_path / f"{night}.parquet", name=f"night {night}"
        )
    rules = ["answer_words.delta.point == 2", "answer_words.n == 40"]
    found = fm.gate(tmp_path, rules, baseline=tmp_path, latest=True, last=3)
    assert (found.passed, found[0].n, found.baseline) == (True, 40, f"the last 3 runs of {tmp_path}")
    assert "the baseline is the mean of night 1, night 2, night 3 (by file name)" in found.notes
    earlier = fm.gate(tmp_path / "2.parquet", "answer_words.delta.point == 1.5", baseline=tmp_path, last=3)
    assert "the baseline is the mean of night 0, night 1 (by file name)" in earlier.notes
    assert earlier[0].value == pytest.approx((39 * 1.5 + 1) / 40)
    rule = "answer_words.delta.point == 2.5"  # question 0 has three nights: 2, and 39 others four: 2.5
    (one,) = fm.gate(tmp_path / "4.parquet", rule, baseline=tmp_path, last=9)
    assert one.value == pytest.approx((39 * 2.5 + 2) / 40)
    told = program("gate", tmp_path, "--latest", "--baseline", tmp_path, "--last", "3", "-r", rules[0])
    assert told.code == 0, told


BOUNDS = ("file", "name", "began", "n", "mean", "low", "high")


@pytest.fixture
def nightly(tmp_path):
    """Runs in the order of their file names, should two begin within a second."""
    answers, made = tmp_path / "rows.jsonl", tmp_path / "runs"
    made.mkdir()
    for place, (name, right, count) in enumerate((("c", 10, 40), ("a", 20, 40), ("b", 30, 40), ("fewer", 30, 38))):
        rows = [{"id": n, "answer": "yes" if n < right else "no", "reference": "yes"} for n in range(count)]
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
        fm.score(answers, output=made / f"{place}.parquet", metrics="token_f1", name=name, times=True)
    fm.score(answers, output=made / "late.parquet", metrics="answer_words")
    return made


def test_runs_are_ordered_by_start_time_with_means(nightly):
    found = fm.trend(nightly, "token_f1")
    assert [one.name for one in found] == ["c", "a", "b", "fewer"]
    assert [one.mean for one in found] == [0.25, 0.5, 0.75, 30 / 38]
    assert [one.other_rows for one in found] == [None, False, False, True]
    for one in found:
        alone = fm.results.summarize_by(nightly / one.file, metrics="token_f1")[0]
        assert (one.n, one.low, one.high) == (alone.n, alone.low, alone.high)
    assert found.to_arrow().column_names == [*BOUNDS, "interval", "interval_note", "other_rows"]


def test_rows_are_compared_with_those_of_the_run_before(tmp_path):
    for name, count in (("a", 3), ("b", 2), ("c", 2), ("d", 3)):
        rows = {"id": list(range(count)), "answer": ["yes"] * count, "reference": ["yes"] * count}
        fm.score(rows, "token_f1", output=tmp_path / f"{name}.parquet", name=name)
    assert [one.other_rows for one in fm.trend(tmp_path, "token_f1")] == [None, True, False, True]


RUN = {
    **{"fastmetrics": "0.1.0", "unicode": "14.0.0"},
    "scores": {"f1@5": {"metric": "f1", "k": 5}, "squad_f1": {"metric": "squad_f1", "version": 1}},
    **{"columns": {"answer": "answer", "reference": "gold"}, "keep": ["id"], "order": ["f1@5", "squad_f1"]},
    **{"kinds": {"answer": "text", "gold": "texts"}, "input": {"1 /a.csv": [1000, 10**18], "2 /b.csv": [20, 10**18]}},
    **{"inputs": {"files": 1, "bytes": 1200, "first": [["a.csv", 1200]], "digest": "y"}, "on_error": "fail"},
    **{"part": [100, 1000], "pyarrow": "23.0.0"},
}
CHANGES = [
    (["fastmetrics"], "0.2.0", "fastmetrics was '0.1.0', is '0.2.0'"),
    (["scores", "f1@5", "k"], 6, "scores.f1@5.k was 5, is 6"),
    (["scores", "f1@5", "new"], [1], "scores.f1@5.new was none, is [1]"),
    (["scores", "bleu"], {"metric": "bleu"}, "scores.bleu was none, is set"),
    (["scores", "f1@5"], None, "scores.f1@5 was set, is none"),
    (["columns", "reference"], "target", "columns.reference was 'gold', is 'target'"),
    (["columns", "reference"], None, "columns.reference was 'gold', is none"),
    (["passed_over"], {"answer": ["x"]}, "passed_over was none, is set"),
    (["keep"], [], "keep was ['id'], is none"),
    (["order"], ["squad_f1", "f1@5"], "order was ['f1@5', 'squad_f1'], is ['squad_f1', 'f1@5']"),
    (["kinds", "gold"], "text", "kinds.gold was 'texts', is 'text'"),
    (
        ["input", "1 /a.csv"],
        [1001, 10**18],
        "input /a.csv was 1,000 bytes of 2001-09-09 01:46:40.000 UTC, is 1,001 bytes of 2001-09-09 01:46:40.000 UTC",
    ),
    (["input", "3 /c.csv"], [30, 7], "input /c.csv was none, is 30 bytes of 1970-01-01 00:00:00.000 UTC"),
    (
        ["inputs"],
        {"files": 1, "bytes": 1201, "first": [["a.csv", 1201]], "digest": "x"},
        "input was a.csv (1,200 bytes), is a.csv (1,201 bytes)",
    ),
    (["on_error"], "skip", "on_error was 'fail', is 'skip'"),
    (["part"], [50, 1000], "part was [100, 1000], is [50, 1000]"),
]


def changed(run, path, value):
    """A run with one value put in, or taken out if it is None."""
    run = copy.deepcopy(run)
    place = run
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return run


@pytest.mark.parametrize(("path", "value", "message"), CHANGES)
def test_each_change_is_named(path, value, message):
    now = changed(RUN, path, value)
    with pytest.raises(OutputError) as caught:
        compare("o.csv", RUN, now)
    assert str(caught.value) == f"cannot resume o.csv: {message}; choose overwrite=True to start again"
    compare("o.csv", now, now)


def test_many_differences_are_counted_and_what_follows_from_others_is_left_out():
    now = RUN
    for path, value, _ in CHANGES:
        now = changed(now, path, value)
    with pytest.raises(OutputError) as caught:
        compare("o.csv", RUN, now)
    found = differences(RUN, now)
    assert str(caught.value).count(", is ") == 5
    assert f"; {len(found) - 5} more differences; choose " in str(caught.value)
    assert not {"order", "kinds.gold"} & {one.what for one in found}


SCALARS = st.none() | st.integers(0, 2) | st.sampled_from(["", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(list("ab")), inner, max_size=2)
)
PATHS = [["scores"], ["scores", "f1@5"], ["columns"], ["input"]]


@given(path=st.sampled_from([*PATHS, ["kinds"], ["order"], ["part"], ["pyarrow"]]), value=VALUES)
def test_a_record_of_anything_is_equal_or_differs(path, value):
    for one, other in ((changed(RUN, path, value), RUN), (RUN, changed(RUN, path, value))):
        assert bool(differences(one, other)) == (one != other)


def test_a_resumed_run_says_which_option_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "answer": "a", "reference": "b", "gold": "c"} for n in range(200_000)]
    jsonl(tmp_path / "t.jsonl", *rows, "no row")
    options = ["score", "t.jsonl", "-o", "o.parquet", "--resume", "-m"]
    assert program(*options, "squad_f1(version=1)").err.startswith("error: t.jsonl, line 200001: ")
    done = program(*options, "squad_f1(version=1)", "--columns", "reference=gold")
    message = "columns.reference was 'reference', is 'gold'"
    assert (done.code, done.err) == (
        4,
        f"error: cannot resume {tmp_path}/o.parquet: {message}; choose --overwrite to start again\n",
    )
    done = program(*options, "squad_f1(version=1)", "--on-error", "skip")
    assert "on_error was 'fail', is 'skip'" in done.err


@pytest.fixture
def nights(tmp_path, monkeypatch):
    """Five nights of 40 rows, each with one right answer less; the second file is torn, pages of the third too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nights").mkdir()
    for night in range(5):
        rows = [{"id": n, "answer": "in Paris" if n >= night else "no", "reference": "in Paris"} for n in range(40)]
        with mock.patch("fastmetrics.scoring.score_runs.now", lambda night=night: f"2040-01-0{night + 1}T00:00:00"):
            place = tmp_path / "nights" / f"{night}.parquet"
            fm.score(rows, "token_f1", output=place, times=True)
        content = place.read_bytes()
        place.write_bytes({1: content[:100], 2: b"PAR1" + b"\xff" * 60 + content[64:]}.get(night, content))
    return tmp_path / "nights"


def test_runs_that_cannot_be_read_are_named_and_left_out_on_request(nights, tmp_path):
    one, two = ("--alert", "token_f1.n >= 1"), ("-r", "token_f1.n >= 1")
    for command in (
        ("runs", "list", nights),
        ("runs", "trend", nights, "token_f1"),
        ("gate", nights, "--latest", *two),
    ):
        told = program(*command)
        assert (told.code, told.out) == (3, "")
        assert told.err.startswith(
            f"error: {nights}/1.parquet: cannot be read: Parquet magic bytes not found in footer"
        )
        assert told.err.endswith("; leave it out with --skip-unreadable\n")
    listed = fm.results.list_runs(nights, skip_unreadable=True).to_pylist()
    assert [run["file"] for run in listed] == [f"{n}.parquet" for n in (1, 0, 2, 3, 4)]
    assert [run["rows"] for run in listed] == [None, 40, 40, 40, 40]
    assert listed[0]["unreadable"].startswith("cannot be read: Parquet")
    told = program("runs", "list", nights, "--skip-unreadable")
    assert told.code == 0
    assert f"left out: {nights}/1.parquet: cannot be read: Parquet" in told.out
    found = fm.trend(nights, "token_f1", skip_unreadable=True)
    assert [(one.file, one.mean) for one in found] == [(f"{n}.parquet", 1 - n / 40) for n in (0, 3, 4)]
    left_out = [f"left out: {nights}/{n}.parquet: cannot be read: " for n in (1, 2)]
    assert all(note.startswith(text) for note, text in zip(found.notes, left_out, strict=True))
    files = {kind: tmp_path / f"gate.{end}" for kind, end in (("json", "json"), ("markdown", "md"), ("junit", "xml"))}
    way = [part for kind, file in files.items() for part in (f"--{kind}", file)]
    rule = ("-r", "token_f1.drop.point == 0.0625", "--baseline", nights, "--last", "3")  # of 1 and 37/40 against 36/40
    told = program("gate", nights, "--latest", *rule, "--skip-unreadable", *way)
    assert (told.code, told.err) == (0, ""), told
    for text in (" ".join(told.out.split()), *(file.read_text() for file in files.values())):
        assert all(note in text for note in left_out)
    page = tmp_path / "page.html"
    fm.report(nights / "0.parquet", page, runs=nights, skip_unreadable=True)
    assert all(note in page.read_text() for note in left_out)
    assert program("runs", "trend", nights, "token_f1", "--skip-unreadable", *one).code == 0


def test_junit_is_printed_on_request(nights):
    for rule, code, found in (
        ("token_f1 >= 0", 0, 'failures="0"'),
        ("token_f1 > 1", 1, 'failures="1"'),
        ("f2 > 0", 2, 'errors="1"'),
    ):
        told = program("gate", nights / "0.parquet", "-r", rule, "--junit", "-")
        assert (told.code, told.out[:5], found in told.out) == (code, "<?xml", True)
    assert program("gate", nights / "0.parquet", "-r", rule, "--junit", "-", "--json", "-").code == 2


@pytest.mark.parametrize(
    ("torn", "first", "written", "told"),
    [
        ("1", "0", 3e9, "what is left out is earlier by its name"),
        ("5", "0", 1e9, "it may be the last run, as its name is after 4.parquet: move it away, or "),
        ("1", "night-9", 3e9, "the names do not have the order of the starts, and it was not written before 2040"),
        ("1", "night-9", 1e9, "what is left out is earlier by the time of the file"),
    ],
)
def test_a_run_that_may_be_the_last_is_not_left_out(nights, torn, first, written, told):
    (nights / "2.parquet").unlink()
    (nights / "0.parquet").rename(nights / f"{first}.parquet")
    (nights / "1.parquet").rename(nights / f"{torn}.parquet")
    os.utime(nights / f"{torn}.parquet", (written, written))
    for command in (("gate", nights, "--latest", "-r", "token_f1 >= 0"), ("runs", "trend", nights, "token_f1")):
        alert = ("--alert", "token_f1 >= 0") if command[0] == "runs" else ()
        done = program(*command, *alert, "--skip-unreadable")
        said = " ".join((done.out + done.err).split())
        assert (done.code, told in said) == (0 if "earlier" in told else 3, True), said
    assert program("runs", "trend", nights, "token_f1", "--skip-unreadable").code == 0


def test_runs_without_times_are_in_the_order_of_counting(tmp_path):
    for n in (2, 10, 9):
        fm.score([{"id": 1, "answer": "a", "reference": "a"}], "token_f1", output=tmp_path / f"run-{n}.parquet")
    assert [run["file"] for run in fm.results.list_runs(tmp_path).to_pylist()] == [
        f"run-{n}.parquet" for n in (2, 9, 10)
    ]
    assert "run-10.parquet is the last of 3 runs" in fm.gate(tmp_path, "token_f1.n >= 1", latest=True).notes[0]


ALERTS = [
    # rules, code, of a last night at 36/40 after 37/40, 38/40, 39/40 and 1
    *[(["token_f1 >= 0.9"], 0), (["token_f1 >= 0.91"], 1), (["drop.point <= 0.0625"], 0)],
    *[(["drop.point <= 0.0624"], 1), (["drop.point <= 0.0251", "--last", "1"], 0)],
    *[(["token_f1 >= 0.9 with n >= 41"], 6), (["token_f1 >= 0.9", "--alert", "token_f1.n >= 41"], 1)],
    (["token_f1 => 0.9"], 2),
]


@pytest.mark.parametrize(("rules", "code"), ALERTS, ids=[" ".join(rules) for rules, _ in ALERTS])
def test_an_alert_on_a_trend_ends_as_a_gate_on_the_last_run(rules, code, tmp_path):
    for night in range(5):
        rows = [{"id": n, "answer": "in Paris" if n >= night else "no", "reference": "in Paris"} for n in range(40)]
        fm.score(rows, "token_f1", output=tmp_path / f"{night}.parquet")
        fm.score(rows, "answer_words", output=tmp_path / f"{night}b.parquet")  # is none of its nights
    told = program("runs", "trend", tmp_path, "token_f1", "--alert", *rules, "--json")
    assert told.code == code, told
    if code == 2:
        assert "rule 'token_f1 => 0.9', character 10: expected one of" in told.err
        return
    alert = json.loads(told.out)["alert"]
    assert alert["passed"] == (code == 0)
    last = ["--last", rules[-1]] if "--last" in rules else []
    other = program("gate", tmp_path / "4.parquet", "-r", "token_f1.drop.point <= 1", *last)
    assert other.code == 2  # a change needs a baseline, which the trend has
    if "drop" in rules[0]:
        [check] = alert["checks"]
        assert check["value"] == pytest.approx(0.025 if last else 0.0625)
        assert check["false_alarms"] > 0
