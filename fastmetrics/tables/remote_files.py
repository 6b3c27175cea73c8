"""Files at addresses: object stores, listings and patterns, and reading with retries after temporary faults."""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from glob import has_magic
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, FileFormatError, MissingExtraError, OptionError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.tables.addresses import NATIVE, Url, parameters, parse
from fastmetrics.tables.table_chunks import Chunk

# Retries after temporary faults, such as network errors: of a call, or of reading from the last position.


T = TypeVar("T")


def patiently(do: Callable[[], T]) -> T:
    """The result of ``do``, retried a few times if a connection breaks."""
    for pause in _pauses():
        try:
            return do()
        except OSError as error:
            if not passing(error):
                raise
        time.sleep(pause)
    return do()


def patient(chunks_from: Callable[[int], Iterator[Chunk]], start: int) -> Iterator[Chunk]:
    """The chunks of ``chunks_from`` from row ``start`` on; after a system error, reading restarts after the last chunk.

    Raises ``FileFormatError`` at once if the fault is permanent, else after three failures without a row in between.
    """
    pauses = _pauses()
    while True:
        try:
            for chunk in chunks_from(start):
                yield chunk
                start, pauses = max(start, chunk.stop), _pauses()
            return
        except FileFormatError as error:
            pause = next(pauses, None)
            if pause is None or not passing(error.__cause__):
                raise
        time.sleep(pause)


def _pauses() -> Iterator[float]:
    """The seconds to wait before each further attempt."""
    return (RETRY_LIMITS.pause_seconds * 2**failures for failures in range(RETRY_LIMITS.read_tries - 1))


# Patterns of paths: their matches in a listing of an object store, and on a local disk.
#
# :func:`matching` defines the rules, because Python's ``glob`` differs between versions.


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


# Object stores and other file systems at an address: connections, and one-line descriptions of their errors.
#
# Credentials come from the standard locations of each store's tools, or from the address; they are not stored or
# shown.


_LONGEST = 200
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class Store(NamedTuple):
    """An Arrow file system, the address's path in it, and whether it is native to Arrow (not implemented in Python)."""

    system: Any
    path: str
    native: bool


def store(url: Url) -> Store:
    """The file system of an address, created once per process for all paths of one bucket or server."""
    native = url.scheme in NATIVE
    with plainly():
        if not native:
            system, path = _spec(url)
            return Store(system, path, native)
        key = hash(tuple(sorted(pair for pair in os.environ.items() if pair[0].startswith(("AWS_", "GOOGLE_")))))
        system, base = _native(url.scheme, url.authority, url.query, os.getpid(), key)
    return Store(system, base.rstrip("/") + url.path if url.path.strip("/") else base, native)


@lru_cache(64)
def _native(scheme: str, authority: str, query: str, process: int, environment: int) -> tuple[Any, str]:
    """The file system of a bucket; a forked process, or one with changed credentials, creates its own."""
    from pyarrow import fs

    url = Url(scheme, authority, "", query)
    if not authority and scheme != "hdfs":
        raise OptionError(f"{url.shown}: expected the name of a bucket, as in {scheme}://bucket/rows.parquet")
    if scheme == "s3":
        return _s3(url)
    if scheme == "gs" and "retry_limit_seconds" not in parameters(url):
        limit = f"retry_limit_seconds={RETRY_LIMITS.request_seconds:g}"
        url = Url(scheme, authority, "", "&".join(filter(None, [query, limit])))
    try:
        system, base = fs.FileSystem.from_uri(str(url) if scheme != "hdfs" else f"{Url(scheme, authority, '/', query)}")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Arrow's message contains the whole address, with credentials.
        raise OptionError(f"{url.shown}: Arrow cannot parse this address") from None
    except OSError as error:
        if "libhdfs" in str(error) or "libjvm" in str(error):
            raise MissingExtraError(
                f"{url.shown}: hdfs:// needs Hadoop's client and Java, which were not found: "
                "set HADOOP_HOME (or ARROW_LIBHDFS_DIR), JAVA_HOME and CLASSPATH"
            ) from None
        raise
    return system, base


def _s3(url: Url) -> tuple[Any, str]:
    from pyarrow import fs

    user, _, bucket = url.authority.rpartition("@")
    if ":" in bucket:
        raise OptionError(f"{url.shown}: write / as %2F in the secret of an address")
    options: dict[str, Any] = {
        name: _flag(name, value)
        if name in ("anonymous", "allow_bucket_creation", "force_virtual_addressing")
        else value
        for name, value in parameters(url).items()
    }
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and "endpoint_override" not in options:
        options["endpoint_override"] = endpoint.rstrip("/")
    if user:
        name, _, secret = user.partition(":")
        options |= (
            {"anonymous": True} if user == "anonymous" else {"access_key": unquote(name), "secret_key": unquote(secret)}
        )
    if "region" not in options and "endpoint_override" not in options:
        options["region"] = _region(bucket)
    # Background writes would buffer without limit in memory on a slow network.
    settings = {
        "connect_timeout": RETRY_LIMITS.connect_seconds,
        "request_timeout": RETRY_LIMITS.request_seconds,
        "background_writes": False,
    }
    try:
        system = fs.S3FileSystem(
            **settings,
            **options,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=RETRY_LIMITS.store_attempts),
        )
    except (TypeError, ValueError) as error:
        raise OptionError(f"{url.shown}: {error}") from None
    return system, bucket


def _flag(name: str, value: str) -> bool:
    if value.lower() not in _FLAGS:
        raise OptionError(f"{name}={value}: expected true or false")
    return _FLAGS[value.lower()]


def _region(bucket: str) -> str | None:
    """The region of a bucket; if Amazon does not return it, the region of the environment or profile."""
    from pyarrow import fs

    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError:
        if os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
            return None
        raise


def _spec(url: Url) -> tuple[Any, str]:
    """A file system of fsspec, for schemes without native support in Arrow."""
    from pyarrow import fs

    try:
        import fsspec
    except ImportError:
        raise MissingExtraError.of("fsspec", "fsspec") from None
    try:
        system, path = fsspec.core.url_to_fs(str(url), **_limits(url.scheme))
    except ImportError as error:
        raise MissingExtraError(
            f"{url.shown}: {url.scheme}:// needs a package that is not installed: {error}"
        ) from None
    except ValueError as error:
        if "rotocol not known" in str(error):
            schemes = "file, s3, gs, hdfs, abfs, and the schemes of fsspec, such as http, https, sftp"
            raise OptionError(f"{url.shown}: unknown scheme {url.scheme!r}; known: {schemes}") from None
        raise
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _limits(scheme: str) -> dict[str, Any]:
    """Timeouts of web requests, instead of fsspec's five minutes."""
    if scheme not in ("http", "https"):
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(connect=RETRY_LIMITS.connect_seconds, sock_read=RETRY_LIMITS.request_seconds)
    return {"client_kwargs": {"timeout": timeout}}


@contextmanager
def plainly() -> Iterator[None]:
    """Convert the errors of the packages behind fsspec into ``OSError``."""
    try:
        yield
    except (OSError, FastmetricsError):
        raise
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        raise OSError(str(error).removeprefix("Unknown error: ")) from error
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


_AWS = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))? during (\w+) operation: (.*)", re.DOTALL)
_GOOGLE = re.compile(r"google::cloud::Status\((\w+): (.*)", re.DOTALL)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^\s'\"<>]+")
_DENIED = "permission denied; check the credentials and their permissions"
_REFUSED = "the credentials were rejected"
_UNREACHED = "the store is not reachable"
_CAUSES: Mapping[str, str] = {
    "ACCESS_DENIED": _DENIED,
    "PERMISSION_DENIED": _DENIED,
    "403": _DENIED,
    "INVALID_ACCESS_KEY_ID": _REFUSED,
    "INVALID_CLIENT_TOKEN_ID": _REFUSED,
    "MISSING_AUTHENTICATION_TOKEN": _REFUSED,
    "INVALID_SIGNATURE": _REFUSED,
    "SIGNATURE_DOES_NOT_MATCH": _REFUSED,
    "UNRECOGNIZED_CLIENT": _REFUSED,
    "EXPIRED_TOKEN": _REFUSED,
    "UNAUTHENTICATED": _REFUSED,
    "401": _REFUSED,
    "NO_SUCH_BUCKET": "there is no such bucket",
    "NO_SUCH_KEY": "there is no such object",
    "RESOURCE_NOT_FOUND": "there is no such object",
    "NOT_FOUND": "there is no such bucket or object",
    "404": "there is no such object",
    "301": "the bucket is in another region; set it with ?region=",
    "PERMANENT_REDIRECT": "the bucket is in another region; set it with ?region=",
}
_PASSING = {"NETWORK_CONNECTION": _UNREACHED, "UNAVAILABLE": _UNREACHED, "DEADLINE_EXCEEDED": _UNREACHED}


def _code(error: BaseException) -> tuple[str, str]:
    """The store's error code, if there is one, and its message."""
    text = str(error)
    match = _AWS.search(text)
    if match is not None:
        exception = re.search(r"ExceptionName: (\w+)", match[4])
        code = _snake(exception[1]) if exception else (match[2] or match[1]) if match[1] == "UNKNOWN" else match[1]
        return code, re.split(r" ?\(Request ID|; Details: ", match[4])[0].strip()
    match = _GOOGLE.search(text)
    return (match[1], match[2].partition(" error_info=")[0]) if match is not None else ("", text)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def cause(error: BaseException) -> str:
    """What went wrong, in one line.

    >>> cause(OSError("When getting x: AWS Error ACCESS_DENIED during HeadObject operation: No response body."))
    'permission denied; check the credentials and their permissions'
    """
    code, message = _code(error)
    # Messages of packages may contain the address with its credentials.
    line = _ADDRESS.sub(lambda match: parse(match[0]).shown, (message.splitlines() or [""])[0])[:_LONGEST]
    if _ADDRESS.fullmatch(message.strip()):
        return "the server refused the request"
    if "OAuth2 access token" in message:
        return "no Google Cloud credentials were found; write anonymous@ before the bucket's name for public buckets"
    if code in _PASSING:
        return f"{_PASSING[code]}: {re.split(r', |error .[0-9]+.=', line)[-1] or code}"
    if code:
        return _CAUSES.get(code) or f"the store answers {code}" + (f": {line}" if line else "")
    return line or type(error).__name__


def passing(error: BaseException | None) -> bool:
    """Whether a retry can help: for a broken connection or a busy store, not for a refused request."""
    if not isinstance(error, OSError) or isinstance(error, FastmetricsError):
        return False
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError):
        return False
    return _code(error)[0] not in _CAUSES


# Files at addresses: listing them, and reading their bytes with retries.


_NO_BUCKET = "there is no bucket"
_VERSIONS = ("ETag", "etag", "mtime", "modified", "created", "LastModified", "last_modified", "updated")

Stamp = tuple[int, str]
"""A remote file's size, which is None where a web server does not tell it, and data that identify its version."""


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
    info = patiently(partial(look, place))
    if info.is_file and not url.path.endswith("/"):
        return [FoundFile(url, None, _stamp(place, info))]
    if has_magic(url.path) and info.type.name == "NotFound":
        return _matching(url, place)
    if info.type.name != "Directory":
        raise FileFormatError(f"{url.shown}: cannot be read: {missing(url, place)}")
    return _folder(url, place, "", listing(place, deep=True)[0])


def look(place: Store) -> Any:
    """Arrow's current ``FileInfo`` of a location; raises ``OSError`` if a web server fails, or is busy."""
    if not place.native:
        place.system.handler.fs.invalidate_cache()
    info = place.system.get_file_info(place.path.rstrip("/") or place.path)
    status = getattr(_web_failure(place), "status", 0) if info.type.name == "NotFound" else 0
    if status >= 500 or status == 429:
        raise OSError(_answer(status))
    return info


def _web_failure(place: Store) -> BaseException | None:
    """Why a web server does not give a file; fsspec calls any of its refusals a missing file."""
    if place.native or "http" not in place.system.handler.fs.protocol:
        return None
    try:
        place.system.handler.fs.info(place.path)
    except FileNotFoundError as error:
        return error.__cause__
    return None


def _answer(status: int) -> str:
    known = {code.value: f" ({code.phrase})" for code in HTTPStatus}
    return f"the server answers {status}{known.get(status, '')}"


def stream_of(url: Url) -> Any:
    """The bytes of a file whose size the server does not tell."""
    place = store(url)
    return patiently(lambda: place.system.open_input_stream(place.path))


def missing(url: Url, place: Store) -> str:
    """The missing part of an address: the bucket, or the object in it."""
    bucket = place.path.partition("/")[0]
    if url.scheme in ("s3", "gs") and place.system.get_file_info(bucket).type.name == "NotFound":
        return f"{_NO_BUCKET} {bucket!r}"
    failure = _web_failure(place)
    if isinstance(failure, OSError) and not isinstance(failure, FileNotFoundError):
        return f"the server is not reachable: {cause(failure)}"
    status = getattr(failure, "status", None)
    if status not in (None, 404, 410):
        return _answer(status)
    return "there is no such file or folder"


def _matching(url: Url, place: Store) -> list[FoundFile]:
    """The matches of a pattern, each file once, even if its folder matches too."""
    above, pattern = fixed(url.path)
    base = replace(url, path=above)
    try:
        files, folders = listing(store(base), deep=is_deep(pattern))
    except NotADirectoryError:  # the prefix without wildcards is a file
        files, folders = {}, []
    found_folders, found_files = matching(pattern, ["", *folders], files)
    if found_folders and not is_deep(pattern):
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
    """The bytes of a remote file; a failed read is retried at the byte reached."""

    def __init__(self, url: Url, stamp: Stamp) -> None:
        self._url, self._stamp = url, stamp
        self._place = store(url)
        self._file: Any = None
        self._at = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._stamp[0]}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """The next bytes, fewer than the buffer takes only at the end."""
        size = max(0, min(len(buffer), self._stamp[0] - self._at))
        if size:
            buffer[:size] = patiently(lambda: self._fetch(size))
            self._at += size
        return size

    def _fetch(self, size: int) -> bytes:
        try:
            with plainly():
                if self._file is None:
                    self._file = unchanged(self._place, self._url, self._stamp)
                data = bytes(self._file.read_at(size, self._at))
            if len(data) < size:
                raise OSError(f"the file ends after {self._at + len(data)} of {self._stamp[0]} bytes")
            return data
        except OSError:
            self._file = None
            raise

    def close(self) -> None:
        """Close the connection."""
        self._file = None
        super().close()


def remote_file(url: Url, stamp: Stamp, ahead: int) -> io.BufferedReader:
    """The bytes of a remote file, of which ``ahead`` are read at least."""
    return io.BufferedReader(RemoteFile(url, stamp), ahead)


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
