"""Outputs written whole: tables, pages and folders, in places that are checked before anything is read."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.tables.addresses import Url, as_local, is_database, is_url, parse, shown_address
from fastmetrics.tables.encoders import KEY, described, dump, undefined_as_null, writing
from fastmetrics.tables.file_formats import encoder, output_format
from fastmetrics.tables.output_places import Content, check_kind, check_not_read, content_of, refuse_existing, upload
from fastmetrics.tables.remote_files import listing, patiently, plainly, store
from fastmetrics.tables.written_tables import WrittenTable

# The hidden folder in which an output is written until it is complete, those that killed runs left, and final names.
#
# Its name is a digest of the output's name, and a random number.  The folder is new, and nobody else may write into
# it, so no link can be waiting there.  A run holds a lock on it, which the system releases when the run ends for any
# reason; folders without a lock are deleted by the next run for the same output.


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FREE, _LOCKED, _UNKNOWN = "free", "taken", "unknown"


@contextmanager
def unfinished(where: Path, output: str, *, shared: bool = False) -> Iterator[Path]:
    """A new hidden folder in ``where`` for the files of ``output``; it is deleted at the end.

    Raises ``OutputError`` if another run is writing the output, unless it is ``shared``, and ``OSError`` if the folder
    cannot be made.
    """
    stem = f".fastmetrics-{_digest(output)}-"
    _remove_left(where, stem, None if shared else output)
    folder, handle = _locked(where, stem)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _locked(where: Path, stem: str) -> tuple[Path, int | None]:
    """A new folder, and the descriptor that holds its lock; another run may have deleted one before it had a lock."""
    while True:
        folder = where / f"{stem}{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        if fcntl is None:
            return folder, None
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        _lock(handle)
        if folder.exists():
            return folder, handle
        os.close(handle)


def _lock(handle: int) -> str:
    """Lock a folder: ``free`` if it was, ``taken`` by another run, or ``unknown`` where the disk has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _LOCKED
    except OSError:
        return _UNKNOWN
    return _FREE


def _remove_left(where: Path, stem: str, output: str | None) -> None:
    """Delete the folders that killed runs of this user left for the same output."""
    if fcntl is None or not where.is_dir():
        return
    for left in where.iterdir():
        if not left.name.startswith(stem) or left.is_symlink() or left.stat().st_uid != os.geteuid():
            continue
        try:
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:  # its run has just ended
            continue
        try:
            state = _lock(handle)
            if state == _LOCKED and output is not None:
                raise OutputError(f"another run is writing {output}; wait for its end, or write to another name")
            if state == _FREE:
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(handle)


def to_new_name(source: Path, target: Path) -> None:
    """Give a finished file or folder its final name; raises ``FileExistsError`` if the name is taken.

    Where the disk has no hard links, a file that another program makes in the same moment is replaced.
    """
    try:
        if source.is_dir():
            source.rename(target)  # which replaces no folder with files
        else:
            os.link(source, target)
            source.unlink()
    except OSError as error:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        os.replace(source, target)


def replace_folder(source: Path, target: Path) -> None:
    """Give a finished folder the name of an existing one, which is deleted.

    In between the name is absent for a moment.  A run that is killed then leaves the old folder beside it, under a
    hidden name of its own, from where :func:`restore_folder` brings it back.
    """
    old = _replaced(target)
    shutil.rmtree(old, ignore_errors=True)
    os.replace(target, old)
    os.replace(source, target)
    shutil.rmtree(old, ignore_errors=True)


def restore_folder(target: Path) -> None:
    """Bring back the folder that a killed run was about to replace."""
    if _replaced(target).is_dir() and not os.path.lexists(target):
        os.replace(_replaced(target), target)


def _replaced(target: Path) -> Path:
    return target.absolute().parent / f".fastmetrics-replaced-{_digest(target.absolute().name)}"


def _digest(output: str) -> str:
    return hashlib.sha256(os.fsencode(output)).hexdigest()[:16]


# Outputs written whole: tables, pages and folders, in places that are checked before anything is read.


class OutputPlace:
    """Where an output goes: a path or an address, and the files ``beside`` it, by the suffixes of their names.

    ``inputs`` are what the run reads: paths and addresses, in lists or dictionaries too.  A ``page`` may also go to a
    pipe or to a device such as ``/dev/stdout``, into which it is written.

    Raises ``OutputError`` if the output would replace an input, a link, a device or, unless ``overwrite``, anything.
    """

    def __init__(
        self,
        path: str | Path,
        inputs: Any,
        *,
        overwrite: bool,
        folder: bool = False,
        page: bool = False,
        beside: tuple[str, ...] = (),
    ) -> None:
        self.text = as_local(path)
        self.shown = shown_address(self.text)
        self.url = parse(self.text) if is_url(self.text) else None
        self._written = WrittenTable(self.text) if is_database(self.text) else None
        self._overwrite = overwrite
        self.is_stream = page and self.url is None and _is_stream(self.text)
        self._seen: dict[str, Content] = {}
        if self._written is not None:
            self._written.check(inputs, overwrite=overwrite)
            return
        if self.is_stream:
            return
        with writing(self.shown), plainly():
            for suffix in ("", *beside):
                final = self._final(suffix)
                check_not_read(final, inputs)
                if isinstance(final, Path):
                    check_kind(final, folder=folder and not suffix)
                self._seen[suffix] = content_of(final)
        for suffix, seen in self._seen.items():
            if seen is not None and not overwrite:
                refuse_existing(shown_of(self._final(suffix)))

    def _final(self, suffix: str) -> Path | Url:
        return Path(f"{self.text}{suffix}") if self.url is None else self.url.beside(suffix)

    def check_types(self, schema: pa.Schema) -> None:
        """Raise ``OutputError`` for a column that a database to write to has no type for."""
        if self._written is not None:
            self._written.check_types(schema)

    @contextmanager
    def unfinished(self) -> Iterator[Path]:
        """A hidden folder for the output until it is complete: beside a local one, which can then be renamed."""
        with writing(self.shown):
            where = Path(self.text).absolute().parent if self.url is None else _temporary_folder(self.shown)
            with unfinished(where, self.shown if self.url is not None else Path(self.text).absolute().name) as folder:
                yield folder

    def put(self, finished: Path, suffix: str = "") -> None:
        """Rename a finished file to the final name, or upload it; raises ``OutputError`` if another run was faster."""
        if self._written is not None:
            self._written.write(finished, overwrite=self._overwrite)
            return
        final = self._final(suffix)
        self.check_unchanged(suffix)
        if isinstance(final, Url):
            upload(finished, final)
        elif self._seen[suffix] is not None:
            os.replace(finished, final)
        else:
            try:
                to_new_name(finished, final)
            except FileExistsError:
                self._refuse(suffix)

    def check_unchanged(self, suffix: str = "") -> None:
        """Raise ``OutputError`` if something was written here since the check."""
        with plainly():
            seen = content_of(self._final(suffix))
        if seen is not None and seen != self._seen[suffix]:
            self._refuse(suffix)

    def _refuse(self, suffix: str) -> NoReturn:
        raise OutputError(
            f"{shown_of(self._final(suffix))} was written by another run in the meantime, and stays; "
            "write to another name, or run again"
        )


def shown_of(final: Path | Url) -> str:
    """A path or an address in messages."""
    return final.shown if isinstance(final, Url) else str(final)


def _temporary_folder(shown: str) -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise OutputError(f"cannot write {shown}: no folder for temporary files; set TMPDIR to one") from error


def _is_stream(path: str) -> bool:
    """Whether a path is a pipe, a terminal or such, or an open file of this process, such as ``/dev/stdout``."""
    if os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/")):
        return True
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


_META = ".meta.json"


def table_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a table, for :func:`write_whole`; ``inputs`` are what the run reads.

    Raises ``OutputError`` if it may not be written there, ``OptionError`` for an unknown suffix.
    """
    if output_format(path)[0] == "folder":
        OutputPlace(path, inputs, overwrite=True)  # the reason, if a device or a folder is there
        raise OptionError(f"output {shown_address(as_local(path))!r}: expected the name of a file, with a suffix")
    beside = () if output_format(path)[0] == "parquet" else (_META,)
    return OutputPlace(path, inputs, overwrite=overwrite, beside=beside)


def check_without_place(*, overwrite: bool, guard: bool) -> None:
    """Raise ``OptionError`` for an option of files where no file is written."""
    for name, value, default in (("overwrite", overwrite, False), ("guard", guard, True)):
        if value != default:
            raise OptionError(Argument(name, value), ": applies to a file; name it with ", Argument("output"))


def write_whole(
    table: pa.Table | pa.RecordBatchReader,
    place: OutputPlace,
    metadata: Mapping[str, Any],
    keys: set[str],
    *,
    guard: bool = True,
) -> int:
    """Write ``table`` in the format of the place's suffix; NaN becomes null except in the ``keys``.

    The ``metadata`` are stored in a Parquet file, or for another format in ``<path>.meta.json``.  With a ``guard``,
    text of CSV that a spreadsheet would run gets a leading quote; returns the number of such cells.

    Raises ``OutputError`` if the file cannot be written, or if another run wrote it since the place was checked.
    """
    format, compression = output_format(place.text)
    with writing(place.shown), place.unfinished() as folder:
        whole = folder / "whole"
        writer = encoder(whole, table.schema.with_metadata({KEY: dump(metadata)}), format, compression, guard=guard)
        try:
            for batch in table.to_batches() if isinstance(table, pa.Table) else table:
                writer.write(undefined_as_null(batch, keys))
            writer.close({})
            if format != "parquet":
                about = {**metadata, **described(table.schema, writer)}
                (folder / "meta").write_text(dump(about) + "\n", encoding="utf-8")
                place.check_unchanged()
                place.put(folder / "meta", _META)
            place.put(whole)
        finally:
            writer.discard()
    return writer.guarded


def page_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a page, for :func:`write_page`; raises ``OutputError`` if it may not be written there."""
    return OutputPlace(path, inputs, overwrite=overwrite, page=True)


def write_page(place: OutputPlace, text: str | bytes) -> None:
    """Write a text, or bytes, to a file or an address atomically, or into a pipe or a device.

    Raises ``OutputError`` if it cannot be written, or if another run wrote it since the place was checked.
    """
    data = text if isinstance(text, bytes) else text.encode()
    if place.is_stream:
        try:
            with writing(place.shown), open(place.text, "ab", buffering=0) as stream:
                stream.write(data)
        except OutputError as error:
            if not isinstance(error.__cause__, BrokenPipeError):  # its reader has seen enough
                raise
        return
    with writing(place.shown), place.unfinished() as folder:
        (folder / "whole").write_bytes(data)
        place.put(folder / "whole")


def folder_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a folder, for :func:`whole_folder`; raises ``OutputError`` if it may not be written there."""
    if not is_url(as_local(path)):
        with writing(as_local(path)):
            restore_folder(Path(path))
    return OutputPlace(path, inputs, overwrite=overwrite, folder=True)


@contextmanager
def whole_folder(place: OutputPlace, mark: str) -> Iterator[Path]:
    """A temporary folder to fill; it takes the place at the end, and is deleted after an error.

    An existing folder is replaced only if it contains a file named ``mark``, which the caller writes into each folder
    of this kind.  A folder at an address is uploaded at the end, this file last.

    Raises ``OutputError`` for a folder that cannot be written or replaced, or that another run wrote since the check.
    """
    final = Path(place.text)
    if place.url is not None:
        names = _names(place.url)
        _check_ours(place.shown, ours=not names or mark in names)
    else:
        _check_ours(place.shown, ours=not final.exists() or (final / mark).is_file())
    with place.unfinished() as hidden:
        folder = hidden / "whole"
        folder.mkdir()
        yield folder
        if place.url is not None:
            _upload(folder, place.url, mark)
        elif final.exists():
            place.check_unchanged()
            replace_folder(folder, final)
        else:
            place.put(folder)


def _check_ours(where: str, *, ours: bool) -> None:
    if not ours:
        raise OutputError(f"{where} is not a folder that such a run made; choose another name, or delete it")


def _names(url: Url) -> list[str]:
    """The files in a folder of a store."""
    with plainly():
        return sorted(patiently(lambda: listing(store(url), deep=True)[0]))


def _upload(folder: Path, url: Url, mark: str) -> None:
    """Replace the files of a folder in a store; as long as it has no mark, it is incomplete."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    earlier = _names(url)
    for name in [mark] * (mark in earlier) + [name for name in earlier if name not in files]:
        place = store(url.child(name))
        with plainly():
            place.system.delete_file(place.path)
    last = files.pop(mark)
    for _ in ordered(lambda name: upload(files[name], url.child(name)), sorted(files), SIZES.uploaded_files):
        pass
    upload(last, url.child(mark))
