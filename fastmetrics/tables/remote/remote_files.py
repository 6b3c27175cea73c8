"""Files at addresses: listing them, and reading their bytes with retries."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from glob import has_magic
from typing import Any, TypeVar

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES, STANDARD
from fastmetrics.base.threads import ordered
from fastmetrics.tables.remote import globs
from fastmetrics.tables.remote.addresses import Url, parse
from fastmetrics.tables.remote.stores import Store, cause, plainly, store
from fastmetrics.tables.retry import patiently

T = TypeVar("T")

_NO_BUCKET = "there is no bucket"
_VERSIONS = ("ETag", "etag", "mtime", "modified", "created", "LastModified", "last_modified", "updated")

Stamp = tuple[int, str]
"""A remote file's size, and further data that identify its version."""


@dataclass(frozen=True)
class FoundFile:
    """A file: ``relative`` is its path in the input folder, or None if it was named itself."""

    url: Url
    relative: str | None
    stamp: Stamp


def find(text: str) -> list[FoundFile]:
    """The files for an address: a file, all files in a folder, or the matches of a pattern.

    Names in a folder that start with ``_`` or a dot are ignored.  Raises ``FileFormatError`` if there are none.
    """
    url = parse(text)
    place = store(url)
    info = look(place)
    if info.is_file and not url.path.endswith("/"):
        return [FoundFile(url, None, _stamp(place, info))]
    if has_magic(url.path) and info.type.name == "NotFound":
        return _matching(url, place)
    if info.type.name != "Directory":
        raise FileFormatError(f"{url.shown}: cannot be read: {missing(url, place)}")
    return _folder(url, place, "", listing(place, deep=True)[0])


def look(place: Store) -> Any:
    """Arrow's current ``FileInfo`` of a location."""
    if not place.native:
        place.system.handler.fs.invalidate_cache()
    return place.system.get_file_info(place.path.rstrip("/") or place.path)


def missing(url: Url, place: Store) -> str:
    """The missing part of an address: the bucket, or the object in it."""
    bucket = place.path.partition("/")[0]
    if url.scheme in ("s3", "gs") and place.system.get_file_info(bucket).type.name == "NotFound":
        return f"{_NO_BUCKET} {bucket!r}"
    if url.scheme in ("http", "https"):
        try:
            place.system.handler.fs.info(place.path)
        except FileNotFoundError as error:  # fsspec says so of any failure
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                return f"the server is not reachable: {cause(error.__cause__)}"
    return "there is no such file or folder"


def _matching(url: Url, place: Store) -> list[FoundFile]:
    """The matches of a pattern, each file once, even if its folder matches too."""
    above, pattern = globs.fixed(url.path)
    base = replace(url, path=above)
    try:
        files, folders = listing(store(base), deep=globs.is_deep(pattern))
    except NotADirectoryError:  # the prefix without wildcards is a file
        files, folders = {}, []
    found_folders, found_files = globs.matching(pattern, ["", *folders], files)
    if found_folders and not globs.is_deep(pattern):
        files, _ = listing(store(base), deep=True)
    matches: dict[str, FoundFile] = {}
    for name in sorted([*found_folders, *found_files]):
        if name in found_files:
            group = [FoundFile(base.child(name), None, _stamp(place, files[name]))]
        else:
            group = _folder(base, place, name, files)
        for match in group:
            matches.setdefault(str(match.url), match)
    if not matches and (lacking := missing(url, place)).startswith(_NO_BUCKET):
        raise FileFormatError(f"{url.shown}: {lacking}")
    return list(matches.values())


def listing(place: Store, *, deep: bool) -> tuple[dict[str, Any], list[str]]:
    """The files and folders below a location, by relative path, from one listing."""
    from pyarrow import fs

    base = place.path.rstrip("/")
    selector = fs.FileSelector(base or place.path, recursive=deep, allow_not_found=True)
    files: dict[str, Any] = {}
    folders: set[str] = set()
    for info in place.system.get_file_info(selector):
        name = info.path[len(base) :].strip("/")
        if info.is_file and not info.path.endswith("/"):
            files[name] = info
        elif name:
            folders.add(name)
        steps = name.split("/")
        folders.update("/".join(steps[:at]) for at in range(1, len(steps)))
    return files, sorted(folders)


def _folder(base: Url, place: Store, folder: str, files: dict[str, Any]) -> list[FoundFile]:
    files_inside = []
    for name in sorted(files):
        if folder and not name.startswith(f"{folder}/"):
            continue
        relative = name[len(folder) :].lstrip("/")
        if not any(step.startswith(("_", ".")) for step in relative.split("/")):
            files_inside.append(FoundFile(base.child(name), relative, _stamp(place, files[name])))
    return files_inside


def _stamp(place: Store, info: Any) -> Stamp:
    """Size and modification time in seconds, which listings and single requests both report."""
    if info.mtime_ns is not None:
        return info.size, str(info.mtime_ns // 10**9)
    if place.native:
        return info.size, ""
    details = place.system.handler.fs.info(info.path)
    return info.size, next((str(details[name]) for name in _VERSIONS if details.get(name) is not None), "")


class RemoteFile(io.RawIOBase):
    """The bytes of a remote file; a failed read is retried at the byte reached.

    Small reads are served from blocks of ``ahead`` bytes.
    """

    def __init__(self, url: Url, stamp: Stamp, ahead: int = STANDARD.remote_ahead_bytes) -> None:
        self._url, self._stamp, self._ahead = url, stamp, ahead
        self._place = store(url)
        self._file: Any = None
        self._at = self._start = 0
        self._block = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """The position of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._stamp[0]}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes, fewer only at the end."""
        left = max(0, self._stamp[0] - self._at)
        size = left if size is None or size < 0 else min(size, left)
        start = self._at - self._start
        data = self._block[start : start + size] if start >= 0 else b""
        if len(data) < size:
            offset = self._at + len(data)
            more = self._fetch(offset, max(size - len(data), min(self._ahead, self._stamp[0] - offset)))
            if len(more) <= self._ahead:
                self._start, self._block = offset, more
            data = (data + more if data else more)[:size]
        self._at += len(data)
        return data

    def _fetch(self, offset: int, size: int) -> bytes:
        def fetch() -> bytes:
            try:
                with plainly():
                    if self._file is None:
                        self._file = unchanged(self._place, self._url, self._stamp)
                    data = bytes(self._file.read_at(size, offset))
                if len(data) < size:
                    raise OSError(f"the file ends after {offset + len(data)} of {self._stamp[0]} bytes")
                return data
            except OSError:
                self._file = None
                raise

        return patiently(fetch)

    def close(self) -> None:
        """Close the connection."""
        self._file = None
        self._block = b""
        super().close()


def unchanged(place: Store, url: Url, stamp: Stamp) -> Any:
    """The file opened for random access; raises ``FileFormatError`` if it is not as long as it was when found."""
    file = place.system.open_input_file(place.path)
    if file.size() != stamp[0]:
        raise FileFormatError(f"{url.shown}: changed while it was read; its size was {stamp[0]:,} bytes")
    return file


def side_by_side(make: Callable[[Any], T], files: Iterable[Any]) -> list[T]:
    """``make`` of each file in order; several remote files at a time, because each needs one or two round trips."""
    files = list(files)
    if not any(file.is_remote for file in files):
        return [make(file) for file in files]
    return list(ordered(make, files, SIZES.remote_files))
