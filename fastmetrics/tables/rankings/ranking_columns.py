"""The columns of rankings and judgements: their names, and their valid contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import check, numpy_values
from fastmetrics.base.errors import ColumnError, FileFormatError, quoted

NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "query", "q_id", "topic", "topic_id"),
    "doc": ("doc_id", "docno", "docid", "pid", "doc", "document_id", "passage_id", "corpus_id"),
    "score": ("score", "sim", "similarity"),
    "grade": ("relevance", "rel", "label", "grade", "judgment", "judgement", "score"),
}
"""The possible names of a column, ignoring letter case, with hyphens or underscores; the first match is used."""

Batches = Iterator[pa.RecordBatch]


def canonical(name: str) -> str:
    """A column's name in the form of ``NAMES``."""
    return name.lower().replace("-", "_")


def is_text(kind: pa.DataType) -> bool:
    """Whether the type holds consecutive strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@dataclass(frozen=True)
class RankingColumns:
    """The columns of a table or file, called ``name`` in messages; ``kind`` is "score" of a ranking, or "grade"."""

    name: str
    kind: str

    def columns_among(self, names: Sequence[str]) -> list[str]:
        """The columns of query, document and value among ``names``; raises ``ColumnError`` if one is missing."""
        present = {canonical(name): name for name in reversed(names)}
        chosen = []
        for what in ("query", "doc", self.kind):
            matches = [present[name] for name in NAMES[what] if name in present]
            if not matches:
                raise ColumnError(f"{self.name}: no column {' or '.join(NAMES[what])} among {quoted(names)}")
            chosen.append(matches[0])
        return chosen

    def of_table(self, table: pa.Table, rows: int) -> Batches:
        """The three columns of a table in memory, in batches of the given number of rows."""
        chosen = self.columns_among(table.schema.names)
        for name in chosen:
            check(table.column(name), f"{self.name}: column {name!r}", FileFormatError)
        return self.of(iter(table.select(chosen).to_batches(rows)), chosen)

    def of(self, batches: Batches, names: Sequence[str]) -> Batches:
        """The columns ``names`` of batches, as query, doc and value."""
        chosen = self.columns_among(names)
        for batch in batches:
            columns = [batch.column(name) for name in chosen]
            rows = pa.record_batch(dict(zip(("query", "doc", "value"), columns, strict=True)))
            try:
                rows.validate(full=True)
            except pa.ArrowInvalid as error:
                raise FileFormatError(f"{self.name}: an id is not UTF-8: {error}") from None
            yield rows

    def checked(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """The rows from number ``row`` on, ids as text and values as float64; raises ``ColumnError`` for a bad row."""
        query, doc, value = batch.columns
        for name, column in (("query", query), ("document", doc), (self.kind, value)):
            holes = pa.types.is_dictionary(column.type) and column.dictionary.null_count
            plain = column.cast(column.type.value_type) if holes else column
            if plain.null_count:
                wrong = int(np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False))[0]) + row
                raise ColumnError(f"{self.name}, row {wrong}: the {name} is null")
        numbers = value if pa.types.is_float64(value.type) else self._number(value, row)
        unfit = np.isnan if self.kind == "score" else lambda grades: ~np.isfinite(grades)
        wrong_rows = np.flatnonzero(unfit(numpy_values(numbers)))
        if wrong_rows.size:
            bad, where = numbers[int(wrong_rows[0])].as_py(), f"{self.name}, row {int(wrong_rows[0]) + row}"
            raise ColumnError(f"{where}: the {self.kind} is {'not a number' if np.isnan(bad) else 'infinite'}")
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
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(f"{self.name}, from row {row}: expected the {self.kind} as a number: {error}") from None
