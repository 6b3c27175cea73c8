"""Small good files of every format that a command reads, for a fuzzer to spoil."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

ROWS = 24


@dataclass(frozen=True)
class Seed:
    """A good file: ``format`` is what the fuzzer counts it as, ``name`` ends in the suffix that commands go by."""

    format: str
    name: str
    data: bytes


def rows() -> pa.Table:
    """Rows with every kind of column: text, lists, ids, numbers, flags, vectors, and text coded in other ways."""
    rng = np.random.default_rng(11)
    words = ["Paris", "in", "the", "größte", "Stadt", "столица", "7", "1,000", "[1]", "東京", "e-mail", "No."]

    def text() -> str:
        return " ".join(rng.choice(words, rng.integers(1, 9)).tolist())

    answers = [None if row == 5 else text() for row in range(ROWS)]
    documents = [[f"d{document}" for document in rng.permutation(9)[: rng.integers(1, 6)]] for _ in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "question": pa.array([text() for _ in range(ROWS)]),
            "answer": pa.array(answers),
            "reference": pa.array([None if row == 7 else [text() for _ in range(row % 3)] for row in range(ROWS)]),
            "contexts": pa.array([[text(), text()] for _ in range(ROWS)]),
            "retrieved_ids": pa.array(documents),
            "relevant_ids": pa.array([documents[row][:2] for row in range(ROWS)]),
            "latency_ms": pa.array(rng.random(ROWS)),
            "answerable": pa.array([row % 4 > 0 for row in range(ROWS)]),
            "session_id": pa.array([row % 3 for row in range(ROWS)]),
            "timestamp": pa.array([f"2024-01-05T10:{row % 60:02}:00Z" for row in range(ROWS)]),
            "rating": pa.array([None if row == 3 else row % 5 for row in range(ROWS)]),
            "question_embedding": pa.array(rng.random((ROWS, 4)).tolist(), pa.list_(pa.float32())),
        }
    )


def vectors() -> pa.Table:
    """An id and a vector a row."""
    values = np.random.default_rng(12).normal(size=(ROWS * 4, 8)).astype(np.float32)
    return pa.table({"id": pa.array(range(len(values))), "vector": pa.array(list(values), pa.list_(pa.float32()))})


def layouts() -> pa.Table:
    """The rows with their columns in Arrow's other layouts: views, dictionaries, runs, lists of fixed size."""
    table = rows()
    lists = table["contexts"].combine_chunks()
    columns = {
        "id": pa.array([f"q{row}" for row in range(ROWS)]).dictionary_encode(),
        "question": table["question"].cast(pa.string_view()),
        "answer": table["answer"].cast(pa.large_string()),
        "reference": table["answer"].dictionary_encode(),
        "contexts": pa.FixedSizeListArray.from_arrays(lists.flatten(), 2),
        "retrieved_ids": pa.array(table["retrieved_ids"].to_pylist(), pa.list_view(pa.string())),
        "relevant_ids": pa.array(table["relevant_ids"].to_pylist(), pa.large_list(pa.string())),
        "latency_ms": pa.RunEndEncodedArray.from_arrays([10, ROWS], [1.5, 2.5]),
    }
    return pa.table(
        {name: column.combine_chunks() if hasattr(column, "chunks") else column for name, column in columns.items()}
    )


def _ipc(table: pa.Table, make: Callable[..., pa.RecordBatchWriter], compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    return sink.getvalue()


def _parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"row_group_size": ROWS // 2, **options})
    return sink.getvalue()


def _csv(table: pa.Table, delimiter: str) -> bytes:
    lists = [name for name in table.column_names if pa.types.is_list(table[name].type)]
    for name in lists:
        texts = [None if value is None else json.dumps(value) for value in table[name].to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(texts))
    sink = io.BytesIO()
    pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter=delimiter))
    return sink.getvalue()


def _jsonl(table: pa.Table) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()).encode()


def _npy(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def tables() -> Iterator[Seed]:
    """Rows to score, in each format."""
    table, other, points = rows(), layouts(), vectors()
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="none", use_dictionary=False))
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="none", data_page_version="2.0"))
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="zstd"))
    yield Seed(
        "parquet",
        "vectors.parquet",
        _parquet(points, compression="snappy", column_encoding="PLAIN", use_dictionary=False),
    )
    for made_table in (table, other):
        yield Seed("arrow file", "rows.arrow", _ipc(made_table, pa.ipc.new_file))
        yield Seed("arrow stream", "rows.arrows", _ipc(made_table, pa.ipc.new_stream))
    yield Seed("arrow file", "rows.arrow", _ipc(table, pa.ipc.new_file, "lz4"))
    yield Seed("arrow file", "vectors.arrow", _ipc(points, pa.ipc.new_file, "zstd"))
    yield Seed("arrow stream", "rows.arrows", _ipc(other, pa.ipc.new_stream, "zstd"))
    for name, data in (("rows.jsonl", _jsonl(table)), ("rows.csv", _csv(table, ",")), ("rows.tsv", _csv(table, "\t"))):
        yield Seed(name.partition(".")[2], name, data)
        yield Seed("gz", f"{name}.gz", gzip.compress(data, mtime=0))
        yield Seed("zst", f"{name}.zst", _zstd(data))
    yield Seed("npy", "vectors.npy", _npy(np.array(points["vector"].to_pylist(), np.float32)))
    yield Seed("npy", "vectors.npy", _npy(np.asfortranarray(np.array(points["vector"].to_pylist()))))


def runs() -> Iterator[Seed]:
    """A run and its judgements, in each format that ``rank`` reads."""
    ranked = [(f"q{query}", f"d{doc}", 1 / (1 + doc), int(doc % 3 == 0)) for query in range(8) for doc in range(6)]
    for kind, column, at in (("run", "score", 2), ("qrels", "relevance", 3)):
        triples = [(ranked_document[0], ranked_document[1], ranked_document[at]) for ranked_document in ranked]
        table = pa.table(dict(zip(("query_id", "doc_id", column), zip(*triples, strict=True), strict=True)))
        nested: dict[str, dict[str, float]] = {}
        for query, doc, value in triples:
            nested.setdefault(query, {})[doc] = value
        line = "{} Q0 {} 1 {} tag\n" if kind == "run" else "{} 0 {} {}\n"
        yield Seed(kind, f"{kind}.txt", "".join(line.format(*ranked_document) for ranked_document in triples).encode())
        yield Seed(kind, f"{kind}.json", json.dumps(nested).encode())
        yield Seed(kind, f"{kind}.jsonl", _jsonl(table))
        yield Seed(kind, f"{kind}.csv", _csv(table, ","))
        yield Seed(
            kind,
            f"{kind}.txt.gz",
            gzip.compress("".join(line.format(*ranked_document) for ranked_document in triples).encode()),
        )
        yield Seed(kind, f"{kind}.parquet", _parquet(table))
        yield Seed(kind, f"{kind}.arrow", _ipc(table, pa.ipc.new_file))


def all_seeds() -> list[Seed]:
    """Every good file but the folders of indexes, which only the program itself can make."""
    return [*tables(), *runs()]


def write(seed: Seed, folder: Path) -> Path:
    """The seed as a file."""
    path = folder / seed.name
    path.write_bytes(seed.data)
    return path
