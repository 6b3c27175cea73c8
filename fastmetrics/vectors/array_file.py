"""The rows of an array in a file, read when they are needed.

They are not memory-mapped, because a map ends the process (SIGBUS) if another program shortens the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastmetrics.core.arrays import Ints
from fastmetrics.errors import FileFormatError
from fastmetrics.tables.inputs.input_files import reading


@dataclass(frozen=True)
class FileRows:
    """The rows of a two-dimensional array in a file from a byte ``offset`` on: slices and lists of rows are arrays.

    ``check`` is called after each read, and raises an error if the file was changed.
    """

    path: str | os.PathLike[str]
    shown: str
    offset: int
    shape: tuple[int, int]
    stored: np.dtype[Any]
    check: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers, in the byte order of this machine."""
        return self.stored.newbyteorder("=")

    def __getitem__(self, rows: slice | Ints) -> npt.NDArray[Any]:
        """Some rows as a new array; raises ``FileFormatError`` if the file was changed or cannot be read."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._runs(np.array([start]), np.array([max(start, stop)]))
        if not len(rows):
            return self[:0]
        distinct, places = np.unique(rows, return_inverse=True)
        breaks = np.flatnonzero(np.diff(distinct) > 1)
        runs = self._runs(distinct[np.append(0, breaks + 1)], distinct[np.append(breaks, -1)] + 1)
        return np.asarray(runs[places])

    def _runs(self, starts: Ints, stops: Ints) -> npt.NDArray[Any]:
        """The rows of several runs, from each start to before its stop."""
        rows_read = np.empty((int((stops - starts).sum()), self.shape[1]), self.stored)
        width = rows_read.itemsize * self.shape[1]
        room = rows_read.view(np.uint8).reshape(-1).data if rows_read.size else memoryview(b"")
        with reading(self.shown), open(self.path, "rb", buffering=0) as file:
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                piece, room = room[: (stop - start) * width], room[(stop - start) * width :]
                file.seek(self.offset + start * width)
                while len(piece) and (size := file.readinto(piece)):
                    piece = piece[size:]
                if len(piece):
                    self.check()
                    raise FileFormatError(f"{self.shown}: the file ends before row {stop - 1:,} of {len(self):,}")
        self.check()
        return rows_read
