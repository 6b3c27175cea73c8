"""``fastmetrics cache``: a store of calls shown, exported and pruned."""

import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from fastmetrics.models import call_store
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from tests.support.program import program

DAY = 86_400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store of 5,000 replies of one model, 3 of another that are a week old, and 2 failures."""
    path = tmp_path_factory.mktemp("store") / "calls.sqlite"
    now = time.time()
    with CallStore(path) as store:
        for model, count, answer in (
            (Model("big", "here"), 5_000, Answer("reply", "{}", 10, 2, 1.5, now, 1)),
            (Model("small", "there"), 3, Answer("reply", "=1", 1, 1, 1.5, now - 7 * DAY, 1)),
            (Model("small", "here"), 2, Answer("http", "500: no", time=now, attempt=4)),
        ):
            maker = CallMaker(model, None)
            for number in range(count):
                store.put(maker.call([Message("user", str(number))]), model, answer)
    return path


@pytest.fixture
def filled(made, tmp_path):
    """A copy of the store."""
    return Path(shutil.copy(made, tmp_path))


def left(path):
    """How many calls are in the store, by model and outcome."""
    counts = json.loads(program("judge", "store", path, "--json").out)["calls"]
    return {(one["model"], one["outcome"]): one["calls"] for one in counts}


def test_cache_show(filled):
    done = program("judge", "store", filled)
    assert done.code == 0
    assert done.out.splitlines()[0].split() == [
        "model",
        "endpoint",
        "outcome",
        "calls",
        "read",
        "written",
        "first",
        "last",
    ]
    assert done.out.splitlines()[1].split()[:6] == ["big", "here", "reply", "5,000", "50,000", "10,000"]
    assert "5,005 calls in " in done.out
    assert left(filled) == {("big", "reply"): 5000, ("small", "reply"): 3, ("small", "http"): 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("conditions", "deleted"),
    [
        ("failures", 2),
        ("model=small", 5),
        ("model=small,endpoint=there", 3),
        ("days=3", 3),
        ("days=30", 0),
        ("failures,model=big", 0),
        ("endpoint=here", 5002),
    ],
)
def test_calls_are_pruned_by_conditions_that_all_hold(filled, conditions, deleted):
    before = filled.stat().st_size
    done = program("judge", "store", filled, "--prune", conditions)
    assert (done.code, done.out) == (0, f"{deleted:,} calls deleted from {filled}\n")
    assert sum(left(filled).values()) == 5005 - deleted
    assert filled.stat().st_size < (before / 4 if deleted > 1000 else before + 1)


def test_an_empty_store(tmp_path):
    CallStore(tmp_path / "calls.sqlite").close()
    assert "0 calls in " in program("judge", "store", tmp_path / "calls.sqlite").out


def test_a_time_that_no_calendar_has_is_shown_as_unknown(tmp_path):
    path = tmp_path / "calls.sqlite"
    model = Model("m", "here")
    with CallStore(path) as store:
        for number, moment in enumerate((1e300, -1e9, 0.0)):
            call = CallMaker(model, None).call([Message("user", str(number))])
            store.put(call, model, Answer("reply", "{}", time=moment))
    done = program("judge", "store", path)
    assert (done.code, "–" in done.out) == (0, True), done.err


def test_a_store_that_another_process_writes_is_shown_and_not_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(call_store, "_SHORT_PATIENCE", 0.1)
    path = tmp_path / "calls.sqlite"
    CallStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    assert "0 calls in" in program("judge", "store", path).out
    done = program("judge", "store", path, "--prune", "failures")
    assert (done.code, "another process is writing to it" in done.err) == (4, True), done.err
    other.close()
