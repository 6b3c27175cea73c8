"""Patterns of paths: their matches in a listing of an object store, and on a local disk.

:func:`matching` defines the rules, because Python's ``glob`` differs between versions.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterable
from functools import lru_cache


def fixed(pattern: str) -> tuple[str, str]:
    """The folder above the first step with a wildcard, and the rest of the pattern.

    >>> fixed("bucket/2024/*/part-?.parquet")
    ('bucket/2024', '*/part-?.parquet')
    """
    steps = pattern.split("/")
    first = next(at for at, step in enumerate(steps) if glob.has_magic(step))
    return "/".join(steps[:first]), "/".join(steps[first:])


def is_deep(pattern: str) -> bool:
    """Whether a pattern matches paths in nested folders."""
    return "/" in pattern or pattern == "**"


def matching(pattern: str, folders: Iterable[str], files: Iterable[str]) -> tuple[set[str], set[str]]:
    """The folders and the files that a pattern finds, both and the pattern relative to one folder.

    ``*``, ``?`` and ``[...]`` stay within one step, and ``**`` is any number of folders, none too; as the last step it
    is the folder it stands in and all that is below.  What stands before a ``/`` is a folder: ``*/**`` does not find
    the files beside the folders that it finds.  A name that starts with a dot is found only by a step that does so too.

    >>> folders, files = matching("**/*.csv", ["x", "x/y"], ["a.csv", "x/b.csv", "x/.c.csv", "x/y/d.txt"])
    >>> sorted(folders), sorted(files)
    ([], ['a.csv', 'x/b.csv'])
    """
    only_folders = pattern.endswith("/")
    steps = tuple(step for step in pattern.split("/") if step)
    matching_folders = {folder for folder in folders if _fits(steps, tuple(folder.split("/")) if folder else (), 0)}
    if only_folders:
        return matching_folders, set()
    return matching_folders, {file for file in files if _fits(steps, tuple(file.split("/")), 1)}


def on_disk(pattern: str) -> list[str]:
    """The local paths that match a pattern, in order.

    In some versions of ``glob``, ``x/**`` matches ``x/`` even if ``x`` is not a folder.
    """
    paths = glob.glob(pattern, recursive=True)
    return sorted(path for path in paths if os.path.isdir(path) or not path.endswith(os.sep))


def _fits(steps: tuple[str, ...], names: tuple[str, ...], own: int) -> bool:
    """Whether the steps match the path of these names; the last ``own`` names are not folders."""
    if not steps:
        return not names
    if steps[0] == "**":
        hidden = next((at for at, name in enumerate(names) if name.startswith(".")), len(names))
        least = own if len(steps) == 1 else 0
        return any(_fits(steps[1:], names[skipped:], own) for skipped in range(least, hidden + 1))
    if not names:
        return False
    if names[0].startswith(".") and glob.has_magic(steps[0]) and not steps[0].startswith("."):
        return False
    return _fits_step(steps[0], names[0]) and _fits(steps[1:], names[1:], own)


def _fits_step(step: str, name: str) -> bool:
    return step == name if not glob.has_magic(step) else _compiled(step).match(name) is not None


@lru_cache(256)
def _compiled(step: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(step))
