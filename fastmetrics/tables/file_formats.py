"""Detecting the format of a file by its name or its first bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fastmetrics.errors import FileFormatError
from fastmetrics.errors.messages import Argument

SUFFIXES: Mapping[str, str] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".npy": "npy",
}
COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""The compressions of text that can be read."""
FORMATS = ("parquet", "jsonl", "csv", "tsv", "arrow")
"""The formats of tables."""


def by_suffix(name: str) -> tuple[str | None, str | None]:
    """The format and the compression by the suffix of a file name.

    >>> by_suffix("answers.jsonl.gz")
    ('jsonl', 'gzip')
    """
    stem, suffix = os.path.splitext(name.lower())
    compression = COMPRESSIONS.get(suffix)
    if compression is not None:
        suffix = os.path.splitext(stem)[1]
    return SUFFIXES.get(suffix), compression


def sniff(head: bytes) -> str | None:
    """The format by a file's first bytes, or None.

    >>> sniff(b'{"answer": "yes"}'), sniff(b"question,answer")
    ('jsonl', 'csv')
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):  # the JSONL reader reports an array with a specific message
        return "jsonl"
    line = head.split(b"\n")[0]
    if b"\t" in line:
        return "tsv"
    return "csv" if b"," in line else None


class Wanted(NamedTuple):
    """The format named for an input, if any, and the allowed formats of its files."""

    format: str | None
    formats: Sequence[str]

    def by_name(self, name: str) -> tuple[str | None, str | None]:
        """The format, if it is named or shown by the file name, and the compression."""
        promised, compression = by_suffix(name)
        return self.format or (promised if promised in self.formats else None), compression

    def by_bytes(self, head: bytes, path: str) -> str:
        """The format by a file's first bytes; raises ``FileFormatError`` if it is not allowed."""
        found = self.format or sniff(head)
        if found in self.formats:
            return str(found)
        known = f" ({', '.join(self.formats)})"
        raise FileFormatError(f"{path}: unknown format; name it with ", Argument("format"), known)
