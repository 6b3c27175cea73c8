"""The local engine: order, bad rows, progress, threads; and the end of a run, which no crash can harm."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError, InputError, OptionError, OutputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.base.threads import ordered
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.table_files import write
from tests.support.toy_scores import JOB, KINDS, FunctionMaker, choosy, names, run, score, table


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(table(1000), path)
    return path


@given(batch=st.integers(1, 400), threads=st.integers(1, 3), suffix=st.sampled_from([0, 1, 2]))
def test_any_batches_and_threads_give_the_same_bytes(tmp_path_factory, batch, threads, suffix):
    folder = tmp_path_factory.mktemp("same")
    pq.write_table(table(500), folder / "in.parquet")
    name = ["out.parquet", "out.arrow", "out.jsonl.zst"][suffix]
    limits = Limits(part_rows=90)
    run(open_source(folder / "in.parquet"), JOB, folder / f"a.{name}", limits=limits)
    limits = Limits(batch, 90)
    run(open_source(folder / "in.parquet"), JOB, folder / f"b.{name}", limits=limits, threads=threads)
    assert (folder / f"a.{name}").read_bytes() == (folder / f"b.{name}").read_bytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_bad_rows_stop_the_run_or_are_rejected(tmp_path, threads):
    lines = [json.dumps({"id": n, "answer": "fine"}) for n in range(60)]
    lines[7] = '{"id": 7, "answer": '
    lines[20] = '{"id": 20, "answer": 5}'
    lines[33] = '{"id": 33, "answer": "bad"}'
    lines[59] = "[]"
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines))
    job = FunctionMaker(choosy, KINDS)
    limits = Limits(batch_rows=8, part_rows=16)
    with pytest.raises(FileFormatError) as caught:
        run(open_source(path), job, tmp_path / "o.parquet", threads=threads, limits=limits)
    assert str(caught.value) == f"{path}, line 8: malformed JSON: Expecting value at character 21"
    assert names(tmp_path) == ["in.jsonl"]
    result = run(open_source(path), job, tmp_path / "o.parquet", threads=threads, limits=limits, on_error="skip")
    assert (result.rows, result.rejected) == (56, 4)
    assert pq.read_table(result.output)["id"].to_pylist() == [n for n in range(60) if n not in (7, 20, 33, 59)]
    rejects = [json.loads(line) for line in result.rejects.read_text().splitlines()]
    assert [(one["line"], one["column"], one["reason"]) for one in rejects] == [
        (8, None, "malformed JSON: Expecting value at character 21"),
        (21, "answer", "expected a string, got the number 5"),
        (34, None, "column 'answer': expected a good one"),
        (60, None, "expected a JSON object, got a list"),
    ]
    assert rejects[0] | {"raw": lines[7], "file": str(path)} == rejects[0]
    assert result.rejects == tmp_path / "o.parquet.rejects.jsonl"


def test_a_row_that_cannot_be_scored_is_named(tmp_path):
    pq.write_table(pa.table({"id": range(9000), "answer": ["ok"] * 8999 + ["bad"]}), tmp_path / "in.parquet")
    with pytest.raises(InputError) as caught:
        run(open_source(tmp_path / "in.parquet"), FunctionMaker(choosy, KINDS), tmp_path / "o.parquet", threads=2)
    assert str(caught.value) == f"{tmp_path}/in.parquet, row 8999: column 'answer': expected a good one"


def test_invalid_utf8_stops_the_run_or_is_rejected(tmp_path):
    answers = pa.array([b"fine", b"caf\xe9", b"also"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2, 3], "answer": answers}), tmp_path / "in.parquet")
    reason = "invalid UTF-8: byte 0xe9 at byte 3"
    with pytest.raises(FileFormatError) as caught:
        run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "o.parquet")
    assert str(caught.value) == f"{tmp_path}/in.parquet, row 1, column 'answer': {reason}"
    result = run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "o.parquet", on_error="skip")
    assert pq.read_table(result.output)["id"].to_pylist() == [1, 3]
    reject = json.loads(result.rejects.read_text())
    assert reject == {
        "file": str(tmp_path / "in.parquet"),
        "row": 1,
        "column": "answer",
        "reason": reason,
        "raw": "id: 2; answer: caf\ufffd",
    }


def test_program_bugs_are_not_bad_rows(tmp_path, source):
    def broken(batch):
        if batch.num_rows:
            raise OptionError("no such thing")
        return score(batch)

    job = FunctionMaker(broken, KINDS)
    for on_error in ("fail", "skip"):
        options = {"threads": 2, "on_error": on_error}
        refused(OptionError, "thing", run, open_source(source), job, tmp_path / "o.parquet", **options)
    assert names(tmp_path) == ["in.parquet"]


def test_late_string_ids_make_all_ids_strings(tmp_path):
    rows = [{"id": n, "answer": "x"} for n in range(50)] + [
        {"id": "late", "answer": "y"},
        {"id": "late", "answer": "y"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    limits = Limits(batch_rows=8, part_rows=16)
    for threads in (1, 2):
        name = tmp_path / f"{threads}.parquet"
        source = open_source(tmp_path / "in.jsonl", sizes=ReadSizes(line_block_bytes=256))
        result = run(source, JOB, name, threads=threads, limits=limits)
        assert pq.read_table(name)["id"].to_pylist() == [*map(str, range(50)), "late", "late"]
        assert result.rows == 52


@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl", "in.csv.gz", "in.arrow"])
def test_progress_reaches_the_total(tmp_path, name):
    write(table(1000), tmp_path / name)
    seen = []
    run(open_source(tmp_path / name), JOB, tmp_path / "o.parquet", progress=seen.append, limits=Limits(batch_rows=100))
    assert [one.rows for one in seen] == sorted(one.rows for one in seen)
    assert seen[-1].rows == 1000
    assert seen[-1].total_rows == (1000 if name.endswith("parquet") else None)
    assert [one.share for one in seen] == [
        one.rows / 1000 if one.total_rows else one.nbytes / one.total_bytes for one in seen
    ]
    if not name.endswith("parquet"):
        assert seen[-1].nbytes == seen[-1].total_bytes == (tmp_path / name).stat().st_size


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_counts_earlier_files_and_rejected_rows(tmp_path, threads):
    lines = [json.dumps(row) for row in table(90).to_pylist()]
    for bad in (3, 33, 47, 80):
        lines[bad] = "[]"
    (tmp_path / "in").mkdir()
    for number in range(3):
        text = "".join(f"{line}\n" for line in lines[30 * number : 30 * number + 30])
        (tmp_path / "in" / f"{number}.jsonl").write_text(text)
    sizes = [(tmp_path / "in" / f"{number}.jsonl").stat().st_size for number in range(3)]
    seen = []
    options = {"limits": Limits(batch_rows=8), "on_error": "skip", "threads": threads}
    result = run(open_source(tmp_path / "in"), JOB, tmp_path / "o.parquet", progress=seen.append, **options)
    assert (result.rows, result.rejected) == (86, 4)
    assert {30, 60, 90} <= {one.rows for one in seen}
    assert seen[-1].rows == 90
    for one in seen:
        file = (one.rows - 1) // 30
        assert sum(sizes[:file]) < one.nbytes <= sum(sizes[: file + 1])
    assert seen[-1].nbytes == seen[-1].total_bytes == sum(sizes)


def test_ordered_keeps_order_with_few_pending():
    lock, begun = threading.Lock(), []

    def items():
        for n in range(50):
            with lock:
                begun.append(n)
            yield n

    results = ordered(lambda n: n * n, items(), threads=2)
    assert next(results) == 0
    assert len(begun) <= 4
    assert list(results) == [n * n for n in range(1, 50)]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_the_items_comes_after_the_results_before_it(threads):
    def items():
        yield 1
        yield 2
        raise FileFormatError("the end is missing")

    before = set(threading.enumerate())
    results, seen = ordered(lambda n: n, items(), threads=threads), []
    refused(FileFormatError, "missing", seen.extend, results)
    done = ordered(lambda n: n, items(), threads=threads)
    assert [next(done), next(done)] == [1, 2]
    done.close()
    assert set(threading.enumerate()) <= before  # threads of earlier tests may end meanwhile


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("threads", [1, 2])
def test_early_exit_does_not_wait_for_work(threads):
    """Work that never ends of itself would hold up the end of an interrupt."""
    released = threading.Event()

    def work(n):
        return n if n == 0 else released.wait()

    results = ordered(work, range(9), threads=threads)
    assert next(results) == 0
    if threads == 1:
        main = threading.main_thread().ident
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(results)
    results.close()
    released.set()


def test_an_interrupt_ends_the_threads(tmp_path, source):
    calls = []

    def interrupted(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        run(open_source(source), JOB, tmp_path / "o.parquet", threads=2, limits=Limits(50, 50), progress=interrupted)
    assert set(threading.enumerate()) <= before
    assert names(tmp_path) == ["in.parquet", "o.parquet.partial"]


NO_POOL = {"OPENBLAS_NUM_THREADS": "1"}
"""SciPy, which Numba loads with the first kernel, starts a thread for each further processor, whoever asks."""

ONE_THREAD = """
import os, sys
import pyarrow as pa
from fastmetrics.tables.opening import open_source
from tests.support.toy_scores import FunctionMaker, run
before, count = len(os.listdir("/proc/self/task")), pa.cpu_count()
most = 0
def score(batch):
    global most
    most = max(most, len(os.listdir("/proc/self/task")))
    return batch
run(open_source(sys.argv[1]), FunctionMaker(score, {"id": "id", "answer": "text"}), sys.argv[2], threads=1)
print(most - before, pa.cpu_count() == count)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads through /proc")
@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl"])
def test_one_thread_is_one_thread(tmp_path, name):
    write(table(20_000), tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", ONE_THREAD, str(tmp_path / name), str(tmp_path / "o.parquet")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **NO_POOL},
    )
    assert done.stdout == "1 True\n", "one that scores, while its caller listens for interrupts"


class CrashError(Exception):
    """What ends a process at once here."""


@pytest.fixture
def some_bad(tmp_path):
    """A thousand rows of several parts, some of which are bad."""
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(json.dumps({"id": n, "answer": "bad" if n % 83 == 5 else "a b"}) + "\n" for n in range(300))
    )
    return path


def go(some_bad, output, rows=100, **options):
    job = FunctionMaker(choosy, KINDS, {"version": "1"})
    return run(open_source(some_bad), job, output, limits=Limits(part_rows=rows), on_error="skip", **options)


def held(folder):
    """What lies in a folder, by its path there."""
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o/"])
def test_files_are_flushed_before_rename(tmp_path, some_bad, monkeypatch, name):
    """The files, then the renames, the metadata last, then their folder."""
    events = []
    fsync, replace, open_ = os.fsync, os.replace, os.open
    opened = {}

    def opening(path, flags, mode=0o777, **options):
        handle = open_(path, flags, mode, **options)
        opened[handle] = Path(path).name
        return handle

    def syncing(handle):
        events.append(f"sync {opened[handle]}")
        fsync(handle)

    def replacing(old, new):
        events.append(f"name {Path(new).name}")
        replace(old, new)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    (tmp_path / "out").mkdir()
    go(some_bad, f"{tmp_path}/out/{name}")
    last = events[events.index("sync rejects.jsonl") :]
    output_ = name.rstrip("/")
    named = last.index(f"name {output_}.rejects.jsonl")
    metadata = ["name o.csv.meta.json"] if name == "o.csv" else []
    assert last[named:] == [f"name {output_}.rejects.jsonl", f"name {output_}", *metadata, "sync out"]
    made = ["part-000000.parquet", "part-000001.parquet", "part-000002.parquet", "_fastmetrics.json", "output"]
    synced = made if name == "o/" else ["meta.json", "output.csv"] if name == "o.csv" else ["output.parquet"]
    assert sorted(last[:named]) == sorted(f"sync {one}" for one in ["rejects.jsonl", *synced])


@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o/"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("rows", [300, 0])
def test_a_crash_at_any_rename_leaves_the_old_output_or_the_new_one(
    tmp_path, some_bad, monkeypatch, name, overwrite, rows
):
    """And the next run that resumes makes it the new one, with all that belongs to it, without scoring a row."""
    if not rows:
        some_bad = tmp_path / "in.csv"
        some_bad.write_text("id,answer\n")
    (tmp_path / "whole").mkdir()
    whole = go(some_bad, f"{tmp_path}/whole/{name}")
    wanted, replace, finished = held(tmp_path / "whole"), os.replace, 0
    for stop in range(20):
        folder = tmp_path / str(stop)
        folder.mkdir()
        if overwrite:
            (tmp_path / "old.jsonl").write_text('{"id": 1, "answer": "old"}\n' * 2)
            go(tmp_path / "old.jsonl", f"{folder}/{name}", rows=1)
        before, left = held(folder), [stop]

        def crash(old, new, left=left):
            if "partial" not in str(new):
                left[0] -= 1
                if left[0] < 0:
                    raise CrashError
            replace(old, new)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", crash)
            try:
                go(some_bad, f"{folder}/{name}", overwrite=overwrite)
                finished = stop
            except CrashError:
                pass
        there = {path: data for path, data in held(folder).items() if ".partial/" not in path}
        foreign = ("rejects", "meta")
        mine = {path: data for path, data in there.items() if not any(part in path for part in foreign)}
        assert all(data in (before.get(path), wanted.get(path)) for path, data in mine.items())
        if finished:
            break
        made = go(some_bad, f"{folder}/{name}", resume=True, overwrite=overwrite)
        assert (made.rows, made.rejected, made.resumed_rows) == (whole.rows, whole.rejected, whole.rows)
        assert held(folder) == wanted
    assert finished == (3 if name == "o.csv" else 2) - (not rows), "each rename was a crash once"


@pytest.mark.parametrize("name", ["o.csv", "o/"])
def test_a_crash_while_the_work_folder_is_deleted_changes_nothing(tmp_path, some_bad, monkeypatch, name):
    """The output is there; who resumes is told of all its rows, and no row is lost or scored into another place."""
    (tmp_path / "whole").mkdir()
    whole = go(some_bad, f"{tmp_path}/whole/{name}")
    wanted, unlink = held(tmp_path / "whole"), os.unlink
    for stop in range(40):
        folder, left = tmp_path / str(stop), [stop]
        work = folder / f"{name.rstrip('/')}.partial"
        folder.mkdir()

        def crash(path, *arguments, left=left, folder=folder, **options):
            left[0] -= (folder / name.rstrip("/")).exists()
            if left[0] < 0:
                raise CrashError
            unlink(path, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", crash)
            try:
                go(some_bad, f"{folder}/{name}")
            except CrashError:
                assert set(wanted) <= set(held(folder))
        ended = not work.exists()
        made = go(some_bad, f"{folder}/{name}", resume=True)
        assert (made.rows, made.rejected) == (whole.rows, whole.rejected)
        assert held(folder) == wanted
        if ended:
            break
    assert stop >= 6, "a crash at each file"


def test_files_that_the_user_put_into_a_folder_of_scores_stay(tmp_path, some_bad, monkeypatch):
    """Even where a run that had been told to replace the folder ended before it could."""
    go(some_bad, tmp_path / "o")
    replace = os.replace

    def crash(old, new):
        if Path(new) == tmp_path / "o.rejects.jsonl":
            raise CrashError
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(CrashError):
            go(some_bad, tmp_path / "o", overwrite=True)
    (tmp_path / "o" / "notes.txt").write_text("mine")
    refused(OutputError, "notes.txt", go, some_bad, tmp_path / "o", overwrite=True)
    assert (tmp_path / "o" / "notes.txt").read_text() == "mine"
