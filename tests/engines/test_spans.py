"""Spans: an input in pieces that can be scored apart, and that do not show in the scores."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables import Limits, Position, Split, cut, open_source
from tests.support.table_files import FORMATS, write
from tests.support.toy_scores import JOB, KINDS, FunctionMaker, choosy, run

LIMITS = Limits(batch_rows=7, part_rows=10)


SMALL = ReadSizes(parquet_split_rows=25, split_bytes=100)
"""Spans of 25 rows, or of a file of text."""


def parquet(path: Path, first: int, groups: list[int]) -> Path:
    """Rows numbered from ``first`` in row groups of those sizes."""
    schema = pa.schema({"id": pa.string(), "answer": pa.string()})
    with pq.ParquetWriter(path, schema) as file:
        for rows in groups:
            ids = [f"q{n}" for n in range(first, first + rows)]
            file.write_table(pa.table({"id": ids, "answer": ["x" * len(one) for one in ids]}, schema=schema))
            first += rows
    return path


def expected_splits(files: list[list[int]]) -> list[Split]:
    """The definition: a new split begins at the row group after the one that fills the last."""
    starts, rows = [Position(0, 0)], 0
    for number, groups in enumerate(files):
        row = 0
        for group in groups:
            if rows >= 25:
                starts.append(Position(number, row))
                rows = 0
            rows += group
            row += group
    return [Split(start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=True)]


def rows_of(source, split):
    """The positions of the rows in a split."""
    chunks = source.chunks(source.select({"answer": "text"}), split.start, stop=split.stop)
    return [Position(chunk.file, row) for chunk in chunks for row in chunk.rows.tolist()]


@settings(max_examples=40)
@given(
    files=st.lists(st.lists(st.integers(0, 40), max_size=5), min_size=1, max_size=4),
    start=st.tuples(st.integers(0, 3), st.integers(0, 60)),
)
def test_spans_hold_every_row_once(tmp_path_factory, files, start):
    folder = tmp_path_factory.mktemp("spans")
    paths = [parquet(folder / f"{n}.parquet", 0, groups) for n, groups in enumerate(files)]
    source = open_source(paths, sizes=SMALL)
    assert source.splits() == expected_splits(files)
    every = [Position(n, row) for n, groups in enumerate(files) for row in range(sum(groups))]
    assert [position for split in source.splits() for position in rows_of(source, split)] == every
    for split in source.splits():
        assert rows_of(source, split) == [p for p in every if split.start <= p and (not split.stop or p < split.stop)]
    left = source.splits(Position(*start))
    assert [position for split in left for position in rows_of(source, split)] == [p for p in every if p >= start]


def test_row_groups_of_long_rows_make_shorter_spans(tmp_path):
    rows = pa.table({"answer": pa.array([f"{n:0400d}" for n in range(10)])})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=2, compression="none", use_dictionary=False)
    splits = open_source(tmp_path / "t.parquet", sizes=ReadSizes(parquet_split_bytes=2500)).splits()
    assert [split.start.row for split in splits] == [0, 4, 8]


@pytest.mark.parametrize("name", [name for name in FORMATS if "parquet" not in name])
def test_files_of_other_formats_are_not_split_into_spans(tmp_path, name):
    paths = [write(pa.table({"answer": [f"row {n}"] * 3}), tmp_path / f"{n}.{name}") for n in range(5)]
    source = open_source(paths, sizes=ReadSizes(split_bytes=sum(path.stat().st_size for path in paths[:2])))
    assert source.splits() == [
        Split(Position(0, 0), Position(2, 0)),
        Split(Position(2, 0), Position(4, 0)),
        Split(Position(4, 0), None),
    ]
    assert [rows_of(source, split) for split in source.splits(Position(1, 2))] == [
        [Position(1, 2)],
        [Position(file, row) for file in (2, 3) for row in range(3)],
        [Position(4, row) for row in range(3)],
    ]


def test_spans_can_hold_files_of_several_formats(tmp_path):
    table = pa.table({"answer": ["some words"] * 20})
    paths = [write(table, tmp_path / name) for name in ("a.parquet", "b.parquet", "c.jsonl", "d.csv", "e.parquet")]
    assert [split.start.file for split in open_source(paths, sizes=SMALL).splits()] == [0, 2, 3, 4]


def test_parts_end_with_each_span_and_are_numbered_consecutively(tmp_path):
    source = open_source(parquet(tmp_path / "t.parquet", 0, [32, 13, 12, 5]), sizes=SMALL)
    selection = source.select({"answer": "text"})
    assert [split.start.row for split in source.splits()] == [0, 32, 57]
    result = run(source, JOB, tmp_path / "o.parquet", limits=LIMITS)
    made = pq.ParquetFile(result.output).metadata
    assert [made.row_group(n).num_rows for n in range(made.num_row_groups)] == [10, 10, 10, 2, 10, 10, 5, 5]
    alone = [
        sorted({part for part, _ in cut(source.chunks(selection, split.start, stop=split.stop), LIMITS)})
        for split in source.splits()
    ]
    assert alone == [[0, 1, 2, 3], [0, 1, 2], [0]]


class StopError(Exception):
    """What ends a run early here."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["o.parquet", "o/"])
def test_run_resumes_within_and_between_spans(tmp_path, name, threads):
    paths = [parquet(tmp_path / "a.parquet", 0, [32, 13]), parquet(tmp_path / "b.parquet", 45, [12, 5, 40, 1])]
    (tmp_path / "whole").mkdir()
    whole = run(open_source(paths, sizes=SMALL), JOB, f"{tmp_path}/whole/{name}", limits=LIMITS)

    def until(row):
        def score(batch):
            if f"q{row}" in batch["id"].to_pylist():
                raise StopError
            return JOB.score(batch)

        return FunctionMaker(score, KINDS, JOB.signature)

    for row in (15, 31, 32, 33, 44, 45, 57, 101, 102):
        with pytest.raises(StopError):
            run(
                open_source(paths, sizes=SMALL),
                until(row),
                f"{tmp_path}/{name}",
                limits=LIMITS,
                threads=threads,
                resume=True,
            )
    result = run(
        open_source(paths, sizes=SMALL), JOB, f"{tmp_path}/{name}", limits=LIMITS, threads=threads, resume=True
    )
    assert result.resumed_rows > 0
    made, expected = ([p] if p.is_file() else sorted(p.iterdir()) for p in (result.output, whole.output))
    assert [path.read_bytes() for path in made] == [path.read_bytes() for path in expected]


@pytest.mark.parametrize("threads", [1, 2])
def test_spans_without_rows_or_with_only_bad_rows(tmp_path, threads):
    texts = [
        ['{"id": "a", "answer": "x"}', "broken"],
        ['{"id": 1, "answer": 3}', "no"],
        ["", ""],
        ['{"id": "b", "answer": "bad"}'],
        ['{"id": "c", "answer": "y"}'],
    ]
    paths = []
    for number, lines in enumerate(texts):
        paths.append(tmp_path / f"{number}.jsonl")
        paths[-1].write_text("\n".join([*lines, " " * 100]))
    source = open_source(paths, sizes=SMALL)
    assert len(source.splits()) == len(source.files)
    result = run(source, FunctionMaker(choosy, KINDS), tmp_path / "o.jsonl", on_error="skip", threads=threads)
    assert [json.loads(line)["id"] for line in result.output.read_text().splitlines()] == ["a", "c"]
    assert result.rejected == 4
    rejects = [json.loads(line) for line in result.rejects.read_text().splitlines()]
    assert [(Path(one["file"]).stem, one["line"]) for one in rejects] == [("0", 2), ("1", 1), ("1", 2), ("3", 1)]
