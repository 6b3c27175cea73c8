"""A file of an input: its identity and its bytes, of a disk, an address, a stream or a compressed file.

**Score files record their inputs**: how many files, their bytes, a digest of all names and sizes, and the name and size
of the first five. A summary of several score files can thus tell different inputs from one input counted twice. The
names omit folders and addresses: they would reveal where the data are kept, and the same data at another place would
produce other bytes. A stream has no name to record. Renaming an input therefore changes the bytes of the output.
Resuming uses a stricter check, the whole path and the modification time, which stay beside the parts. The metadata
are at the end of a Parquet file, otherwise in a file beside the output, once for all parts.

**Streams.** Standard input and pipes (``<(command)``) are first copied to an unnamed file in the folder for temporary
files, because Parquet is read from its end and a run may read its input twice.
"""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.base.limits import SIZES, STANDARD, ReadSizes
from fastmetrics.base.options import Choice, Optional, Rows, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.tables import remote_files as remote
from fastmetrics.tables.addresses import as_local, is_url, last_name, parse, shown_address
from fastmetrics.tables.remote_files import cause, patiently, plainly, store

# How files are read: one declaration for the options of all commands and the settings of all functions.


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """How files of rows are read.

    >>> import pathlib, tempfile, fastmetrics as fm
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = path.write_text("question,answer\\nWhere?,\\n")
    >>> settings = [fm.tables.ReadSettings(blank=blank) for blank in ("missing", "empty")]
    >>> [fm.logs.check_dataset(path, reading=reading).rows for reading in settings]
    [1, 1]

    Raises ``OptionError`` for an invalid setting.
    """

    format: Annotated[
        str | None,
        Help(
            "The format of all files, if their suffixes do not show it: parquet, jsonl, json, csv, tsv, "
            "arrow, eval, xlsx."
        ),
    ] = None
    query: Annotated[
        str | None, Help("The query whose rows are read, if the input is the address of a database: select …")
    ] = None
    max_row_bytes: Annotated[
        int | None, Help("Maximum bytes of a row; a longer row is a bad row. Default: 67108864 (64 MiB).")
    ] = None
    records: Annotated[
        str | None,
        Help("The path of the list of records in JSON documents, or in each line: results.results, data[].items."),
    ] = None
    blank: Annotated[
        Literal["missing", "empty"],
        Help('A blank cell of text in CSV or TSV: missing, or empty (an empty text, as "" always is).'),
    ] = "missing"
    delimiter: Annotated[
        str | None, Help("What separates the cells of CSV: ',', ';', tab or '|'; by default found in the first rows.")
    ] = None
    decimal: Annotated[
        str | None,
        Help("The decimal mark of numbers in CSV: '.' or ','; by default also ',' where ';' or tab separates."),
    ] = None
    encoding: Annotated[
        str | None, Help("The encoding of CSV, if it is not UTF-8: cp1251 …; UTF-16 is known by its byte order mark.")
    ] = None
    sheet: Annotated[str | None, Help("The sheet of a workbook (xlsx); by default its only one.")] = None

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid value."""
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            raise OptionError(
                Argument("encoding", self.encoding), ": expected a name such as cp1251 or utf-16"
            ) from None
        argument("delimiter", self.delimiter, Optional(Choice(",", ";", "tab", "|")))
        argument("decimal", self.decimal, Optional(Choice(".", ",")))
        argument("blank", self.blank, Choice("missing", "empty"))

    @property
    def of_cells(self) -> dict[str, Any]:
        """The settings that differ from their defaults and that decide what the cells of a file are."""
        return {name: getattr(self, name) for name in _OF_CELLS if getattr(self, name) != getattr(ReadSettings, name)}


_OF_CELLS = ("blank", "decimal", "delimiter", "encoding", "records", "sheet")
PLAIN = ReadSettings()
_BY_DEFAULT = ContextVar("reading", default=PLAIN)
Reading = Annotated[ReadSettings | None, Help("How the files are read, a ``ReadSettings``.")]


def read_by_default() -> ReadSettings:
    """The settings of reading where a function is given none: those of the command that runs."""
    return _BY_DEFAULT.get()


@contextmanager
def reading_as(settings: ReadSettings) -> Iterator[None]:
    """Read all files with these settings, as far as their formats have them, where a function is given none."""
    before = _BY_DEFAULT.set(settings)
    try:
        yield
    finally:
        _BY_DEFAULT.reset(before)


@dataclass(frozen=True, kw_only=True)
class FileSettings(ReadSettings):
    """How files of rows are read, and how results are written to files.

    >>> import pathlib, tempfile, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.txt").write_text('{"answer": "yes"}')
    >>> files = fm.tables.FileSettings(format="jsonl", on_error="skip")
    >>> fm.score(folder / "rows.txt", "answer_words", output=folder / "scores.csv", files=files).rows
    1

    Raises ``OptionError`` for an invalid setting.
    """

    batch_rows: Annotated[int | None, Help("Maximum rows per batch.")] = None
    on_error: Annotated[str, Help("fail: a bad row ends the run; skip: bad rows go to OUT.rejects.jsonl.")] = "fail"

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid value."""
        super().__post_init__()
        argument("on_error", self.on_error, Choice("fail", "skip"))
        argument("batch_rows", self.batch_rows, Optional(Rows))


Files = Annotated[FileSettings | None, Help("The settings of files, a ``FileSettings``.")]
USUAL = FileSettings()


def file_settings(files: FileSettings | None) -> FileSettings:
    """The settings of the argument ``files``; raises ``OptionError`` if it is no ``FileSettings``."""
    if not isinstance(files, FileSettings | None):
        raise OptionError(Argument("files", files), ": expected a FileSettings")
    return files or USUAL


# A file of an input: its identity, opening its bytes, and the files below a folder that are inputs.


MAX_ROW_BYTES = 64 << 20
"""Default maximum bytes of one row: a line of text, or its cells."""


@dataclass(frozen=True)
class DataFile:
    """One input file: ``shown`` is its name in messages, ``keys`` its hive partition values.

    ``path`` is a local path or an address; only an address has a ``stamp``.
    """

    path: str = field(repr=False)
    shown: str
    format: str
    compression: str | None = None
    keys: Mapping[str, str | None] = field(default_factory=dict)
    checksum: int | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    stamp: remote.Stamp | None = None
    sizes: ReadSizes = STANDARD
    settings: ReadSettings = field(default_factory=read_by_default)
    schema: str | None = None
    """The name of the preset that the user names."""
    content: tuple[int, int] | None = None
    """The size and modification time of a local file when it was opened; None for a device or a stream."""

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if a local file was changed since it was opened."""
        now = None if self.content is None else content_of(self.path)
        if now != self.content:
            change = f"{self.content[0]:,} bytes, now {now[0]:,}" if self.content and now else "now it is gone"
            if now and self.content and now[0] == self.content[0]:
                change = f"{now[0]:,} bytes, with other contents"
            advice = "copy it, or wait until it is complete, and read it again"
            raise FileFormatError(f"{self.shown}: the file changed while it was read ({change}); {advice}")

    @property
    def is_remote(self) -> bool:
        """Whether the file is at an address."""
        return self.stamp is not None

    @property
    def name(self) -> str:
        """The name without folders, which are specific to this machine; empty for a pipe."""
        return last_name(self.shown) if self.checksum is None else "stream"

    @property
    def size(self) -> int:
        """Bytes on disk, or in the store."""
        return os.stat(self.path).st_size if self.stamp is None else self.stamp[0]

    @property
    def how_read(self) -> dict[str, Any]:
        """The format and the settings with which the file is read, if they are not those of every file."""
        cells = {**self.settings.of_cells, **({"schema": self.schema} if self.schema else {})}
        return {"format": self.format, **cells} if cells or self.settings.format else {}

    def fingerprint(self) -> list[Any]:
        """The identity of the rows: path, size, modification time (a checksum for standard input), and settings."""
        cells = list(self.how_read.items())
        if self.stamp is not None:
            return [self.shown, *self.stamp, *cells]
        status = os.stat(self.path)
        if self.checksum is not None:
            return [self.shown, status.st_size, self.checksum, *cells]
        return [os.path.abspath(self.path), status.st_size, status.st_mtime_ns, *cells]

    def open(self) -> tuple[pa.NativeFile, Callable[[], int]]:
        """The decompressed bytes as a stream, and a counter of the bytes read."""
        with reading(self.shown):
            file = pa.OSFile(self.path) if self.stamp is None else self._remote(self.stamp)
            return unpacked(file, self.compression if self.size else None), file.tell

    def _remote(self, stamp: remote.Stamp) -> pa.PythonFile:
        """The bytes at an address; Arrow files are read in smaller blocks than text."""
        ahead = self.sizes.remote_ahead_bytes // (16 if self.format == "arrow" else 1)
        return pa.PythonFile(remote.remote_file(parse(self.path), stamp, ahead), mode="r")

    def at_random(self) -> str | pa.NativeFile:
        """The input of Arrow's Parquet reader: the local path, or a remote file with ranged reads."""
        if self.stamp is None:
            return self.path
        place = store(parse(self.path))
        if not place.native:
            return self._remote(self.stamp)
        return remote.unchanged(place, parse(self.path), self.stamp)


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Convert errors while reading a file into ``FileFormatError``."""
    try:
        yield
    except pa.ArrowCancelled:  # caused by an interrupt
        raise
    except pa.ArrowMemoryError as error:
        raise FileFormatError(f"{shown}: cannot be read: not enough memory: {error}") from error
    except (pa.ArrowException, UnicodeDecodeError, EOFError, lzma.LZMAError) as error:
        raise FileFormatError(f"{shown}: cannot be read: {_first_line(error)}") from error
    except OSError as error:
        if error.errno is not None and error.strerror:
            raise FileFormatError(f"{shown}: cannot be read: {os.strerror(error.errno)}") from error
        raise FileFormatError(f"{shown}: cannot be read: {cause(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def content_of(path: str) -> tuple[int, int] | None:
    """The size and modification time of a file; None for a device, or if there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    return (about.st_size, about.st_mtime_ns) if stat.S_ISREG(about.st_mode) else None


# Streams: standard input, pipes and large compressed arrays are copied to disk; bz2 and xz are decompressed.


MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
"""The compressions by their first bytes."""

_PACKED: Mapping[str, Callable[[Any], Any]] = {"bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
"""Readers of compressions that Arrow does not support everywhere."""


def unpacked(file: pa.NativeFile, compression: str | None) -> pa.NativeFile:
    """The decompressed bytes of a file."""
    if compression is None:
        return file
    if compression in _PACKED:
        return pa.PythonFile(_PACKED[compression](file), mode="r")
    return pa.CompressedInputStream(file, compression)


def compression_of(head: bytes) -> str | None:
    """The compression by the first bytes, or None."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def spool(stream: BinaryIO | pa.NativeFile, shown: str, head: bytes = b"") -> tuple[str, int]:
    """Copy a stream to an unnamed file, for Parquet and resuming; returns its path and checksum.

    ``head`` contains bytes that were already read.
    """
    checksum = zlib.crc32(head)
    with _unnamed(shown) as copy:
        copy.write(head)
        while block := stream.read(SIZES.stream_block_bytes):
            checksum = zlib.crc32(block, checksum)
            copy.write(block)
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


def _path_of(spool: BinaryIO) -> str:
    """A named copy of the spool on systems where open descriptors have no path; deleted at exit."""
    import atexit

    handle, path = tempfile.mkstemp(prefix="fastmetrics-")
    atexit.register(os.unlink, path)
    spool.seek(0)
    with os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(spool, copy, SIZES.stream_block_bytes)
    return path


# Small files as a whole, on this machine or at an address.


def read_small(path: str | Path) -> bytes | None:
    """The bytes of a small file, unpacked if they are compressed, or None if there is no such file."""
    shown = shown_address(path)
    try:
        with plainly():
            data = patiently(lambda: _limited(_opened(path), shown))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _limited(unpacked(pa.BufferReader(data), compression_of(data)), shown)


def _opened(path: str | Path) -> Any:
    if not is_url(path):
        return open(path, "rb")
    place = store(parse(path))
    return place.system.open_input_file(place.path)


def _limited(file: Any, shown: str) -> bytes:
    """The bytes of a file; raises ``FileFormatError`` if it does not end within a limit."""
    with file:
        data: bytes = file.read(MAX_ROW_BYTES + 1)
    if len(data) > MAX_ROW_BYTES:
        raise FileFormatError(f"{shown}: the file has more than {MAX_ROW_BYTES:,} bytes; expected a small file of text")
    return data


def read_text(path: str | Path) -> str:
    """The text of a small UTF-8 file, unpacked if it is compressed, without a byte order mark.

    Raises ``FileFormatError`` for a file that is missing, cannot be read or is not UTF-8.
    """
    where = as_local(path)
    with reading(shown_address(where)):
        data = read_small(where)
    if data is None:
        raise FileFormatError(f"{shown_address(where)}: cannot be read: there is no such file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{shown_address(where)}: byte {error.start:,} is not UTF-8; convert the file first"
        raise FileFormatError(message) from error


def local_path(path: str | os.PathLike[str], argument: str) -> Path:
    """The path of a file or folder that must be on this machine; raises ``OptionError`` for an address."""
    where = as_local(path if isinstance(path, str) else Path(path))
    if is_url(where):
        raise OptionError(Argument(argument, shown_address(where)), ": expected a path on this machine, not an address")
    return Path(where)
