"""Resuming a run: the parts that a killed one has finished, and how the settings and inputs of two runs differ.

**Resuming.** A run into a file or folder of this machine keeps its parts in ``OUT.partial/``: each has a fixed number
of rows and is renamed when it is whole, with a record of its checksum and its rejected rows. ``--resume`` goes on after
the last one if the signature of both runs is equal: all options, the version of the package, the digests of the files
of plugins, and the name, size and time of each input. A run of model calls asks for none that was answered, whatever
becomes of its parts: its replies are in the store.

A part that is not finished is kept too: the rows of its batches, when a signal ends the run, and of a batch that takes
long now and then before. The next run makes the same batches and takes these rows from there, to the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from fastmetrics.base.errors import Argument, OutputError, shown
from fastmetrics.tables.readers import BEGINNING, Position
from fastmetrics.tables.targets import PUBLISHING, open_private

# The finished parts of a run.


_OURS = re.compile(
    r"part-\d{6}\.(arrow|json)|rows-\d+-\d+|run\.json|lock|publishing|output(\..*)?|rejects\.jsonl|meta\.json|replaced"
)
"""The names that runs make in a folder of parts."""


@dataclass
class FinishedPart:
    """A part: its rows, its rejects as lines, the position of the next part, and the observations of its pieces."""

    number: int
    rows: int = 0
    rejects: str = ""
    stop: Position = BEGINNING
    observed: list[Any] = field(default_factory=list)
    crc: int = 0


class PartsFolder:
    """The parts of a run; without a ``folder``, they are counted, and none is kept.

    Only the owner can enter the folder.  Each file is renamed when it is whole, the record of a part after its rows.
    """

    def __init__(self, folder: Path | None, output: Path | str, *, resume: bool = False) -> None:
        self._folder, self._output, self._resume = folder, output, resume
        self.parts: list[FinishedPart] = []
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def begin(self, signature: Mapping[str, Any], schema: pa.Schema) -> pa.Schema:
        """Go on with the run that left the folder, or begin anew; the types that are read.

        Raises ``OutputError`` with the differences if the signature of that run is another.
        """
        earlier = _earlier(self._folder) if self._folder is not None and self._resume else None
        if earlier is not None:
            compare(self._output, earlier[0], signature)
            return earlier[1]
        self.restart(signature, schema)
        return schema

    def restart(self, signature: Mapping[str, Any], schema: pa.Schema) -> None:
        """Delete all parts, and record the signature of this run and the types that it reads."""
        self.parts, self._resume, self._writer = [], False, None
        if self._folder is not None:
            clear(self._folder)
            types = base64.b64encode(schema.serialize()).decode()
            self._place("run.json", json.dumps({"signature": signature, "schema": types}).encode())

    def finished(
        self, lasts: Callable[[FinishedPart], bool]
    ) -> Iterator[tuple[FinishedPart, Iterator[pa.RecordBatch]]]:
        """The parts of an earlier run, up to one that is missing, damaged, or does not last, with their rows."""
        while self._folder is not None and self._resume:
            number = len(self.parts)
            try:
                data = (self._folder / f"part-{number:06d}.arrow").read_bytes()
                record = json.loads((self._folder / f"part-{number:06d}.json").read_bytes())
                part = FinishedPart(**{**record, "stop": Position(*record["stop"])})
            except (OSError, TypeError, ValueError, RecursionError):
                return
            if zlib.crc32(data) != part.crc or not lasts(part):
                return
            self.parts.append(part)
            with pa.ipc.open_file(pa.py_buffer(data)) as file:
                yield part, map(file.get_batch, range(file.num_record_batches))

    def add(self, part_number: int, batch: pa.RecordBatch, lines: str, end: Position, seen: Any) -> None:
        """Add rows to the part of this number."""
        if not self.parts or self.parts[-1].number != part_number:
            self.parts.append(FinishedPart(part_number))
        part = self.parts[-1]
        part.rows += batch.num_rows
        part.rejects += lines
        part.stop = end
        part.observed.append(seen)
        if self._folder is not None:
            if self._writer is None:
                path = self._folder / "output.part"
                os.close(open_private(path, os.O_CREAT | os.O_WRONLY))  # as Arrow's files can be read by others
                self._writer = pa.ipc.new_file(path, batch.schema.remove_metadata())
            self._writer.write_batch(batch)

    def end(self) -> None:
        """Complete the last part."""
        if self._folder is not None and self._writer is not None:
            self._writer.close()
            self._writer, part = None, self.parts[-1]
            part.crc = zlib.crc32((self._folder / "output.part").read_bytes())
            os.replace(self._folder / "output.part", self._folder / f"part-{part.number:06d}.arrow")
            self._place(f"part-{part.number:06d}.json", json.dumps(asdict(part)).encode())

    def keep(self, at: Position, rows: pa.RecordBatch, about: Mapping[str, Any]) -> None:
        """Save the rows that are made of a batch so far, which begins at this position, with what belongs to them."""
        if self._folder is not None:
            metadata = {**(rows.schema.metadata or {}), _ABOUT: json.dumps(about)}
            with pa.BufferOutputStream() as sink:
                with pa.ipc.new_stream(sink, rows.schema.with_metadata(metadata)) as writer:
                    writer.write_batch(rows)
                data = sink.getvalue().to_pybytes()
            self._place(_kept_name(at), zlib.crc32(data).to_bytes(4, "big") + data)

    def kept(self, at: Position) -> tuple[pa.RecordBatch, dict[str, Any]] | None:
        """The rows that an earlier run saved of a batch, and what belongs to them; None without any, or if damaged."""
        if self._folder is None or not self._resume:
            return None
        try:
            data = (self._folder / _kept_name(at)).read_bytes()
            if zlib.crc32(data[4:]).to_bytes(4, "big") != data[:4]:
                return None
            [rows] = pa.ipc.open_stream(data[4:])
        except (OSError, ValueError, pa.ArrowException):
            return None
        return rows, json.loads(rows.schema.metadata[_ABOUT])

    def _place(self, name: str, data: bytes) -> None:
        assert self._folder is not None
        unfinished = self._folder / f"output.{name}"  # threads keep the rows of their batches at the same time
        with open(unfinished, "wb", opener=open_private) as stream:
            stream.write(data)
        os.replace(unfinished, self._folder / name)


_ABOUT = b"about"


def _kept_name(at: Position) -> str:
    return f"rows-{at.file}-{at.row}"


def _earlier(folder: Path) -> tuple[dict[str, Any], pa.Schema] | None:
    """The signature of the run that left a folder with parts, and the types that it read; None without one."""
    try:
        run = json.loads((folder / "run.json").read_bytes())
        signature, schema = dict(run["signature"]), pa.ipc.read_schema(pa.py_buffer(base64.b64decode(run["schema"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, pa.ArrowException):
        return None
    return (signature, schema) if has_parts(folder) else None


def clear(folder: Path) -> None:
    """Delete all but the lock in a folder of parts, and last what says that the output is published."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == PUBLISHING):
        if entry.name != "lock":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def has_parts(folder: Path) -> bool:
    """Whether a run left parts to go on with."""
    return os.path.isfile(folder / "run.json") and any(any(folder.glob(name)) for name in ("part-*.json", "rows-*"))


def is_ours(folder: Path) -> bool:
    """Whether a folder has what runs make and nothing else."""
    return not folder.is_symlink() and all(
        _OURS.fullmatch(one.name) is not None and not one.is_symlink() for one in folder.iterdir()
    )


# The differences between two runs: versions, metrics, options, columns and inputs.


_FOLLOWS = ("order", "kinds", "named", "passed_over", "options")
"""Settings that follow from others, whose differences are reported alone only."""


class RunDifference(NamedTuple):
    """A difference, with the values of both sides."""

    what: str
    first: str
    second: str


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[RunDifference]:
    """The differences between the settings of two runs.

    >>> one = {"scores": {"f1@5": {"metric": "f1", "k": 5}}, "columns": {"reference": "gold"}}
    >>> for what, first, second in differences(one, {"scores": {"f1@5": {"metric": "f1", "k": 6}}, "columns": {}}):
    ...     print(f"{what}: {first}, {second}")
    scores.f1@5.k: 5, 6
    columns.reference: 'gold', none
    """
    found = list(_differing("", first, second))
    return [one for one in found if one.what.partition(".")[0] not in _FOLLOWS] or found


def _differing(name: str, first: Any, second: Any) -> Iterator[RunDifference]:
    if first == second:
        return
    if isinstance(first, Mapping) and isinstance(second, Mapping) and name != "inputs":
        for key in {**first, **second}:
            yield from _differing(f"{name}.{key}" if name else key, first.get(key), second.get(key))
    else:
        text = _file_text if name.startswith("input.") else described_inputs if name == "inputs" else _value_text
        yield RunDifference(name, text(first) or _value_text(first), text(second) or _value_text(second))


def _file_text(value: Any) -> str:
    """The size and time of an input file, or the checksum of a stream.

    >>> _file_text([1200, 10**18 + 5 * 10**8]), _file_text(None)
    ('1,200 bytes of 2001-09-09 01:46:40.500 UTC', 'none')
    """
    match value:
        case [int(size), int(time), *more]:
            written = datetime.fromtimestamp(time / 1e9, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
            return ", ".join([f"{size:,} bytes of {written} UTC", *map(shown, more)])
        case _:
            return _value_text(value)


def _value_text(value: Any) -> str:
    return "none" if value is None or value == [] else "set" if isinstance(value, Mapping) else shown(value)


_LISTED = 5
"""The differences and the input files that are named."""
_INPUT = re.compile(r"^input(s$|\.\d+(?= ))")
"""The inputs of a run that is complete, or a file of an unfinished one, with its number."""


def compare(path: Path | str, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise an ``OutputError`` with the differences between an earlier run and this one."""
    changes = differences(earlier, now)
    if changes:
        texts = [f"{_INPUT.sub('input', what)} was {was}, is {is_}" for what, was, is_ in changes[:_LISTED]]
        more = [f"{len(changes) - _LISTED:,} more differences"] if len(changes) > _LISTED else []
        differs = f"cannot resume {path}: {'; '.join([*texts, *more])}; choose "
        raise OutputError(differs, Argument("overwrite", True), " to start again")


def describe_inputs(files: Sequence[tuple[str, int]], how_read: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The description of input files in scores: names and sizes of some, a digest of all, and how they were read."""
    listed = [list(file) for file in files]
    digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    described = {
        "files": len(files),
        "bytes": sum(size for _, size in files),
        "first": listed[:_LISTED],
        "digest": digest,
    }
    return {**described, **({"reading": dict(how_read)} if how_read else {})}


def described_inputs(described: Any) -> str | None:
    """The description of the input files in a score file's metadata as text; None if unknown.

    >>> described_inputs({"files": 1, "bytes": 1200, "first": [["rows.jsonl", 1200]], "digest": "89ab"})
    'rows.jsonl (1,200 bytes)'
    >>> described_inputs({"files": 9, "bytes": 9900, "first": [["0.csv", 1100]], "digest": "89ab"})
    '0.csv (1,100 bytes) and 8 more, 9,900 bytes in all, digest 89ab'
    """
    try:
        names = ", ".join(f"{name} ({size:,} bytes)" for name, size in described["first"])
        more, size, digest = described["files"] - len(described["first"]), described["bytes"], described["digest"]
        return f"{names} and {more:,} more, {size:,} bytes in all, digest {digest}" if more else names or None
    except (KeyError, TypeError, ValueError):  # the metadata of another program
        return None
