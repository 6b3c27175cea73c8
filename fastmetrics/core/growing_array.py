"""Arrays that become longer."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


class GrowingArray(Generic[Scalar]):
    """Values to which others are added, in an array whose room doubles when it is full.

    To append n times takes time in proportion to the values appended, and not to all values n times.
    """

    def __init__(self, values: npt.NDArray[Scalar]) -> None:
        self._room = values
        self._size = len(values)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Scalar]:
        """The values; a view that stays as it is when others are added."""
        return self._room[: self._size]

    def append(self, more: npt.NDArray[Any]) -> None:
        """Add values, as the type of those that there are."""
        size = self._size + len(more)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = more
        self._size = size
