"""Outputs of every format, and outputs that may not be."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.resume import describe_inputs
from tests.support.toy_scores import JOB, KINDS, FunctionMaker, choosy, names, run, score, table


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(table(1000), path)
    return path


COUNTS = {"n_rejected": 0, "n_rows": 1000}
"""What the metadata of an output always count."""


def test_scores_and_metadata_are_written_without_leftovers(tmp_path, source):
    result = run(open_source(source), JOB, tmp_path / "out.parquet", limits=Limits(64, 300))
    made = pq.read_table(result.output)
    expected = score(table(1000).combine_chunks().to_batches()[0])
    assert made["id"].to_pylist() == expected["id"].to_pylist()
    assert made["length"].to_pylist() == expected["length"].to_pylist()
    ratios = [None if ratio is not None and math.isnan(ratio) else ratio for ratio in expected["ratio"].to_pylist()]
    assert made["ratio"].to_pylist() == ratios
    assert json.loads(made.schema.metadata[b"fastmetrics"]) == JOB.signature
    assert names(tmp_path) == ["in.parquet", "out.parquet"]
    assert (result.rows, result.rejected, result.rejects, result.resumed_rows) == (1000, 0, None, 0)
    assert set(result.seconds) == {"start", "read", "score", "write", "total"}
    assert pq.ParquetFile(result.output).metadata.num_row_groups == 4


@pytest.mark.parametrize(
    "name", ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.csv", "o.tsv", "o.csv.gz", "o.arrow", "o.feather"]
)
def test_output_formats_hold_equal_scores(tmp_path, source, name):
    run(open_source(source), JOB, tmp_path / "o.parquet")
    expected = pq.read_table(tmp_path / "o.parquet")
    run(open_source(source), JOB, tmp_path / name)
    made = open_source(tmp_path / name)
    assert made.schema.names == expected.schema.names
    kinds = {"id": "id", "length": "number", "ratio": "number"}
    selection = made.select(kinds)
    batches = [made.conform(chunk, selection) for chunk in made.chunks(selection)]
    assert pa.Table.from_batches(batches).to_pydict() == expected.to_pydict()
    inputs = describe_inputs([("in.parquet", source.stat().st_size)])
    assert read_metadata(tmp_path / "o.parquet") == {**JOB.signature, **COUNTS, "inputs": inputs}
    beside = {
        **JOB.signature,
        **COUNTS,
        "inputs": inputs,
        "output": {"id": "string", "length": "double", "ratio": "double"},
    }
    written = json.loads((tmp_path / f"{name}.meta.json").read_text())
    assert written == beside
    assert read_metadata(tmp_path / name).items() >= beside.items()


def test_text_outputs_have_the_expected_content(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": "a", "answer": "x\\u2028\\"y"}\n{"id": null, "answer": ""}\n')
    job = FunctionMaker(
        lambda batch: batch.append_column("s", pa.array([0.1, float("nan")][: batch.num_rows], pa.float64())), KINDS
    )
    run(open_source(tmp_path / "in.jsonl"), job, tmp_path / "o.jsonl")
    expected = '{"id": "a", "answer": "x\u2028\\"y", "s": 0.1}\n{"id": null, "answer": "", "s": null}\n'
    assert (tmp_path / "o.jsonl").read_text(encoding="utf-8") == expected
    run(open_source(tmp_path / "in.jsonl"), job, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == '"id","answer","s"\n"a","x\u2028""y",0.1\n,"",\n'


def test_folder_output_holds_parts_and_metadata(tmp_path, source):
    for name in ("out", "given/"):
        result = run(open_source(source), JOB, f"{tmp_path}/{name}", limits=Limits(part_rows=400), threads=2)
        parts = ["_fastmetrics.json", *(f"part-{n:06d}.parquet" for n in range(3))]
        assert names(result.output) == parts
        assert pq.read_table(result.output).num_rows == 1000
    inputs = describe_inputs([("in.parquet", source.stat().st_size)])
    assert json.loads((tmp_path / "out" / "_fastmetrics.json").read_text()) == {
        **JOB.signature,
        **COUNTS,
        "inputs": inputs,
    }
    with pytest.raises(OutputError, match="exists; choose overwrite=True"):
        run(open_source(source), JOB, tmp_path / "out")
    run(open_source(source), JOB, tmp_path / "out", overwrite=True)
    assert names(tmp_path / "out") == ["_fastmetrics.json", "part-000000.parquet"]
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(OutputError, match=r"'mine\.txt'"):
        run(open_source(source), JOB, tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.csv", "o.arrow", "o/"])
@pytest.mark.parametrize("text", ["id,answer\n", "id,answer\n1,bad\n"])
def test_empty_input_gives_empty_output(tmp_path, name, text):
    (tmp_path / "in.csv").write_text(text)
    result = run(open_source(tmp_path / "in.csv"), FunctionMaker(choosy, KINDS), f"{tmp_path}/{name}", on_error="skip")
    assert (result.rows, result.rejected) == (0, text.count("bad"))
    if name == "o.jsonl":
        assert result.output.read_bytes() == b""
    made = open_source(result.output)
    assert made.schema.names == ["id", "length", "ratio"]
    assert sum(len(chunk.rows) for chunk in made.chunks(made.select({"id": "any"}))) == 0


def test_existing_output_is_not_overwritten(tmp_path, source):
    (tmp_path / "o.parquet").write_text("mine")
    with pytest.raises(OutputError, match="exists; choose overwrite=True"):
        run(open_source(source), JOB, tmp_path / "o.parquet", resume=True)
    assert (tmp_path / "o.parquet").read_text() == "mine"
    run(open_source(source), JOB, tmp_path / "o.parquet", overwrite=True)
    assert pq.read_table(tmp_path / "o.parquet").num_rows == 1000
    with pytest.raises(OutputError, match="is an input"):
        run(open_source(source), JOB, source, overwrite=True)


BOUND_BY_MODES = """
import ctypes, os, struct, sys
if os.getuid() == 0:  # without its capabilities, root is refused what modes refuse to the owner
    ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24))
from fastmetrics.base.errors import OutputError
from fastmetrics.tables.opening import open_source
from tests.support.toy_scores import FunctionMaker, run
try:
    run(open_source(sys.argv[1]), FunctionMaker(lambda batch: batch, {"id": "id"}), sys.argv[2])
except OutputError as error:
    print(error)
"""


def test_read_only_folder_error_names_the_folder(tmp_path, source):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    done = subprocess.run(
        [sys.executable, "-c", BOUND_BY_MODES, str(source), str(folder / "o.parquet")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout == f"cannot write {folder}/o.parquet: Permission denied\n", done.stderr


def test_observations_are_ordered_and_distinguish_nan_from_null(tmp_path, source):
    def observe(part):
        ratio = part["ratio"]
        return [part.num_rows, ratio.null_count, pc.sum(pc.is_nan(ratio)).as_py()]

    def conclude(observed, rejected):
        counts = [sum(column) for column in zip(*observed, strict=True)]
        return {"counts": counts, "parts": len(observed), "rejected": rejected}

    job = FunctionMaker(score, KINDS, {"version": "1"}, observe, conclude)
    result = run(open_source(source), job, tmp_path / "o.parquet", limits=Limits(part_rows=300))
    made = read_metadata(result.output)
    assert {name: made.pop(name) for name in (*COUNTS, "inputs")}.items() >= COUNTS.items()
    answers = table(1000)["answer"].to_pylist()
    assert made == {"version": "1", "counts": [1000, answers.count(None), answers.count("")], "parts": 4, "rejected": 0}
    assert [rows for rows, _, _ in result.observed] == [300, 300, 300, 100]


@pytest.mark.parametrize("name", ["evouna_qa", "mtrag_human_eval", "xquad_en_ru"])
def test_real_tables_round_trip_through_json_lines(tmp_path, name, data_folder):
    path = data_folder / "dev" / f"{name}.parquet"
    kinds = dict.fromkeys(pq.read_schema(path).names, "any")
    copy = FunctionMaker(lambda batch: batch, kinds)
    run(open_source(path), copy, tmp_path / "o.jsonl", threads=2)
    run(open_source(tmp_path / "o.jsonl"), copy, tmp_path / "o.parquet", threads=2)
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == pq.read_table(path).to_pydict()
