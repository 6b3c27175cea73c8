"""Where files are: addresses with a scheme, such as ``s3://bucket/rows.parquet``, shown without secrets; patterns of
paths, and folders.

The text between the scheme and a query is used literally, like keys in object stores: ``%20`` is not a space.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from glob import has_magic
from pathlib import Path
from urllib.parse import unquote

from fastmetrics.base.errors import FileFormatError, OptionError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "postgres": "postgresql"}
_COLLAPSED = re.compile(
    r"\A(s3|s3a|s3n|gs|gcs|hdfs|viewfs|abfss?|memory|https?|sftp|ftp|postgresql|postgres|file):(?:/(?!/)|(?=[^/]*@))",
    re.IGNORECASE,
)
"""An address that lost a slash, as a ``Path`` or where it was typed, or, with a user and perhaps a password, both."""
_SAFE = {
    *("region", "scheme", "endpoint_override", "anonymous", "allow_bucket_creation", "force_virtual_addressing"),
    *("tls_ca_file_path", "retry_limit_seconds", "project_id", "replication", "user", "buffer_size"),
    *("default_block_size", "blob_storage_authority", "dfs_storage_authority", "blob_storage_scheme"),
    *("dfs_storage_scheme", "credential_kind", "tenant_id", "client_id", "enable_tls"),
}
_PARAMETERS = _SAFE | {"kerb_ticket", "client_secret"}
_SAFE_DATABASE_PARAMETERS = {"table", "host", "hostaddr", "port", "dbname", "user", "sslmode"}
_UNKNOWN = re.compile(r"\w+=[^/&]*(&\w+=[^/&]*)*")
_PARAMETER = re.compile(r"\w+")
_MASK = "***"
_WITH_TOKENS = ("http", "https", "s3", "gs")
"""The schemes in which a user without a password is a token or a key."""
NATIVE = ("s3", "gs", "hdfs", "viewfs", "abfs", "abfss")
"""The schemes that Arrow supports itself."""
DATABASES = ("postgresql", "sqlite", "duckdb")
"""The schemes of databases, whose addresses name a table or a query."""


@dataclass(frozen=True)
class Url:
    """A parsed address; ``str`` gives all of it, ``shown`` and ``repr`` omit secrets.

    >>> url = parse("s3://key:secret@bucket/part-?.parquet?region=eu-west-1")
    >>> url.shown, url.query, url.name
    ('s3://***@bucket/part-?.parquet?region=eu-west-1', 'region=eu-west-1', 'part-?.parquet')
    """

    scheme: str
    authority: str
    path: str
    query: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}{'?' if self.query else ''}{self.query}"

    def __repr__(self) -> str:
        return f"Url({self.shown!r})"

    @property
    def shown(self) -> str:
        """The address for messages, metadata and fingerprints."""
        if self.is_garbled:
            return f"{self.scheme}://{_MASK}"
        if self.is_web and (fragment := str(self).find("#")) >= 0:  # never sent to a server
            return f"{parse(str(self)[:fragment]).shown}#{_MASK}"
        user, at, host = self.authority.rpartition("@")
        is_name = ":" not in user and (user in ("", "anonymous") or self.scheme not in _WITH_TOKENS)
        path, authority = self.path, f"{user if is_name else _MASK}{at}{host}"
        if ":" in host and (self.scheme in ("s3", "gs") or not host.rpartition(":")[2].isdigit()):
            authority, path = _MASK, path[path.rfind("@") :] if "@" in path else ""  # unquoted slash in a password
        before, mark, after = path.rpartition("?")
        if self.scheme in NATIVE and _UNKNOWN.fullmatch(after):  # unknown parameters may be credentials
            path = before + mark + _masked(after)
        safe = _SAFE_DATABASE_PARAMETERS if self.scheme in DATABASES else _SAFE
        return str(replace(self, authority=authority, path=path, query=_masked(self.query, safe)))

    @property
    def is_web(self) -> bool:
        """Whether a web server has the file."""
        return self.scheme in ("http", "https")

    @property
    def is_garbled(self) -> bool:
        """Whether the address of a PostgreSQL server is divided inside its password, by an unquoted character."""
        if self.scheme == "postgresql" and self.authority.count("@") > 1:
            return True
        names = (pair.partition("=")[0] for pair in self.query.split("&") if pair)
        return self.scheme == "postgresql" and ("@" in self.path or not all(map(_PARAMETER.fullmatch, names)))

    @property
    def name(self) -> str:
        """The last segment of the path; in a database, the name of the table, or ``query``."""
        if self.scheme in DATABASES:
            return parameters(self).get("table", "query")
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def folder(self) -> Url:
        """The address of the parent folder."""
        return replace(self, path=self.path.rstrip("/").rpartition("/")[0])

    def child(self, relative: str) -> Url:
        """The address of a file or folder below."""
        return replace(self, path=f"{self.path.rstrip('/')}/{relative}")

    def beside(self, suffix: str) -> Url:
        """The address with a suffix added to the name."""
        return replace(self, path=self.path.rstrip("/") + suffix)


def _masked(query: str, safe: Collection[str] = _SAFE) -> str:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return "&".join(
        f"{name}={value if name in safe else _MASK}" if equals else _MASK  # a lone value may be a token
        for name, equals, value in pairs
    )


def is_url(path: str | Path) -> bool:
    """Whether a path has a scheme.

    >>> is_url("s3://bucket/rows"), is_url("rows.csv"), is_url("C://rows")
    (True, False, False)
    """
    return _URL.fullmatch(as_text(path)) is not None


def is_database(path: str | Path) -> bool:
    """Whether a path is the address of a table or a query in a database.

    >>> is_database("postgresql://db/shop?table=answers"), is_database("s3://bucket/rows")
    (True, False)
    """
    return is_url(path) and parse(path).scheme in DATABASES


def as_text(path: str | Path) -> str:
    """A path as text; an address that has lost a slash, as a ``Path`` does, has it again.

    >>> as_text(Path("s3://bucket/rows.csv")), as_text("http:/user:secret@host/rows.csv")
    ('s3://bucket/rows.csv', 'http://user:secret@host/rows.csv')
    """
    text = path if isinstance(path, str) else path.as_posix() if _COLLAPSED.match(path.as_posix()) else str(path)
    return _COLLAPSED.sub(lambda match: f"{match[1]}://{'/' if match[1].lower() == 'file' else ''}", text)


def as_utf8(name: str) -> str:
    """The name of a file, if Arrow can open it; raises ``OptionError`` for bytes that are not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{name!r}: expected a file name in UTF-8; rename the file or its folder") from None
    return name


def as_local(path: str | Path) -> str:
    """The text of a path, with a ``file://`` address as local path; other addresses unchanged.

    >>> as_local("file:///data/a%20b.csv"), as_local("s3://bucket/a%20b.csv")
    ('/data/a b.csv', 's3://bucket/a%20b.csv')

    Raises ``OptionError`` for a name that is not UTF-8.
    """
    text = as_utf8(as_text(path))
    if not text.lower().startswith("file://"):
        return text
    path_text = text[len("file://") :].removeprefix("localhost")
    if not path_text.startswith("/"):
        raise OptionError(f"{text}: expected file:/// followed by an absolute path")
    local = unquote(path_text)
    return local[1:] if os.name == "nt" and re.match("/[A-Za-z]:", local) else local


def parse(path: str | Path) -> Url:
    """Parse an address; ``s3a`` is ``s3``, and ``gcs`` is ``gs``."""
    match = _URL.fullmatch(as_text(path))
    if match is None:
        raise OptionError(f"{str(path)!r}: expected an address such as s3://bucket/rows.parquet")
    scheme = _ALIASES.get(match[1].lower(), match[1].lower())
    location, query = _without_query(scheme, match[2])
    authority, slash, inside = location.partition("/")
    return Url(scheme, authority, slash + inside, query)


def _without_query(scheme: str, location: str) -> tuple[str, str]:
    """The path and the query; a question mark is also a wildcard, so known parameters must follow the last one."""
    if scheme in ("http", "https", *DATABASES):
        before, _, query = location.partition("?")
        return before, query
    before, mark, query = location.rpartition("?")
    names = {pair.partition("=")[0] for pair in query.split("&")}
    return (before, query) if mark and scheme in NATIVE and names <= _PARAMETERS else (location, "")


def parameters(url: Url) -> dict[str, str]:
    """The parameters of the query."""
    pairs = (pair.partition("=") for pair in url.query.split("&") if pair)
    return {name: unquote(value) for name, _, value in pairs}


def shown_address(path: str | Path) -> str:
    """A path for messages: addresses without their secrets."""
    return parse(path).shown if is_url(path) else str(path)


def within(folder: str | Path, name: str) -> str:
    """The path or address of a file in a folder.

    >>> within("s3://bucket/runs?region=eu-west-1", "a.csv"), within("runs", "a.csv")
    ('s3://bucket/runs/a.csv?region=eu-west-1', 'runs/a.csv')
    """
    where = as_local(folder)
    return str(parse(where).child(name)) if is_url(where) else os.path.join(where, name)


def last_name(path: str | Path) -> str:
    """The last segment of a path or address, with its final slash.

    >>> last_name("s3://bucket/scores/?region=eu-west-1"), last_name("out/scores.csv")
    ('scores/', 'scores.csv')
    """
    if not is_url(path):
        return os.path.basename(str(path))
    url = parse(path)
    return url.name + "/" * url.path.endswith("/")


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
