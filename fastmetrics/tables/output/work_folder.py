"""The work folder of a run: finished parts with checksums, the settings of the run, and a lock.

``scores.parquet.partial/`` (for an output in a store, a folder in the user's cache) contains ``run.json`` (settings,
input, limits), ``journal.jsonl`` (one line per finished part), ``parts/part-000000.arrow`` …,
``rejects/part-000000.jsonl`` …, ``lock`` and ``owner``, the id of the process that holds the lock (a separate file,
because Windows does not allow reading a locked one).  A part counts once its journal line is complete and its bytes
match; all other files may be lost at any moment.  Only the owner can enter the folder; the output itself, once it has
left the folder, has the usual permissions.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OutputError
from fastmetrics.tables.output.encoding.encoders import writing
from fastmetrics.tables.output.parts_journal import (
    JOURNAL,
    FinishedPart,
    add_to_journal,
    is_journal_empty,
    journal_parts,
)
from fastmetrics.tables.output.private_files import make_private_folder, open_private
from fastmetrics.tables.output.run_differences import differences
from fastmetrics.tables.table_chunks import Place

if TYPE_CHECKING:
    from filelock import BaseFileLock


_LISTED = 5
_FOLDERS = ("parts", "rejects")
_NAMES = {
    *_FOLDERS,
    *("lock", "owner", "run.json", JOURNAL, "commit.json", "commit", "rejects.jsonl", "meta.json"),
    *("uploaded", "replaced"),
}
"""What runs make in a work folder, besides the output itself."""


class WorkFolder:
    """The folder of a run's finished parts for ``output``; a context manager that holds the lock."""

    def __init__(self, path: Path, output: Path | str, part_suffix: str) -> None:
        self.output = output
        self.path = path
        self.parts: dict[int, FinishedPart] = {}
        self._suffix = part_suffix
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> WorkFolder:
        import filelock

        with writing(self.output):
            make_private_folder(self.path)
            self._check_ours()
            lock = filelock.FileLock(self.path / "lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout:
                raise OutputError(f"another run (process {self._owner()}) is writing {self.output}") from None
            self._lock = lock
            (self.path / "owner").write_text(str(os.getpid()), encoding="ascii")
            # After the commit, a missing folder has already been renamed to its final name.
            for name in () if self.committed() else ("parts", "rejects"):
                (self.path / name).mkdir(exist_ok=True)
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.unfinished():
            self.remove()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        with suppress(OSError):
            self.path.rmdir()  # Windows cannot delete a locked file, so the folder is empty only now

    def _check_ours(self) -> None:
        """Raise ``OutputError`` for a folder with anything that no run writes: other names, or links."""
        entries = list(self.path.iterdir())
        names = {entry.name.removesuffix(".tmp") for entry in entries}
        foreign = {name for name in names - _NAMES if not name.startswith("output")}
        if (names - {"lock"} and "owner" not in names) or foreign:
            raise OutputError(f"{self.path} is not the work folder of a run, and a run would empty it; move it away")
        inside = [part for entry in entries if entry.name in _FOLDERS and entry.is_dir() for part in entry.iterdir()]
        link = next((entry for entry in (self.path, *entries, *inside) if entry.is_symlink()), None)
        if link is not None:
            raise OutputError(f"{link} is a link, which no run makes in its work folder; delete {self.path}")

    def _owner(self) -> str:
        """The id of the process that holds the lock."""
        try:
            return (self.path / "owner").read_text(encoding="ascii") or "unknown"
        except (OSError, ValueError):  # the other run may not have written its id yet
            return "unknown"

    def unfinished(self) -> bool:
        """Whether a run left finished parts, or only renames to do."""
        return self.committed() or not is_journal_empty(self.path)

    def committed(self) -> bool:
        """Whether a run left only renames to do."""
        return (self.path / "commit.json").exists()

    def part_path(self, number: int) -> Path:
        """The path of a part."""
        return self.path / "parts" / f"part-{number:06d}{self._suffix}"

    def rejects_path(self, number: int) -> Path:
        """The path of a part's rejected rows."""
        return self.path / "rejects" / f"part-{number:06d}.jsonl"

    def start(self, run: Mapping[str, Any]) -> None:
        """Discard earlier parts and record this run."""
        self.parts = {}
        with writing(self.output):
            self._clear()
            for name in ("parts", "rejects"):
                (self.path / name).mkdir()
            _replace(self.path / "run.json", [json.dumps(run, ensure_ascii=False, indent=1).encode()])

    def recorded(self) -> dict[str, Any] | None:
        """The record of the run that left this folder, or None without one."""
        try:
            record = json.loads((self.path / "run.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return record if isinstance(record, dict) else None

    def load(self) -> None:
        """Find the finished parts; the bytes of a part are checked when it is used."""
        self.parts = journal_parts(self.path)

    def save(
        self, number: int, data: Sequence[pa.Buffer], *, rows: int, rejects: str, stop: Place, observed: Any
    ) -> FinishedPart:
        """Save a part durably: its bytes and rejects first, then the journal line."""
        text = rejects.encode()
        with writing(self.output):
            if text:
                _replace(self.rejects_path(number), [text])
            _replace(self.part_path(number), data, private=self._suffix == ".arrow")
            part = FinishedPart(
                number,
                rows,
                text.count(b"\n"),
                (stop.file, stop.row),
                sum(piece.size for piece in data),
                functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), data, 0),
                zlib.crc32(text),
                observed,
            )
            add_to_journal(self.path, part)
        self.parts[number] = part
        return part

    def part(self, number: int) -> tuple[pa.Buffer, str] | None:
        """A finished part's bytes and rejects, or None if it is missing or its bytes changed."""
        part = self.parts.get(number)
        if part is None:
            return None
        try:
            data = self.part_path(number).read_bytes()
            text = self.rejects_path(number).read_bytes() if part.rejects else b""
        except OSError:
            return None
        if (len(data), zlib.crc32(data), zlib.crc32(text)) != (part.size, part.crc, part.rejects_crc):
            return None
        return pa.py_buffer(data), text.decode()

    def remove(self) -> None:
        """Delete the folder, the lock last: a folder with only a lock still belongs to a run."""
        with suppress(OSError):  # the next run deletes what remains
            self._clear()
            (self.path / "owner").unlink(missing_ok=True)
            (self.path / "lock").unlink(missing_ok=True)  # on Windows, releasing the lock deletes it
            self.path.rmdir()

    def _clear(self) -> None:
        """Delete everything but the lock and its owner; an interruption leaves a consistent state."""
        last = ["run.json", JOURNAL, "commit.json"]
        entries = sorted(self.path.iterdir(), key=lambda entry: last.index(entry.name) if entry.name in last else -1)
        for entry in entries:
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name not in ("lock", "owner"):
                entry.unlink()


def compare(path: Path | str, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise an ``OutputError`` with the differences between an unfinished run and this one."""
    changes = differences({name: earlier.get(name) for name in now}, now)
    if changes:
        texts = [f"{what} was {was}, is {is_}" for what, was, is_ in changes[:_LISTED]]
        more = [f"{len(changes) - _LISTED:,} more differences"] if len(changes) > _LISTED else []
        differs = f"cannot resume {path}: {'; '.join([*texts, *more])}; choose "
        raise OutputError(differs, Argument("overwrite", True), " to start again")


def _replace(path: Path, pieces: Sequence[bytes | pa.Buffer], *, private: bool = True) -> None:
    """Write a file atomically; a ``private`` one for its owner alone, others become part of the output."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb", buffering=0, opener=open_private if private else None) as stream:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[stream.write(left) :]
    os.replace(temporary, path)
