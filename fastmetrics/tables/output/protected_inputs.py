"""What an output may replace: no input, be it named by a link, folder, pattern or address, and no link or device."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.tables.file_formats import by_suffix
from fastmetrics.tables.inputs.input_files import walked
from fastmetrics.tables.output.completion_mark import MARK
from fastmetrics.tables.remote import globs
from fastmetrics.tables.remote.addresses import Url, as_local, is_url, parse
from fastmetrics.tables.remote.remote_files import look
from fastmetrics.tables.remote.stores import store

Content = tuple[object, ...] | None
"""What identifies the content of a file or folder at one moment; None if there is none."""


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
        matches = globs.on_disk(path)
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
    above, pattern = globs.fixed(read_path)
    if not target_path.startswith(f"{above}/"):
        return False
    inside = target_path[len(above) + 1 :]
    steps = inside.split("/")
    folders, files = globs.matching(
        pattern, ["", *("/".join(steps[:count]) for count in range(1, len(steps)))], [inside]
    )
    return bool(folders or files)


def refuse_existing(shown: object) -> NoReturn:
    """Raise the ``OutputError`` for an output that exists."""
    raise OutputError(f"{shown} exists; choose ", Argument("overwrite", True), " to replace it")


def check_kind(path: Path, *, folder: bool = False) -> None:
    """Raise ``OutputError`` if there is something else than a file, or than a folder: a link, a device or a pipe."""
    if path.is_symlink():
        raise OutputError(f"{path} is a link, which no output replaces; write to {os.path.realpath(path)}")
    if not path.exists():
        return
    if folder and os.path.ismount(path):
        raise OutputError(f"{path} is a mounted disk, which no output replaces; use a folder inside it")
    if not (path.is_dir() if folder else path.is_file()):
        if path.is_file() or path.is_dir():
            raise OutputError(f"{path} exists and is {'not a' if folder else 'a'} folder")
        raise OutputError(f"{path} is a device or a pipe, which no output replaces; write to a file")


def content_of(final: Path | Url) -> Content:
    """What identifies the content of a file, folder or address now."""
    if isinstance(final, Url):
        info = look(store(final))
        return None if info.type.name == "NotFound" else (info.type.name, info.size, info.mtime_ns)
    try:
        about = os.lstat(final)
    except FileNotFoundError:
        return None
    except NotADirectoryError:  # writing fails
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
