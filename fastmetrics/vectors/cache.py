"""Vectors kept on disk by what they were made from: Arrow files that crashes and parallel writers cannot spoil."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.errors import FileFormatError, OutputError

KEY_BYTES = 16
_Floats = npt.NDArray[np.float32]


class VectorCache:
    """Vectors of one length under 16-byte keys, in one folder.

    Every :meth:`put` makes a new file, written under another name, flushed to disk and then renamed: a reader sees all
    of it or nothing, and writers never touch each other's files. What others wrote since is seen after
    :meth:`refresh`.
    """

    def __init__(self, folder: str | os.PathLike[str], dim: int) -> None:
        self.folder = Path(folder)
        self.dim = dim
        self._places: dict[bytes, tuple[int, int]] = {}
        self._vectors: list[_Floats] = []
        self._read: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot keep vectors here: {error}") from error
        self.refresh()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def refresh(self) -> None:
        """Read the files that have appeared since."""
        for path in sorted(self.folder.glob("*.arrow")):
            if path.name not in self._read:
                self._read.add(path.name)
                self._open(path)

    def _open(self, path: Path) -> None:
        try:
            with pa.memory_map(str(path)) as mapped:
                table = pa.ipc.open_file(mapped).read_all()
            keys = table.column("key").to_pylist()
            column = table.column("vector").combine_chunks()
            vectors = column.values.to_numpy().reshape(len(keys), self.dim)
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise FileFormatError(f"{path}: not vectors of {self.dim} numbers by key; delete it: {error}") from error
        number = len(self._vectors)
        self._vectors.append(vectors)
        for row, key in enumerate(keys):
            self._places.setdefault(key, (number, row))

    def get(self, keys: Sequence[bytes]) -> _Floats:
        """The vectors of keys that are all in the cache; raises ``KeyError`` for one that is not."""
        found = np.empty((len(keys), self.dim), np.float32)
        for row, key in enumerate(keys):
            number, place = self._places[key]
            found[row] = self._vectors[number][place]
        return found

    def put(self, keys: Sequence[bytes], vectors: npt.ArrayLike) -> None:
        """Keep one vector per key."""
        rows = np.ascontiguousarray(vectors, np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), self.dim)
        table = pa.table({"key": pa.array(list(keys), pa.binary(KEY_BYTES)), "vector": column})
        handle, name = tempfile.mkstemp(suffix=".partial", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
                file.flush()
                os.fsync(file.fileno())
            final = Path(name).with_suffix(".arrow")
            os.replace(name, final)
        finally:
            Path(name).unlink(missing_ok=True)
        self._read.add(final.name)
        self._open(final)
