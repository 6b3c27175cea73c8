"""The interface of a format: how its files are recognised, what reads them, and what writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.presets import Preset
from fastmetrics.tables.encoders import Encoder
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.input_files import DataFile
from fastmetrics.tables.table_chunks import Chunk, Position


class Reader(ABC):
    """Base class of the readers of one file; a reader sets ``schema``, all columns, and ``rows`` if the file tells."""

    schema: pa.Schema
    rows: int | None = None
    unreadable: FileFormatError | None = None
    """Why the file seems to have no columns, if no other file has any."""
    is_text = False
    """Whether the values of columns without a known type become those of the requested kind."""
    has_types = True
    """Whether the columns have types at all."""
    has_blanks = False
    """Whether a missing value of a column of text is a blank cell."""
    has_decimal_comma = False
    """Whether numbers among the texts may have a decimal comma."""
    has_late_columns = False
    """Whether a column may occur that is not in ``schema``; ``holds`` then looks for it."""

    preset: Preset | None = None
    """The preset that was named, or by whose signs the file was recognised."""

    note: str | None = None
    """What the reader of a result should know."""
    unstable: str | None = None
    """Why a run cannot go on in the middle of the rows, if it cannot."""

    follows_paths = False
    """Whether ``read`` gives the columns of paths; others give the columns that the paths go into."""

    def __init__(self, file: DataFile) -> None:
        self.file = file
        self.unreadable_columns: Mapping[str, str] = {}
        """The columns of ``schema`` that cannot be read, with the reasons."""

    def states(self, name: str) -> bool:
        """Whether the type of a column is known."""
        return not self.is_text

    def fingerprint(self) -> list[Any]:
        """The identity of the rows, which differs for changed rows."""
        return self.file.fingerprint()

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if the rows were changed since they were opened."""
        self.file.check_unchanged()

    def holds(self, name: str) -> bool:
        """Whether a column that is not in ``schema`` occurs in any row."""
        return False

    def where(self, row: int) -> str:
        """A row in messages, from its number."""
        return f"row {row}"

    def place(self, position: Position) -> tuple[str, str]:
        """The file and row of a position of this file, for messages."""
        return self.file.shown, self.where(position.row)

    @abstractmethod
    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The selected columns of the rows from ``start`` on; ``number`` is that of the file, for the chunks.

        A column of ``selection`` that the file lacks, a folder name gives it, is left out.
        """


MakeEncoder: TypeAlias = Callable[[Path, pa.Schema, str | None], Encoder]
"""The encoder for a path and a schema, with a compression."""


@dataclass(frozen=True)
class Format:
    """A format of files; :data:`fastmetrics.tables.file_formats.FORMATS` lists all."""

    name: str
    suffixes: Sequence[str]
    reader: Callable[[DataFile], Reader] | None
    """Opens a file as a table; None for a format that is no table."""
    magic: tuple[bytes, ...] = ()
    """The first bytes of a file."""
    looks_like: Callable[[bytes], Any] | None = None
    """Whether the first bytes of a file without any format's ``magic`` are of this format."""
    encoder: MakeEncoder | None = None
    """Writes a file; None for a format that is only read."""
    compressions: Sequence[str] = ()
    """The suffixes of compressions of written files."""
