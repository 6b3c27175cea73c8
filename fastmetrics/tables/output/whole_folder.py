"""Writing a folder of files atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.threads import ordered
from fastmetrics.errors import OutputError
from fastmetrics.tables.output.encoders import writing
from fastmetrics.tables.output.targets import upload
from fastmetrics.tables.output.write_table import check_free
from fastmetrics.tables.remote.addresses import Url, as_local, is_url, parse, shown
from fastmetrics.tables.remote.files import listing
from fastmetrics.tables.remote.stores import plainly, store
from fastmetrics.tables.retry import patiently


@contextmanager
def whole_folder(path: str | Path, mark: str, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder to fill; it is renamed to ``path`` at the end, and deleted after an error.

    An existing folder is replaced only with ``overwrite``, and only if it contains a file named ``mark``, which the
    caller writes into each folder of this kind.  A folder at an address is uploaded at the end, this file last.

    Raises ``OutputError`` for a path that exists or cannot be written.
    """
    where = as_local(path)
    check_free(where, overwrite)
    if is_url(where):
        with writing(shown(where)), tempfile.TemporaryDirectory() as folder:
            names = _names(parse(where))
            _check_ours(shown(where), ours=not names or mark in names)
            yield Path(folder)
            _upload(Path(folder), parse(where), mark)
        return
    final = Path(where)
    _check_ours(where, ours=not final.exists() or (final / mark).is_file())
    hidden, old = (final.with_name(f".{final.name}.{os.getpid()}.{ending}") for ending in ("tmp", "old"))
    with writing(str(final)):
        hidden.mkdir()
    try:
        with writing(str(final)):
            yield hidden
            if final.exists():
                os.replace(final, old)
            os.replace(hidden, final)
    finally:
        for rest in (hidden, old):
            shutil.rmtree(rest, ignore_errors=True)


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
