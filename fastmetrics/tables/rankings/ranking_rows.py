"""Rankings and judgements, from files and from tables in memory, as record batches of query, doc and value.

A file is TREC text, Parquet, Arrow IPC, JSON lines, CSV or TSV with a header, or a JSON dictionary
``{query: {document: value}}``, each (except Parquet and Arrow) optionally compressed (gz, zst, bz2, xz); the
format is detected from the contents, not the name.  Columns are found by name.  Ids become text, so that 301 and
"301" are one id in any format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.frames import open_frame
from fastmetrics.base.limits import RANKINGS, RankingSizes, ReadSizes
from fastmetrics.base.threads import cores
from fastmetrics.tables.file_columns import Selection, Widened
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.rankings.json_rankings import load, table_of
from fastmetrics.tables.rankings.ranking_columns import Batches, RankingColumns, is_text
from fastmetrics.tables.rankings.ranking_files import opened, ranking_files
from fastmetrics.tables.rankings.trec_text import read_trec
from fastmetrics.tables.remote.addresses import as_local, shown
from fastmetrics.tables.sources.file_source import FileSource, open_files
from fastmetrics.tables.table_chunks import Place

_LONGEST_JSON = 1 << 29
_CODED = pa.dictionary(pa.int32(), pa.string())


class Triples:
    """Rows of query, document and value from ``source``; ``kind`` is "score" for a ranking, "grade" for judgements.

    A path means a file, a folder, a glob, an address, or ``-`` for standard input; several files are one ranking.

    >>> ranking = Triples({"q1": {"d1": 0.5, "d2": 1.5}}, "score")
    >>> [batch.to_pydict() for batch in ranking.batches()]
    [{'query': ['q1', 'q1'], 'doc': ['d1', 'd2'], 'value': [0.5, 1.5]}]
    """

    def __init__(self, source: Any, kind: str, sizes: RankingSizes = RANKINGS) -> None:
        self.sizes = sizes
        self.name = "ranking" if kind == "score" else "judgements"
        self._parts: list[tuple[RankingColumns, Callable[[RankingColumns], Batches]]]
        if isinstance(source, str | Path):
            files = ranking_files(source)
            self.name = files[0].shown if len(files) == 1 else shown(as_local(source))
            self._parts = [(RankingColumns(file.shown, kind), partial(_file_rows, file, sizes)) for file in files]
        else:
            table = _table(source, RankingColumns(self.name, kind))
            self._parts = [(RankingColumns(self.name, kind), lambda columns: columns.of_table(table, sizes.rows))]

    def batches(self) -> Batches:
        """All rows, in order; can be called repeatedly."""
        for columns, batches in self._parts:
            row = 0
            for batch in batches(columns):
                for start in range(0, batch.num_rows, self.sizes.rows):
                    part = batch.slice(start, self.sizes.rows)
                    yield columns.checked(part, row)
                    row += part.num_rows


def _table(source: Any, columns: RankingColumns) -> pa.Table:
    """The rows of a table of any kind, or of nested dictionaries, in memory."""
    nested = isinstance(source, Mapping) and all(isinstance(docs, Mapping) for docs in source.values())
    if nested:
        return table_of([(query, list(docs.items())) for query, docs in source.items()], columns.name, columns.kind)
    try:
        frame = open_frame(source)
    except ColumnError as error:
        expected = "expected a path, a table or a dictionary"
        raise ColumnError(f"{columns.name}: {expected}, got {type(source).__name__}") from error
    return pa.concat_tables(frame.read(columns.columns_among(frame.names))[1])


def _file_rows(file: DataFile, sizes: RankingSizes, columns: RankingColumns) -> Batches:
    """The rows of a file."""
    if file.format == "trec":
        with reading(file.shown), opened(file) as stream:
            yield from read_trec(stream, file.shown, columns.kind == "grade", sizes.trec_block_bytes)
    elif file.format == "json":
        with reading(file.shown), opened(file) as stream:
            text = stream.read(_LONGEST_JSON + 1)
        if len(text) > _LONGEST_JSON:
            longest = f"JSON files are limited to {_LONGEST_JSON:,} bytes; write TREC text or Parquet"
            raise FileFormatError(f"{file.shown}: {longest}")
        table = load(text, file.shown, columns.kind, columns.columns_among)
        yield from columns.of(iter(table.to_batches(sizes.rows)), table.schema.names)
    else:
        read_sizes = ReadSizes(parquet_rows=sizes.rows, parquet_bytes=64 << 20, arrow_rows=sizes.rows)
        yield from _read_table(open_files([replace(file, sizes=read_sizes)]), columns)


def _read_table(source: FileSource, columns: RankingColumns) -> Batches:
    """The rows of a table, with ids and values in their original types."""
    (file,) = source.files
    try:
        chosen = columns.columns_among(source.schema.names)
    except ColumnError as error:
        if file.format != "jsonl":
            raise
        raise ColumnError(f"{error}; or expected {{query: {{document: {columns.kind}}}}}") from None
    selection = source.select(dict.fromkeys(chosen, "any"))
    if file.format == "parquet" and is_text(selection.schema.field(chosen[0]).type):
        selection = selection.widen(chosen[0], _CODED)  # each query id occurs in many rows
    start = 0
    while True:
        try:
            for batch, stop in _chunks(source, selection, start):
                start = stop
                yield from columns.of(iter([batch]), chosen)
            return
        except Widened as wider:  # ids are converted to text, so a later row may change the type
            selection = selection.widen(wider.name, wider.type)


def _chunks(source: FileSource, selection: Selection, start: int) -> Any:
    """The batches from row ``start`` on, each with the next row's number; raises ``FileFormatError`` for a bad row."""
    for chunk in source.chunks(selection, Place(0, start), cores()):
        if chunk.rejects:
            raise FileFormatError(str(chunk.rejects[0]))
        yield chunk.batch, max(start, chunk.stop)
