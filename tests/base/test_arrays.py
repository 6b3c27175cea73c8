"""Arrays: numbers between NumPy and Arrow, arrays that grow, results by identity, and groups of threads."""

import gc
import threading
import weakref

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.arrays import GrowingArray, Memo, arrow_numbers, numpy_values
from fastmetrics.base.threads import Workers

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


def test_values_are_those_appended_and_views_keep_theirs():
    numbers, views = GrowingArray(np.arange(3, dtype=np.int32)), []
    for size in (0, 1, 5, 40, 2):
        views.append((numbers.values, numbers.values.tolist()))
        numbers.extend(np.arange(size))
    assert numbers.values.dtype == np.int32
    assert numbers.values.tolist() == [0, 1, 2, 0, *range(5), *range(40), 0, 1]
    assert len(numbers) == len(numbers.values)
    assert all(view.tolist() == before for view, before in views)


def test_room_doubles():
    numbers = GrowingArray(np.zeros(1))
    rooms = set()
    for _ in range(1000):
        numbers.extend(np.ones(1))
        rooms.add(numbers.values.base is not None and len(numbers.values.base))
    assert len(rooms) <= 11


class Thing:
    """Something that can be watched."""


def test_memo_keeps_objects_alive():
    memo, watched = Memo(), []
    for number in range(100):
        thing = Thing()
        watched.append(weakref.ref(thing))
        assert memo.remember("number", lambda number=number: number, thing) == number
        del thing
    gc.collect()
    assert all(ref() is not None for ref in watched)
    assert [memo.remember("number", lambda: None, ref()) for ref in watched] == list(range(100))
    del memo
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_memo_key_includes_name_and_all_objects():
    memo, one, two = Memo(), Thing(), Thing()
    asked = [
        ("a", ()),
        ("b", ()),
        ("a", (one,)),
        ("a", (two,)),
        ("a", (one, two)),
        ("a", (two, one)),
        (("a", 1), (one,)),
    ]
    for number, (what, beside) in enumerate(asked):
        assert memo.remember(what, lambda number=number: number, *beside) == number
    assert [memo.remember(what, lambda: None, *beside) for what, beside in asked] == list(range(len(asked)))


def test_none_is_cached():
    memo, calls = Memo(), []
    for _ in range(2):
        assert memo.remember("none", lambda: calls.append(1)) is None
    assert calls == [1]


@pytest.mark.parametrize("starts", [True, False])
def test_interrupt_while_a_thread_starts(starts, monkeypatch):
    start = threading.Thread.start

    def interrupted(thread):
        if starts:
            start(thread)
        raise KeyboardInterrupt

    workers, results = Workers(1, "test"), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.submit(results.append, 1)
    workers.dismiss()  # raised: cannot join thread before it is started
    assert results == [1] * starts
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test_")]


def test_every_task_is_done_before_a_crew_is_dismissed():
    workers = Workers(2, "test")
    futures = [workers.submit(pow, n, 2) for n in range(50)]
    workers.dismiss()
    assert [future.result() for future in futures] == [n * n for n in range(50)]
