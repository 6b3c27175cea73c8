"""The formats of files: detecting one by the name or the first bytes, and the encoder of an output."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.tables.addresses import as_local, is_database, is_url, last_name, shown_address
from fastmetrics.tables.arrow_files import ARROW, PARQUET
from fastmetrics.tables.csv_files import CSV, TSV, XLSX
from fastmetrics.tables.encoders import Encoder
from fastmetrics.tables.input_files import read_by_default
from fastmetrics.tables.json_documents import EVAL, JSON, JSONL
from fastmetrics.tables.readers import Format

# The formats of files, and detecting the format of a file by its name or its first bytes.


NPY = Format("npy", (".npy",), reader=None, magic=(b"\x93NUMPY",))
"""An array of vectors, which is no table."""

FORMATS: dict[str, Format] = {
    format.name: format for format in (PARQUET, JSONL, JSON, CSV, TSV, ARROW, EVAL, XLSX, NPY)
}
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


def without_suffix(name: str) -> str:
    """A file name without the suffixes of its format and compression; another name as it is.

    >>> [without_suffix(name) for name in ("new.parquet", "new.csv.gz", "v1.2", "scores/")]
    ['new', 'new', 'v1.2', 'scores/']
    """
    format, _ = by_suffix(name)
    return name if format is None else os.path.splitext(without_compression(name)[0])[0] or name


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
    ('json', 'csv')
    """
    by_magic = (format.name for format in FORMATS.values() if head.startswith(format.magic))
    by_looks = (format.name for format in FORMATS.values() if format.looks_like is not None and format.looks_like(head))
    return next(by_magic, None) or next(by_looks, None)


_RANKING = re.compile(rb"\S+\s+Q0\s")
_AS_RANKING = "; it looks like a ranking, which rank reads, or compare with --qrels, in Python compare_rankings"


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
        name = self.format or sniff(head) or read_by_default().format
        if name in self.formats:
            return str(name)
        if not head:
            raise FileFormatError(f"{path}: there is nothing to read, not one byte")
        scheme = next((scheme for scheme, (at, magic) in _DATABASES.items() if head[at:].startswith(magic)), None)
        if scheme is not None:
            example = f"{scheme}:///{path.lstrip('/')}" if not path.startswith("/") else f"{scheme}:///{path}"
            raise FileFormatError(f"{path}: a database, whose table is named as in {example}?table=answers")
        way = Argument("format", otherwise="the suffix of the file")
        expected = f" ({', '.join(self.formats)}){_AS_RANKING if _RANKING.match(head) else ''}"
        raise FileFormatError(f"{path}: unknown format; name it with ", way, expected)


# The formats of outputs: by the suffix of a name, and the encoder of each.


_DATABASES = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
"""The first bytes of files of databases, by the scheme of their addresses: where they are, and what."""
PARTS = "parquet"
"""The format of the files in a folder."""


def output_format(path: str | Path) -> tuple[str, str | None]:
    """The format and compression by the output's name; ``folder`` without a suffix, with a final /, or for a folder.

    >>> output_format("scores.jsonl.gz"), output_format("scores/")
    (('jsonl', 'gzip'), ('folder', None))

    Raises ``OptionError`` for a name of an unknown format, or of one that is only read.
    """
    text = as_local(path)
    if text in ("", "-", "/dev/stdout"):
        expected = "expected the name of a file or folder; commands write JSON lines to standard output with -o -"
        raise OptionError(f"output {text!r}: {expected}")
    if is_database(text):
        return PARTS, None  # until its rows are written to the table
    name = last_name(text)
    is_folder = name.endswith("/") if is_url(text) else text.endswith(("/", os.sep)) or os.path.isdir(text)
    if is_folder or not os.path.splitext(name)[1]:
        return "folder", None
    format, compression = by_suffix(name)
    output = FORMATS.get(format or "")
    if output is not None and output.encoder is not None and (not compression or compression in output.compressions):
        return output.name, compression
    unwritten = output is not None and output.encoder is None
    reason = f"files of the format {format} are read, but not written; " if unwritten else ""
    raise OptionError(f"output {shown_address(text)!r}: {reason}expected a name ending in {_endings()}, or a folder")


def _endings() -> str:
    """The suffixes of the formats that can be written, and of their compressions."""
    written = [format for format in FORMATS.values() if format.encoder is not None]
    suffixes = [suffix for format in written for suffix in format.suffixes]
    packed = [suffix for format in written if format.compressions for suffix in format.suffixes]
    names = {name for format in written for name in format.compressions}
    compressions = [suffix for suffix, name in COMPRESSIONS.items() if name in names]
    return f"{_listed(suffixes, 'or')} ({_listed(packed, 'and')} also with {_listed(compressions, 'or')})"


def _listed(words: Sequence[str], last: str) -> str:
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def encoder(path: Path, schema: pa.Schema, format: str, compression: str | None) -> Encoder:
    """The encoder of ``format`` for ``path``; the schema's metadata are stored if the format supports it."""
    make = FORMATS[PARTS if format == "folder" else format].encoder
    assert make is not None, format
    return make(path, schema, compression)
