"""Where an output goes: a path, an address, a table of a database or a stream.  What is there stays, unless it may be
replaced; finished files get their names whole.

**What outputs replace** is checked in one place, before anything is read: no file that the run reads (whatever links,
folders, patterns or addresses name it), even with ``--overwrite``; no link, device or pipe; without ``--overwrite`` no
file, ``OUT.meta.json`` and ``OUT.rejects.jsonl`` included. Pages and figures may go into a pipe or ``/dev/stdout``,
since nothing is replaced there. Without ``--overwrite``, a file that another run wrote after the check stays, and the
slower run fails.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.base.threads import ordered
from fastmetrics.tables import remote_files as remote
from fastmetrics.tables.addresses import Url, as_local, is_url, on_disk, parse
from fastmetrics.tables.encoders import writing
from fastmetrics.tables.formats import by_suffix
from fastmetrics.tables.remote_files import look, patiently, plainly, store

MARK = "_fastmetrics.json"
"""The file with the metadata of a run in its folder of parts, written last and deleted first: a folder without it is
incomplete."""


# What a run reads is never replaced by what it writes.


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


# Files and folders that only their owner can read: stores of calls, and the parts of runs that are not finished.


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


# What is at the place of an output, and whether it may be replaced.


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


# The kinds of targets.  Each is checked before a run reads anything, and publishes finished files at the end.


META = ".meta.json"
"""The suffix of the metadata beside an output."""
_PROBE = ".fastmetrics-probe"
PUBLISHING = "publishing"
"""A file in the folder of a run: what a resumed one finds in the place of the output is then its own."""
_WHOLE = ("s3", "gs", "abfs", "abfss", "memory")

Moves = Sequence[tuple[str, str]]
"""The names of finished files in a folder, each with the suffix that its final name adds to that of the output."""


@dataclass(frozen=True)
class Folder:
    """A kind of folder as an output: ``mark``, its last file, says that it is complete.

    ``prefixes`` are those of all its other names, if they are known.
    """

    mark: str
    prefixes: tuple[str, ...] = ()

    def check_own(self, path: Path | str, names: Sequence[str]) -> None:
        """Raise ``OutputError`` for a folder with files of these ``names`` that no such run made."""
        foreign = [name for name in sorted(names) if not name.startswith((*self.prefixes, self.mark, _PROBE))]
        if self.prefixes and foreign:
            raise OutputError(f"{path} contains other files ({foreign[0]!r}); use another folder")
        if not self.prefixes and self.mark not in names:
            raise OutputError(f"{path} is not a folder that such a run made; choose another name, or delete it")


PARTS = Folder(MARK, ("part-",))
"""The folder of a run, with a file for each part."""


@dataclass
class Target(ABC):
    """The place of an output, and of the files ``beside`` it, by the suffixes that their names add to its own.

    ``path`` is a path, or an address without its secrets.
    """

    text: str
    folder: Folder | None
    beside: Sequence[str]
    path: Path | str

    @property
    def suffixes(self) -> list[str]:
        """Those of the output itself and of the files beside it."""
        return ["", *self.beside]

    @abstractmethod
    def shown(self, suffix: str) -> Path | str:
        """The path, or the address without its secrets, of the output or of a file beside it."""

    @abstractmethod
    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output would replace one of the ``inputs``, something else than a file or a
        folder, or, unless ``overwrite``, anything; also if it cannot be written.
        """

    def check_types(self, schema: pa.Schema) -> None:  # noqa: B027 - files hold every type
        """Raise ``OutputError`` for a column that a database to write to has no type for."""

    def check_free(self) -> None:  # noqa: B027 - databases look in their transaction, and streams lose nothing
        """Raise ``OutputError`` for an output that another run wrote since the check, if it may not be replaced."""

    @contextmanager
    def unfinished(self) -> Iterator[Path]:
        """A hidden folder for an output until it is complete; it is deleted at the end."""
        try:
            hidden = tempfile.TemporaryDirectory(prefix=".fastmetrics-", ignore_cleanup_errors=True)
        except FileNotFoundError as error:
            reason = "no folder for temporary files; set TMPDIR to one"
            raise OutputError(f"cannot write {self.path}: {reason}") from error
        with hidden as folder:
            yield Path(folder)

    def drop(self, suffix: str) -> None:  # noqa: B027 - only files have others beside them
        """Delete a file beside the output that an earlier run left."""

    @abstractmethod
    def publish(self, folder: Path, moves: Moves) -> None:
        """Give the finished files in ``folder`` their final names; to repeat this completes what was interrupted."""

    @contextmanager
    def whole(self) -> Iterator[Path]:
        """A hidden folder for the output, called ``whole``, and its metadata, ``meta``: published at the end.

        Raises ``OutputError`` if it cannot be written, or if another run wrote it since the check.
        """
        with writing(self.path), self.unfinished() as folder:
            yield folder
            self.finish(folder, [("whole", ""), ("meta", META)])

    def finish(self, folder: Path, names: Moves) -> None:
        """Write those of the files ``names`` that are in a folder to disk, and publish them in this order."""
        moves = [(name, suffix) for name, suffix in names if (folder / name).exists()]
        for name, _ in moves:
            sync(folder / name, inside=True)
        self.check_free()
        (folder / PUBLISHING).touch()
        for suffix in self.beside:  # a kill before the last rename leaves an output without metadata
            self.drop(suffix)
        self.publish(folder, moves)

    def write(self, data: str | bytes) -> None:
        """Write an output of one file, all of it or nothing."""
        with self.whole() as folder:
            (folder / "whole").write_bytes(_bytes(data))


def _bytes(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode()


@dataclass
class FileTarget(Target):
    """A file or folder, on this machine or at an address."""

    _overwrite: bool = field(default=False, init=False)

    @abstractmethod
    def final(self, suffix: str) -> Path | Url:
        """The path or address of the output or of a file beside it."""

    @abstractmethod
    def names(self, suffix: str) -> Sequence[str] | None:
        """The names in the folder that is there now, none for a file; None if there is nothing."""

    def shown(self, suffix: str) -> Path | str:
        """The final path, or the address without its secrets."""
        final = self.final(suffix)
        return final.shown if isinstance(final, Url) else final

    def check_free(self, advice: str = ", which was not there when this run began") -> None:
        """Raise ``OutputError`` if the output or a file beside it exists and must stay."""
        for suffix in self.suffixes:
            names, is_folder = self.names(suffix), self.folder is not None and not suffix
            if names is None or (is_folder and not names):
                continue
            if not self._overwrite:
                reason = f"{self.shown(suffix)} exists{advice}; choose "
                raise OutputError(reason, Argument("overwrite", True), " to replace it")
            if self.folder is not None and is_folder:
                self.folder.check_own(self.shown(suffix), names)


class LocalTarget(FileTarget):
    """A file or folder on this machine: a run works beside it, and finishes by renaming."""

    def __init__(self, text: str, folder: Folder | None, beside: Sequence[str]) -> None:
        super().__init__(text, folder, beside, Path(text))

    def final(self, suffix: str) -> Path:
        """The path of the output or of a file beside it."""
        return Path(f"{self.path}{suffix}")

    def names(self, suffix: str) -> Sequence[str] | None:
        """The names in the folder that is there now."""
        final = self.final(suffix)
        return os.listdir(final) if final.is_dir() else [] if final.exists() else None

    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output, or a file beside it, may not be written."""
        self._overwrite = overwrite
        with writing(self.path):
            for suffix in self.suffixes:
                check_not_read(self.final(suffix), inputs)
                check_kind(self.final(suffix), folder=self.folder is not None and not suffix)
            if not self.final("").absolute().parent.is_dir():
                raise OutputError(f"cannot write {self.path}: there is no folder {self.final('').absolute().parent}")
            self.check_free("")

    @contextmanager
    def unfinished(self) -> Iterator[Path]:
        """A hidden folder beside the output, from where it can be renamed."""
        with (
            writing(self.path),
            tempfile.TemporaryDirectory(
                prefix=".fastmetrics-", dir=self.final("").absolute().parent, ignore_cleanup_errors=True
            ) as folder,
        ):
            yield Path(folder)

    def drop(self, suffix: str) -> None:
        """Delete a file beside the output that an earlier run left."""
        self.final(suffix).unlink(missing_ok=True)

    def publish(self, folder: Path, moves: Moves) -> None:
        """Rename the files that still have their first names."""
        for name, suffix in moves:
            source, final = folder / name, self.final(suffix)
            if source.exists():
                replace_folder(source, final) if source.is_dir() else os.replace(source, final)
        sync(self.final("").absolute().parent)


def sync(path: Path, *, inside: bool = False) -> None:
    """Wait until a file or the names in a folder, and all that is ``inside`` it, are written to disk."""
    for entry in [*(sorted(path.rglob("*")) if inside else []), path]:
        if entry.is_dir() and not hasattr(os, "O_DIRECTORY"):
            continue  # Windows cannot open folders, and NTFS journals names itself
        handle = os.open(entry, os.O_RDONLY if entry.is_dir() else os.O_RDWR)  # Windows flushes only writeable files
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def replace_folder(source: Path, target: Path) -> None:
    """Give a finished folder its final name; the folder there goes into the folder of the finished one for a moment."""
    old = source.with_name("replaced")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    os.replace(source, target)
    shutil.rmtree(old, ignore_errors=True)


class RemoteTarget(FileTarget):
    """A file or folder at an address: a run works in a local folder and uploads at the end.

    Objects are atomic.  Of a folder, the mark is deleted first and uploaded last.
    """

    def __init__(self, text: str, folder: Folder | None, beside: Sequence[str]) -> None:
        self._url = parse(text)
        super().__init__(text, folder, beside, self._url.shown)

    def final(self, suffix: str) -> Url:
        """The address of the output or of a file beside it."""
        return self._url.beside(suffix) if suffix else self._url

    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output may not or cannot be written: a probe is written and deleted."""
        if not self._url.name:
            raise OutputError(f"cannot write {self.path}: expected a name inside the bucket")
        self._overwrite = overwrite
        with writing(self.path), plainly():
            for suffix in self.suffixes:
                check_not_read(self.final(suffix), inputs)
            for suffix in self.suffixes:
                info, is_folder = look(store(self.final(suffix))), self.folder is not None and not suffix
                if info.type.name != "NotFound" and info.is_file == is_folder:
                    raise OutputError(f"{self.shown(suffix)} exists and is {'not a' if is_folder else 'a'} folder")
            self.check_free("")
            self._probe()

    def names(self, suffix: str) -> Sequence[str] | None:
        """The names in the folder that is there now."""
        with plainly():
            if look(store(self.final(suffix))).type.name == "NotFound":
                return None
            return [] if self.folder is None or suffix else sorted(self._files() - {_PROBE})

    def _files(self) -> set[str]:
        """The files in the folder."""
        return set(patiently(lambda: remote.listing(store(self._url), deep=True)[0]))

    def _probe(self) -> None:
        probe = (self._url.folder if self.folder is None else self._url).child(_PROBE)
        place = store(probe)
        if probe.scheme not in ("s3", "gs"):  # the others have real folders
            folder = store(probe.folder)
            folder.system.create_dir(folder.path, recursive=True)
        with place.system.open_output_stream(place.path) as stream:
            stream.write(b"Whether an output can be written here.\n")
        # Deletion may be forbidden, or another run may have deleted it; readers ignore names that start with a dot.
        with suppress(OSError):
            place.system.delete_file(place.path)

    def drop(self, suffix: str) -> None:
        """Delete a file beside the output that an earlier run left."""
        _delete(self.final(suffix))

    def publish(self, folder: Path, moves: Moves) -> None:
        """Upload the files; to repeat an upload gives the same result."""
        with writing(self.path), plainly():
            for name, suffix in moves:
                if (folder / name).is_dir():
                    self._upload_folder(folder / name)
                else:
                    upload(folder / name, self.final(suffix))

    def _upload_folder(self, folder: Path) -> None:
        """Replace the files of the folder."""
        assert self.folder is not None
        mark = self.folder.mark
        names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {mark}
        _delete(self._url.child(mark))
        for name in self._files() - names - {mark, _PROBE}:
            _delete(self._url.child(name))

        def upload_file(name: str) -> None:
            upload(folder / name, self._url.child(name))

        for _ in ordered(upload_file, sorted(names), SIZES.uploaded_files):
            pass
        upload_file(mark)


def _delete(url: Url) -> None:
    with plainly():
        place = store(url)
        if look(place).is_file:
            place.system.delete_file(place.path)


def upload(path: Path, url: Url) -> None:
    """Upload a local file to a store atomically; retried if a connection breaks."""
    from pyarrow import fs

    place = store(url)
    whole = url.scheme in _WHOLE
    target = place if whole else store(url.folder.child(f".{url.name}.uploading"))

    def copy() -> None:
        with plainly():
            # One call, because closing an output stream after an exception would leave an incomplete object.
            fs.copy_files(
                str(path),
                target.path,
                source_filesystem=fs.LocalFileSystem(),
                destination_filesystem=target.system,
                chunk_size=SIZES.upload_block_bytes,
            )
            if not whole:
                if remote.look(place).is_file:
                    place.system.delete_file(place.path)
                place.system.move(target.path, place.path)

    patiently(copy)


def cache_folder() -> Path:
    """The folder of the user's caches, where replies of models are stored unless another place is named."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "fastmetrics"


class StreamTarget(Target):
    """A pipe or a device such as ``/dev/stdout``, into which a page is written."""

    def __init__(self, text: str) -> None:
        super().__init__(text, None, (), text)

    def check(self, inputs: Any, *, overwrite: bool) -> None:
        """Do nothing: nothing there can be lost."""

    def shown(self, suffix: str) -> str:
        """The name of the stream."""
        return self.text

    def publish(self, folder: Path, moves: Moves) -> None:
        """Write the finished files into the stream."""
        for name, _ in moves:
            self.write((folder / name).read_bytes())

    def write(self, data: str | bytes) -> None:
        """Write into the stream; one that nobody reads any more has seen enough."""
        with writing(self.path), suppress(BrokenPipeError), open(self.text, "ab", buffering=0) as stream:
            stream.write(_bytes(data))


def is_stream(path: str) -> bool:
    """Whether a path is a pipe, a terminal or such, or an open file of this process, such as ``/dev/stdout``."""
    if os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/")):
        return True
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)
