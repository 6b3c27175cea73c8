"""What a run reads is never replaced by what it writes, be it named by a link, a folder, a pattern or an address."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import OptionError, OutputError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.tables import remote_files
from fastmetrics.tables.addresses import Url, as_local, is_url, parse
from fastmetrics.tables.file_formats import by_suffix
from fastmetrics.tables.input_files import walked
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
    paths = [*_paths(inputs), *(path for path, _ in LOADED.values())]
    if isinstance(target, Url):
        inputs = [parse(path) for path in paths if is_url(path)]
        if any(_is_of(target, url) for url in inputs):
            holds = any(store(url).path.startswith(f"{store(target).path.rstrip('/')}/") for url in inputs)
            raise OutputError(f"{target.shown} {'holds' if holds else 'is'} an input; write to another name")
        return
    local = [path for path in paths if not is_url(path)]
    if target.is_dir():
        real = os.path.realpath(target)
        if any(Path(os.path.realpath(file)).is_relative_to(real) for path in local for file in _files(path)):
            raise OutputError(f"{target} holds an input; write to another name")
    elif target.exists():
        mark = _identity(target)
        if any(_identity(file) == mark for path in local for file in _files(path)):
            raise OutputError(f"{target} is an input; write to another name")


def _paths(inputs: Any) -> Iterator[str]:
    if isinstance(inputs, str | os.PathLike):
        try:
            yield as_local(inputs if isinstance(inputs, str) else Path(inputs))
        except OptionError:  # the reader of this input raises it
            return
    elif isinstance(inputs, Mapping):
        yield from _paths(list(inputs.values()))
    elif isinstance(inputs, list | tuple):
        for path in inputs:
            yield from _paths(path)


def _identity(path: str | Path) -> tuple[int, int] | None:
    """The device and inode of a file; equal for links of both kinds."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


def _files(path: str) -> Iterator[str]:
    """The files that are read for a local path: those of a folder or a pattern, and the metadata beside each."""
    if not path or "\0" in path:
        return
    if os.path.isdir(path):
        yield from (os.path.join(path, name) for name in (MARK, "index.faiss", "settings.json", "names.arrow"))
        files: Iterable[str] = (os.path.join(at, name) for at, name in walked(path, None) if by_suffix(name)[0])
    elif not os.path.lexists(path) and glob.has_magic(path):
        matches = remote_files.on_disk(path)
        files = (file for match in matches for file in ([match] if os.path.isfile(match) else _files(match)))
    else:
        files = [path]
    for file in files:
        yield file
        yield f"{file}.meta.json"


def _is_of(target: Url, input_url: Url) -> bool:
    """Whether an address is the target, is in it, or is a folder or pattern that reads it."""
    if target.scheme != input_url.scheme:
        return False
    target_path, read_path = store(target).path.rstrip("/"), store(input_url).path.rstrip("/")
    if target_path in (read_path, f"{read_path}.meta.json") or read_path.startswith(f"{target_path}/"):
        return True
    if not by_suffix(target.name)[0]:
        return False
    if target_path.startswith(f"{read_path}/"):
        return True
    if not glob.has_magic(read_path):
        return False
    above, pattern = remote_files.fixed(read_path)
    if not target_path.startswith(f"{above}/"):
        return False
    inside = target_path[len(above) + 1 :]
    steps = inside.split("/")
    folders, files = remote_files.matching(
        pattern, ["", *("/".join(steps[:count]) for count in range(1, len(steps)))], [inside]
    )
    return bool(folders or files)
