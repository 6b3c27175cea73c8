"""Outputs of every format, and reading them back."""

import csv
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import plain
from fastmetrics.base.errors import OutputError
from fastmetrics.tables.formats import encoder, output_format
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata, table_target, write_whole
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.resume import describe_inputs
from tests.support.goldens import refused
from tests.support.program import jsonl, program
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
    refused(OutputError, "overwrite=True", lambda: run(open_source(source), JOB, tmp_path / "out"))
    run(open_source(source), JOB, tmp_path / "out", overwrite=True)
    assert names(tmp_path / "out") == ["_fastmetrics.json", "part-000000.parquet"]
    (tmp_path / "out" / "mine.txt").touch()
    refused(OutputError, "mine.txt", lambda: run(open_source(source), JOB, tmp_path / "out", overwrite=True))


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


TEXT_FORMATS = ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.zst", "t.jsonl", "t.jsonl.gz"]
FORMATS = [*TEXT_FORMATS, "t.arrow", "t.parquet"]

_texts = st.text(st.sampled_from("'=+-@\t\r\n \"\\,;[]{}aé\x00\x1c\u2028\ufeff😀"), max_size=6) | st.sampled_from(
    ["", "null", "NA", "nan", "007", "1", "1.0", "true", '["a"]', "[]", "2024-01-02", "'=1", "\r\n", '""', "NaN"]
)
_floats = st.floats() | st.sampled_from([-0.0, 5e-324, math.inf, -math.inf, math.nan, 1e22, 0.1])
_bytes = st.binary(max_size=4)
_whole = st.integers(-(2**63), 2**63 - 1)

READ_BACK_KINDS = {
    "string": (pa.string(), _texts),
    "int64": (pa.int64(), _whole),
    "float64": (pa.float64(), _floats),
    "bool": (pa.bool_(), st.booleans()),
    "time": (pa.timestamp("us", "UTC"), st.integers(-(2**40), 2**47)),
    "decimal": (pa.decimal128(9, 2), st.decimals(-9999, 9999, places=2)),
    "texts": (pa.list_(pa.string()), st.lists(st.none() | _texts, max_size=3)),
    "vector": (pa.list_(pa.float32(), 2), st.lists(st.floats(width=32), min_size=2, max_size=2)),
    "struct": (pa.struct({"a": pa.string()}), st.fixed_dictionaries({"a": st.none() | _texts})),
    "map": (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(_texts, st.none() | _whole), max_size=2)),
    "bytes": (pa.binary(), _bytes),
}


def _array(type_, values):
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    return pa.array(values, type_, from_pandas=False)


def _same(read, table):
    """Equal names, types and values; NaN equals NaN, and −0 differs from 0."""
    expected = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    assert read.schema.remove_metadata() == expected
    for name in table.column_names:
        assert list(map(repr, read.column(name).to_pylist())) == list(map(repr, table.column(name).to_pylist())), name


def read_all(path):
    """All columns of a file, as the package reads them."""
    source = open_source(path)
    return whole_table(source, dict.fromkeys(source.schema.names, "any"))


@pytest.mark.parametrize("kind", READ_BACK_KINDS)
@given(data=st.data(), name=st.sampled_from(["t.arrow", "t.parquet"]))
def test_columns_of_every_type_are_read_as_written(tmp_path_factory, kind, data, name):
    type_, values = READ_BACK_KINDS[kind]
    rows = data.draw(st.lists(st.none() | values, max_size=5))
    table = pa.table({"id": pa.array([str(n) for n in range(len(rows))]), "=c": _array(type_, rows)})
    path = tmp_path_factory.mktemp("t") / name
    write_whole(table, table_target(path, ()), {}, set(table.column_names))
    _same(read_all(path), table)


@pytest.mark.parametrize("name", FORMATS)
@given(columns=st.lists(st.lists(st.none() | _texts, min_size=3, max_size=3), min_size=1, max_size=3))
@example(columns=[[None, "", None]])
@example(columns=[["", None, "\n"]])
def test_nulls_beside_empty_texts_are_read_as_written(tmp_path_factory, name, columns):
    """Also in a table of one column, where a null is a blank line of CSV."""
    table = pa.table({f"=c{n}": pa.array(values, pa.string()) for n, values in enumerate(columns)})
    path = tmp_path_factory.mktemp("t") / name
    write_whole(table, table_target(path, ()), {}, set(table.column_names))
    source = open_source(path)
    read = whole_table(source, dict.fromkeys(source.schema.names, "text"))
    assert read.to_pydict() == table.to_pydict()


def test_null_text_is_written_as_a_blank_and_empty_text_in_quotes(tmp_path):
    for columns, text in (
        ({"c": [None, "", "a"], "n": [1, None, 2]}, '"c","n"\n,1\n"",\n"a",2\n'),
        ({"c": [None, "", "a"]}, '"c"\n\n""\n"a"\n'),
    ):
        table = pa.table(columns)
        write_whole(table, table_target(tmp_path / "t.csv", (), overwrite=True), {}, set(columns))
        assert (tmp_path / "t.csv").read_text() == text


ROWS = [
    {"id": "007", "question": "Where?", "answer": "in Paris", "reference": ["Paris", "Paris, France"], "n": 1.5},
    {"id": "010", "question": None, "answer": "", "reference": ["Rome"], "n": math.nan},
    {"id": "1e5", "question": "", "answer": None, "reference": None, "n": None},
    {"id": "=3", "question": "Who?", "answer": '["Ann"]', "reference": [], "n": math.inf},
]
KEPT = ["question", "answer", "reference", "n"]


@pytest.fixture
def rows(tmp_path):
    """Rows with lists, nulls beside empty texts, and ids that look like numbers or formulas."""
    write_whole(pa.Table.from_pylist(ROWS), table_target(tmp_path / "rows.parquet", ()), {}, {"n"})
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("name", [*TEXT_FORMATS, "t.arrow"])
def test_scores_of_an_output_are_those_of_its_input(tmp_path, rows, name):
    """A null does not match an empty text, and lists are JSON, which ``lists`` parses."""
    metrics = ["token_f1", "squad_f1(version=2)", "exact_match", "keyword_recall"]
    first = fm.score(rows, output=tmp_path / name, metrics=metrics, keep=KEPT).summary
    lists = "reference" if "sv" in name else ()
    again = fm.score(tmp_path / name, output=tmp_path / "again.parquet", metrics="token_f1", lists=lists)
    assert again.summary["token_f1"] == first["token_f1"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_score_file_that_is_read_back_has_the_same_summary(tmp_path, rows, name):
    """Of metrics of rows, and of corpus metrics with the counts of rows, whatever the format."""
    metrics = ["token_f1", "exact_match", "corpus_bleu"]
    first = fm.score(rows, output=tmp_path / "p.parquet", metrics=metrics, keep=KEPT, keep_counts=True).summary
    fm.score(rows, output=tmp_path / name, metrics=metrics, keep=KEPT, keep_counts=True, overwrite=True)
    read = fm.summarize(tmp_path / name)
    assert read.to_json() == fm.summarize(tmp_path / "p.parquet").to_json()
    assert {metric: read[metric] for metric in read} == {metric: first[metric] for metric in first}


def test_a_file_saved_by_a_spreadsheet_keeps_its_ids_and_scores(tmp_path, rows):
    """A program that quotes only what needs quotes; quotes before formulas are removed all the same."""
    path = tmp_path / "t.csv"
    first = fm.score(rows, output=path, metrics="answer_words", keep=KEPT).summary
    with open(path, newline="", encoding="utf-8") as file:
        records = list(csv.reader(file))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(records)
    found = read_all(path)
    assert found["id"].to_pylist() == ["007", "010", "1e5", "=3"]
    assert found["answer"].to_pylist() == ["in Paris", None, None, '["Ann"]']
    assert fm.summarize(path)["answer_words"] == first["answer_words"]


def test_without_its_metadata_a_csv_has_quotes_before_formulas(tmp_path, rows):
    fm.score(rows, output=tmp_path / "a.csv", metrics="token_f1", keep=KEPT)
    (tmp_path / "a.csv").rename(tmp_path / "alone.csv")
    assert read_all(tmp_path / "alone.csv")["id"].to_pylist() == ["007", "010", "1e5", "'=3"]


@pytest.mark.parametrize("text", ["not JSON", "[1]", '{"guarded": 0}', '{"output": "a"}', "{}"])
def test_metadata_of_another_program_are_ignored(tmp_path, text):
    (tmp_path / "t.csv").write_text("a,b\n'=1,\n")
    (tmp_path / "t.csv.meta.json").write_text(text)
    assert read_all(tmp_path / "t.csv").to_pylist() == [{"a": "'=1", "b": None}]


def test_numbers_that_are_not_finite_are_valid_json(tmp_path, rows):
    fm.score(rows, output=tmp_path / "t.jsonl", metrics="token_f1", keep=KEPT)
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()

    def refuse(name):
        raise AssertionError(name)

    assert [json.loads(line, parse_constant=refuse)["n"] for line in lines] == [1.5, "NaN", None, "Infinity"]


def test_text_of_a_csv_is_parsed_again_after_it_was_kept(tmp_path):
    """The columns of any CSV are text; kept in an output they stay text, and numbers if a metric asks for numbers."""
    (tmp_path / "in.csv").write_text('id,answer,latency_ms,retrieved_ids,relevant_ids\n1,a,12,"[""d""]","[""d""]"\n')
    keep = ["answer", "latency_ms", "retrieved_ids", "relevant_ids"]
    fm.score(tmp_path / "in.csv", output=tmp_path / "t.csv", metrics="answer_words", keep=keep)
    found = fm.score(tmp_path / "t.csv", output=tmp_path / "o.parquet", metrics=["latency_ms", "hit_rate"]).summary
    assert (found["latency_ms"].mean, found["hit_rate"].mean) == (12, 1)


DELIMITED = ["o.csv", "o.tsv", "o.csv.gz", "o.tsv.gz", "o.csv.zst", "o.tsv.zst"]
OTHERS = ["o.parquet", "o.arrow", "o.jsonl", "o.jsonl.gz", "o/"]
VALUES = {
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "flag": st.none() | st.booleans(),
    "text": st.none() | st.text(st.sampled_from('ab"\n\r\t, =é'), max_size=6),
}
TYPES = {"number": [pa.float64()], "flag": [pa.bool_()], "text": [pa.string(), pa.large_string(), pa.binary()]}
TYPES["text"] += [pa.dictionary(pa.int32(), pa.string())]


def text_of(path):
    """The text of a file, whatever it is compressed by."""
    with open_source(path).files[0].open()[0] as stream:
        return stream.read().decode()


def back(path, kind):
    """The values of the only column, as this package reads them."""
    source = open_source(path)
    selection = source.select({"c": kind})
    return [value for chunk in source.chunks(selection) for value in chunk.batch.column(0).to_pylist()]


def written(path, parts, type_):
    schema = pa.schema({"c": type_})
    made = encoder(path, schema, *output_format(path))
    for part in parts:
        made.write(pa.record_batch([pa.array(part).cast(type_) if part else pa.array([], type_)], schema=schema))
    made.close({})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(DELIMITED), st.sampled_from(sorted(VALUES)))
def test_what_is_written_is_read_again_row_by_row(tmp_path, data, name, kind):
    parts = data.draw(st.lists(st.lists(VALUES[kind], max_size=5), max_size=3))
    type_ = data.draw(st.sampled_from(TYPES[kind]))
    parts = [pa.array(part, TYPES[kind][0]) for part in parts]
    path = tmp_path / name
    written(path, [part for part in parts if len(part)], type_)
    expected = [value for part in parts for value in part.to_pylist()]
    if kind == "text":  # the metadata beside the file declare the guard
        path.with_name(f"{name}.meta.json").write_text('{"guarded": 1}')
    else:
        path.with_name(f"{name}.meta.json").unlink(missing_ok=True)
    assert back(path, kind) == expected
    text = text_of(path)
    delimiter = "\t" if ".tsv" in name else ","
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert len(records) == 1 + len(expected)
    blank = kind == "text" and None in expected  # a null text is a blank line
    assert blank or all(len(record) == 1 for record in records)
    if not blank and "\r" not in text and "\n\n" not in text:
        options = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        assert pacsv.read_csv(pa.py_buffer(text.encode()), parse_options=options).num_rows == len(expected)


@pytest.mark.parametrize("which", [[None], [None, 1], [1, None], [None, None], [1, None, None, 1, None]])
@pytest.mark.parametrize("name", DELIMITED + OTHERS)
def test_missing_scores_are_counted_in_a_file_of_one_column(tmp_path, monkeypatch, name, which):
    monkeypatch.chdir(tmp_path)
    rows = [{"answer": one and "a b", "reference": "a"} for one in which]
    jsonl(tmp_path / "in.jsonl", *rows)
    made = fm.score("in.jsonl", output=name, metrics="token_recall").summary["token_recall"]
    found = fm.summarize(name)["token_recall"]
    missing = which.count(None)
    assert (found.n, found.n_missing) == (made.n, made.n_missing) == (len(which) - missing, missing)
    told = json.loads(program("summarize", name, "--json").out)
    assert told["n_rows"] == len(which)
    assert told["notes"] == []


def test_undefined_scores_too(tmp_path):
    jsonl(tmp_path / "in.jsonl", {"retrieved_ids": ["a"], "relevant_ids": []}, {"relevant_ids": ["a"]})
    for name in DELIMITED:
        fm.score(tmp_path / "in.jsonl", output=tmp_path / name, metrics="r_precision")
        found = fm.summarize(tmp_path / name)["r_precision"]
        assert (found.n, found.n_missing, found.n_undefined) == (0, 1, 1)
        assert text_of(tmp_path / name) == '"r_precision"\n""\n""\n'
