"""A table of one column in CSV and TSV: a row that is null stays a row, whoever reads it."""

import bz2
import csv
import gzip
import io
import json
import lzma

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.tables.formats import encoder, output_format
from fastmetrics.tables.opening import open_source
from tests.support.program import jsonl, program

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


@pytest.mark.slow
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


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_a_blank_line_is_the_blank_cell_of_an_only_column(tmp_path, pack):
    """As Polars reads it; pandas leaves such lines out."""
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}.get(pack, "")
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(pack(b'c\n""\n\n1\n""\n'))
    assert back(path, "number") == [None, None, 1.0, None]
