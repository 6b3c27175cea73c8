"""Renaming a finished file or folder to its final name, without a moment in which that name is absent."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_NEW, _EXCHANGE = 1, 2
_HERE = -100
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def to_new_name(source: Path, target: Path) -> None:
    """Rename; raises ``FileExistsError`` if the target exists.

    Where the system cannot do both in one step, a target that another program makes in the same moment is replaced.
    """
    if not _renamed(source, target, _NEW):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.replace(source, target)


def exchange(source: Path, target: Path, aside: Path) -> None:
    """Rename a folder to the name of another, which is moved to ``source`` or ``aside``.

    Where the system cannot do both in one step, the target is absent for a moment.
    """
    if not _renamed(source, target, _EXCHANGE):
        os.replace(target, aside)
        os.replace(source, target)


def _renamed(source: Path, target: Path, flag: int) -> bool:
    """Whether the system renamed with this flag; False if it, or the file system, does not know how."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return False
    if not rename(_HERE, os.fsencode(source), _HERE, os.fsencode(target), flag):
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))
