"""The place of an output: what it may replace is checked once before anything is read, and again at the end."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from fastmetrics.errors import OutputError
from fastmetrics.tables.databases.written_tables import WrittenTable
from fastmetrics.tables.output.encoders import writing
from fastmetrics.tables.output.protected_inputs import (
    Content,
    check_kind,
    check_not_read,
    content_of,
    refuse_existing,
)
from fastmetrics.tables.output.renames import to_new_name
from fastmetrics.tables.output.targets import upload
from fastmetrics.tables.output.unfinished_folder import unfinished
from fastmetrics.tables.remote.addresses import Url, as_local, is_database, is_url, parse, shown
from fastmetrics.tables.remote.stores import plainly


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
        self.shown = shown(self.text)
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
