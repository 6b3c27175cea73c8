"""The local engine: order, bad rows, outputs, progress, and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmetrics.engines.local import Job, run
from fastmetrics.engines.ordered import ordered
from fastmetrics.errors import FileFormatError, InputError, OptionError, OutputError
from fastmetrics.tables import Limits, open_source, read_metadata

KINDS = {"id": "id", "answer": "text"}


def score(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Length, and a ratio that is undefined (NaN) for an empty answer and missing (null) for none."""
    length = pc.binary_length(batch["answer"]).cast(pa.float64())
    columns = {"id": batch["id"], "length": length, "ratio": pc.divide(pc.subtract(length, 1.0), length)}
    ratio = pc.if_else(pc.equal(length, 0.0), pa.scalar(float("nan")), columns["ratio"])
    return pa.record_batch({**columns, "ratio": ratio})


def choosy(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Scores, but not of rows whose answer says so."""
    if pc.any(pc.equal(batch["answer"], "bad")).as_py():
        raise InputError("column 'answer': expected a good one")
    return score(batch)


JOB = Job(score, KINDS, {"version": "1", "metrics": ["length", "ratio"]})


def table(rows: int) -> pa.Table:
    answers = [None if n % 7 == 3 else "ab cd" * (n % 5) for n in range(rows)]
    return pa.table({"id": [f"q{n}" for n in range(rows)], "answer": answers})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(table(1000), path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_scores_and_metadata_reach_the_file_and_nothing_else_stays(tmp_path, source):
    result = run(open_source(source), JOB, tmp_path / "out.parquet", limits=Limits(64, 1 << 20, 300))
    made = pq.read_table(result.output)
    expected = score(table(1000).combine_chunks().to_batches()[0])
    assert made["id"].to_pylist() == expected["id"].to_pylist()
    assert made["length"].to_pylist() == expected["length"].to_pylist()
    ratios = [None if ratio is not None and math.isnan(ratio) else ratio for ratio in expected["ratio"].to_pylist()]
    assert made["ratio"].to_pylist() == ratios
    assert json.loads(made.schema.metadata[b"fastmetrics"]) == JOB.signature
    assert names(tmp_path) == ["in.parquet", "out.parquet"]
    assert (result.rows, result.rejected, result.rejects, result.resumed_rows) == (1000, 0, None, 0)
    assert set(result.seconds) == {"read", "score", "write", "total"}
    assert pq.ParquetFile(result.output).metadata.num_row_groups == 4


@settings(max_examples=12, deadline=None)
@given(
    batch=st.integers(1, 400), size=st.integers(10, 4000), threads=st.integers(1, 3), suffix=st.sampled_from([0, 1, 2])
)
def test_any_batches_and_threads_give_the_same_bytes(tmp_path_factory, batch, size, threads, suffix):
    folder = tmp_path_factory.mktemp("same")
    pq.write_table(table(500), folder / "in.parquet")
    name = ["out.parquet", "out.arrow", "out.jsonl.zst"][suffix]
    limits = Limits(part_rows=90)
    run(open_source(folder / "in.parquet"), JOB, folder / f"a.{name}", limits=limits)
    limits = Limits(batch, size, 90)
    run(open_source(folder / "in.parquet"), JOB, folder / f"b.{name}", limits=limits, threads=threads)
    assert (folder / f"a.{name}").read_bytes() == (folder / f"b.{name}").read_bytes()


@pytest.mark.parametrize(
    "name", ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.csv", "o.tsv", "o.csv.gz", "o.arrow", "o.feather"]
)
def test_every_output_format_holds_the_same_scores(tmp_path, source, name):
    run(open_source(source), JOB, tmp_path / "o.parquet")
    expected = pq.read_table(tmp_path / "o.parquet")
    run(open_source(source), JOB, tmp_path / name)
    made = open_source(tmp_path / name)
    assert made.schema.names == expected.schema.names
    kinds = {"id": "id", "length": "number", "ratio": "number"}
    selection = made.select(kinds)
    batches = [made.conform(chunk, selection) for chunk in made.chunks(selection)]
    assert pa.Table.from_batches(batches).to_pydict() == expected.to_pydict()
    assert json.loads((tmp_path / f"{name}.meta.json").read_text()) == JOB.signature
    assert read_metadata(tmp_path / name) == JOB.signature


def test_text_outputs_look_as_expected(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": "a", "answer": "x\\u2028\\"y"}\n{"id": null, "answer": ""}\n')
    job = Job(
        lambda batch: batch.append_column("s", pa.array([0.1, float("nan")][: batch.num_rows], pa.float64())), KINDS
    )
    run(open_source(tmp_path / "in.jsonl"), job, tmp_path / "o.jsonl")
    expected = '{"id": "a", "answer": "x\u2028\\"y", "s": 0.1}\n{"id": null, "answer": "", "s": null}\n'
    assert (tmp_path / "o.jsonl").read_text(encoding="utf-8") == expected
    run(open_source(tmp_path / "in.jsonl"), job, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == '"id","answer","s"\n"a","x\u2028""y",0.1\n,"",\n'


def test_a_folder_gets_parts_and_the_metadata(tmp_path, source):
    for name in ("out", "given/"):
        result = run(open_source(source), JOB, f"{tmp_path}/{name}", limits=Limits(part_rows=400), threads=2)
        parts = ["_fastmetrics.json", *(f"part-{n:06d}.parquet" for n in range(3))]
        assert names(result.output) == parts
        assert pq.read_table(result.output).num_rows == 1000
    assert json.loads((tmp_path / "out" / "_fastmetrics.json").read_text()) == JOB.signature
    with pytest.raises(OutputError) as caught:
        run(open_source(source), JOB, tmp_path / "out")
    assert str(caught.value) == f"{tmp_path}/out exists; choose overwrite to replace it"
    run(open_source(source), JOB, tmp_path / "out", overwrite=True)
    assert names(tmp_path / "out") == ["_fastmetrics.json", "part-000000.parquet"]
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(OutputError) as caught:
        run(open_source(source), JOB, tmp_path / "out", overwrite=True)
    assert str(caught.value) == f"{tmp_path}/out holds other files ('mine.txt'); choose another folder"


@pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.csv", "o.arrow", "o/"])
@pytest.mark.parametrize("text", ["id,answer\n", "id,answer\n1,bad\n"])
def test_no_rows_in_none_out(tmp_path, name, text):
    (tmp_path / "in.csv").write_text(text)
    result = run(open_source(tmp_path / "in.csv"), Job(choosy, KINDS), f"{tmp_path}/{name}", on_error="skip")
    assert (result.rows, result.rejected) == (0, text.count("bad"))
    if name == "o.jsonl":
        assert result.output.read_bytes() == b""
        return
    made = open_source(result.output)
    assert made.schema.names == ["id", "length", "ratio"]
    assert sum(len(chunk.rows) for chunk in made.chunks(made.select({"id": "any"}))) == 0


def test_an_existing_output_is_left_alone(tmp_path, source):
    (tmp_path / "o.parquet").write_text("mine")
    with pytest.raises(OutputError) as caught:
        run(open_source(source), JOB, tmp_path / "o.parquet", resume=True)
    assert str(caught.value) == f"{tmp_path}/o.parquet exists; choose overwrite to replace it"
    assert (tmp_path / "o.parquet").read_text() == "mine"
    run(open_source(source), JOB, tmp_path / "o.parquet", overwrite=True)
    assert pq.read_table(tmp_path / "o.parquet").num_rows == 1000
    with pytest.raises(OutputError) as caught:
        run(open_source(source), JOB, source, overwrite=True)
    assert str(caught.value) == f"{source} is an input; write to another name"


def test_impossible_outputs_are_refused_before_any_work(tmp_path, source):
    with pytest.raises(OutputError) as caught:
        run(open_source(source), JOB, tmp_path / "no" / "o.parquet")
    assert str(caught.value) == f"cannot write {tmp_path}/no/o.parquet: there is no folder {tmp_path}/no"
    with pytest.raises(OptionError, match=r"o.xlsx': expected a name ending in .parquet, .jsonl, .csv, .tsv "):
        run(open_source(source), JOB, tmp_path / "o.xlsx")
    with pytest.raises(OptionError, match=r"^threads=0: expected 1 or more$"):
        run(open_source(source), JOB, tmp_path / "o.parquet", threads=0)
    with pytest.raises(OptionError, match=r"^on_error='stop': expected 'fail' or 'skip'$"):
        run(open_source(source), JOB, tmp_path / "o.parquet", on_error="stop")
    assert names(tmp_path) == ["in.parquet"]


AS_NOBODY = """
import os, sys
from fastmetrics.engines.local import Job, run
from fastmetrics.errors import OutputError
from fastmetrics.tables import open_source
if os.getuid() == 0:
    os.setuid(65534)
try:
    run(open_source(sys.argv[1]), Job(lambda batch: batch, {"id": "id"}), sys.argv[2])
except OutputError as error:
    print(error)
"""


def test_a_read_only_folder_is_named(tmp_path, source):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    for one in (tmp_path, *tmp_path.parents[:2]):
        one.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(source), str(folder / "o.parquet")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.stdout == f"cannot write {folder}/o.parquet: Permission denied\n", done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_bad_rows_stop_the_run_or_are_set_aside(tmp_path, threads):
    lines = [json.dumps({"id": n, "answer": "fine"}) for n in range(60)]
    lines[7] = '{"id": 7, "answer": '
    lines[20] = '{"id": 20, "answer": 5}'
    lines[33] = '{"id": 33, "answer": "bad"}'
    lines[59] = "[]"
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines))
    job = Job(choosy, KINDS)
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
        run(open_source(tmp_path / "in.parquet"), Job(choosy, KINDS), tmp_path / "o.parquet", threads=2)
    assert str(caught.value) == f"{tmp_path}/in.parquet, row 8999: column 'answer': expected a good one"


def test_invalid_utf8_stops_the_run_or_is_set_aside(tmp_path):
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


def test_nulls_duplicate_ids_and_a_very_long_row_pass_through(tmp_path):
    rows = {"id": ["a", "a", None, "b"], "answer": [None, "word " * 100_000, "", None]}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "o.parquet", threads=2)
    made = pq.read_table(tmp_path / "o.parquet")
    assert made["id"].to_pylist() == rows["id"]
    assert made["length"].to_pylist() == [None, 500_000.0, 0.0, None]


def test_faults_of_the_program_are_not_bad_rows(tmp_path, source):
    def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows:
            raise OptionError("no such thing")
        return score(batch)

    for on_error in ("fail", "skip"):
        with pytest.raises(OptionError, match=r"^no such thing$"):
            run(open_source(source), Job(broken, KINDS), tmp_path / "o.parquet", threads=2, on_error=on_error)
    assert names(tmp_path) == ["in.parquet"]


def test_late_string_ids_make_all_ids_strings(tmp_path, monkeypatch):
    monkeypatch.setattr("fastmetrics.tables.jsonl.BLOCK", 256)
    rows = [{"id": n, "answer": "x"} for n in range(50)] + [
        {"id": "late", "answer": "y"},
        {"id": "late", "answer": "y"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    limits = Limits(batch_rows=8, part_rows=16)
    for threads in (1, 2):
        name = tmp_path / f"{threads}.parquet"
        result = run(open_source(tmp_path / "in.jsonl"), JOB, name, threads=threads, limits=limits)
        assert pq.read_table(name)["id"].to_pylist() == [*map(str, range(50)), "late", "late"]
        assert result.rows == 52


def test_observations_reach_the_conclusion_in_order_with_nan_and_null_apart(tmp_path, source):
    def observe(part: pa.RecordBatch) -> list[int]:
        ratio = part["ratio"]
        return [part.num_rows, ratio.null_count, pc.sum(pc.is_nan(ratio)).as_py()]

    def conclude(observed: list[list[int]]) -> dict[str, object]:
        return {"counts": [sum(column) for column in zip(*observed, strict=True)], "parts": len(observed)}

    job = Job(score, KINDS, {"version": "1"}, observe, conclude)
    result = run(open_source(source), job, tmp_path / "o.parquet", limits=Limits(part_rows=300))
    made = read_metadata(result.output)
    answers = table(1000)["answer"].to_pylist()
    assert made == {"version": "1", "counts": [1000, answers.count(None), answers.count("")], "parts": 4}
    assert [rows for rows, _, _ in result.observed] == [300, 300, 300, 100]


@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl", "in.csv.gz", "in.arrow"])
def test_progress_grows_to_the_whole(tmp_path, name):
    if name.endswith("parquet"):
        pq.write_table(table(1000), tmp_path / name)
    elif name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in table(1000).to_pylist()))
    elif name.endswith("arrow"):
        with pa.ipc.new_file(tmp_path / name, table(1).schema) as writer:
            writer.write_table(table(1000), max_chunksize=300)
    else:
        with gzip.open(tmp_path / name, "wb") as stream:
            pacsv.write_csv(table(1000), stream)
    seen = []
    run(open_source(tmp_path / name), JOB, tmp_path / "o.parquet", progress=seen.append, limits=Limits(batch_rows=100))
    assert [one.rows for one in seen] == sorted(one.rows for one in seen)
    assert seen[-1].rows == 1000
    assert seen[-1].total_rows == (1000 if name.endswith("parquet") else None)
    if not name.endswith("parquet"):
        assert seen[-1].nbytes == seen[-1].total_bytes == (tmp_path / name).stat().st_size


def test_results_keep_their_order_and_few_are_under_way():
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

    results, seen = ordered(lambda n: n, items(), threads=threads), []
    with pytest.raises(FileFormatError, match=r"^the end is missing$"):
        seen.extend(results)
    done = ordered(lambda n: n, items(), threads=threads)
    assert [next(done), next(done)] == [1, 2]
    done.close()
    assert threading.active_count() == 1


def test_an_interrupt_ends_the_threads(tmp_path, source):
    calls = []

    def interrupted(progress: object) -> None:
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run(
            open_source(source),
            JOB,
            tmp_path / "o.parquet",
            threads=2,
            limits=Limits(50, 1 << 20, 50),
            progress=interrupted,
        )
    assert threading.active_count() == before
    assert names(tmp_path) == ["in.parquet", "o.parquet.partial"]


ONE_THREAD = """
import os, sys
import pyarrow as pa
from fastmetrics.engines.local import Job, run
from fastmetrics.tables import open_source
before, count = len(os.listdir("/proc/self/task")), pa.cpu_count()
most = 0
def score(batch):
    global most
    most = max(most, len(os.listdir("/proc/self/task")))
    return batch
run(open_source(sys.argv[1]), Job(score, {"id": "id", "answer": "text"}), sys.argv[2], threads=1)
print(most - before, pa.cpu_count() == count)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads through /proc")
@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl"])
def test_one_thread_is_one_thread(tmp_path, name):
    made = table(20_000)
    if name.endswith("parquet"):
        pq.write_table(made, tmp_path / name)
    else:
        run_table = tmp_path / "t.parquet"
        pq.write_table(made, run_table)
        run(open_source(run_table), Job(lambda batch: batch, KINDS), tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", ONE_THREAD, str(tmp_path / name), str(tmp_path / "o.parquet")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.stdout == "0 True\n"


@pytest.mark.skipif("FASTMETRICS_DATA" not in os.environ, reason="needs FASTMETRICS_DATA")
@pytest.mark.parametrize("name", ["evouna_qa", "mtrag_human_eval", "xquad_en_ru"])
def test_real_tables_survive_json_lines(tmp_path, name):
    path = Path(os.environ["FASTMETRICS_DATA"], "dev", f"{name}.parquet")
    kinds = dict.fromkeys(pq.read_schema(path).names, "any")
    copy = Job(lambda batch: batch, kinds)
    run(open_source(path), copy, tmp_path / "o.jsonl", threads=2)
    run(open_source(tmp_path / "o.jsonl"), copy, tmp_path / "o.parquet", threads=2)
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == pq.read_table(path).to_pydict()
