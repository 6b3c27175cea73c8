"""The work folder of a run: finished parts with checksums, what made them, and a lock.

``scores.parquet.partial/`` (of an output in a store, a folder in the user's cache) holds ``run.json`` (settings, input,
limits), ``journal.jsonl`` (one line a finished part), ``parts/part-000000.arrow`` …, ``rejects/part-000000.jsonl`` …,
``lock`` and ``owner``, the number of the process that holds the lock (which has a file of its own since Windows lets
nobody read a locked one).  A part counts once its journal line is whole, and its bytes agree with it; all else in the
folder can be lost at any moment without harm.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import shutil
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fastmetrics.errors import OutputError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.chunks import Place
from fastmetrics.tables.output.encoders import writing
from fastmetrics.tables.output.run_differences import differences

if TYPE_CHECKING:
    from filelock import BaseFileLock


_TOLD = 5


@dataclass(frozen=True)
class Part:
    """A finished part: its number, rows, rejects, where the next one begins, what was observed, its bytes' checksum."""

    number: int
    rows: int
    rejects: int
    stop: tuple[int, int]
    size: int
    crc: int
    rejects_crc: int
    observed: Any

    @property
    def next(self) -> Place:
        """Where the next part begins."""
        return Place(*self.stop)


def encode_schema(schema: pa.Schema) -> str:
    """A schema as text, exactly."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(text: str) -> pa.Schema:
    """The schema that ``encode_schema`` wrote."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


class WorkFolder:
    """The folder where a run keeps what is done on the way to ``output``; use as a context, which holds the lock."""

    def __init__(self, path: Path, output: Path | str, part_suffix: str) -> None:
        self.output = output
        self.path = path
        self.parts: dict[int, Part] = {}
        self._suffix = part_suffix
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> WorkFolder:
        import filelock

        with writing(self.output):
            self.path.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in self.path.iterdir()}
            if names - {"lock"} and "owner" not in names:
                raise OutputError(f"{self.path} is no work folder of a run, and a run would empty it; move it away")
            lock = filelock.FileLock(self.path / "lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout:
                raise OutputError(f"another run (process {self._owner()}) is writing {self.output}") from None
            self._lock = lock
            (self.path / "owner").write_text(str(os.getpid()), encoding="ascii")
            # Where only renames are left, a folder of parts that is gone has got its final name.
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
            self.path.rmdir()  # where a file that is locked cannot be deleted, the folder is empty only now

    def _owner(self) -> str:
        """The number of the process that holds the lock."""
        try:
            return (self.path / "owner").read_text(encoding="ascii") or "unknown"
        except (OSError, ValueError):  # it took the lock a moment ago
            return "unknown"

    def unfinished(self) -> bool:
        """Whether a run left finished parts, or nothing to do but renaming."""
        journal = self.path / "journal.jsonl"
        return self.committed() or (journal.exists() and journal.stat().st_size > 0)

    def committed(self) -> bool:
        """Whether a run left nothing to do but renaming."""
        return (self.path / "commit.json").exists()

    def part_path(self, number: int) -> Path:
        """Where a part lies."""
        return self.path / "parts" / f"part-{number:06d}{self._suffix}"

    def rejects_path(self, number: int) -> Path:
        """Where a part's rejected rows lie, if it has any."""
        return self.path / "rejects" / f"part-{number:06d}.jsonl"

    def start(self, run: Mapping[str, Any]) -> None:
        """Forget what was done and write down what this run is."""
        self.parts = {}
        with writing(self.output):
            self._clear()
            for name in ("parts", "rejects"):
                (self.path / name).mkdir()
            _replace(self.path / "run.json", [json.dumps(run, ensure_ascii=False, indent=1).encode()])

    def recorded(self) -> dict[str, Any] | None:
        """What the run that left this folder was, or None if it did not come to writing that down."""
        try:
            found = json.loads((self.path / "run.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def load(self) -> None:
        """Find the parts that are finished; whether a part's bytes are whole is checked when it is used."""
        self.parts = {}
        journal = self.path / "journal.jsonl"
        for line in journal.read_bytes().splitlines() if journal.exists() else ():  # a run of no rows has none
            try:
                record = json.loads(line)
                part = Part(**{**record, "stop": tuple(record["stop"])})
            except (ValueError, TypeError, KeyError):
                continue  # the line that was being written when the run was killed
            self.parts[part.number] = part

    def save(
        self, number: int, data: Sequence[pa.Buffer], *, rows: int, rejects: str, stop: Place, observed: Any
    ) -> Part:
        """Make a part last: its bytes and rejects first, the journal line after them."""
        text = rejects.encode()
        with writing(self.output):
            if text:
                _replace(self.rejects_path(number), [text])
            _replace(self.part_path(number), data)
            part = Part(
                number,
                rows,
                text.count(b"\n"),
                (stop.file, stop.row),
                sum(piece.size for piece in data),
                functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), data, 0),
                zlib.crc32(text),
                observed,
            )
            with open(self.path / "journal.jsonl", "ab") as journal:
                # A torn line before this one must not swallow it.
                journal.write(b"\n" + json.dumps(asdict(part)).encode() + b"\n")
        self.parts[number] = part
        return part

    def read(self, number: int) -> tuple[pa.Buffer, str] | None:
        """A finished part's bytes and rejects, or None if there is no such part or its bytes are not what they were."""
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
        """Delete the folder, the lock last: a folder that holds nothing else is a run's too."""
        with suppress(OSError):  # what cannot be deleted is left for the next run to empty
            self._clear()
            (self.path / "owner").unlink(missing_ok=True)
            (self.path / "lock").unlink(missing_ok=True)  # on Windows its release deletes it
            self.path.rmdir()

    def _clear(self) -> None:
        """Delete all but the lock and its owner; cut short, it leaves nothing that says more than there is."""
        last = ["run.json", "journal.jsonl", "commit.json"]
        found = sorted(self.path.iterdir(), key=lambda entry: last.index(entry.name) if entry.name in last else -1)
        for entry in found:
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name not in ("lock", "owner"):
                entry.unlink()


def compare(path: Path | str, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ``OutputError`` that says in what an unfinished run differs from this one."""
    found = differences({name: earlier.get(name) for name in now}, now)
    if found:
        named = [f"{what} was {was}, is {is_}" for what, was, is_ in found[:_TOLD]]
        more = [f"{len(found) - _TOLD:,} more differences"] if len(found) > _TOLD else []
        differs = f"cannot resume {path}: {'; '.join([*named, *more])}; choose "
        raise OutputError(differs, Argument("overwrite", True), " to start again")


def _replace(path: Path, pieces: Sequence[bytes | pa.Buffer]) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb", buffering=0) as stream:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[stream.write(left) :]
    os.replace(temporary, path)
