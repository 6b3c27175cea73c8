"""The ids of all chunks of a knowledge base and their sources, and rankings in a plain column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.base.columns import as_array, is_column
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.tables.sources import is_paths, open_table
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.usage.knowledge_chunks.listed_ids import as_ids, as_text

NAMES = ("chunk_id", "id", "document_id", "doc_id", *COLUMNS["id"].aliases)
"""The possible id columns of a table of chunks, most likely first."""


def as_log(rankings: Any) -> Any:
    """A table of rankings from a plain column."""
    if is_paths(rankings) or not is_column(rankings):
        return rankings
    return {"retrieved_ids": rankings}


def chunk_ids(chunks: Any, column: str | None) -> pa.Array:
    """The unique ids of a column, or of a table or file of chunks.

    Raises ``ColumnError`` if no column holds ids, and ``InputError`` for a missing or duplicate id.
    """
    if is_paths(chunks, or_column=True) or not is_column(chunks):
        return with_column(chunks, column)[0]
    return _each_once(as_ids(as_array(chunks, "chunks"), "chunks"), "chunks")


def with_column(chunks: Any, column: str | None, *others: str) -> list[pa.Array]:
    """The unique ids of a table or file of chunks, with other columns of text or ids.

    Raises the errors of :func:`chunk_ids`, and ``ColumnError`` for a column that is missing.
    """
    source = open_table(chunks, name="chunks", or_column=True)
    present = source.names
    name = _id_column(present, column)
    for other in others:
        if other not in present:
            unknown = UnknownNameError.of("column", other, present).message
            raise ColumnError(Argument("source_column", other), ": ", unknown)
    columns = list(dict.fromkeys([name, *others]))
    table = whole_table(source, dict.fromkeys(columns, "id"))
    ids = _each_once(as_ids(as_array(table[name], name), name), name)
    return [ids, *(as_ids(as_array(table[other], other), other) for other in others)]


def _each_once(ids: pa.Array, name: str) -> pa.Array:
    """The ids; raises an error for a missing or duplicate id."""
    if ids.null_count:
        row = int(np.flatnonzero(np.asarray(ids.is_null()))[0])
        raise InputError(f"column {name!r} of the chunks, row {row}: an id is missing (null)")
    counts = pc.value_counts(ids)
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        first, count = twice[0]["values"].as_py(), twice[0]["counts"].as_py()
        raise InputError(
            f"column {name!r} of the chunks: the id {first!r} occurs in {count:,} rows; expected each id once"
        )
    return ids


def _id_column(names: Sequence[str], column: str | None) -> str:
    if column is not None:
        if column not in names:
            raise ColumnError(
                Argument("chunk_column", column), ": ", UnknownNameError.of("column", column, names).message
            )
        return column
    lowered = {name.lower(): name for name in reversed(names)}
    match = next((lowered[name] for name in NAMES if name in lowered), names[0] if len(names) == 1 else None)
    if match is None:
        have = ", ".join(map(repr, names))
        raise ColumnError(
            f"the chunks have no column {NAMES[0]!r} or 'id', but {have}; name it with ", Argument("chunk_column")
        )
    return match


def comparable(keys: pa.Array, total: pa.Array | None) -> tuple[pa.Array, pa.Array | None]:
    """Retrieved ids and ids of chunks converted to one type: text, if either is text."""
    if total is None or keys.type == total.type:
        return keys, total
    return as_text(keys), as_text(total)


def raise_unknown(keys: pa.Array, total: pa.Array) -> None:
    """Raise the error that no retrieved id is the id of a chunk."""
    retrieved_id, chunk_id = (
        (repr(ids[0].as_py()) for ids in (keys, total)) if len(total) else (repr(keys[0].as_py()), "none")
    )
    way = Argument("chunk_column")
    raise InputError(
        f"no retrieved id, such as {retrieved_id}, matches a chunk id, such as {chunk_id}; "
        "name the column of chunk ids with ",
        way,
    )


def sources_of(chunks: Any, chunk_column: str | None, source_column: str) -> pa.Table:
    """The ``chunk`` ids of a table or file of chunks, as text, and the number of the ``source`` of each.

    Raises ``ColumnError`` for a table without either column.
    """
    ids, sources = with_column(chunks, chunk_column, source_column)
    codes = sources.dictionary_encode().indices.fill_null(-1).cast(pa.int64())
    return pa.table({"chunk": as_text(ids), "source": codes})


def sources_of_words(words: pa.Array, sources: pa.Table) -> Ints:
    """The number of the source of each id, −1 for an unknown id."""
    places = np.asarray(pc.index_in(as_text(words), sources["chunk"].combine_chunks()).fill_null(-1)).astype(np.int64)
    numbers = np.append(np.asarray(sources["source"]), -1)
    return numbers[places]
