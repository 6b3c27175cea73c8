"""Streams: standard input, pipes and large compressed arrays are copied to disk; bz2 and xz are decompressed."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
"""The compressions by their first bytes."""
SPARE = 1 << 30
"""Free bytes that a copy of a stream leaves on the disk."""
_CHECKED_BYTES = 64 << 20
"""Bytes of a stream that are copied between two looks at the free bytes."""
_MOST_MEMORY = 1 << 28

PACKED: Mapping[str, Callable[[], Any]] = {
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY),
}
"""Decompressors of compressions that Arrow does not support everywhere."""


class Unpacked(io.RawIOBase):
    """The decompressed bytes of a file of one or several consecutive compressed streams.

    Raises ``OSError`` if the bytes are damaged or the file ends within a stream.
    """

    def __init__(self, file: Any, compression: str) -> None:
        self._file = file
        self._new = PACKED[compression]
        self._unpacker = self._new()
        self._name = compression
        self._begun = False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Decompress into a buffer what is available, at least one byte except at the end."""
        while True:
            data = self._packed()
            if data is None:
                return 0
            if self._unpacker.eof:  # padding after a compressed stream
                continue
            try:
                unpacked = self._unpacker.decompress(data, len(buffer))
            except (lzma.LZMAError, OSError, ValueError) as error:
                raise OSError(f"damaged {self._name} data: {error}") from error
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)

    def _packed(self) -> bytes | None:
        """The next compressed bytes, or None at the end; zeros between two streams are skipped."""
        old = self._unpacker
        data = old.unused_data.lstrip(b"\0") if old.eof else b""
        if not data and (old.eof or old.needs_input):
            data = self._file.read(SIZES.stream_block_bytes)
            if not data:
                if self._begun and not old.eof:
                    raise OSError(f"the {self._name} data ends too early")
                return None
            data = data.lstrip(b"\0") if old.eof else data
        if old.eof and data:
            self._unpacker = self._new()
        self._begun = True
        return data

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()


def unpacked(file: pa.NativeFile, compression: str | None) -> pa.NativeFile:
    """The decompressed bytes of a file."""
    if compression is None:
        return file
    if compression in PACKED:
        return pa.PythonFile(io.BufferedReader(Unpacked(file, compression), SIZES.stream_block_bytes), mode="r")
    return pa.CompressedInputStream(file, compression)


def compression_of(head: bytes) -> str | None:
    """The compression by the first bytes, or None."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def is_pipe(path: str) -> bool:
    """Whether a file can be read only once: a named pipe, or the file of ``<(command)``."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def spool(stream: BinaryIO | pa.NativeFile, shown: str, head: bytes = b"", most: int = sys.maxsize) -> tuple[str, int]:
    """Copy a stream to an unnamed file, for Parquet and resuming; returns its path and checksum.

    ``head`` contains bytes that were already read; at most ``most`` bytes are read after them.  Raises
    ``FileFormatError`` for a stream that does not end before the disk is nearly full.
    """
    checksum, size, checked = zlib.crc32(head), len(head), 0
    with _unnamed(shown) as copy:
        copy.write(head)
        while block := stream.read(min(SIZES.stream_block_bytes, most - (size - len(head)))):
            if size >= checked:
                if shutil.disk_usage(tempfile.gettempdir()).free < SPARE + _CHECKED_BYTES:
                    raise FileFormatError(_too_much(shown, size))
                checked = size + _CHECKED_BYTES
            checksum = zlib.crc32(block, checksum)
            size += copy.write(block)
        copy.flush()
        if not os.path.exists("/proc/self/fd"):
            return _path_of(copy), checksum
        # The duplicated descriptor keeps the unnamed file alive until the process exits.
        return f"/proc/self/fd/{os.dup(copy.fileno())}", checksum


def _unnamed(shown: str) -> Any:
    """A temporary file without a name; raises ``FileFormatError`` if no folder can hold one."""
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        lacking = f"no temporary file can be made ({error.strerror}); set TMPDIR to a folder that can be written"
        raise FileFormatError(f"{shown}: streams are copied to disk, and {lacking}") from error


def _too_much(shown: str, size: int) -> str:
    folder = tempfile.gettempdir()
    return (
        f"{shown}: the first {size:,} bytes leave too little disk space in {folder}, to which streams are copied; "
        "write the data to a file and read the file, or set TMPDIR to a folder with more space"
    )


def _path_of(spool: BinaryIO) -> str:
    """A named copy of the spool on systems where open descriptors have no path; deleted at exit."""
    import atexit

    handle, path = tempfile.mkstemp(prefix="fastmetrics-")
    atexit.register(os.unlink, path)
    spool.seek(0)
    with os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(spool, copy, SIZES.stream_block_bytes)
    return path
