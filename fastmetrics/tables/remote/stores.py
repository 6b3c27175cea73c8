"""Object stores and other file systems at an address: connections, and one-line descriptions of their errors.

Credentials come from the standard locations of each store's tools, or from the address; they are not stored or shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, MissingExtraError, OptionError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.tables.remote.addresses import NATIVE, Url, parameters, parse

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
