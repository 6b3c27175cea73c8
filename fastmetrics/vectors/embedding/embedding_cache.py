"""A disk cache of vectors by key: Arrow files that are safe against crashes and parallel writers."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Ints, Uint64s
from fastmetrics.base.arrow import check_table
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.kernels.vectors import add_keys, find_keys
from fastmetrics.tables.outputs import unfinished
from fastmetrics.vectors.vector_files import FileRows

KEY_BYTES = 16
_Floats: TypeAlias = npt.NDArray[np.float32]


class VectorCache:
    """Vectors of one length under 16-byte keys, in one folder.

    Every :meth:`put` writes a new file under a temporary name, flushes it to disk and renames it: a reader sees all of
    it or nothing, and writers never change each other's files. :meth:`refresh` finds new files of other writers.
    Memory holds the keys, and the vectors that one :meth:`take` reads.
    """

    def __init__(self, folder: str | os.PathLike[str], dim: int) -> None:
        self.folder = Path(folder)
        self.dim = dim
        self._keys: Uint64s = np.empty((0, 2), np.uint64)
        self._table: Ints = np.full(1024, -1, np.int64)
        self._count = 0
        self._vectors: list[FileRows] = []
        self._read_files: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot store vectors here: {error}") from error
        self.refresh()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        return bool(self.find(as_keys([key]))[0] >= 0)

    def refresh(self) -> None:
        """Read the files that have appeared since."""
        new = [path for path in sorted(self.folder.glob("*.arrow")) if path.name not in self._read_files]
        self._open(new)

    def _open(self, paths: Sequence[Path]) -> None:
        opened = [(path.name, *self._contents(path)) for path in paths]  # open all files before adding the first
        for name, _, vectors in opened:
            self._read_files.add(name)
            self._vectors.append(vectors)
        first, self._keys = len(self._keys), np.concatenate([self._keys, *(keys for _, keys, _ in opened)])
        if 2 * len(self._keys) > len(self._table):
            first, self._count = 0, 0
            self._table = np.full(1 << int(4 * len(self._keys)).bit_length(), -1, np.int64)
        self._count += add_keys(self._table, self._keys, first)

    def _contents(self, path: Path) -> tuple[Uint64s, FileRows]:
        """The keys of a file, and its vectors, which stay there."""
        try:
            data = np.fromfile(path, np.uint8)
            batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(data))).get_batch(0)
            check_table(batch)
            keys = as_keys(batch.column("key").to_pylist())
            vectors = batch.column("vector").values.to_numpy()
            if vectors.dtype != np.float32 or len(keys) * self.dim != vectors.size:
                raise ValueError(f"it contains {vectors.size} numbers of {vectors.dtype} for {len(keys)} keys")
        except OSError as error:
            raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (pa.ArrowException, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: the cached vectors are damaged; delete the file: {error}") from error
        offset = vectors.ctypes.data - data.ctypes.data
        return keys, FileRows(path, str(path), offset, (len(keys), self.dim), vectors.dtype)

    def find(self, keys: Uint64s) -> Ints:
        """The position of each key's vector, -1 if missing; keys in the form of :func:`as_keys`."""
        rows = np.empty(len(keys), np.int64)
        find_keys(self._table, self._keys, keys, rows)
        return rows

    def take(self, rows: Ints) -> _Floats:
        """The vectors at positions that :meth:`find` returned."""
        vectors = np.empty((len(rows), self.dim), np.float32)
        starts = np.cumsum([0, *map(len, self._vectors)])
        files = np.searchsorted(starts, rows, "right") - 1
        order = np.argsort(files, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(files[order])) + 1):
            for number in files[here[:1]]:
                vectors[here] = self._vectors[number][rows[here] - starts[number]]
        return vectors

    def get(self, keys: Sequence[bytes]) -> _Floats:
        """The vectors of keys in the cache; raises ``KeyError`` for a missing key."""
        rows = self.find(as_keys(keys))
        if (rows < 0).any():
            raise KeyError(keys[int(np.argmin(rows))])
        return self.take(rows)

    def put(self, keys: Sequence[bytes], vectors: npt.ArrayLike) -> None:
        """Store one vector per key."""
        rows = np.ascontiguousarray(vectors, np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), self.dim)
        table = pa.table({"key": pa.array(list(keys), pa.binary(KEY_BYTES)), "vector": column})
        final = self.folder / f"{uuid.uuid4().hex}.arrow"
        try:
            with unfinished(self.folder, "vectors", shared=True) as hidden, (hidden / "whole").open("xb") as file:
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
                file.flush()
                os.fsync(file.fileno())
                os.replace(hidden / "whole", final)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot store vectors here: {error.strerror or error}") from error
        self._open([final])


def as_keys(keys: Sequence[bytes]) -> Uint64s:
    """Keys of 16 bytes as pairs of numbers."""
    return np.frombuffer(b"".join(keys), np.uint64).reshape(len(keys), 2)
