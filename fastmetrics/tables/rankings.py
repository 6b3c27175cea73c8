"""Rankings and relevance judgements, from files of every kind and from tables in memory, as batches of query, doc and
value.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import check, numpy_values, well_formed
from fastmetrics.base.columns import open_frame
from fastmetrics.base.errors import Argument, ColumnError, FileFormatError, UnknownNameError, quoted, shown
from fastmetrics.base.limits import RANKINGS, RankingSizes, ReadSizes
from fastmetrics.base.threads import cores
from fastmetrics.kernels import byte_search as kernels
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.column_types import Widened, WrongValueError, describe
from fastmetrics.tables.formats import sniff
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile, compression_of, reading
from fastmetrics.tables.json_lines import record_of
from fastmetrics.tables.opening import DATABASE, expand, open_files
from fastmetrics.tables.readers import Position
from fastmetrics.tables.remote_files import side_by_side
from fastmetrics.tables.sources import FileSource

# The columns of rankings and judgements: their names, and their valid contents.


NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "query", "q_id", "topic", "topic_id"),
    "doc": ("doc_id", "docno", "docid", "pid", "doc", "document_id", "passage_id", "corpus_id"),
    "score": ("score", "sim", "similarity"),
    "grade": ("relevance", "rel", "label", "grade", "judgment", "judgement", "score"),
}
"""The possible names of a column, ignoring letter case, with hyphens or underscores; the first match is used."""
RANKS = ("rank", "position")
"""The names of a column of ranks, from the best on, of a ranking without scores."""

Batches = Iterator[pa.RecordBatch]


def canonical(name: str) -> str:
    """A column's name in the form of ``NAMES``."""
    return name.lower().replace("-", "_")


def is_text(kind: pa.DataType) -> bool:
    """Whether the type holds consecutive strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


_WITHOUT_SCORES = (
    "; a ranking without scores has a column rank, or only query and document, best first, or is "
    "{query: [documents]} in JSON"
)


@dataclass(frozen=True)
class RankingColumns:
    """The columns of a table or file, called ``name`` in messages; ``kind`` is "score" of a ranking, or "grade".

    ``named`` are the user's names of them, ``{"query_id": yours}``.
    """

    name: str
    kind: str
    named: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ``UnknownNameError`` for a name of no column of rankings and judgements."""
        known = [name for names in (*NAMES.values(), RANKS) for name in names]
        for name in self.named:
            if canonical(name) not in known:
                raise UnknownNameError.of("column", name, [names[0] for names in NAMES.values()])

    def columns_among(self, names: Sequence[str]) -> list[str]:
        """The columns of query, document and value among ``names``; two columns alone have no value: they are relevant
        documents, or those of a ranking in its order.

        Raises ``ColumnError`` if one is missing.
        """
        present = {canonical(name): name for name in reversed(names)}
        present |= {canonical(name): own for name, own in self.named.items() if own in names}
        chosen: list[str] = []
        for what in ("query", "doc", self.kind):
            matches = [present[name] for name in NAMES[what] if name in present]
            if not matches and what == self.kind and len(names) == len(chosen):
                break
            if not matches and what == "score":
                matches = [present[name] for name in RANKS if name in present]
            if not matches:
                usual = " or ".join(NAMES[what])
                none = f"{self.name}: no column {usual} among {quoted(names)}; name yours with "
                more = _WITHOUT_SCORES * (what == "score")
                raise ColumnError(none, Argument("columns", {NAMES[what][0]: ...}), more)
            chosen.append(matches[0])
        return chosen

    def _are_ranks(self, names: Sequence[str]) -> bool:
        """Whether the values of a ranking with these columns are ranks."""
        present = {*map(canonical, names), *(canonical(name) for name, own in self.named.items() if own in names)}
        return self.kind == "score" and not present & {*NAMES["score"]} and bool(present & {*RANKS})

    def are_among(self, names: Iterable[Any]) -> bool:
        """Whether these are names of the columns of a table, rather than queries."""
        names = [str(name) for name in names]
        present = {canonical(name) for name in [*names, *(name for name, own in self.named.items() if own in names)]}
        return all(present & set(NAMES[what]) for what in ("query", "doc"))

    def checked(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """The rows from number ``row`` on: query, doc and value, ids as text and values as float64.

        Raises ``ColumnError`` for a bad row.
        """
        query, doc, *values = map(batch.column, self.columns_among(batch.schema.names))
        nothing = (
            np.ones(batch.num_rows) if self.kind == "grade" else -np.arange(row, row + batch.num_rows, dtype=float)
        )
        value = values[0] if values else pa.array(nothing)
        for name, column in (("query", query), ("document", doc), (self.kind, value)):
            holes = pa.types.is_dictionary(column.type) and column.dictionary.null_count
            plain = column.cast(column.type.value_type) if holes else column
            if plain.null_count:
                wrong = int(np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False))[0]) + row
                raise ColumnError(f"{self.name}, row {wrong}: the {name} is null; give it, or leave the row out")
        numbers = value if pa.types.is_float64(value.type) else self._number(value, row)
        if self._are_ranks(batch.schema.names):
            numbers = pc.negate(numbers)
        unfit = np.isnan if self.kind == "score" else lambda grades: ~np.isfinite(grades)
        wrong_rows = np.flatnonzero(unfit(numpy_values(numbers)))
        if wrong_rows.size:
            bad, where = numbers[int(wrong_rows[0])].as_py(), f"{self.name}, row {int(wrong_rows[0]) + row}"
            what = "not a number" if np.isnan(bad) else "infinite"
            raise ColumnError(f"{where}: the {self.kind} is {what}; give a finite one, or leave the row out")
        if not pa.types.is_dictionary(query.type) or not is_text(query.dictionary.type):
            query = self._text(query, "query")
        return pa.record_batch({"query": query, "doc": self._text(doc, "document"), "value": numbers})

    def _text(self, column: pa.Array, what: str) -> pa.Array:
        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._text(column.cast(kind.value_type), what)
        if is_text(kind):
            return column
        if pa.types.is_string_view(kind) or pa.types.is_integer(kind):
            return column.cast(pa.large_string())
        raise ColumnError(f"{self.name}: expected {what} ids as strings or integers, got {kind}")

    def _number(self, column: pa.Array, row: int) -> pa.Array:
        try:
            return column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        for at, value in enumerate(column.to_pylist(), row):  # the first that is none
            try:
                pa.scalar(value).cast(pa.float64(), safe=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                got = f"{self.name}, row {at}: expected the {self.kind} as a number, got {shown(value)}"
                raise ColumnError(got) from None
        raise ColumnError(f"{self.name}, from row {row}: expected the {self.kind} as numbers, got {column.type}")


# Rankings and judgements as JSON or Python objects: ``{query: {document: number}}``, or ``{query: [documents]}``.


_UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError)
_MTEB = "mteb_model_meta"
"""The first key of mteb's files of predictions, beside which are those of each subset and split."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, to detect duplicate documents."""


def are_ids(docs: Any) -> bool:
    """Whether this is a list of documents, without scores or grades."""
    return isinstance(docs, list | tuple) and all(
        isinstance(doc, str | int) and not isinstance(doc, bool) for doc in docs
    )


def pairs_of(docs: Any, kind: str) -> Sequence[tuple[Any, Any]] | None:
    """The documents of a query with their values; None if they are something else.

    Of documents alone, best first, the scores keep this order; relevant ones have the grade 1.

    >>> pairs_of({"d1": 0.5}, "score"), pairs_of(["d1", "d2"], "score"), pairs_of(["d1"], "grade"), pairs_of(3, "grade")
    ([('d1', 0.5)], [('d1', 2.0), ('d2', 1.0)], [('d1', 1.0)], None)
    """
    if isinstance(docs, Mapping | Pairs):
        return list(docs.items()) if isinstance(docs, Mapping) else docs
    if not are_ids(docs):
        return None
    return [(doc, float(len(docs) - place) if kind == "score" else 1.0) for place, doc in enumerate(docs)]


def load(text: bytes, name: str, kind: str) -> pa.Table:
    """The table of a JSON object or an empty list; raises a ``FileFormatError`` with the expected form for others."""
    nested = f"{{query: {{document: {kind}}}}}, {{query: [documents]}}"
    form = f"{nested} or a list of objects with query, document and {kind}"
    try:
        loaded = json.loads(text, object_pairs_hook=Pairs)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{name}: malformed JSON: {error}; expected {form}") from None
    if loaded and not isinstance(loaded, Pairs):
        raise FileFormatError(f"{name}: expected {form}; item 0 is {_description(loaded[0])}")
    queries = []
    for query, docs in _predictions(loaded, name):
        pairs = pairs_of(docs, kind)
        if pairs is None:
            raise FileFormatError(f"{name}: expected {form}; query {_brief(query)} holds {_description(docs)}")
        queries.append((query, pairs))
    return table_of(queries, name, kind)


def _predictions(loaded: Pairs, name: str) -> Pairs:
    """The queries of mteb's predictions of one subset and split; other rankings as they are."""
    if _MTEB not in dict(loaded):
        return loaded
    splits = [
        (f"{subset}/{split}", queries)
        for subset, of_subset in loaded
        if subset != _MTEB and isinstance(of_subset, Pairs)
        for split, queries in of_subset
        if isinstance(queries, Pairs)
    ]
    if len(splits) != 1:
        found = quoted([split for split, _ in splits])
        raise FileFormatError(f"{name}: expected mteb's predictions of one subset and split, got {found}")
    return splits[0][1]


def table_of(queries: Sequence[tuple[Any, Sequence[tuple[Any, Any]]]], name: str, kind: str) -> pa.Table:
    """The table of ``(query, [(document, value), …])``; raises ``ColumnError`` for a value that is not a number."""
    counts = [len(docs) for _, docs in queries]
    pairs = list(chain.from_iterable(docs for _, docs in queries))
    heads = _texts([str(query) for query, _ in queries])
    positions = pa.array(np.repeat(np.arange(len(queries), dtype=np.int32), counts))
    try:
        values = pa.array([value for _, value in pairs], pa.float64(), from_pandas=False)
    except _UNFIT:
        places_and_values = (
            (f"query {_brief(query)}, document {_brief(doc)}", value) for query, docs in queries for doc, value in docs
        )
        values = pa.array([_number(value, f"{name}, {where}") for where, value in places_and_values], pa.float64())
    docs = _texts([str(doc) for doc, _ in pairs])
    return pa.table({"query": pa.DictionaryArray.from_arrays(positions, heads), "doc": docs, kind: values})


def _number(value: Any, where: str) -> float | None:
    """A number as float64; missing values are reported later."""
    try:
        if not isinstance(value, str):
            return None if value is None else float(value)
    except (TypeError, OverflowError):
        pass
    raise ColumnError(f"{where}: expected a number that a float64 holds, got {_description(value)}")


def _texts(strings: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(strings, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([None if text is None else well_formed(text) for text in strings], pa.large_string())


def _description(value: Any) -> str:
    """A short description of a JSON value."""
    if value is None:
        return "null"
    return "an object" if isinstance(value, Pairs) else well_formed(describe(value))


def _brief(name: Any) -> str:
    return repr(well_formed(str(name))[:80])


# TREC text: runs (``query Q0 document rank score tag``) and judgements (``query 0 document grade``).
#
# Fields are separated by whitespace; blank lines and lines that start with ``#`` are skipped, and additional fields
# of a run are ignored, as in trec_eval.


class _Form(NamedTuple):
    """The fields of a line: their names, those of query, document and value, and whether more are wrong."""

    line: str
    fields: tuple[int, int, int]
    is_whole: bool = True


_JUDGEMENTS = _Form("query 0 document grade", (0, 2, 3))
_RUN = _Form("query Q0 document rank score tag", (0, 2, 4), is_whole=False)
# without the fields of trec_eval that are always the same, as of MS MARCO
_RANKS = _Form("query document rank", (0, 1, 2))
_SCORES = _Form("query document score", (0, 1, 2))
_RUN_OF_RANKS = _Form("query Q0 document rank", (0, 2, 3), is_whole=False)
_IN_ORDER = _Form("query document", (0, 1, 1))
_PAIRS = _Form("query document", (0, 1, 1))
_HEAD_OF_FORM = 1 << 16
"""The bytes in which the first line of a run is looked for."""


def read_trec(stream: Any, path: str, judgements: bool, block_bytes: int) -> Iterator[pa.RecordBatch]:
    """Batches with the columns query, doc and score or grade of the TREC text in ``stream``, read by blocks.

    Raises ``FileFormatError`` for a line with missing fields, and for a line of more than 64 MiB.
    """
    tail, line = b"", 1
    form: _Form | None = None
    while True:
        block = stream.read(block_bytes)
        text = tail + block
        end = len(text) if not block else text.rfind(b"\n") + 1
        tail = text[end:]
        if end:
            data = np.frombuffer(text, np.uint8, end)
            form = form or _form_of(text[: min(end, _HEAD_OF_FORM)], judgements=judgements)
            yield _batch(data, path, line, form, "grade" if judgements else "score")
            line += kernels.count_lines(data)
        if len(tail) > MAX_ROW_BYTES:
            raise FileFormatError(f"{path}, line {line}: the line is longer than {MAX_ROW_BYTES:,} bytes")
        if not block:
            return


def _form_of(text: bytes, *, judgements: bool) -> _Form:
    """The form of the first line of a run, or of judgements, of which two fields are a relevant document."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(b"#"))
    first = next(lines, [])
    if judgements:
        return _PAIRS if len(first) == 2 else _JUDGEMENTS
    if len(first) == 3:
        return _RANKS if first[2] == b"1" else _SCORES
    if first[1:2] in ([b"Q0"], [b"q0"]) and (len(first) == 4 or (len(first) == 5 and not _is_number(first[4]))):
        return _RUN_OF_RANKS
    return _IN_ORDER if len(first) == 2 else _RUN


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _batch(data: NDArray[np.uint8], path: str, line: int, form: _Form, kind: str) -> pa.RecordBatch:
    most = int(kernels.count_lines(data)) + 1
    starts, stops = np.empty((5, most), np.int64), np.empty((5, most), np.int64)
    numbers = np.empty(most, np.int64)
    rows = kernels.cut_fields(data, starts, stops, numbers)
    numbers = numbers[:rows] + line
    last = form.fields[-1]
    wrong = starts[last, :rows] < 0
    if form.is_whole:
        wrong |= starts[last + 1, :rows] >= 0
    if wrong.any():
        first = int(np.argmax(wrong))
        fields = int((starts[:, first] >= 0).sum())  # 5 of a line of a run, which has 6
        swaps = {
            (_JUDGEMENTS, 5): "rankings, which stand before the judgements",
            (_RUN, 4): "judgements, which stand last",
        }
        other = swaps.get((form, fields))
        hint = "" if other is None else f"; are these {other}?"
        hint += _OTHERS if form is _RUN else ""
        raise FileFormatError(f"{path}, line {numbers[first]}: expected a line {form.line!r}{hint}")
    query, doc, value = (_gathered(data, starts[field, :rows], stops[field, :rows]) for field in form.fields)
    if form is _PAIRS:
        return pa.record_batch({"query": query, "doc": doc, kind: pa.array(np.ones(rows))})
    values = pa.array(numbers.astype(np.float64)) if form is _IN_ORDER else _floats(value, numbers, path, form)
    values = pc.negate(values) if form in (_IN_ORDER, _RANKS, _RUN_OF_RANKS) else values
    return pa.record_batch({"query": query, "doc": doc, kind: values})


_OTHERS = (
    "; without scores, expected 'query document' in the order of the ranking, 'query document rank' from 1, or "
    "'query Q0 document rank'"
)


def _gathered(data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> pa.Array:
    bounds = np.empty(starts.size + 1, np.int64)
    gathered = kernels.gather(data, starts, stops, bounds)
    return pa.LargeStringArray.from_buffers(starts.size, pa.py_buffer(bounds), pa.py_buffer(gathered))


def _floats(texts: pa.Array, numbers: NDArray[np.int64], path: str, form: _Form) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        values = np.empty(len(texts))
    for row, text in enumerate(texts.to_pylist()):
        try:
            values[row] = float(text)
        except ValueError:
            forms = f"expected lines {form.line!r}, as the first of the file is" + _OTHERS * (form is not _JUDGEMENTS)
            where = f"{path}, line {numbers[row]}: expected a number as {form.line.split()[form.fields[2]]}"
            raise FileFormatError(f"{where}, got {text!r}; {forms}") from None
    return pa.array(values)


# Files of rankings and judgements: finding them, and detecting their formats from the contents, not the names.


BOM = b"\xef\xbb\xbf"
_UNSEEN = "ranking"
_HEAD = 16
_NESTED = "nested"
"""The format of a JSON dictionary of queries."""
_RECORDS = re.compile(rb"\[\s*\{")


def ranking_files(path: str | Path) -> list[DataFile]:
    """The files of a path; for a folder, all files except hidden ones.

    Each is ``parquet``, ``arrow``, ``jsonl``, ``csv``, ``tsv``, ``json``, ``trec`` or ``nested``, or in a database.
    """
    return side_by_side(_recognised, expand(path, _UNSEEN, (_UNSEEN,)))


def opened(file: DataFile) -> BinaryIO:
    """The text of a file, without a byte order mark."""
    stream = io.BufferedReader(file.open()[0])
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    return stream


def _recognised(file: DataFile) -> DataFile:
    """The file with the format and the compression detected from its first bytes; a table in a database has none."""
    if file.format == DATABASE:
        return file
    with reading(file.shown), replace(file, compression=None).open()[0] as packed:
        head = packed.read(_HEAD)
    file = replace(file, compression=compression_of(head))
    if (format := sniff(head)) in ("parquet", "arrow"):
        return replace(file, format=str(format))
    with reading(file.shown), opened(file) as text:
        line = text.readline(file.max_row_bytes)
        more = text.read(_HEAD_OF_FORM)
    begin = line.strip()
    is_json = begin[:1] in (b"{", b"[")
    if len(line) == file.max_row_bytes and not is_json:
        raise FileFormatError(f"{file.shown}, line 1: the line is longer than {file.max_row_bytes:,} bytes")
    if is_json:
        is_list = _RECORDS.match(begin + more)
        return replace(file, format="json" if is_list else "jsonl" if _is_record(begin) else _NESTED)
    return replace(file, format=_table_format(begin, file.shown) or "trec")


def _table_format(head: bytes, where: str) -> str | None:
    """csv or tsv, if the line is a header with names of columns of rankings or judgements."""
    expected = {name for names in NAMES.values() for name in names}
    for format, mark in (("csv", ","), ("tsv", "\t")):
        try:
            cells = next(csv.reader([head.decode("utf-8", "replace")], delimiter=mark), [])
        except csv.Error as error:
            raise FileFormatError(f"{where}, line 1: {error}") from error
        names = set(map(canonical, cells))
        if len(names) > 1 and len(names & expected) > 1:
            return format
    return None


def _is_record(line: bytes) -> bool:
    """Whether a line is one row of JSON lines, not (the beginning of) a dictionary of dictionaries."""
    try:
        record = record_of(line)
    except WrongValueError:
        return False
    if all(map(are_ids, record.values())):  # the lists of documents of queries
        return False
    return bool(record) and not any(isinstance(value, dict) for value in record.values())


# Rankings and judgements, from files and from tables in memory, as record batches of query, doc and value.
#
# A file is TREC text, Parquet, Arrow IPC, JSON lines, an array of JSON records, CSV or TSV with a header, or a JSON
# dictionary ``{query: {document: value}}``, each (except Parquet and Arrow) optionally compressed (gz, zst, bz2, xz);
# the format is detected from the contents, not the name.  Columns are found by name.  Ids become text, so that 301 and
# "301" are one id in any format.


_LONGEST_JSON = 1 << 29
_CODED = pa.dictionary(pa.int32(), pa.string())


class Triples:
    """Rows of query, document and value from ``source``; ``kind`` is "score" for a ranking, "grade" for judgements.

    A path means a file, a folder, a glob, an address, or ``-`` for standard input; several files are one ranking.

    >>> ranking = Triples({"q1": {"d1": 0.5, "d2": 1.5}}, "score")
    >>> [batch.to_pydict() for batch in ranking.batches()]
    [{'query': ['q1', 'q1'], 'doc': ['d1', 'd2'], 'value': [0.5, 1.5]}]
    """

    def __init__(
        self, source: Any, kind: str, sizes: RankingSizes = RANKINGS, named: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.sizes = sizes
        self.drop_self = False
        """Whether rows whose document has the id of the query are left out."""
        self.name = "ranking" if kind == "score" else "judgements"
        self._parts: list[tuple[RankingColumns, Callable[[], Batches]]]
        if isinstance(source, str | Path):
            files = ranking_files(source)
            self.name = files[0].shown if len(files) == 1 else shown_address(as_local(source))
            each = [(RankingColumns(file.shown, kind, named), file) for file in files]
            self._parts = [(columns, partial(_file_rows, file, sizes, columns)) for columns, file in each]
        else:
            columns = RankingColumns(self.name, kind, named)
            table = _table(source, columns)
            self._parts = [(columns, lambda: iter(table.to_batches(sizes.rows)))]

    def batches(self) -> Batches:
        """All rows, in order; can be called repeatedly."""
        for columns, batches in self._parts:
            row = 0
            for batch in batches():
                try:
                    batch.validate(full=True)
                except pa.ArrowInvalid:
                    not_utf8 = f"{columns.name}, from row {row}: an id is not UTF-8; convert the file first"
                    raise FileFormatError(not_utf8) from None
                for start in range(0, batch.num_rows, self.sizes.rows):
                    part = batch.slice(start, self.sizes.rows)
                    checked = columns.checked(part, row)
                    row += part.num_rows
                    if self.drop_self:
                        query = checked["query"].cast(pa.large_string())
                        checked = checked.filter(pc.not_equal(query, checked["doc"].cast(pa.large_string())))
                    if checked.num_rows:
                        yield checked


def _table(source: Any, columns: RankingColumns) -> pa.Table:
    """The rows of a table of any kind, or of nested dictionaries, in memory."""
    if isinstance(source, Mapping) and not (columns.are_among(source) and any(map(are_ids, source.values()))):
        pairs = [(query, pairs_of(docs, columns.kind)) for query, docs in source.items()]
        queries = [(query, docs) for query, docs in pairs if docs is not None]
        if len(queries) == len(pairs):
            return table_of(queries, columns.name, columns.kind)
    try:
        frame = open_frame(_with_index(source, columns))
    except ColumnError as error:
        expected = "expected a path, a table or a dictionary"
        raise ColumnError(f"{columns.name}: {expected}, got {type(source).__name__}") from error
    chosen = columns.columns_among(frame.names)
    table = pa.concat_tables(frame.read(chosen)[1])
    for name in chosen:
        check(table.column(name), f"{columns.name}: column {name!r}", FileFormatError)
    return table.select(chosen)


def _with_index(source: Any, columns: RankingColumns) -> Any:
    """A pandas frame, with the levels of its index that are named, or have a role without a column, as columns."""
    if not (hasattr(source, "iloc") and hasattr(source, "columns")):
        return source
    names = [str(name) for name in source.columns]
    present = {canonical(name) for name in names}
    lacking = {name for role in (*NAMES.values(), RANKS) if present.isdisjoint(role) for name in role}
    levels = [name for name in source.index.names if name is not None and str(name) not in names]
    wanted = [name for name in levels if name in columns.named.values() or canonical(str(name)) in lacking]
    return source.reset_index(level=wanted) if wanted else source


def _file_rows(file: DataFile, sizes: RankingSizes, columns: RankingColumns) -> Batches:
    """The rows of a file."""
    if file.format == "trec":
        with reading(file.shown), opened(file) as stream:
            yield from read_trec(stream, file.shown, columns.kind == "grade", sizes.trec_block_bytes)
    elif file.format == _NESTED:
        with reading(file.shown), opened(file) as stream:
            text = stream.read(_LONGEST_JSON + 1)
        if len(text) > _LONGEST_JSON:
            longest = f"JSON files are limited to {_LONGEST_JSON:,} bytes; write TREC text or Parquet"
            raise FileFormatError(f"{file.shown}: {longest}")
        yield from load(text, file.shown, columns.kind).to_batches(sizes.rows)
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
        raise ColumnError(error.message, f"; or expected {{query: {{document: {columns.kind}}}}}") from None
    selection = source.select(dict(zip(chosen, ("id", "id", "any"), strict=False)))
    if file.format == "parquet" and is_text(selection.schema.field(chosen[0]).type):
        selection = selection.widen(chosen[0], _CODED)  # each query id occurs in many rows
    start = 0
    while True:
        try:
            for chunk in source.chunks(selection, Position(0, start), cores()):
                if chunk.rejects:
                    raise FileFormatError(str(chunk.rejects[0]))
                start = max(start, chunk.stop)
                yield chunk.batch.select(chosen)
            return
        except Widened as wider:  # ids are converted to text, so a later row may change the type
            selection = selection.widen(wider.name, wider.type)
