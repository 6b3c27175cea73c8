"""Runs that end early: nothing half under the final name, and nothing different after resuming."""

import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import InputError, OutputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.opening import open_source, open_table
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.program import jsonl, program
from tests.support.toy_scores import FunctionMaker, run

LIMITS = Limits(batch_rows=64, part_rows=100)
KINDS = {"id": "id", "answer": "text"}


def plain(batch):
    """A score that is undefined here and there."""
    values = [float("nan") if n % 11 == 0 else n / 7 for n in batch["id"].to_pylist()]
    return pa.record_batch({"id": batch["id"], "score": pa.array(values, pa.float64())})


def choosy(batch):
    """The same, refusing some rows."""
    for n in batch["id"].to_pylist():
        if n % 97 == 5:
            raise InputError("expected another number")
    return plain(batch)


def count(part):
    """Something to remember of each part."""
    return part.num_rows


class StopError(Exception):
    """What ends a run early here."""


def failing_at(row):
    """The score, until that row."""

    def score(batch):
        if any(n >= row for n in batch["id"].to_pylist()):
            raise StopError
        return choosy(batch)

    return score


def job(score=choosy, **signature):
    """A job whose signature may vary."""
    return FunctionMaker(
        score, KINDS, {"version": "1", **signature}, count, lambda parts, rejected: {"rows": sum(parts)}
    )


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    lines = [json.dumps({"id": n, "answer": "word " * (n % 13)}) for n in range(1000)]
    lines[100] = lines[499] = lines[999] = "broken"
    path.write_text("\n".join(lines))
    return path


def go(source, output, score=choosy, **options):
    options = {"limits": LIMITS, "on_error": "skip", **options}
    return run(open_table(source), job(score), output, **options)


def files(path):
    """The bytes of a file, or of each file in a folder, with those of its rejects."""
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    rejects = path.with_name(path.name + ".rejects.jsonl")
    return {one.name.removeprefix(path.name): one.read_bytes() for one in [*inside, rejects]}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.csv.gz", "o.arrow", "o/"])
def test_failed_run_resumes_to_the_same_bytes(tmp_path, source, name, threads):
    (tmp_path / "whole").mkdir()
    whole = go(source, f"{tmp_path}/whole/{name}")
    for row in (50, 450, 720, 990):
        with pytest.raises(StopError):
            go(source, f"{tmp_path}/{name}", failing_at(row), threads=threads, resume=True)
        assert not (tmp_path / name).exists()
    result = go(source, f"{tmp_path}/{name}", threads=3 - threads, resume=True)
    assert files(result.output) == files(whole.output)
    assert result.resumed_rows > 0
    assert (result.rows, result.rejected, result.observed) == (whole.rows, whole.rejected, whole.observed)
    assert whole.rejected == 3 + sum(n % 97 == 5 and n != 999 for n in range(1000))
    assert not result.output.with_name(result.output.name + ".partial").exists()


class RowByRow(FunctionMaker):
    """A maker whose function may take long for each row."""

    least_rows = 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["o.parquet", "o.csv.gz", "o.arrow", "o/"])
@pytest.mark.parametrize(
    ("kind", "error"), [(FunctionMaker, KeyboardInterrupt), (RowByRow, KeyboardInterrupt), (RowByRow, StopError)]
)
def test_a_stopped_run_keeps_the_rows_of_its_unfinished_part(tmp_path, source, monkeypatch, name, threads, kind, error):
    """No row is scored twice: after an interrupt, and after a kill where rows are saved all the time."""
    (tmp_path / "whole").mkdir()
    whole, stop, seen = go(source, f"{tmp_path}/whole/{name}"), [0], []
    monkeypatch.setattr("fastmetrics.engines.run._SAVED_EVERY", -1.0 if error is StopError else 1e9)

    def stopping(batch):
        ids = batch["id"].to_pylist()
        if any(stop[0] <= n for n in ids):
            raise error
        made = choosy(batch)
        seen.extend(ids)
        return made

    def scored(**options):
        made = kind(stopping, KINDS, {"version": "1"}, count, lambda parts, rejected: {"rows": sum(parts)})
        return run(
            open_table(source), made, f"{tmp_path}/{name}", limits=LIMITS, on_error="skip", resume=True, **options
        )

    for stop[0] in (0, 50, 130, 450, 461, 720, 990):
        with pytest.raises(error):
            scored(threads=threads)
    earlier, stop[0] = len(seen), 2000
    result = scored(threads=3 - threads)
    assert (result.resumed_rows, len(seen), len({*seen})) == (earlier, result.rows, result.rows)
    assert earlier > (989 - 11 - 64 if kind is FunctionMaker else 989 - 11 - 32)
    assert files(result.output) == files(whole.output)


def test_unfinished_run_needs_resume_or_overwrite(tmp_path, source):
    with pytest.raises(StopError):
        go(source, tmp_path / "o.parquet", failing_at(450))
    with pytest.raises(OutputError) as caught:
        go(source, tmp_path / "o.parquet")
    assert str(caught.value) == (
        f"{tmp_path}/o.parquet.partial contains an unfinished run; "
        "choose resume=True to continue it or overwrite=True to start again"
    )
    assert go(source, tmp_path / "o.parquet", overwrite=True).resumed_rows == 0


def test_resuming_a_different_run_raises(tmp_path, source):
    output = tmp_path / "o.parquet"
    with pytest.raises(StopError):
        go(source, output, failing_at(450))
    kept = sorted((tmp_path / "o.parquet.partial").rglob("*"))
    options = {"limits": LIMITS, "on_error": "skip", "resume": True}

    def refusal(job_, **changed):
        with pytest.raises(OutputError) as caught:
            run(open_source(source), job_, output, **{**options, **changed})
        return str(caught.value)

    start = f"cannot resume {output}: "
    end = "; choose overwrite=True to start again"
    assert refusal(job(version="2")) == f"{start}version was '1', is '2'{end}"
    assert refusal(job(), on_error="fail") == f"{start}on_error was 'skip', is 'fail'{end}"
    assert refusal(job(), limits=Limits(part_rows=50)) == f"{start}part was 100, is 50{end}"
    os.utime(source, (1, 1))
    size = source.stat().st_size
    was, now = f"{size:,} bytes of 20[^;]* UTC", f"{size:,} bytes of 1970-01-01 00:00:01.000 UTC"
    assert re.fullmatch(f"{start}input {source} was {was}, is {now}{end}", refusal(job()))
    assert sorted((tmp_path / "o.parquet.partial").rglob("*")) == kept
    for part in (tmp_path / "o.parquet.partial").glob("part-*"):
        part.unlink()
    assert run(open_source(source), job(version="2"), output, **options).resumed_rows == 0, "nothing was left"


@pytest.mark.parametrize("name", ["o.parquet", "o/"])
@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "record", "torn"])
def test_damaged_part_is_scored_again(tmp_path, source, name, harm):
    (tmp_path / "whole").mkdir()
    whole = go(source, f"{tmp_path}/whole/{name}")
    with pytest.raises(StopError):
        go(source, f"{tmp_path}/{name}", failing_at(800))
    work = Path(f"{tmp_path}/{name.rstrip('/')}.partial")
    parts = sorted(work.glob("part-*.arrow"))
    assert len(parts) >= 3
    victim, data = parts[1], parts[1].read_bytes()
    record = work / "part-000001.json"
    if harm == "truncate":
        victim.write_bytes(data[:-7])
    elif harm == "flip":
        victim.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    elif harm == "remove":
        victim.unlink()
    elif harm == "record":
        record.unlink()
    else:
        record.write_bytes(record.read_bytes()[:-9])
    result = go(source, f"{tmp_path}/{name}", resume=True, threads=2)
    assert files(result.output) == files(whole.output)
    assert 0 < result.resumed_rows < whole.rows


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o/"])
def test_resuming_a_complete_output_returns_it(tmp_path, source, name):
    """So that whoever repeats a run until it succeeds is told that it has."""
    output = f"{tmp_path}/{name}"
    first = go(source, output)
    written = files(first.output)
    again = go(source, output, failing_at(0), resume=True)
    assert (again.complete, again.rows, again.rejected) == (True, first.rows, first.rejected)
    assert (again.resumed_rows, again.rejects) == (first.rows, first.rejects)
    assert again.metadata.items() >= first.metadata.items()
    assert again.notes == [f"{first.output} was complete: no row was scored again"]
    assert files(first.output) == written
    refused(OutputError, "1 2 overwrite=True", lambda: run(open_source(source), job(version="2"), output, resume=True))
    source.touch()
    refused(OutputError, "in.jsonl overwrite=True", go, source, output, resume=True)
    source.write_text(source.read_text() + "more")
    refused(OutputError, "in.jsonl in.jsonl", go, source, output, resume=True)
    assert files(first.output) == written


def test_complete_output_of_unknown_input_is_not_resumed(tmp_path):
    table = pa.table({"id": [1], "answer": ["a"]})
    output = tmp_path / "o.parquet"
    go(table, output)
    refused(OutputError, "complete changed", go, table, output, resume=True)
    pq.write_table(table, output)  # of another program
    refused(OutputError, "exists overwrite=True", go, table, output, resume=True)


def test_a_retried_command_prints_the_summary_of_its_output(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", *({"id": n, "answer": "a b", "reference": "b"} for n in range(5)), "bad")
    command = ["score", rows, "-o", tmp_path / "o.csv", "-m", "token_f1", "--on-error", "skip", "--resume"]
    first, again = program(*command), program(*command)
    assert (first.code, again.code) == (0, 0)
    assert "o.csv was complete: no row was scored again" in " ".join(again.out.split())
    assert "5 rows (5 of them earlier) scored in" in again.out
    figures = [line for line in first.out.splitlines() if "token_f1" in line or "rejected" in line]
    assert len(figures) > 1
    assert set(figures) <= set(again.out.splitlines())


def test_concurrent_runs_with_one_output_raise(tmp_path, source):
    seen = []

    def nested(batch):
        if not seen:
            with pytest.raises(OutputError) as caught:
                go(source, tmp_path / "o.parquet")
            seen.append(str(caught.value))
        return plain(batch)

    go(source, tmp_path / "o.parquet", nested)
    assert seen == [f"another run is writing {tmp_path}/o.parquet"]
    assert pq.read_table(tmp_path / "o.parquet").num_rows == 997


def test_run_restarted_by_a_late_id_counts_no_earlier_rows(tmp_path):
    rows = [{"id": n if n < 700 else f"q{n}", "answer": "x"} for n in range(1000)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def score(batch):
        return pa.record_batch({"id": batch["id"], "score": pa.array([1.0] * batch.num_rows, pa.float64())})

    def stopping(batch):
        if 450 in batch["id"].to_pylist():
            raise StopError
        return score(batch)

    source = open_source(tmp_path / "in.jsonl", sizes=ReadSizes(line_block_bytes=2000))
    with pytest.raises(StopError):
        go(source, tmp_path / "o.parquet", stopping)
    seen = []
    made = go(source, tmp_path / "o.parquet", score, resume=True, progress=seen.append)
    assert (made.rows, made.resumed_rows, seen[-1].rows) == (1000, 0, 1000)
    assert max(done.rows for done in seen) == 1000
