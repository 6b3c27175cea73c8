"""What a run reads is never replaced by what it writes, be it named by a link, a folder, a pattern or an address.

**What outputs replace** is checked in one place, before anything is read: no file that the run reads (whatever links,
folders, patterns or addresses name it), even with ``--overwrite``; no link, device or pipe; without ``--overwrite`` no
file, ``OUT.meta.json`` and ``OUT.rejects.jsonl`` included. Pages and figures may go into a pipe or ``/dev/stdout``,
since nothing is replaced there. Without ``--overwrite``, a file that another run wrote after the check stays, and the
slower run fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import OptionError, OutputError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.tables.addresses import Url, as_local, is_url, parse
from fastmetrics.tables.file_formats import by_suffix
from fastmetrics.tables.patterns import on_disk
from fastmetrics.tables.remote_files import store

MARK = "_fastmetrics.json"
"""The file with the metadata of a run in its folder of parts, written last and deleted first: a folder without it is
incomplete."""


def check_not_read(target: str | Path | Url, inputs: Any) -> None:
    """Raise ``OutputError`` if the target is, or is a folder that contains, a file of the ``inputs`` or of a plugin.

    ``inputs`` are paths and addresses, in lists or dictionaries too; anything else, such as a table, is ignored.
    """
    if isinstance(target, str):
        target = parse(target) if is_url(target) else Path(as_local(target))
    paths = [*paths_of(inputs), *(path for path, _ in LOADED.values())]
    if isinstance(target, Url):
        shown, holds = target.shown, any(_is_of(target, parse(path)) for path in paths if is_url(path))
        holds_files = target.path.endswith("/")
    else:
        real = Path(os.path.realpath(target))
        read = (file for path in paths if not is_url(path) for file in _files(path) if os.path.exists(file))
        shown, holds_files = str(target), target.is_dir()
        holds = target.exists() and any(
            os.path.samefile(file, target) or Path(os.path.realpath(file)).is_relative_to(real) for file in read
        )
    if holds:
        raise OutputError(f"{shown} {'holds' if holds_files else 'is'} an input; write to another name")


def paths_of(inputs: Any) -> Iterator[str]:
    """The paths and addresses among inputs, in lists and dictionaries too."""
    if isinstance(inputs, str | os.PathLike):
        try:
            yield as_local(inputs if isinstance(inputs, str) else Path(inputs))
        except OptionError:  # the reader of this input raises it
            return
    elif isinstance(inputs, Mapping):
        yield from paths_of(list(inputs.values()))
    elif isinstance(inputs, list | tuple):
        for path in inputs:
            yield from paths_of(path)


def _files(path: str) -> Iterator[str]:
    """The files that are read for a local path: those of a folder or a pattern, and the metadata beside each."""
    for file, relative in on_disk(path):
        if relative is None or by_suffix(file)[0]:
            yield from (file, f"{file}.meta.json")
    yield os.path.join(path, MARK)


def _is_of(target: Url, read: Url) -> bool:
    """Whether an address is the target, is in it, or is a folder or pattern that reads it."""
    if target.scheme != read.scheme:
        return False
    to, at = store(target).path.rstrip("/"), store(read).path.rstrip("/")
    if to in (at, f"{at}.meta.json") or at.startswith(f"{to}/"):
        return True
    pattern = at.replace("**/", "*")
    return by_suffix(target.name)[0] is not None and (
        to.startswith(f"{at}/") or fnmatchcase(to, pattern) or fnmatchcase(to, f"{pattern}/*")
    )
