"""The formats of files, and detecting the format of a file by its name or its first bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fastmetrics.base.errors import Argument, FileFormatError
from fastmetrics.tables.formats.arrow import ARROW
from fastmetrics.tables.formats.csv_tsv import CSV, TSV
from fastmetrics.tables.formats.jsonl import JSONL
from fastmetrics.tables.formats.parquet import PARQUET
from fastmetrics.tables.formats.reader import Format

NPY = Format("npy", (".npy",), reader=None, magic=(b"\x93NUMPY",))
"""An array of vectors, which is no table."""

FORMATS: dict[str, Format] = {format.name: format for format in (PARQUET, JSONL, CSV, TSV, ARROW, NPY)}
"""All formats by name: the one list of them."""

COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""The compressions of text that can be read."""


def table_formats() -> tuple[str, ...]:
    """The names of the formats of tables."""
    return tuple(format.name for format in FORMATS.values() if format.reader is not None)


def by_suffix(name: str) -> tuple[str | None, str | None]:
    """The format and the compression by the suffix of a file name.

    >>> by_suffix("answers.jsonl.gz")
    ('jsonl', 'gzip')
    """
    stem, compression = without_compression(name.lower())
    suffix = os.path.splitext(stem)[1]
    return next((format.name for format in FORMATS.values() if suffix in format.suffixes), None), compression


def without_compression(name: str) -> tuple[str, str | None]:
    """A file name without the suffix of a compression, and the compression.

    >>> without_compression("prices.json.zst"), without_compression("prices.json")
    (('prices.json', 'zstd'), ('prices.json', None))
    """
    stem, suffix = os.path.splitext(name)
    compression = COMPRESSIONS.get(suffix.lower())
    return (name if compression is None else stem), compression


def sniff(head: bytes) -> str | None:
    """The format by a file's first bytes, or None.

    >>> sniff(b'{"answer": "yes"}'), sniff(b"question,answer")
    ('jsonl', 'csv')
    """
    by_magic = (format.name for format in FORMATS.values() if head.startswith(format.magic))
    by_looks = (format.name for format in FORMATS.values() if format.looks_like is not None and format.looks_like(head))
    return next(by_magic, None) or next(by_looks, None)


class AllowedFormats(NamedTuple):
    """The format named for an input, if any, and the allowed formats of its files."""

    format: str | None
    formats: Sequence[str]

    def by_name(self, name: str) -> tuple[str | None, str | None]:
        """The format, if it is named or shown by the file name, and the compression."""
        promised, compression = by_suffix(name)
        return self.format or (promised if promised in self.formats else None), compression

    def by_bytes(self, head: bytes, path: str) -> str:
        """The format by a file's first bytes; raises ``FileFormatError`` if it is not allowed."""
        name = self.format or sniff(head)
        if name in self.formats:
            return str(name)
        expected = f" ({', '.join(self.formats)})"
        raise FileFormatError(f"{path}: unknown format; name it with ", Argument("format"), expected)
