"""The texts of retrieved chunks beside their questions, by ids of any kind: one pass over the chunks."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import ColumnError
from fastmetrics.reporting.evaluate_rag import with_contexts
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.sources import FrameSource
from tests.support.postgres import Database

NASTY = [
    "'",
    '"; drop table chunks; --',
    "",
    " ",
    "a",
    "A",
    "a ",
    "é",
    "e\u0301",
    "\u202e",
    "😀",
    "1",
    "01",
    "null",
    "%s",
]
LARGE = [0, -1, 2**63 - 1, -(2**63), 7]


def contexts(source: Any, ranked: list[list[Any]], type_: pa.DataType) -> list[list[str]]:
    """The texts of the ranked ids."""
    ids = pa.array(ranked, pa.large_list(type_))
    rankings = pa.table({"retrieved_ids": ids, "retrieved_scores": [[1.0] * len(row) for row in ranked]})
    questions = pa.table({"id": list(range(len(ranked)))})
    table = with_contexts(questions, rankings, source, "chunks", id="id", text="text", k=100)
    assert table["retrieved_ids"].to_pylist() == table["context_ids"].to_pylist() == ranked
    texts: list[list[str]] = table["contexts"].to_pylist()
    return texts


def chunk_table(ids: list[Any], type_: pa.DataType) -> pa.Table:
    return pa.table({"id": pa.array(ids, type_), "text": [f"text of {id!r}" for id in ids]})


@given(st.data(), st.sampled_from([(NASTY, pa.string()), (LARGE, pa.int64())]))
def test_each_id_has_its_own_text(data: st.DataObject, kind: tuple[list[Any], pa.DataType]) -> None:
    values, type_ = kind
    ids = data.draw(st.permutations(values))
    ranked = data.draw(st.lists(st.lists(st.sampled_from(values), max_size=5), max_size=5))
    unread = [None, None]  # ids that are null are nobody's
    source = FrameSource(chunk_table([*ids, *unread], type_))
    assert contexts(source, ranked, type_) == [[f"text of {id!r}" for id in row] for row in ranked]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize(("ids", "type_"), [(NASTY, pa.string()), (LARGE, pa.int64())])
def test_ids_in_files(suffix: str, ids: list[Any], type_: pa.DataType, tmp_path: Path) -> None:
    path, table = tmp_path / f"chunks.{suffix}", chunk_table(ids, type_)
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
    assert contexts(open_source(path), [ids, ids[::-1]], type_)[1] == [f"text of {id!r}" for id in ids[::-1]]


@pytest.mark.parametrize("type_", ["text", "varchar(40)", "bigint", "integer", "uuid"])
def test_ids_in_postgresql(postgres: Database, type_: str) -> None:
    ids: list[Any] = NASTY
    if "int" in type_:
        ids = LARGE if type_ == "bigint" else [0, -1, 2**31 - 1]
    if type_ == "uuid":
        ids = [f"6ab8d2f1-0000-4000-8000-00000000000{number}" for number in range(5)]
    postgres.fill("given", chunk_table(ids, pa.int64() if "int" in type_ else pa.string()))
    postgres.execute(f"CREATE TABLE chunks AS SELECT id::{type_} AS id, text FROM given")
    source = open_source(postgres.address(table="chunks"))
    arrow = {"bigint": pa.int64(), "integer": pa.int32()}.get(type_, pa.string())
    assert contexts(source, [ids, [], ids[::-1]], arrow)[2] == [f"text of {id!r}" for id in ids[::-1]]


@pytest.mark.parametrize(
    ("own", "other", "ids"),
    [
        (pa.int32(), pa.int64(), [1, 2]),
        (pa.uint64(), pa.int64(), [1, 2]),
        (pa.large_string(), pa.string(), NASTY),
        (pa.string(), pa.large_string(), NASTY),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), NASTY),
    ],
)
def test_ids_of_another_width_are_the_same_ids(own: pa.DataType, other: pa.DataType, ids: list[Any]) -> None:
    assert contexts(FrameSource(chunk_table(ids, own)), [ids], other) == [[f"text of {id!r}" for id in ids]]


def test_ids_that_name_no_single_text_are_refused() -> None:
    def refused(ids: list[Any], ranked: list[Any], type_: pa.DataType | None = None, **columns: Any) -> str:
        table = pa.table({**dict(zip(("id", "text"), chunk_table(ids, type_ or pa.string()), strict=True)), **columns})
        with pytest.raises(ColumnError) as error:
            contexts(FrameSource(table), [ranked], pa.int64() if isinstance(ranked[0], int) else pa.string())
        return str(error.value)

    assert "the id 'b' of a retrieved chunk is not among them" in refused(["a"], ["a", "b"])
    assert "the id 'a' is that of several chunks" in refused(["a", "b", "a"], ["a", "b"])
    assert "the id 'a' has no text: column 'text' is null" in refused(["a"], ["a"], text=pa.array([None], pa.string()))
    assert "the ids are of type string, and those of the index of type int64" in refused(["1"], [1])
    assert "the id 4294967296 of a retrieved chunk is not among them" in refused([0], [2**32], pa.int32())
