"""In what two runs differ: each change is named, and nothing else."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.resume import compare, differences
from tests.support.program import jsonl, program

RUN = {
    "fastmetrics": "0.1.0",
    "unicode": "14.0.0",
    "scores": {"f1@5": {"metric": "f1", "k": 5}, "squad_f1": {"metric": "squad_f1", "version": 1}},
    "columns": {"answer": "answer", "reference": "gold"},
    "keep": ["id"],
    "order": ["f1@5", "squad_f1"],
    "kinds": {"answer": "text", "gold": "texts"},
    "input": {"1 /a.csv": [1000, 10**18], "2 /b.csv": [20, 10**18]},
    "inputs": {"files": 1, "bytes": 1200, "first": [["a.csv", 1200]], "digest": "y"},
    "on_error": "fail",
    "part": [100, 1000],
    "pyarrow": "23.0.0",
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
