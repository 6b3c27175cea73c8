"""The metadata of outputs: typed entries, and the JSON on disk, byte for byte."""

import dataclasses
import json
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.score_metadata import METADATA, InputDrift, InputShares, MissingQueries, RowCounts, ScoreMetadata
from tests.support.goldens import refused

ROWS = [
    {"id": 1, "answer": "in Paris", "reference": "Paris", "output": "x"},
    {"id": 2, "answer": None, "reference": "Rome", "output": "x"},
]
VERSIONS = f'"fastmetrics": "{fm.__version__}", "unicode": "{unicodedata.unidata_version}"'
SCORES = (
    '"scores": {"token_f1": {"metric": "token_f1", "tokenizer": "plain"}, '
    '"mine": {"metric": "exact_match", "tokenizer": "split"}}, '
    '"columns": {"answer": "answer", "reference": "reference"}, "passed_over": {"answer": ["output"]}, "keep": ["id"], '
    '"declared": {"mine": {"spec": "exact_match", "better": "higher", "bounds": [0, 1], "statistics": [], '
    '"labels": {}, "reading": null}}'
)
COUNTS = '{"n_rows": 2, "n_missing": 1, "n_undefined": 0, "n_error": 0}'


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def conclusion(rows):
    """What a run of these rows knows at its end, as it is written."""
    digest = fm.results.list_runs(rows.parent).to_pylist()
    (run,) = [entry for entry in digest if entry["name"] == "first"]
    stored = json.loads((rows.parent / "o.jsonl.meta.json").read_text())
    size = rows.stat().st_size
    return (
        f'"metrics": {{"token_f1": {COUNTS}, "mine": {COUNTS}}}, "n_rejected": 0, '
        f'"cautions": {{"token_f1": [0, 1]}}, '
        f'"fingerprint": {{"ids": "{run["ids"]}"}}, "name": "first", '
        f'"inputs": {{"files": 1, "bytes": {size}, "first": [["rows.jsonl", {size}]], '
        f'"digest": "{stored["inputs"]["digest"]}"}}'
    )


def test_bytes_on_disk(rows):
    for name in ("o.jsonl", "o.parquet"):
        fm.score(rows, "token_f1,exact_match(name='mine')", output=rows.parent / name, name="first")
        if name == "o.jsonl":
            expected = conclusion(rows)
    beside = (rows.parent / "o.jsonl.meta.json").read_text()
    assert beside.startswith(f'{{{VERSIONS}, {SCORES}, {expected}, "output": {{')
    stored = pq.read_metadata(rows.parent / "o.parquet").metadata
    assert stored[METADATA].decode() == f"{{{VERSIONS}, {SCORES}}}"
    assert stored[b"fastmetrics.conclusion"].decode() == f"{{{expected}}}"


def test_entries_are_typed_and_written_as_they_were(rows):
    fm.score(rows, "token_f1,exact_match(name='mine')", output=rows.parent / "o.parquet", name="first", times=True)
    (stored,) = [
        {**json.loads(keys[METADATA]), **json.loads(keys[b"fastmetrics.conclusion"])}
        for keys in [pq.read_metadata(rows.parent / "o.parquet").metadata]
    ]
    metadata = ScoreMetadata.of(stored)
    assert metadata.version == fm.__version__
    assert metadata.metrics == {name: RowCounts(2, 1, 0, 0) for name in ("token_f1", "mine")}
    assert (metadata.rows, metadata.n_rejected, metadata.name) == (2, 0, "first")
    assert (metadata.columns or {})["answer"] == "answer"
    assert metadata.passed_over == {"answer": ["output"]}
    assert metadata.settings_of("mine") == {"metric": "exact_match", "tokenizer": "split"}
    assert None not in (metadata.began, metadata.ended, metadata.inputs, metadata.fingerprint)
    assert json.dumps(metadata.to_json()) == json.dumps(stored)


def test_each_field_is_read_back():
    values = {
        **dict.fromkeys(("version", "unicode", "system", "name", "began", "ended"), "x"),
        **{name: {"a": 1} for name in ("answers", "embeddings", "scores", "options", "declared", "sample")},
        **{name: {"a": 1} for name in ("answered", "embedded", "judged", "inputs")},
        **{name: {"a": "x"} for name in ("fingerprint", "sources")},
        **{name: ["a"] for name in ("keep", "lists", "more_columns", "scored")},
        **dict.fromkeys(("repeats", "n_rejected", "n_rows"), 2),
        **{"columns": {"a": "b"}, "named": {"a": "b"}, "passed_over": {"a": ["b"]}},
        **{"keep_counts": True, "strip_thoughts": True},
        **{"extracted": {"extracted": "boxed"}},
        **{"counts": {"a": [1, 2, 3]}, "cautions": {"a": [1, 2]}, "metrics": {"a": RowCounts(4, 3, 2, 1)}},
        "unread": {"a": {"b": [1, 2, 0]}},
        "missing_queries": MissingQueries(1, 2, "zero"),
        "missing_by_ranking": {"a": MissingQueries(1, 2, "zero")},
        "drift": {"a": InputDrift(5, [InputShares("token_f1", [0.5, 0.5], [1, 2])])},
    }
    assert {entry.name for entry in dataclasses.fields(ScoreMetadata)} == {*values, "stored"}
    metadata = ScoreMetadata(**values)
    stored = metadata.to_json()
    assert len(stored) == len(values)
    assert ScoreMetadata.of(json.loads(json.dumps(stored))) == metadata
    assert ScoreMetadata.of_schema(pa.schema([]).with_metadata(metadata.for_schema())) == metadata
    assert ScoreMetadata(name="y") | metadata == metadata
    assert (metadata | ScoreMetadata(name="y")).name == "y"


@pytest.mark.parametrize(
    "entry", ["name", "began", "scores", "columns", "passed_over", "keep", "fingerprint", "inputs"]
)
def test_a_description_of_another_type_is_unknown(entry):
    assert ScoreMetadata.of({entry: 7}) == ScoreMetadata()


@pytest.mark.parametrize(
    "stored",
    [
        {"metrics": 7},
        {"metrics": {"a": {"n_rows": 1}}},
        {"counts": {"a": "x"}},
        {"cautions": {"a": [1]}},
        {"n_rejected": "many"},
        {"options": 7},
        {"n_rows": []},
        {"missing_queries": {"count": 1, "judged": 2, "rule": "x"}},
        {"missing_by_ranking": {"a": {"count": 1, "judged": 2, "rule": "x"}}},
        {"missing_by_ranking": 7},
        {"declared": 7},
        {"declared": []},
        {"unread": {"a": {"b": [1, 2]}}},
        {"drift": {"a": {"labelled": 5, "inputs": [{"name": "b", "shares": [0.5], "counts": []}]}}},
    ],
)
def test_counts_of_another_type_raise(stored):
    refused(FileFormatError, "fastmetrics", ScoreMetadata.of, stored)


@pytest.mark.parametrize("text", [b"[1]", b"7", b"{", b"null"])
def test_metadata_that_are_no_object_raise(text):
    refused(FileFormatError, "fastmetrics", ScoreMetadata.of_text, text)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"range": [1, 5]}, (1.0, 5.0)), ({"range": [1]}, None), ({"range": "15"}, None), ({}, None), (7, None)],
)
def test_range_of_a_rubric(settings, expected):
    assert ScoreMetadata(scores={"judge_x": settings}).ranges.get("judge_x") == expected
