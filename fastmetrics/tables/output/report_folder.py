"""Writing a folder of files atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.threads import ordered
from fastmetrics.errors import OutputError
from fastmetrics.tables.output.output_place import OutputPlace
from fastmetrics.tables.output.renames import exchange
from fastmetrics.tables.output.targets import upload
from fastmetrics.tables.remote.addresses import Url
from fastmetrics.tables.remote.remote_files import listing
from fastmetrics.tables.remote.stores import plainly, store
from fastmetrics.tables.retry import patiently


def folder_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a folder, for :func:`whole_folder`; raises ``OutputError`` if it may not be written there."""
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
            exchange(folder, final, hidden / "old")
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
