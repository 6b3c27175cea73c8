"""Finding the column of vectors in a table."""

from __future__ import annotations

import pyarrow as pa

from fastmetrics.base.arrow import fits, is_list
from fastmetrics.base.errors import Argument, ColumnError, UnknownNameError


def holds_vectors(kind: pa.DataType) -> bool:
    """Whether a column of this type holds consecutive lists of numbers."""
    return is_list(kind) and not pa.types.is_null(kind.value_type) and fits("vector", kind)


def vector_column(schema: pa.Schema, column: str | None, option: str = "column") -> str:
    """The name of a table's column of vectors: the requested one, or else the only one.

    ``option`` is the argument that requests a column, for messages.
    Raises ``UnknownNameError`` if no column has the name, ``ColumnError`` if no column or several columns match.
    """
    if column is not None:
        if column not in schema.names:
            raise UnknownNameError.of("column", column, schema.names)
        return column
    fitting = [field.name for field in schema if holds_vectors(field.type)]
    if len(fitting) != 1:
        names = ", ".join(map(repr, fitting)) or "none"
        raise ColumnError(f"expected one column of lists of numbers, found {names}; name one with ", Argument(option))
    return str(fitting[0])
