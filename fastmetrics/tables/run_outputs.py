"""The output of a run: finished parts in a work folder, from which a killed run goes on; published whole at the end.

**Atomic outputs.** A run writes finished parts, each with a record of its checksum and its rejected rows, into
``OUT.partial/`` and renames the output at the very end. ``--resume`` continues after the last complete part, if input,
settings and code are the same; the result has the same bytes as an uninterrupted run. The metadata come last, so an
output with metadata is complete: ``--resume`` of one with the same settings and inputs, none of them written later,
ends at once with its own counts and summary. Work folders with links or unknown names are refused. Other outputs are
written in a hidden temporary folder beside them, which a run that is killed leaves, and which blocks no other. Both are
flushed to disk before they are renamed, and both are published by the target of their kind: a path, an address, a table
of a database or a stream. A folder takes the place of an old one by two renames. Object stores cannot rename a folder,
so a run that writes to one works in a local folder and uploads at the end. For a folder, the file that marks it as
complete is uploaded last.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.base.errors import Argument, FileFormatError, OutputError, shown
from fastmetrics.tables.addresses import as_local, is_database, is_url, last_name, parse, shown_address
from fastmetrics.tables.encoders import json_object, metadata_in, writing
from fastmetrics.tables.file_formats import output_format
from fastmetrics.tables.input_files import DataFile, read_small, reading
from fastmetrics.tables.opening import expand
from fastmetrics.tables.outputs import target
from fastmetrics.tables.protected_inputs import MARK
from fastmetrics.tables.table_chunks import Position
from fastmetrics.tables.targets import META, PARTS, make_private_folder, open_private, sync
from fastmetrics.tables.written_tables import stored_metadata

if TYPE_CHECKING:
    from filelock import BaseFileLock

# The work folder of a run: its finished parts, its settings, and a lock.
#
# ``scores.parquet.partial/`` (for an output in a store, a folder in the user's cache) contains ``run.json`` (settings,
# input, limits), ``schema.arrow`` (the types that are read), ``parts/part-000000.arrow`` …, ``records/000000.json`` …,
# ``lock`` and ``owner``, the id of the process that holds the lock (a separate file, because Windows does not allow
# reading a locked one).  Each file is renamed when it is whole, the record of a part after its bytes; a part counts if
# its record can be read and its bytes have the record's checksum.  Only the owner can enter the folder; the output
# itself, once it has left the folder, has the usual permissions.


_LISTED = 5
_NAMES = {
    "parts",
    "records",
    "lock",
    "owner",
    "run.json",
    "schema.arrow",
    "finished",
    "rejects.jsonl",
    "meta.json",
    "replaced",
}
"""What runs make in a work folder, besides the output itself."""


@dataclass(frozen=True)
class FinishedPart:
    """A finished part: its rows, rejects, the start of the next part, its observation and its checksum."""

    rows: int
    rejects: int
    next: Position
    observed: Any
    crc: int


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

        owner = self.path / "owner"
        with writing(self.output):
            make_private_folder(self.path)
            self._check_ours()
            lock = filelock.FileLock(self.path / "lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout:
                process = owner.read_text(errors="replace") if owner.exists() else ""
                process = process if process.isdigit() else "unknown"  # it may not have written its id yet
                raise OutputError(f"another run (process {process}) is writing {self.output}") from None
            self._lock = lock
            owner.write_text(str(os.getpid()), encoding="ascii")
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
        names = {entry.name.removesuffix(".tmp") for entry in self.path.iterdir()}
        foreign = [name for name in names - _NAMES if not name.startswith("output")]
        links = [entry for entry in (self.path, *self.path.rglob("*")) if entry.is_symlink()]
        if foreign or links or (names - {"lock"} and "owner" not in names):
            raise OutputError(f"{self.path} is not the work folder of a run, and a run would empty it; move it away")

    @property
    def is_finished(self) -> bool:
        """Whether a run left an output that only has to be published."""
        return os.path.exists(self.path / "finished")  # False too for a name that no file may have

    def unfinished(self) -> bool:
        """Whether a run left anything to go on with."""
        return os.path.isdir(self.path) and (self.is_finished or any((self.path / "records").glob("*.json")))

    def _part_path(self, number: int) -> Path:
        return self.path / "parts" / f"part-{number:06d}{self._suffix}"

    def _record_path(self, number: int) -> Path:
        return self.path / "records" / f"{number:06d}.json"

    def start(self, run: Mapping[str, Any], schema: pa.Schema) -> None:
        """Discard earlier parts and record this run, and the types that it reads."""
        self.parts = {}
        with writing(self.output):
            self._clear()
            for name in ("parts", "records"):
                (self.path / name).mkdir()
            _replace(self.path / "schema.arrow", [schema.serialize()])
            _replace(self.path / "run.json", [json.dumps(run, ensure_ascii=False, indent=1).encode()])

    def recorded(self) -> tuple[dict[str, Any], pa.Schema] | None:
        """The record of the run that left this folder, and its types, or None without one."""
        run = _json(self.path / "run.json")
        try:
            return (
                None
                if run is None
                else (run, pa.ipc.read_schema(pa.py_buffer((self.path / "schema.arrow").read_bytes())))
            )
        except (OSError, ValueError, pa.ArrowException):
            return None

    def load(self) -> None:
        """Find the finished parts; the bytes of a part are checked when it is used."""
        self.parts = {}
        for path in (self.path / "records").glob("*.json"):
            with suppress(KeyError, TypeError, ValueError):  # power failed before the record was on the disk
                record = _json(path) or {}
                part = FinishedPart(
                    record["rows"],
                    record["rejects"].count("\n"),
                    Position(*record["next"]),
                    record["observed"],
                    record["crc"],
                )
                self.parts[int(path.stem)] = part

    def save(
        self, number: int, data: Sequence[pa.Buffer], *, rows: int, rejects: str, stop: Position, observed: Any
    ) -> None:
        """Save a part: its bytes first, then its record."""
        crc = functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), data, 0)
        record = {"rows": rows, "rejects": rejects, "next": [stop.file, stop.row], "observed": observed, "crc": crc}
        with writing(self.output):
            _replace(self._part_path(number), data, private=self._suffix == ".arrow")
            _replace(self._record_path(number), [json.dumps(record).encode()])
        self.parts[number] = FinishedPart(rows, rejects.count("\n"), stop, observed, crc)

    def part(self, number: int) -> pa.Buffer | None:
        """A finished part's bytes, or None if it is missing or its bytes changed."""
        with suppress(OSError, KeyError):
            data = self._part_path(number).read_bytes()
            if zlib.crc32(data) == self.parts[number].crc:
                return pa.py_buffer(data)
        return None

    def rejects(self) -> Iterator[str]:
        """The lines of the rejected rows of all parts."""
        for number in sorted(self.parts):
            if self.parts[number].rejects:
                yield json.loads(self._record_path(number).read_bytes())["rejects"]

    def remove(self) -> None:
        """Delete the folder, the lock last: a folder with only a lock still belongs to a run."""
        with suppress(OSError):  # the next run deletes what remains
            self._clear()
            for name in ("owner", "lock"):  # on Windows, releasing the lock deletes it
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def _clear(self) -> None:
        """Delete everything but the lock and its owner, and last what says that the output is published."""
        for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == "finished"):
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name not in ("lock", "owner"):
                entry.unlink()


def _json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None without one."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _replace(path: Path, pieces: Sequence[bytes | pa.Buffer], *, private: bool = True) -> None:
    """Write a file atomically; a ``private`` one for its owner alone, others become part of the output."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb", opener=open_private if private else None) as stream:
        for piece in pieces:
            stream.write(piece)
    os.replace(temporary, path)


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


# The output of a run: checking the target, and publishing finished files.


_REJECTS = ".rejects.jsonl"


class Output:
    """The output file or folder of a run, with its rejects file and, if the format has no metadata, a sidecar.

    ``path``, ``rejects`` and ``sidecar`` are paths, or addresses as shown in messages; the run's work folder is beside
    the path, or, for an address, in ``work`` (by default a folder of the user's cache); ``text`` is the path, or the
    address with its secrets, from which the output can be read again.
    """

    def __init__(self, path: str | Path, work: str | Path | None = None) -> None:
        self.format, self.compression = output_format(path)
        self.folder = self.format == "folder"
        self._beside = [_REJECTS] if self.format in ("parquet", "folder") else [_REJECTS, META]
        text = as_local(path)
        self.text = text if is_url(text) or is_database(text) else os.path.abspath(text)
        self._target = target(self.text, folder=PARTS if self.folder else None, beside=self._beside, work=work)
        self.path = self._target.path
        self.rejects = self._target.shown(_REJECTS)
        self.sidecar = self._target.shown(META) if META in self._beside else None
        self.work = WorkFolder(self._target.work, self.path, ".parquet" if self.folder else ".arrow")
        self.complete = False
        """Whether an earlier run completed the output, and this one is to resume it."""

    @property
    def temporary(self) -> Path:
        """The name of the output until it is complete."""
        return self.work.path / ("parts" if self.folder else f"output{PurePath(last_name(str(self.path))).suffix}")

    def check(self, inputs: Any, *, resume: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output may not or cannot be written; ``inputs`` are what the run reads."""
        unfinished = self.work.unfinished()
        self.complete = resume and not (overwrite or unfinished) and self.stored()[0] is not None
        replaces = overwrite or self.complete or (resume and self.work.is_finished)
        self._target.check(inputs, overwrite=replaces)
        if unfinished and not (resume or overwrite):
            raise OutputError(
                f"{self.work.path} contains an unfinished run; choose ",
                Argument("resume", True),
                " to continue it or ",
                Argument("overwrite", True),
                " to start again",
            )

    def check_types(self, schema: pa.Schema) -> None:
        """Raise ``OutputError`` for a column that a database to write to has no type for."""
        self._target.check_types(schema)

    def stored(self) -> tuple[dict[str, Any] | None, list[DataFile]]:
        """The metadata and the files of a complete output; None if there is none."""
        try:
            files = expand(self.text)
            return find_metadata(self.text, files), files
        except FileFormatError:
            return None, []

    def commit(self, metadata: str) -> None:
        """Publish all files; the next resume completes what was killed."""
        work = self.work.path
        with writing(self.path):
            if any(part.rejects for part in self.work.parts.values()):
                with open(work / "rejects.jsonl", "w", encoding="utf-8", newline="\n") as stream:
                    stream.writelines(self.work.rejects())
            if self.folder or self.sidecar is not None:
                place = self.temporary / MARK if self.folder else work / "meta.json"
                place.write_text(metadata + "\n", encoding="utf-8")
            for name, _ in self._moves():
                sync(work / name, inside=True)
            self._target.check_free()
            for suffix in self._beside:
                self._target.drop(suffix)
            (work / "finished").touch()
        self.finish()

    def _moves(self) -> list[tuple[str, str]]:
        """The finished files in the work folder, each with the suffix that its final name adds; the metadata last."""
        names = [("rejects.jsonl", _REJECTS), (self.temporary.name, ""), ("meta.json", META)]
        return [(name, suffix) for name, suffix in names if (self.work.path / name).exists()]

    def finish(self) -> None:
        """Complete the remaining renames or uploads, and delete the work folder."""
        finished = self.work.path / "finished"
        with writing(self.path):
            if not finished.read_bytes():
                moves = self._moves()
                try:
                    self._target.publish(self.work.path, moves)
                except OutputError as error:
                    kept = f"; the scores are kept in {self.work.path}: "
                    raise OutputError(*error.message.parts, kept, Argument("resume", True), " writes them") from error
                # If the deletion is interrupted, the next run must not publish the rest.
                finished.write_text("published")
        self.work.remove()


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that a run wrote into or beside its output: the signature and the conclusion.

    Raises ``FileFormatError`` for a file that is not the output of a run.
    """
    text = as_local(path)
    metadata = find_metadata(text)
    if metadata is None and (is_url(text) or os.path.isfile(text)):
        metadata = find_metadata(text, expand(text))
    if metadata is None:
        raise FileFormatError(f"{shown_address(text)}: contains no metadata of fastmetrics")
    return metadata


def find_metadata(path: str | Path, files: Sequence[DataFile] = ()) -> dict[str, Any] | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises ``FileFormatError`` for metadata that cannot be read.
    """
    if is_database(as_local(path)):
        with reading(shown_address(as_local(path))):
            return stored_metadata(as_local(path))
    for beside in _places_of_metadata(as_local(path)):
        with reading(shown_address(beside)):
            data = read_small(beside)
        if data is not None:
            return json_object(data, shown_address(beside))
    if len(files) != 1 or files[0].format != "parquet":  # with several files, each has its own metadata
        return None
    with reading(files[0].shown), pq.ParquetFile(files[0].at_random()) as parquet:
        return metadata_in(parquet, files[0].shown)


def _places_of_metadata(text: str) -> list[str]:
    if is_url(text):
        return [str(parse(text).child(MARK)), str(parse(text).beside(META))]
    return [os.path.join(text, MARK), f"{text}{META}"]
