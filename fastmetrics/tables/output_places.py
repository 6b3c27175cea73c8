"""Where an output goes, a local folder or a store, and what it may replace: no input, link or device; names appear
whole.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.base.threads import ordered
from fastmetrics.tables import remote_files
from fastmetrics.tables import remote_files as remote
from fastmetrics.tables.addresses import Url, as_local, is_database, is_url, parse
from fastmetrics.tables.encoders import writing
from fastmetrics.tables.file_formats import by_suffix
from fastmetrics.tables.input_files import WORK_SUFFIX, local_path, walked
from fastmetrics.tables.remote_files import cause, look, patiently, plainly, store
from fastmetrics.tables.written_tables import REJECTS, WrittenTable

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


# The completion mark of a folder of parts: a file with the metadata of the run, written last and deleted first.
#
# A folder without it is incomplete.


MARK = "_fastmetrics.json"
"""The name of the file."""


def write_mark(folder: Path, metadata: str) -> None:
    """Mark a folder as complete."""
    (folder / MARK).write_text(metadata + "\n", encoding="utf-8")


def mark_path(folder: str) -> str:
    """The path or address of a folder's mark."""
    return str(parse(folder).child(MARK)) if is_url(folder) else os.path.join(folder, MARK)


# What an output may replace: no input, be it named by a link, folder, pattern or address, and no link or device.


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


# The final location of an output: a local folder, or a store at an address.


_PROBE = ".fastmetrics-probe"
_OURS = ("part-", MARK, _PROBE)
_WHOLE = ("s3", "gs", "abfs", "abfss", "memory")

Moves = Sequence[tuple[str, str]]
"""The names of finished files in the work folder, and their final names."""


class LocalTarget:
    """A local file or folder; a run works beside it and finishes by renaming."""

    def __init__(self, path: str, folder: bool) -> None:
        self.path: Path | str = Path(os.path.abspath(path))
        self.work = Path(f"{self.path}{WORK_SUFFIX}")
        self.suffix = Path(path).suffix
        self._path = Path(self.path)
        self._folder = folder
        self._seen: dict[Path, Content] = {}

    def beside(self, suffix: str) -> Path | str:
        """The path of a file whose name starts with the output's name."""
        return Path(f"{self.path}{suffix}")

    def check(self, inputs: Any, beside: Sequence[str], *, replaceable: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the target, or a file ``beside`` it, may not be written."""
        with writing(self.path):
            self._check(inputs, beside, overwrite or replaceable)

    def _check(self, inputs: Any, beside: Sequence[str], replaceable: bool) -> None:
        paths = [Path(f"{self._path}{suffix}") for suffix in beside]
        for path in (self._path, *paths):
            check_not_read(path, inputs)
            check_kind(path, folder=self._folder and path == self._path)
        if self._path.exists():
            names = sorted(os.listdir(self._path)) if self._folder else None
            check_existing(self.path, names, replaceable)
        for path in paths:
            if path.exists() and not replaceable:
                refuse_existing(path)
        if not self._path.parent.is_dir():
            raise OutputError(f"cannot write {self.path}: there is no folder {self._path.parent}")
        self._seen = {path: content_of(path) for path in (self._path, *paths)}

    def check_unchanged(self) -> None:
        """Raise ``OutputError`` if something was written here since the check."""
        for path, seen in self._seen.items():
            if (now := content_of(path)) is not None and now != seen:
                again = f"{path} was written by another program in the meantime, and stays; move it away, and choose "
                raise OutputError(again, Argument("resume", True))

    def drop(self, suffix: str) -> None:
        """Delete a file beside the output that an earlier run left."""
        Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def settle(self, work: Path, moves: Moves) -> None:
        """Complete the remaining renames."""
        for temporary, final in moves:
            source, target = work / temporary, self._path.parent / final
            if source.exists():
                if target.is_dir():  # which no folder replaces; after a crash here, the next run makes the second step
                    os.replace(target, work / "replaced")
                os.replace(source, target)
        sync(self._path.parent)


def check_existing(path: Path | str, names: list[str] | None, overwrite: bool) -> None:
    """Raise ``OutputError`` if an output exists and must stay; ``names`` are those in a folder, None for a file."""
    if names is not None and not names:
        return
    if not overwrite:
        refuse_existing(path)
    foreign = [name for name in names or [] if not name.startswith(_OURS)]
    if foreign:
        raise OutputError(f"{path} contains other files ({foreign[0]!r}); use another folder")


def sync(path: Path) -> None:
    """Wait until a file, or a folder and its files, are written to disk."""
    for entry in [*(sorted(path.iterdir()) if path.is_dir() and path.name == "parts" else []), path]:
        if entry.is_dir() and not hasattr(os, "O_DIRECTORY"):
            continue  # Windows cannot open folders, and NTFS journals names itself
        handle = os.open(entry, os.O_RDONLY if entry.is_dir() else os.O_RDWR)  # Windows flushes only writeable files
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class RemoteTarget:
    """A file or folder at an address; a run works in a local folder and uploads at the end.

    Objects are atomic.  For a folder, the parts are uploaded first and ``_fastmetrics.json`` last, so a folder without
    it is incomplete.
    """

    def __init__(self, url: Url, folder: bool, work: str | Path | None) -> None:
        self._url = url
        self._folder = folder
        self.path: Path | str = url.shown
        self.suffix = PurePosixPath(url.name).suffix
        self.work = _work_folder(url.shown, work)

    def beside(self, suffix: str) -> Path | str:
        """The address of a file whose name starts with the output's name."""
        return self._url.beside(suffix).shown

    def check(self, inputs: Any, beside: Sequence[str], *, replaceable: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the target may not or cannot be written: a probe is written and deleted."""
        if not self._url.name:
            raise OutputError(f"cannot write {self.path}: expected a name inside the bucket")
        with writing(self.path), plainly():
            place = store(self._url)
            bucket = store(Url(self._url.scheme, self._url.authority, "", self._url.query))
            if self._url.scheme in ("s3", "gs") and remote.look(bucket).type.name == "NotFound":
                raise OutputError(f"cannot write {self.path}: {remote.missing(self._url, place)}")
            info = remote.look(place)
            urls = [self._url.beside(suffix) for suffix in beside]
            for url in (self._url, *urls):
                check_not_read(url, inputs)
            if not replaceable and info.type.name != "NotFound":
                if info.is_file == self._folder:
                    raise OutputError(f"{self.path} exists and is {'not a' if self._folder else 'a'} folder")
                check_existing(self.path, self._names() if self._folder else None, overwrite)
            for url in () if overwrite or replaceable else urls:
                if remote.look(store(url)).is_file:
                    refuse_existing(url.shown)
            self._probe()

    def check_unchanged(self) -> None:
        """Do nothing: uploads of two machines to one address replace each other."""

    def _names(self) -> list[str]:
        files, folders = remote.listing(store(self._url), deep=False)
        return sorted({*files, *folders} - {_PROBE})

    def _probe(self) -> None:
        probe = (self._url if self._folder else self._url.folder).child(_PROBE)
        place = store(probe)
        self._make_folder(probe)
        with place.system.open_output_stream(place.path) as stream:
            stream.write(b"Whether scores can be written here.\n")
        # Deletion may be forbidden, or another run may have deleted it; readers ignore names that start with a dot.
        with suppress(OSError):
            place.system.delete_file(place.path)

    def _make_folder(self, url: Url) -> None:
        """Create the folder of a file on stores with real folders."""
        if url.scheme not in ("s3", "gs"):
            place = store(url.folder)
            place.system.create_dir(place.path, recursive=True)

    def drop(self, suffix: str) -> None:
        """Delete a file beside the output that an earlier run left."""
        self._delete(self._url.beside(suffix))

    @staticmethod
    def _delete(url: Url) -> None:
        with plainly():
            place = store(url)
            if remote.look(place).is_file:
                place.system.delete_file(place.path)

    def settle(self, work: Path, moves: Moves) -> None:
        """Upload the remaining files; repeating an upload gives the same result."""
        try:
            for temporary, final in moves:
                if (work / temporary).is_dir():
                    self._upload_folder(work / temporary, work / "uploaded")
                else:
                    upload(work / temporary, self._url.folder.child(final))
        except OSError as error:
            failure = f"cannot write {self.path}: {cause(error)}; the scores are kept in {work}: "
            raise OutputError(failure, Argument("resume", True), " uploads them") from error

    def _upload_folder(self, parts: Path, journal: Path) -> None:
        recorded = journal.read_text(encoding="utf-8", errors="replace").split() if journal.exists() else []
        self._delete(self._url.child(MARK))
        sizes = {path.name: path.stat().st_size for path in parts.iterdir() if path.name != MARK}
        uploaded, _ = remote.listing(store(self._url), deep=False)
        for name in uploaded.keys() - sizes.keys():
            if name.startswith("part-"):
                self._delete(self._url.child(name))
        done = {name for name in recorded if name in uploaded and uploaded[name].size == sizes.get(name)}

        def upload_part(name: str) -> str:
            upload(parts / name, self._url.child(name))
            return name

        with open(journal, "a", encoding="utf-8") as notes:
            for name in ordered(upload_part, sorted(sizes.keys() - done), SIZES.uploaded_files):
                notes.write(f"{name}\n")
                notes.flush()
        upload(parts / MARK, self._url.child(MARK))


def upload(path: Path, url: Url) -> None:
    """Upload a local file to a store atomically; retried if a connection breaks."""
    from pyarrow import fs

    size = path.stat().st_size
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
            uploaded_size = remote.look(place).size
            if uploaded_size != size:
                raise OSError(f"{url.shown} has {uploaded_size} bytes after the upload of {size}")

    patiently(copy)


def _work_folder(shown: str, work: str | Path | None) -> Path:
    """The local folder of a run whose output is elsewhere."""
    digest = hashlib.sha256(shown.rstrip("/").encode()).hexdigest()[:16]
    return (cache_folder() if work is None else local_path(work, "work").absolute()) / f"{digest}{WORK_SUFFIX}"


def cache_folder() -> Path:
    """The default location of work folders for outputs in a store."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "fastmetrics" / "runs"


class DatabaseTarget:
    """A table in a database; a run works in a local folder and writes the table at the end, in one transaction."""

    suffix = ".parquet"

    def __init__(self, address: str, work: str | Path | None) -> None:
        self._written = WrittenTable(address)
        self.path: Path | str = self._written.table.url.shown
        self.work = _work_folder(self.path, work)
        self._replaceable = False

    def beside(self, suffix: str) -> Path | str:
        """The address of the table of rejected rows."""
        return self._written.beside(REJECTS)

    def check(self, inputs: Any, beside: Sequence[str], *, replaceable: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the table may not or cannot be written."""
        self._replaceable = overwrite or replaceable
        self._written.check(inputs, overwrite=self._replaceable)

    def check_types(self, schema: pa.Schema) -> None:
        """Raise ``OutputError`` for a column that the database has no type for."""
        self._written.check_types(schema)

    def check_unchanged(self) -> None:
        """Do nothing: the transaction that writes the table looks whether another one was written meanwhile."""

    def drop(self, suffix: str) -> None:
        """Do nothing: the rejected rows of an earlier run are dropped in the transaction that writes the table."""

    def settle(self, work: Path, moves: Moves) -> None:
        """Write the table; repeating this gives the same result."""
        names = [temporary for temporary, _ in moves]
        rejects = next((work / name for name in names if name.endswith(".jsonl")), None)
        try:
            self._written.write(work / f"output{self.suffix}", rejects, overwrite=self._replaceable)
        except OutputError as error:
            scores_left = f"; the scores are kept in {work}: "
            raise OutputError(*error.message.parts, scores_left, Argument("resume", True), " writes them") from None
        self._replaceable = True


def target(
    path: str | Path, folder: bool, work: str | Path | None = None
) -> LocalTarget | RemoteTarget | DatabaseTarget:
    """The target for a path or address; ``work`` is the location of the work folder for an output in a store."""
    text = as_local(path)
    if is_database(text):
        return DatabaseTarget(text, work)
    if is_url(text):
        return RemoteTarget(parse(text), folder, work)
    if work is not None:
        beside = f" is only for outputs in a store; a local output uses {text}.partial"
        raise OptionError(Argument("work", str(work)), beside)
    return LocalTarget(text, folder)
