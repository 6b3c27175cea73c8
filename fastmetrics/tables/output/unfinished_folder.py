"""The hidden folder in which an output is written until it is complete, and those that killed runs left.

Its name is a digest of the output's name, and a random number.  The folder is new, and nobody else may write into it,
so no link can be waiting there.  A run holds a lock on it, which the system releases when the run ends for any reason;
folders without a lock are deleted by the next run for the same output.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastmetrics.base.errors import OutputError

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
    stem = f".fastmetrics-{hashlib.sha256(os.fsencode(output)).hexdigest()[:16]}-"
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
