"""Patterns of paths, held against a listing: what Python's ``glob`` finds on a disk, found in an object store."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache
from glob import has_magic


def fixed(pattern: str) -> tuple[str, str]:
    """The folder above the first step with a wildcard, and the rest of the pattern.

    >>> fixed("bucket/2024/*/part-?.parquet")
    ('bucket/2024', '*/part-?.parquet')
    """
    steps = pattern.split("/")
    first = next(at for at, step in enumerate(steps) if has_magic(step))
    return "/".join(steps[:first]), "/".join(steps[first:])


def is_deep(pattern: str) -> bool:
    """Whether a pattern looks further down than one folder."""
    return "/" in pattern or pattern == "**"


def matching(pattern: str, folders: Iterable[str], files: Iterable[str]) -> tuple[set[str], set[str]]:
    """The folders and the files that a pattern finds, both and the pattern relative to one folder.

    ``*``, ``?`` and ``[...]`` stay within one step, and ``**`` is any number of folders, as in ``glob.glob`` with
    ``recursive=True``; a name that starts with a dot is found only by a step that does so too.

    >>> folders, files = matching("**/*.csv", ["x", "x/y"], ["a.csv", "x/b.csv", "x/.c.csv", "x/y/d.txt"])
    >>> sorted(folders), sorted(files)
    ([], ['a.csv', 'x/b.csv'])
    """
    only_folders = pattern.endswith("/")
    steps = tuple(step for step in pattern.split("/") if step)
    found = {folder for folder in folders if _fits(steps, tuple(folder.split("/")) if folder else ())}
    if only_folders:
        return found, set()
    return found, {file for file in files if _fits(steps, tuple(file.split("/")))}


def _fits(steps: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not steps:
        return not names
    if steps[0] == "**":
        hidden = next((at for at, name in enumerate(names) if name.startswith(".")), len(names))
        return any(_fits(steps[1:], names[skipped:]) for skipped in range(hidden + 1))
    if not names:
        return False
    if names[0].startswith(".") and has_magic(steps[0]) and not steps[0].startswith("."):
        return False
    return _one(steps[0], names[0]) and _fits(steps[1:], names[1:])


def _one(step: str, name: str) -> bool:
    return step == name if not has_magic(step) else _compiled(step).match(name) is not None


@lru_cache(256)
def _compiled(step: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(step))
