"""Files and folders that only their owner can read: stores of calls, and the parts of runs that are not finished."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600


def make_private_folder(path: Path) -> None:
    """Create a folder, with the folders above it, each for its owner alone; an existing one is left as it is.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "a" / "b"
    >>> make_private_folder(folder)
    >>> [oct(one.stat().st_mode & 0o777) for one in (folder.parent, folder)]
    ['0o700', '0o700']
    """
    if not path.parent.exists():
        make_private_folder(path.parent)
    path.mkdir(mode=_FOLDER, exist_ok=True)


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that, if it is new, only its owner can read: the ``opener`` of ``open``."""
    return os.open(path, flags, _FILE)
