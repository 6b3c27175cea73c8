"""Numbers between NumPy and Arrow: the same as by Arrow's own functions."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.arrays import arrow_numbers, numpy_values

TYPES = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), st.floats()),
}


@given(st.data(), st.sampled_from(sorted(TYPES)), st.integers(0, 20))
def test_values_are_those_of_to_numpy(data, name, start):
    type_, values = TYPES[name]
    array = pa.array(data.draw(st.lists(values, max_size=40)), type_).slice(start)
    expected = array.to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(numpy_values(array), expected)
    assert numpy_values(array).dtype == expected.dtype


@given(st.data(), st.sampled_from(["int8", "int64", "uint32", "float32", "float64"]), st.integers(0, 20))
def test_nulls(data, name, start):
    type_, values = TYPES[name]
    array = pa.array(data.draw(st.lists(st.none() | values, max_size=40)), type_).slice(start)
    expected = array.fill_null(pa.scalar(7, type_)).to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(numpy_values(array, null=7), expected)
    assert numpy_values(array, null=7).dtype == expected.dtype
    if name.startswith("float"):
        np.testing.assert_array_equal(numpy_values(array), array.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize("array", [pa.array(["a", None]), pa.array([True, None]), pa.array([1, None]), pa.nulls(2)])
def test_other_types_are_those_of_arrow(array):
    expected = array.to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(numpy_values(array), expected)


@given(st.lists(st.tuples(st.floats(), st.booleans()), max_size=40))
def test_arrays_are_those_of_arrow(rows):
    values = np.array([value for value, _ in rows], np.float64)
    missing = np.array([is_missing for _, is_missing in rows], np.bool_)
    array = arrow_numbers(values, pa.float64(), missing)
    array.validate(full=True)
    same(array, pa.array(values, pa.float64(), mask=missing))
    same(arrow_numbers(values, pa.float64()), pa.array(values, pa.float64()))
    assert arrow_numbers(missing, pa.bool_()).equals(pa.array(missing))


def same(array, expected):
    assert array.is_null().equals(expected.is_null())
    read = [each.drop_null().to_numpy() for each in (array, expected)]
    np.testing.assert_array_equal(*read)


def test_other_numbers_are_converted():
    assert arrow_numbers(np.arange(3), pa.float64()).to_pylist() == [0.0, 1.0, 2.0]
    assert arrow_numbers(np.ones(2, np.float32)[::2], pa.float64()).to_pylist() == [1.0]
