"""Addresses with a scheme, such as ``s3://bucket/rows.parquet``: parsing, and showing them without secrets.

The text between the scheme and a query is used literally, like keys in object stores: ``%20`` is not a space.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from fastmetrics.base.errors import OptionError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "postgres": "postgresql"}
_COLLAPSED = re.compile(
    r"\A(s3|s3a|s3n|gs|gcs|hdfs|viewfs|abfss?|memory|https?|sftp|ftp|postgresql|postgres|file):/(?!/)",
    re.IGNORECASE,
)
"""An address that lost a slash: as a ``Path``, or where it was typed."""
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
