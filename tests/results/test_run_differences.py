"""In what two runs differ: each change is named, and nothing else."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.run_outputs import compare, differences
from tests.support.program import jsonl, program

RUN = {
    "signature": {
        "fastmetrics": "0.1.0",
        "unicode": "14.0.0",
        "scores": {"f1@5": {"metric": "f1", "k": 5}, "squad_f1": {"metric": "squad_f1", "version": 1}},
        "columns": {"answer": "answer", "reference": "gold"},
        "keep": ["id"],
    },
    "order": ["f1@5", "squad_f1"],
    "kinds": {"answer": "text", "gold": "texts"},
    "input": [["/a.csv", 1000, 10**18], ["/b.csv", 20, 10**18], ["standard input", 30, 4711]],
    "on_error": "fail",
    "part": [100, 1000],
    "pyarrow": "23.0.0",
}
CHANGES = [
    (["signature", "fastmetrics"], "0.2.0", "the version of fastmetrics was '0.1.0', is '0.2.0'"),
    (["signature", "unicode"], "15.0.0", "the version of Unicode was '14.0.0', is '15.0.0'"),
    (["signature", "scores", "f1@5", "k"], 6, "option 'k' of 'f1@5' was 5, is 6"),
    (["signature", "scores", "f1@5", "new"], [1], "option 'new' of 'f1@5' was none, is [1]"),
    (["signature", "scores", "bleu"], {"metric": "bleu"}, "metric 'bleu' was not requested, is requested"),
    (["signature", "scores", "f1@5"], None, "metric 'f1@5' was requested, is not requested"),
    (["signature", "columns", "reference"], "target", "the column of 'reference' was 'gold', is 'target'"),
    (["signature", "columns", "reference"], None, "the column of 'reference' was 'gold', is none"),
    (["signature", "passed_over"], {"answer": ["x"]}, "passed_over was none, is {'answer': ['x']}"),
    (["signature", "keep"], [], "the list of kept columns was ['id'], is none"),
    (["order"], ["squad_f1", "f1@5"], "the order of the scores was ['f1@5', 'squad_f1'], is ['squad_f1', 'f1@5']"),
    (["kinds", "gold"], "text", "the kind of column 'gold' was 'texts', is 'text'"),
    (["input", 0, 1], 1001, "the size of /a.csv was 1,000 bytes, is 1,001 bytes"),
    (["input", 2, 2], 4712, "the content of standard input was with the mark 4711, is with the mark 4712"),
    (["input", 1, 0], "/c.csv", "input /b.csv was there, is not there; input /c.csv was not there, is there"),
    (["on_error"], "skip", "the handling of bad rows was 'fail', is 'skip'"),
    (["part"], [50, 1000], "the size of a part (rows, bytes) was [100, 1000], is [50, 1000]"),
    (["pyarrow"], "24.0.0", "the version of pyarrow was '23.0.0', is '24.0.0'"),
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
    message = message.replace("passed_over was", "the ignored columns for was")
    with pytest.raises(OutputError) as caught:
        compare("o.csv", RUN, now)
    assert str(caught.value) == f"cannot resume o.csv: {message}; choose overwrite=True to start again"
    compare("o.csv", now, now)


def test_the_order_of_inputs_and_a_time_are_named():
    with pytest.raises(OutputError, match=r"the order of the inputs was \['/a.csv', '/b.csv', 'standard input'\], is "):
        compare("o.csv", RUN, {**RUN, "input": RUN["input"][::-1]})
    times = "the content of /a.csv was of 2001-09-09 01:46:40.000000 UTC, is of 2001-09-09 01:46:40.001000 UTC"
    with pytest.raises(OutputError, match=times):
        compare("o.csv", RUN, changed(RUN, ["input", 0, 2], 10**18 + 10**6))


def test_many_differences_are_counted_and_what_follows_from_others_is_left_out():
    now = RUN
    for path, value, _ in CHANGES:
        now = changed(now, path, value)
    with pytest.raises(OutputError) as caught:
        compare("o.csv", RUN, now)
    found = differences(RUN, now)
    assert str(caught.value).count(", is ") == 5
    assert f"; {len(found) - 5} more differences; choose " in str(caught.value)
    assert not {"the order of the scores", "the kind of column 'gold'"} & {one.what for one in found}


SCALARS = st.none() | st.integers(0, 2) | st.sampled_from(["", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(list("ab")), inner, max_size=2)
)
PATHS = [["signature"], ["signature", "scores"], ["signature", "scores", "f1@5"], ["signature", "columns"], ["input"]]


@given(path=st.sampled_from([*PATHS, ["kinds"], ["order"], ["part"], ["pyarrow"]]), value=VALUES)
def test_a_record_of_anything_is_equal_or_differs(path, value):
    for one, other in ((changed(RUN, path, value), RUN), (RUN, changed(RUN, path, value))):
        assert bool(differences(one, other)) == (one != other)


@pytest.mark.slow
def test_a_resumed_run_says_which_option_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "answer": "a", "reference": "b", "gold": "c"} for n in range(40_000)]
    jsonl(tmp_path / "t.jsonl", *rows, "no row")
    options = ["score", "t.jsonl", "-o", "o.parquet", "--resume", "-m"]
    assert program(*options, "squad_f1(version=1)").err.startswith("error: t.jsonl, line 40001: ")
    done = program(*options, "squad_f1(version=1)", "--columns", "reference=gold")
    message = "the column of 'reference' was 'reference', is 'gold'"
    assert (done.code, done.err) == (
        4,
        f"error: cannot resume {tmp_path}/o.parquet: {message}; choose --overwrite to start again\n",
    )
    done = program(*options, "squad_f1(version=1)", "--on-error", "skip")
    assert "the handling of bad rows was 'fail', is 'skip'" in done.err
