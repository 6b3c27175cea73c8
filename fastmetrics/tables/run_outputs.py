"""The output of a run: finished parts with checksums in a work folder, resumed if the settings are the same, then
published.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
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
from fastmetrics.tables.protected_inputs import MARK
from fastmetrics.tables.table_chunks import Position
from fastmetrics.tables.targets import PARTS, make_private_folder, open_private, sync, target
from fastmetrics.tables.written_tables import stored_metadata

if TYPE_CHECKING:
    from filelock import BaseFileLock

# The journal of parts: ``journal.jsonl`` of a work folder, with one line for each finished part and its checksum.
#
# A line that is incomplete, or does not fit its checksum, is ignored: a killed run leaves such a line, and so may
# other programs.


JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class FinishedPart:
    """A finished part: its number, rows, rejects, the start of the next part, its observation, its checksum."""

    number: int
    rows: int
    rejects: int
    stop: tuple[int, int]
    size: int
    crc: int
    rejects_crc: int
    observed: Any

    @property
    def next(self) -> Position:
        """The start of the next part."""
        return Position(*self.stop)


def journal_parts(folder: Path) -> dict[int, FinishedPart]:
    """The finished parts of a work folder by number; their bytes are not checked."""
    journal, parts = folder / JOURNAL, {}
    for line in journal.read_bytes().splitlines() if journal.exists() else ():  # a run without rows has no journal
        try:
            record = json.loads(line)
            check = record.pop("check")
            part = FinishedPart(**{**record, "stop": tuple(record["stop"])})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        if check == _checksum(part):
            parts[part.number] = part
    return parts


def add_to_journal(folder: Path, part: FinishedPart) -> None:
    """Record a finished part."""
    with open(folder / JOURNAL, "ab", opener=open_private) as journal:
        # The leading line end separates this line from an incomplete one.
        journal.write(b"\n" + json.dumps({**asdict(part), "check": _checksum(part)}).encode() + b"\n")


def is_journal_empty(folder: Path) -> bool:
    """Whether no part was recorded."""
    journal = folder / JOURNAL
    return not journal.exists() or journal.stat().st_size == 0


def _checksum(part: FinishedPart) -> int:
    return zlib.crc32(json.dumps(asdict(part)).encode())


# The work folder of a run: finished parts with checksums, the settings of the run, and a lock.
#
# ``scores.parquet.partial/`` (for an output in a store, a folder in the user's cache) contains ``run.json``
# (settings, input, limits), ``journal.jsonl`` (one line per finished part), ``parts/part-000000.arrow`` …,
# ``rejects/part-000000.jsonl`` …, ``lock`` and ``owner``, the id of the process that holds the lock (a separate file,
# because Windows does not allow reading a locked one).  A part counts once its journal line is complete and its bytes
# match; all other files may be lost at any moment.  Only the owner can enter the folder; the output itself, once it
# has left the folder, has the usual permissions.


_LISTED = 5
_FOLDERS = ("parts", "rejects")
_NAMES = {
    *_FOLDERS,
    *("lock", "owner", "run.json", JOURNAL, "commit.json", "commit", "rejects.jsonl", "meta.json"),
    "uploaded",
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
        self, number: int, data: Sequence[pa.Buffer], *, rows: int, rejects: str, stop: Position, observed: Any
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


# The differences between two runs as text: versions, metrics, options, columns and inputs.


_DIFFERENCE_NAMES = {
    "fastmetrics": "the version of fastmetrics",
    "unicode": "the version of Unicode",
    "pyarrow": "the version of pyarrow",
    "sources": "the source of",
    "columns": "the column of",
    "declared": "the declaration of",
    "kinds": "the kind of column",
    "passed_over": "the ignored columns for",
    "keep": "the list of kept columns",
    "lists": "the list of columns that hold lists as text",
    "order": "the order of the scores",
    "on_error": "the handling of bad rows",
    "part": "the size of a part (rows, bytes)",
}
_FOLLOWS = ("order", "kinds", "passed_over", "options")
"""Differences that follow from others and are not reported."""


_LISTED_DIFFERENCES = 5
"""Number of input files that scores name."""


class RunDifference(NamedTuple):
    """A difference, with the values of both sides."""

    what: str
    first: str
    second: str


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[RunDifference]:
    """The differences between two signatures, or two runs, whose ``signature`` is one of several entries.

    >>> one = {"scores": {"f1@5": {"metric": "f1", "k": 5}}, "columns": {"reference": "gold"}}
    >>> for what, first, second in differences(one, {"scores": {"f1@5": {"metric": "f1", "k": 6}}, "columns": {}}):
    ...     print(f"{what}: {first}, {second}")
    option 'k' of 'f1@5': 5, 6
    the column of 'reference': 'gold', none
    """
    flat = [{**_mapping(side.get("signature")), **side} for side in (first, second)]
    names = [name for name in {**flat[0], **flat[1]} if name != "signature"]
    by_name = {name: list(_of(name, *(side.get(name) for side in flat))) for name in names}
    main = [difference for name, some in by_name.items() if name not in _FOLLOWS for difference in some]
    return main or [difference for some in by_name.values() for difference in some]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of(name: str, first: Any, second: Any) -> Iterator[RunDifference]:
    title = _DIFFERENCE_NAMES.get(name, name)
    if first == second:
        return
    if name == "input" and _are_files(first) and _are_files(second):
        yield from _inputs(first, second)
    elif not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        yield RunDifference(title, _value_text(first), _value_text(second))
    elif name == "scores":
        yield from _scores(first, second)
    else:
        for key in dict.fromkeys([*first, *second]):
            if first.get(key) != second.get(key):
                yield RunDifference(f"{title} {shown(key)}", _value_text(first.get(key)), _value_text(second.get(key)))


def _are_files(value: Any) -> bool:
    """Whether this is a list of fingerprints: name, size and modification time."""
    if not isinstance(value, list):
        return False
    return all(isinstance(file, list) and len(file) == 3 and list(map(type, file[:2])) == [str, int] for file in value)


def _scores(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[RunDifference]:
    """Metrics that one side lacks, and options that differ."""
    for name in dict.fromkeys([*first, *second]):
        if name not in first or name not in second:
            requests = ("requested" if name in side else "not requested" for side in (first, second))
            yield RunDifference(f"metric {shown(name)}", *requests)
            continue
        own, other = _mapping(first[name]), _mapping(second[name])
        for option in dict.fromkeys([*own, *other]):
            if own.get(option) != other.get(option):
                what = f"option {shown(option)} of {shown(name)}"
                yield RunDifference(what, _value_text(own.get(option)), _value_text(other.get(option)))


def _inputs(first: Sequence[Sequence[Any]], second: Sequence[Sequence[Any]]) -> Iterator[RunDifference]:
    """Files that one side lacks, and files that changed."""
    own, other = sides = [{file[0]: file[1:] for file in side} for side in (first, second)]
    for name in dict.fromkeys([*own, *other]):
        if name not in own or name not in other:
            yield RunDifference(f"input {name}", *("there" if name in side else "not there" for side in sides))
        elif own[name][:1] != other[name][:1]:
            yield RunDifference(f"the size of {name}", *(f"{side[name][0]:,} bytes" for side in sides))
        elif own[name] != other[name]:
            yield RunDifference(f"the content of {name}", *(_mark(name, side[name][1]) for side in sides))
    if own == other:
        yield RunDifference(
            "the order of the inputs", *(_value_text([file[0] for file in side]) for side in (first, second))
        )


def describe_inputs(files: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """The description of input files in scores: names and sizes of some, and a digest of all."""
    listed = [list(file) for file in files]
    digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    return {
        "files": len(files),
        "bytes": sum(size for _, size in files),
        "first": listed[:_LISTED_DIFFERENCES],
        "digest": digest,
    }


def described_inputs(described: Any) -> str | None:
    """The description of the input files in a score file's metadata as text; None if unknown.

    >>> described_inputs({"files": 1, "bytes": 1200, "first": [["rows.jsonl", 1200]], "digest": "89ab"})
    'rows.jsonl (1,200 bytes)'
    >>> described_inputs({"files": 9, "bytes": 9900, "first": [["0.csv", 1100]], "digest": "89ab"})
    '0.csv (1,100 bytes) and 8 more, 9,900 bytes in all, digest 89ab'
    """
    inputs = _mapping(described)
    first, count, size = inputs.get("first"), inputs.get("files"), inputs.get("bytes")
    if not (first and isinstance(first, list) and isinstance(count, int) and isinstance(size, int)):
        return None
    if not _are_files([[*file, None] if isinstance(file, list) else file for file in first]):
        return None
    names = ", ".join(f"{name} ({size:,} bytes)" for name, size in first)
    if count <= len(first):
        return names
    return f"{names} and {count - len(first):,} more, {size:,} bytes in all, digest {inputs.get('digest')}"


def _mark(name: str, mark: Any) -> str:
    """The identity of a content: for a local file, its modification time in nanoseconds."""
    if os.path.isabs(name) and isinstance(mark, int):
        return f"of {datetime.fromtimestamp(mark / 1e9, UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
    return f"with the mark {_value_text(mark)}"


def _value_text(value: Any) -> str:
    return "none" if value is None or value == [] else shown(value)


# The output of a run: checking the target, and publishing finished files.


_META, _REJECTS = ".meta.json", ".rejects.jsonl"


class Output:
    """The output file or folder of a run, with its rejects file and, if the format has no metadata, a sidecar.

    ``path``, ``rejects`` and ``sidecar`` are paths, or addresses as shown in messages; the run's work folder is beside
    the path, or, for an address, in ``work`` (by default a folder of the user's cache).  ``guard`` and ``excel``
    are those of ``TextEncoder``.
    """

    def __init__(
        self, path: str | Path, work: str | Path | None = None, *, guard: bool = True, excel: bool = False
    ) -> None:
        self.guard = guard
        self.excel = excel
        self.format, self.compression = output_format(path)
        self.folder = self.format == "folder"
        beside = [_REJECTS] if self.format in ("parquet", "folder") else [_META, _REJECTS]
        text = as_local(path)
        text = text if is_url(text) or is_database(text) else os.path.abspath(text)
        self._target = target(text, folder=PARTS if self.folder else None, beside=beside, work=work)
        self.path = self._target.path
        self.rejects = self._target.shown(_REJECTS)
        self.sidecar = self._target.shown(_META) if _META in beside else None
        self.work = WorkFolder(self._target.work, self.path, ".parquet" if self.folder else ".arrow")

    @property
    def temporary(self) -> Path:
        """The name of the output until it is complete."""
        return self.work.path / ("parts" if self.folder else f"output{PurePath(last_name(str(self.path))).suffix}")

    def check(self, inputs: Any, *, resume: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output may not or cannot be written; ``inputs`` are what the run reads."""
        self._target.check(inputs, overwrite=overwrite or (resume and self.work.committed()))
        if not (resume or overwrite) and self.work.unfinished():
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

    def commit(self, metadata: str, rejects: int) -> None:
        """Publish all files; the next resume completes a commit that was killed."""
        work, moves = self.work.path, []
        self._target.check_unchanged()
        with writing(self.path):
            if rejects:
                with open(work / "rejects.jsonl", "wb") as stream:
                    for number in sorted(self.work.parts):
                        if self.work.parts[number].rejects:
                            stream.write(self.work.rejects_path(number).read_bytes())
                moves.append(("rejects.jsonl", _REJECTS))
            else:
                self._target.drop(_REJECTS)
            if self.folder:
                (self.temporary / MARK).write_text(metadata + "\n", encoding="utf-8")
            elif self.sidecar is not None:
                (work / "meta.json").write_text(metadata + "\n", encoding="utf-8")
                moves.append(("meta.json", _META))
            moves.append((self.temporary.name, ""))
            for name, _ in moves:
                sync(work / name, inside=True)
            (work / "commit.tmp").write_text(json.dumps(moves), encoding="utf-8")
            sync(work / "commit.tmp")
            os.replace(work / "commit.tmp", work / "commit.json")
        self.finish()

    def finish(self) -> None:
        """Complete the remaining renames or uploads, and delete the work folder."""
        with writing(self.path):
            moves = self._planned()
            try:
                self._target.publish(self.work.path, moves)
            except OutputError as error:
                kept = f"; the scores are kept in {self.work.path}: "
                raise OutputError(*error.message.parts, kept, Argument("resume", True), " writes them") from error
            # If the deletion is interrupted, the next run must not mistake the rest for an output without parts.
            (self.work.path / "commit.tmp").write_text("[]", encoding="utf-8")
            os.replace(self.work.path / "commit.tmp", self.work.path / "commit.json")
        self.work.remove()

    def _planned(self) -> list[tuple[str, str]]:
        """The finished files that the list of renames names, each with the suffix that its final name adds."""
        names = [("rejects.jsonl", _REJECTS), ("meta.json", _META), (self.temporary.name, "")]
        try:
            plan = json.loads((self.work.path / "commit.json").read_text(encoding="utf-8"))
            listed = [(temporary, suffix) for temporary, suffix in plan]
        except (ValueError, TypeError, RecursionError):
            listed = [("", "")]
        if not all(pair in names for pair in listed):
            foreign = f"{self.work.path}/commit.json does not name the files of {self.path}; choose "
            raise OutputError(foreign, Argument("overwrite", True), " to start again")
        return listed


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
        return [str(parse(text).child(MARK)), str(parse(text).beside(_META))]
    return [os.path.join(text, MARK), f"{text}{_META}"]
