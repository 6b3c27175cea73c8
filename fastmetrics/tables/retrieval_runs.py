"""Runs and judgements, from files and from tables in memory, as record batches of query, doc and value.

A file is TREC text, Parquet, Arrow IPC, JSON lines, CSV or TSV with a header, or a JSON dictionary
``{query: {document: value}}``, each (but Parquet and Arrow) compressed or not (gz, zst, bz2, xz); what it holds
decides, not its name.  Columns are found by name.  Ids become text, so that 301 and "301" are one id
whatever the format.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fastmetrics.core.arrow_checks import check
from fastmetrics.core.threads import cores
from fastmetrics.errors import ColumnError, FileFormatError
from fastmetrics.errors.messages import quoted
from fastmetrics.tables.column_types import Selection, Widened, WrongValueError, settle
from fastmetrics.tables.formats.json_runs import load, table_of
from fastmetrics.tables.formats.jsonl import JsonLinesReader, record_of
from fastmetrics.tables.formats.trec import read_trec
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile, reading
from fastmetrics.tables.input_streams import compression_of, is_pipe, open_text, spool
from fastmetrics.tables.remote.addresses import as_local, is_url, shown
from fastmetrics.tables.remote.files import spooled
from fastmetrics.tables.remote.stores import plainly

ROWS = 1 << 17
"""Rows of a batch."""

_LONGEST_JSON = 1 << 29
_DAMAGED = (pa.ArrowException, csv.Error, EOFError, UnicodeDecodeError)

NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "query", "q_id", "topic", "topic_id"),
    "doc": ("doc_id", "docno", "docid", "pid", "doc", "document_id", "passage_id", "corpus_id"),
    "score": ("score", "sim", "similarity"),
    "grade": ("relevance", "rel", "label", "grade", "judgment", "judgement", "score"),
}
"""What a column may be called, in any letter case and with hyphens for underscores; the first that is there counts."""

Batches = Iterator[pa.RecordBatch]

_BOM = b"\xef\xbb\xbf"


class Triples:
    """Rows of query, document and value from ``source``; ``kind`` is "score" for a run, "grade" for judgements.

    >>> run = Triples({"q1": {"d1": 0.5, "d2": 1.5}}, "score")
    >>> [batch.to_pydict() for batch in run.batches()]
    [{'query': ['q1', 'q1'], 'doc': ['d1', 'd2'], 'value': [0.5, 1.5]}]
    """

    def __init__(self, source: Any, kind: str) -> None:
        self.kind = kind
        self._copy: str | None = None
        self.name = shown(source) if isinstance(source, str | Path) else "run" if kind == "score" else "judgements"
        if isinstance(source, str | Path):
            self._open: Callable[[], Batches] = lambda: self._read(self._path(as_local(source)))
        else:
            table = self._table(source)
            self._open = lambda: self._columns(iter(table.to_batches(ROWS)), table.schema.names)

    def _path(self, text: str) -> Path:
        """Where the file lies; a remote one or a pipe is copied first, as it may be read several times."""
        if not is_url(text):
            if self._copy is None and is_pipe(text):
                with reading(self.name), open(text, "rb") as stream:
                    self._copy, _ = spool(stream, self.name)
            return Path(self._copy or text)
        if self._copy is None:
            with reading(self.name), plainly():
                self._copy = spooled(text, self)
        return Path(self._copy)

    def batches(self) -> Batches:
        """The rows from the first to the last, as often as it is called."""
        row = 0
        for batch in self._open():
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                yield self._checked(part, row)
                row += part.num_rows

    def _checked(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        query, doc, value = batch.columns
        for name, column in (("query", query), ("document", doc), (self.kind, value)):
            holes = pa.types.is_dictionary(column.type) and column.dictionary.null_count
            plain = column.cast(column.type.value_type) if holes else column
            if plain.null_count:
                wrong = int(np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False))[0]) + row
                raise ColumnError(f"{self.name}, row {wrong}: the {name} is null")
        found = value if pa.types.is_float64(value.type) else self._number(value, row)
        unfit = np.isnan if self.kind == "score" else lambda grades: ~np.isfinite(grades)
        wrong_rows = np.flatnonzero(unfit(found.to_numpy()))
        if wrong_rows.size:
            wrong, where = found[int(wrong_rows[0])].as_py(), f"{self.name}, row {int(wrong_rows[0]) + row}"
            raise ColumnError(f"{where}: the {self.kind} is {'not a number' if np.isnan(wrong) else 'infinite'}")
        if not pa.types.is_dictionary(query.type) or not _is_text(query.dictionary.type):
            query = self._text(query, "query")
        return pa.record_batch({"query": query, "doc": self._text(doc, "document"), "value": found})

    def _text(self, column: pa.Array, what: str) -> pa.Array:
        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._text(column.cast(kind.value_type), what)
        if _is_text(kind):
            return column
        if pa.types.is_string_view(kind) or pa.types.is_integer(kind):
            return column.cast(pa.large_string())
        raise ColumnError(f"{self.name}: {what} ids are strings or integers, not {kind}")

    def _number(self, column: pa.Array, row: int) -> pa.Array:
        try:
            return column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(f"{self.name}, from row {row}: the {self.kind} is a number: {error}") from None

    def _columns(self, batches: Batches, names: Sequence[str]) -> Batches:
        chosen = self._named(names)
        for batch in batches:
            columns = [batch.column(name) for name in chosen]
            for name, column in zip(chosen, columns, strict=True):
                check(column, f"{self.name}: column {name!r}", FileFormatError)
            found = pa.record_batch(dict(zip(("query", "doc", "value"), columns, strict=True)))
            try:
                found.validate(full=True)
            except pa.ArrowInvalid as error:
                raise FileFormatError(f"{self.name}: an id is not UTF-8: {error}") from None
            yield found

    def _named(self, names: Sequence[str]) -> list[str]:
        present = {name.lower().replace("-", "_"): name for name in reversed(names)}
        chosen = []
        for what in ("query", "doc", self.kind):
            found = [present[name] for name in NAMES[what] if name in present]
            if not found:
                raise ColumnError(f"{self.name}: no column {' or '.join(NAMES[what])} among {quoted(names)}")
            chosen.append(found[0])
        return chosen

    def _table(self, source: Any) -> pa.Table:
        if isinstance(source, pa.Table):
            return source
        if isinstance(source, pa.RecordBatch):
            return pa.Table.from_batches([source])
        if isinstance(source, pa.RecordBatchReader):
            return source.read_all()
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
        if isinstance(source, Mapping):
            if source and all(isinstance(docs, Mapping) for docs in source.values()):
                pairs = [(query, list(docs.items())) for query, docs in source.items()]
                return table_of(pairs, self.name, self.kind)
            return pa.table(dict(source)) if source else table_of([], self.name, self.kind)
        raise ColumnError(f"a path, a table or a dictionary was expected as {self.name}, not {type(source).__name__}")

    def _read(self, path: Path) -> Batches:
        try:
            yield from self._read_as(path)
        except _DAMAGED as error:
            raise FileFormatError(f"{self.name}: {error}") from None
        except OSError as error:
            raise FileFormatError(f"{self.name} cannot be read: {error.strerror or error}") from None

    def _read_as(self, path: Path) -> Batches:
        with path.open("rb") as file:
            magic = file.read(6)
        if magic[:4] == b"PAR1":
            yield from self._read_parquet(path)
        elif magic == b"ARROW1":
            with pa.memory_map(str(path)) as mapped:
                reader = pa.ipc.open_file(mapped)
                parts = (reader.get_batch(part) for part in range(reader.num_record_batches))
                yield from self._columns(parts, reader.schema.names)
        else:
            yield from self._read_text(path, compression_of(magic))

    def _read_parquet(self, path: Path) -> Batches:
        schema = pa.parquet.read_schema(path)
        chosen = self._named(schema.names)
        kind = schema.field(chosen[0]).type
        texts = [chosen[0]] if _is_text(kind) else []
        with pa.parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            yield from self._columns(file.iter_batches(ROWS, columns=chosen), chosen)

    def _read_text(self, path: Path, compression: str | None) -> Batches:
        with open_text(path, compression) as stream:
            first = stream.readline(MAX_ROW_BYTES)
        head = first.removeprefix(_BOM).strip()
        if len(first) == MAX_ROW_BYTES and head[:1] not in (b"{", b"["):
            raise FileFormatError(f"{self.name}, line 1: a line of more than {MAX_ROW_BYTES:,} bytes")
        with open_text(path, compression) as stream:
            stream.read(len(_BOM) if first.startswith(_BOM) else 0)
            if _is_record(head):
                yield from self._read_lines(path, compression)
            elif head[:1] in (b"{", b"["):
                yield from self._read_json(stream)
            elif (mark := _delimiter(head)) is not None:
                yield from self._read_csv(stream, head, mark)
            else:
                yield from read_trec(stream, self.name, self.kind == "grade")

    def _read_csv(self, stream: Any, head: bytes, mark: str) -> Batches:
        chosen = self._named(_header(head, mark))
        # Read as text, so that 007 stays 007 and long integers lose no digit.
        kept = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(chosen, pa.string()), include_columns=chosen, strings_can_be_null=False
        )
        parse = pa.csv.ParseOptions(delimiter=mark)
        yield from self._columns(pa.csv.open_csv(stream, parse_options=parse, convert_options=kept), chosen)

    def _read_lines(self, path: Path, compression: str | None) -> Batches:
        reader = JsonLinesReader(DataFile(str(path), self.name, "jsonl", compression))
        try:
            chosen = self._named(reader.schema.names)
        except ColumnError as error:
            raise ColumnError(f"{error}; or expected {{query: {{document: {self.kind}}}}}") from None
        types = [settle("any", reader.schema.field(name).type) for name in chosen]
        selection = Selection(pa.schema(list(zip(chosen, types, strict=True))), dict.fromkeys(chosen, "any"))
        start, done = 0, False
        while not done:
            try:
                for chunk in reader.read(selection, 0, start, cores()):
                    if chunk.rejects:
                        raise FileFormatError(str(chunk.rejects[0]))
                    start = max(start, chunk.stop)
                    yield from self._columns(iter([chunk.batch]), chosen)
                done = True
            except Widened as wider:  # ids become text, and what is no number is refused, so a new type may come late
                selection = selection.widen(wider.name, wider.type)

    def _read_json(self, stream: Any) -> Batches:
        text = stream.read(_LONGEST_JSON + 1)
        if len(text) > _LONGEST_JSON:
            raise FileFormatError(
                f"{self.name}: JSON of more than {_LONGEST_JSON:,} bytes is not read; write TREC text or Parquet"
            )
        table = load(text, self.name, self.kind, self._named)
        yield from self._columns(iter(table.to_batches(ROWS)), table.schema.names)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _header(head: bytes, mark: str) -> list[str]:
    return next(csv.reader([head.decode("utf-8", "replace")], delimiter=mark), [])


def _delimiter(head: bytes) -> str | None:
    """What separates the columns of a header, or None if the line is no header."""
    known = {name for names in NAMES.values() for name in names}
    for mark in (",", "\t"):
        names = {name.lower().replace("-", "_") for name in _header(head, mark)}
        if len(names) > 2 and len(names & known) > 1:
            return mark
    return None


def _is_record(head: bytes) -> bool:
    """Whether a line is one row of JSON lines rather than (the beginning of) a dictionary of dictionaries."""
    if not head.startswith(b"{"):
        return False
    try:
        record = record_of(head)
    except WrongValueError:
        return False
    return bool(record) and not any(isinstance(value, dict) for value in record.values())
