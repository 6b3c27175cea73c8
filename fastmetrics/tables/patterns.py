"""Patterns of paths and input folders: which files they find, on this machine and in a store alike."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from glob import has_magic

from fastmetrics.base.errors import FileFormatError

# Patterns of paths, which are held against the names below a folder of a disk or of a store.


def fixed(pattern: str) -> tuple[str, str]:
    """The folder above the first step with a wildcard, and the rest of the pattern.

    >>> fixed("bucket/2024/*/part-?.parquet")
    ('bucket/2024', '*/part-?.parquet')
    """
    steps = pattern.split("/")
    first = next(at for at, step in enumerate(steps) if has_magic(step))
    return "/".join(steps[:first]), "/".join(steps[first:])


def is_input(relative: str) -> bool:
    """Whether a file in an input folder is read: neither it nor a folder on the way is hidden, or of a run at work."""
    return not any(step.startswith(("_", ".")) or step.endswith(WORK_SUFFIX) for step in relative.split("/"))


WORK_SUFFIX = ".partial"
"""Suffix of the work folders of runs, which are never inputs."""


class Pattern:
    """A pattern of paths below a folder.

    ``*``, ``?`` and ``[...]`` stay within one step, and ``**`` is any number of folders, none too; as the last step it
    is the folder it stands in and all that is below.  What stands before a ``/`` is a folder: ``*/**`` does not find
    the files beside the folders that it finds.  A name that starts with a dot is found only by a step that does so too.
    A name is read step by step with the set of places in the pattern that it may have reached, in linear time.
    """

    def __init__(self, text: str) -> None:
        self._steps = [step for step in text.split("/") if step]
        self._whole = len(self._steps)
        self._finds_files = not text.endswith("/") and self._steps[-1] != "**"

    def leads(self, folder: str) -> bool:
        """Whether a file below a folder may be found."""
        above, places = self._reached(folder.split("/"))
        return bool(places) if above is None else is_input("/".join(folder.split("/")[above:]) or "x")

    def find(self, files: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """The files that are found, each with its path in the folder that was found, or None if it was found itself.

        >>> list(Pattern("**/*.csv").find(["a.csv", "x/b.csv", "x/.c.csv", "x/y/d.txt"]))
        [('a.csv', None), ('x/b.csv', None)]
        >>> list(Pattern("lang=*").find(["lang=de/a.csv", "b.csv"]))
        [('lang=de/a.csv', 'a.csv')]
        """
        for file in files:
            *folders, name = file.split("/")
            above, places = self._reached(folders)
            if above is not None and is_input(relative := "/".join([*folders[above:], name])):
                yield file, relative
            elif above is None and self._finds_files and self._whole in self._after(places, name):
                yield file, None

    def _reached(self, folders: Sequence[str]) -> tuple[int | None, Set[int]]:
        """How many of nested folders the first one that is found has, and the places reached there, or at the end."""
        places = self._closed({0})
        for count, folder in enumerate(folders):
            if self._whole in places:
                return count, places
            places = self._after(places, folder)
        return (len(folders) if self._whole in places else None), places

    def _after(self, places: Set[int], name: str) -> Set[int]:
        found = set()
        for place in places - {self._whole}:
            step = self._steps[place]
            if step == "**":
                found |= set() if name.startswith(".") else {place}
            elif _compiled(step).match(name) and (not name.startswith(".") or step.startswith(".")):
                found.add(place + 1)
        return self._closed(found)

    def _closed(self, places: set[int]) -> Set[int]:
        """The places, and those behind each ``**``, which may be no folder."""
        for place in sorted(places):
            while place < self._whole and self._steps[place] == "**":
                place += 1
                places.add(place)
        return places


@lru_cache(256)
def _compiled(step: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(step))


def walked(folder: str, enters: Callable[[str], bool] = is_input) -> Iterator[str]:
    """The files below a folder on this machine by relative path, in the folders that ``enters`` lets in.

    A folder that several links lead to is read once, one that holds ``folder`` never.  Raises ``OSError`` for a folder
    that cannot be listed, so that its rows are not missing in silence.
    """
    top = os.path.join(os.path.realpath(folder), "")
    seen: set[str] = set()
    for where, folders, names in os.walk(folder, onerror=_refuse, followlinks=True):
        real = os.path.realpath(where)
        if real in seen or (seen and top.startswith(os.path.join(real, ""))):
            folders.clear()
            continue
        seen.add(real)
        within = os.path.relpath(where, folder) if where != folder else ""
        folders[:] = sorted(name for name in folders if enters(os.path.join(within, name)))
        yield from (os.path.join(within, name) for name in sorted(names))


def _refuse(error: OSError) -> None:
    raise FileFormatError(f"{error.filename}: cannot be read: {os.strerror(error.errno or 0)}") from error


def on_disk(path: str) -> list[tuple[str, str | None]]:
    """The files for a path on this machine as ``Pattern.find`` gives them: a file, a folder's, or matches, in order."""
    if os.path.isdir(path):
        return sorted((os.path.join(path, name), name) for name in walked(path) if is_input(name))
    if os.path.exists(path) or not has_magic(path):
        return [(path, None)]
    above, rest = fixed(path)
    base = f"{above}/" if above or path.startswith("/") else ""
    pattern = Pattern(rest)
    names = walked(base or ".", pattern.leads) if os.path.isdir(base or ".") else ()
    return sorted((base + name, relative) for name, relative in pattern.find(names))
