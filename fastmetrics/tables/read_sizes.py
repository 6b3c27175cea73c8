"""How much of a file is read at a time: what bounds the memory that reading takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadSizes:
    """The sizes of what a reader hands on, in rows and in bytes; they change no value that is read."""

    parquet_rows: int = 8_192
    """The rows of a batch of Parquet, fewer if they are long."""
    parquet_bytes: int = 16 << 20
    """The bytes of such a batch."""
    arrow_rows: int = 65_536
    """The rows of a piece of an Arrow file's batch."""


STANDARD = ReadSizes()
"""What suits scoring."""
WHOLE = ReadSizes(parquet_rows=1 << 30, parquet_bytes=1 << 60, arrow_rows=1 << 30)
"""Pieces as large as they lie in the file, for those who need all rows at once and no copy of them."""
