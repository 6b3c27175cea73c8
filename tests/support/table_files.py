"""Small tables, written in each format and read back."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather
import pyarrow.parquet as pq

ROWS = {
    "id": ["a", "b", "c"],
    "answer": ["yes", 'with "quotes",\nand a line', "Ünï\u2028 😀 \x00 end"],
    "reference": ["yes", "no", "\ufeff"],
}
KINDS = {"id": "id", "answer": "text", "reference": "texts"}


def read(source, kinds, *, threads=1):
    """All good rows as a table, and all rejects as text."""
    selection = source.select(kinds)
    batches, rejects = [], []
    for chunk in source.chunks(selection, threads=threads):
        rejects.extend(map(str, chunk.rejects))
        if len(chunk.rows):
            batches.append(source.conform(chunk, selection))
    return pa.Table.from_batches(batches, schema=selection.schema), rejects


def write(table: pa.Table, path: Path) -> Path:
    """The table in the format of the path's suffix."""
    name = path.name
    if ".parquet" in name:
        pq.write_table(table, path)
        return path
    if name.endswith(".arrows"):
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        return path
    if name.endswith((".arrow", ".feather")):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        return path
    if ".jsonl" in name:
        text = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    else:
        sink = io.BytesIO()
        pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter="\t" if ".tsv" in name else ","))
        text = sink.getvalue()
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.output_stream(str(path), compression=compression) as stream:
        stream.write(text)
    return path


def tree(folder: Path) -> Path:
    """A hive-partitioned folder with files that are no part of it."""
    for name in ("lang=de/part-1.parquet", "lang=en%20gb/part-0.parquet", "lang=de/deep/part-2.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(ROWS), folder / name)
    for name in ("_SUCCESS", ".part.crc", "lang=de/notes.txt", "_temporary/part-9.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("nothing")
    return folder


FORMATS = ["t.parquet", "t.arrow", "t.arrows", "t.feather", "t.jsonl", "t.csv", "t.tsv"]
FORMATS += ["t.jsonl.gz", "t.jsonl.zst", "t.csv.gz", "t.csv.zst", "t.tsv.gz"]


def column_bytes(path: Path) -> dict[str, list[bytes]]:
    """The stored bytes of each column of a Parquet file, by row group."""
    content, metadata = path.read_bytes(), pq.read_metadata(path)
    stored: dict[str, list[bytes]] = {}
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            start = column.dictionary_page_offset or column.data_page_offset
            stored.setdefault(column.path_in_schema, []).append(content[start : start + column.total_compressed_size])
    return stored
