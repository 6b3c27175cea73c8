"""The profile of a run: what it counts, how threads add up, and that no compilation is in it."""

import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.scoring.profiling import Watch
from tests.support.program import ENVIRONMENT, program

METRICS = "token_f1,rougeL_f1,ndcg@5,semantic_similarity"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows whose later ones need kernels that the first ones do without."""
    path, count = tmp_path_factory.mktemp("rows") / "rows.parquet", 3000
    plain = np.arange(count) < count // 2
    vectors = np.random.default_rng(0).normal(size=(count, 4)).tolist()
    columns = {
        "answer": [f"some words {n % 97}" if plain[n] else f"Слова {'ß' * (n % 60)} ΑΣ" for n in range(count)],
        "reference": [f"other words {n % 89}" if plain[n] else None if n % 2 else "Слова" for n in range(count)],
        "retrieved_ids": [[f"d{n % 7}", "d3"] for n in range(count)],
        "relevant_ids": [["d3"] if n % 3 else [] for n in range(count)],
        "answer_embedding": vectors,
        "reference_embedding": [None if n % 10 == 9 else vector[::-1] for n, vector in enumerate(vectors)],
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000)
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_stages_add_up(rows, threads):
    found = fm.scoring.profile(rows, metrics=METRICS.split(","), threads=threads)
    assert (found.rows, found.threads) == (3000, threads)
    assert list(found.stages) == ["read", "tokenise", "kernels", "write"]
    assert list(found.metrics) == METRICS.split(",")
    assert found.stages["kernels"] == pytest.approx(sum(found.metrics.values()))
    assert found.stages["tokenise"] == pytest.approx(sum(found.representations.values()))
    assert found.stages["kernels"] + found.stages["tokenise"] <= found.elapsed * threads
    assert {"text answer", "tokens answer plain"} <= set(found.representations)
    assert not any("scores" in name for name in found.representations), "scores are the time of their metric"
    assert found.to_dict()["threads"] == threads
    assert found.remarks()[0].endswith("on 1 thread" if threads == 1 else "on 2 threads, whose seconds are added up")


def test_no_time_is_counted_twice(monkeypatch):
    """What is made within a metric's time, and within the making of something else, is that much less of theirs."""
    clock = iter([0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 10.0])
    monkeypatch.setattr("fastmetrics.scoring.profiling.time", SimpleNamespace(perf_counter=clock.__next__))
    watch = Watch()
    with watch.on("metric"):
        with watch.on("tokens"), watch.on("text"):
            pass
        with watch.on("tokens"):
            pass
    assert watch.seconds == {"metric": 5.0, "tokens": 4.0, "text": 1.0}


def test_threads_do_not_nest(monkeypatch):
    """A name of one thread is not within that of another, which begins before it and ends after it."""
    clock = iter([0.0, 1.0, 3.0, 10.0])
    monkeypatch.setattr("fastmetrics.scoring.profiling.time", SimpleNamespace(perf_counter=clock.__next__))
    watch = Watch()

    def other():
        with watch.on("metric"):
            pass

    with watch.on("metric"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert watch.seconds == {"metric": 12.0}


def test_command_prints_the_profile(rows):
    done = program("profile", rows, "-m", METRICS, "--threads", 2, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["threads"] == 2
    assert set(json.loads(done.out)["metrics"]) == set(METRICS.split(","))
    tables = program("profile", rows, "-m", "token_f1").out
    shown = {"stage", "read", "tokenise", "kernels", "write", "total", "rows/s", "MB/s", "token_f1", "3,000"}
    assert shown <= set(tables.split())


def test_no_rows(tmp_path):
    pq.write_table(pa.table({"answer": pa.array([], pa.string())}), tmp_path / "rows.parquet")
    found = fm.scoring.profile(tmp_path / "rows.parquet", metrics="answer_words")
    assert (found.rows, found.nbytes) == (0, 0)
    assert str(found).startswith("stage ")


COMPILING = """
import sys, threading
import fastmetrics as fm
from fastmetrics.base.progress import COMPILING, WATCHERS
from fastmetrics.scoring import profiling

compiled, measured = [], []

def listen(work):
    if work is COMPILING:
        compiled.append(work)
        measured.extend(threading.current_thread().__dict__.get("watched", []))

plainly = profiling.Watch.on

def on(self, name):
    from contextlib import contextmanager
    @contextmanager
    def watched():
        names = threading.current_thread().__dict__.setdefault("watched", [])
        names.append(name)
        with plainly(self, name):
            yield
        names.pop()
    return watched()

profiling.Watch.on = on
WATCHERS.append(listen)
fm.scoring.profile(sys.argv[1], metrics=sys.argv[2].split(","), threads=2)
print(len(compiled), sorted(set(measured)))
"""


@pytest.mark.full
def test_no_compilation_is_measured(tmp_path, rows):
    """With no machine code on disk, all kernels are compiled before the first measured block begins."""
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, str(rows), METRICS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    compiled, measured = done.stdout.split(maxsplit=1)
    assert int(compiled) > 5
    assert measured == "[]\n"
