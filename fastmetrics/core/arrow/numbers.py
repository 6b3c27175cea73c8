"""Numbers and booleans of NumPy as Arrow arrays and back, by their bytes.

``pa.array`` and ``to_numpy`` import pandas, if it is installed, to look for its types.  That takes longer than to score
some hundred rows.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

Flags: TypeAlias = npt.NDArray[np.bool_]


def arrow_numbers(values: npt.NDArray[Any], type_: pa.DataType, missing: Flags | None = None) -> pa.Array:
    """Numbers or booleans as an Arrow array of the type, null where ``missing``.

    >>> arrow_numbers(np.array([0.5, 2.0]), pa.float64(), np.array([False, True])).to_pylist()
    [0.5, None]
    """
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    data = np.ascontiguousarray(values, type_.to_pandas_dtype())
    if pt.is_boolean(type_):
        data = np.packbits(data, bitorder="little")
    return pa.Array.from_buffers(type_, len(values), [valid, pa.py_buffer(data)])


def numpy_values(array: pa.Array, null: float | None = None) -> Any:
    """The values of an Arrow array in NumPy; numbers without nulls are not copied.

    A null is the value ``null``, or without one NaN as in ``to_numpy``.

    >>> numpy_values(pa.array([True, False, True])[1:]), numpy_values(pa.array([1, None]), null=0)
    (array([False,  True]), array([1, 0]))
    """
    type_ = array.type
    numbers = pt.is_integer(type_) or pt.is_floating(type_)
    if array.null_count == 0 and (numbers or pt.is_boolean(type_)):
        return _values(array)
    if not (pt.is_floating(type_) or (numbers and null is not None)):
        return array.to_numpy(zero_copy_only=False)
    nothing = type_.to_pandas_dtype()(np.nan if null is None else null)
    return np.where(_values(array.is_valid()), _values(array), nothing)


def _values(array: pa.Array) -> Any:
    """The numbers or booleans of an array, and anything under nulls."""
    type_, n, data = array.type, len(array), array.buffers()[1]
    if n == 0 or data is None:
        return np.zeros(n, type_.to_pandas_dtype())
    if not pt.is_boolean(type_):
        dtype = np.dtype(type_.to_pandas_dtype())
        return np.frombuffer(data, dtype, n, array.offset * dtype.itemsize)
    first = array.offset // 8
    bits = np.frombuffer(data, np.uint8, -(-(array.offset + n) // 8) - first, first)
    return np.unpackbits(bits, count=array.offset % 8 + n, bitorder="little")[array.offset % 8 :].view(np.bool_)
