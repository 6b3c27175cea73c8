"""Arrays that become longer."""

import numpy as np

from fastmetrics.base.arrays import GrowingArray


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
