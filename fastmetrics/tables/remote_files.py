"""Files at addresses: object stores, listings and patterns, and reading with retries after temporary faults."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from glob import has_magic
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, FileFormatError, MissingExtraError, OptionError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.base.threads import ordered
from fastmetrics.tables.addresses import NATIVE, Pattern, Url, fixed, is_input, parameters, parse, shown_address

# Retries after temporary faults, such as network errors: of a call, or of reading from the last position.


T = TypeVar("T")


def patiently(do: Callable[[], T]) -> T:
    """The result of ``do``, retried a few times if a connection breaks."""
    for pause in pauses():
        try:
            return do()
        except OSError as error:
            if not passing(error):
                raise
        time.sleep(pause)
    return do()


def pauses() -> Iterator[float]:
    """The seconds to wait before each further attempt."""
    return (RETRY_LIMITS.pause_seconds * 2**failures for failures in range(RETRY_LIMITS.read_tries - 1))


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


_STORE = re.compile(
    r".*?(?:AWS Error |google::cloud::Status\()(\w+)(?: \(HTTP status( \d+)\))?(?: during \w+ operation)?: "
)
_LASTING = re.compile("DENIED|INVALID|NO_SUCH|NOT_FOUND|MISSING|SIGNATURE|EXPIRED|UNAUTHENTICATED|status [34]|OAuth2")
"""What a store answers to a request that it would refuse again."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^\s'\"<>]+")


def cause(error: BaseException) -> str:
    """What went wrong, in one line.

    >>> cause(OSError("When getting x: AWS Error ACCESS_DENIED during HeadObject operation: No response body."))
    'ACCESS_DENIED: No response body.'
    """
    message = str(error)
    if _ADDRESS.fullmatch(message.strip()):
        return "the server refused the request"
    if "OAuth2 access token" in message:
        return "no Google Cloud credentials were found; write anonymous@ before the bucket's name for public buckets"
    line = _STORE.sub(r"\1\2: ", (message.splitlines() or [""])[0], count=1)
    line = re.split(r" ?\(Request ID|; Details: | error_info=", line)[0].strip()
    # Messages of packages may contain the address with its credentials.
    return _ADDRESS.sub(lambda match: shown_address(match[0]), line)[:_LONGEST] or type(error).__name__


def passing(error: BaseException | None) -> bool:
    """Whether a retry can help: for a broken connection or a busy store, not for a refused request."""
    if not isinstance(error, OSError) or isinstance(error, FastmetricsError):
        return False
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError):
        return False
    return _LASTING.search(str(error)) is None


# Files at addresses: listing them, and reading their bytes with retries.


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

    Names in a folder that start with ``_`` or a dot are ignored.  Raises ``FileFormatError`` if there is nothing.
    """
    url = parse(text)
    place = store(url)
    info = patiently(partial(look, place))
    if info.is_file and not url.path.endswith("/"):
        return [FoundFile(url, None, _stamp(place, info))]
    if info.type.name == "Directory":
        files = listing(place, deep=True)[0]
        return [
            FoundFile(url.child(name), name, _stamp(place, files[name])) for name in sorted(files) if is_input(name)
        ]
    if not has_magic(url.path):
        raise FileFormatError(f"{url.shown}: cannot be read: {missing(place)}")
    above, rest = fixed(url.path)
    base, pattern = replace(url, path=above), Pattern(rest)
    try:
        deep = "/" in rest or "**" in rest
        files, folders = listing(store(base), deep=deep)
        if not deep and any(pattern.leads(folder) for folder in folders):
            files = listing(store(base), deep=True)[0]
    except NotADirectoryError:  # the prefix without wildcards is a file
        files = {}
    found = sorted(pattern.find(files))
    return [FoundFile(base.child(name), relative, _stamp(place, files[name])) for name, relative in found]


def look(place: Store) -> Any:
    """Arrow's current ``FileInfo`` of a location; raises ``OSError`` if a web server fails, or is busy."""
    if not place.native:
        place.system.handler.fs.invalidate_cache()
    info = place.system.get_file_info(place.path.rstrip("/") or place.path)
    if info.type.name == "NotFound" and (status := _status(place)) and (status >= 500 or status == 429):
        raise OSError(f"the server answers {status}")
    return info


def _status(place: Store) -> int | None:
    """What a web server answers instead of a file; fsspec calls any of its refusals a missing file."""
    if place.native or "http" not in place.system.handler.fs.protocol:
        return None
    try:
        place.system.handler.fs.info(place.path)
    except FileNotFoundError as error:
        if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
            raise OSError(f"the server is not reachable: {cause(error.__cause__)}") from error
        return getattr(error.__cause__, "status", None)
    return None


def missing(place: Store) -> str:
    """Why there is nothing at an address."""
    status = _status(place)
    return f"the server answers {status}" if status not in (None, 404, 410) else "there is no such file or folder"


def stream_of(url: Url) -> Any:
    """The bytes of a file whose size the server does not tell."""
    place = store(url)
    return patiently(lambda: place.system.open_input_stream(place.path))


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


def _stamp(place: Store, info: Any) -> Stamp:
    """Size and modification time in seconds, which listings and single requests both report."""
    if info.mtime_ns is not None:
        return info.size, str(info.mtime_ns // 10**9)
    if place.native:
        return info.size, ""
    details = place.system.handler.fs.info(info.path)
    return info.size, next((str(details[name]) for name in _VERSIONS if details.get(name) is not None), "")


class RemoteFile(io.RawIOBase):
    """The bytes of a remote file; a failed read is tried again at the byte reached."""

    def __init__(self, url: Url, stamp: Stamp) -> None:
        self._url, self._stamp = url, stamp
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
        self._at = offset + (0, self._at, self._stamp[0])[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """The next bytes, fewer than the buffer takes only at the end."""
        data = patiently(lambda: self._read(min(self._at + len(buffer), self._stamp[0])))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _read(self, stop: int) -> bytes:
        try:
            with plainly():
                if self._file is None:
                    self._file = unchanged(store(self._url), self._url, self._stamp)
                data = bytes(self._file.read_at(max(0, stop - self._at), self._at))
            if self._at + len(data) < stop:
                raise OSError(f"the file ends after {self._at + len(data)} of {self._stamp[0]} bytes")
            return data
        except OSError:
            self._file = None
            raise


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
