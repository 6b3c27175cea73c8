"""The output of a run: checking the target, and renaming finished files atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.base.errors import Argument, FileFormatError, OutputError
from fastmetrics.tables.databases.written_tables import stored_metadata
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.inputs.input_paths import expand
from fastmetrics.tables.output.completion_mark import mark_path, write_mark
from fastmetrics.tables.output.encoding.encoders import writing
from fastmetrics.tables.output.encoding.output_formats import output_format
from fastmetrics.tables.output.encoding.parquet_metadata import json_object, metadata_in
from fastmetrics.tables.output.targets import DatabaseTarget, sync, target
from fastmetrics.tables.output.work_folder import WorkFolder
from fastmetrics.tables.remote.addresses import as_local, is_database, is_url, last_name, parse, shown
from fastmetrics.tables.remote.small_files import read_small


class Output:
    """The output file or folder of a run, with its rejects file and, if the format has no metadata, a sidecar.

    ``path``, ``rejects`` and ``sidecar`` are paths, or addresses as shown in messages; the run's work folder is beside
    the path, or, for an address, in ``work`` (by default a folder of the user's cache).  ``guard`` is that of
    ``TextEncoder``.
    """

    def __init__(self, path: str | Path, work: str | Path | None = None, *, guard: bool = True) -> None:
        self.guard = guard
        self.format, self.compression = output_format(path)
        self.folder = self.format == "folder"
        self._target = target(path, self.folder, work)
        self.path = self._target.path
        self.rejects = self._target.beside(".rejects.jsonl")
        self.sidecar = None if self.format in ("parquet", "folder") else self._target.beside(".meta.json")
        self.work = WorkFolder(self._target.work, self.path, ".parquet" if self.folder else ".arrow")

    @property
    def temporary(self) -> Path:
        """The name of the output until it is complete."""
        return self.work.path / ("parts" if self.folder else f"output{self._target.suffix}")

    def check(self, inputs: Any, *, resume: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output may not or cannot be written; ``inputs`` are what the run reads."""
        beside = [".rejects.jsonl"] if self.sidecar is None else [".meta.json", ".rejects.jsonl"]
        self._target.check(inputs, beside, replaceable=resume and self.work.committed(), overwrite=overwrite)
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
        if isinstance(self._target, DatabaseTarget):
            self._target.check_types(schema)

    def commit(self, metadata: str, rejects: int) -> None:
        """Rename all files; the next resume completes a commit that was killed."""
        work = self.work.path
        moves = []
        self._target.check_unchanged()
        with writing(self.path):
            if rejects:
                with open(work / "rejects.jsonl", "wb") as stream:
                    for number in sorted(self.work.parts):
                        if self.work.parts[number].rejects:
                            stream.write(self.work.rejects_path(number).read_bytes())
                moves.append((work / "rejects.jsonl", self.rejects))
            else:
                self._target.drop(".rejects.jsonl")
            if self.folder:
                write_mark(self.temporary, metadata)
            elif self.sidecar is not None:
                (work / "meta.json").write_text(metadata + "\n", encoding="utf-8")
                moves.append((work / "meta.json", self.sidecar))
            moves.append((self.temporary, self.path))
            for temporary, _ in moves:
                sync(temporary)
            plan = json.dumps([[temporary.name, last_name(final)] for temporary, final in moves])
            (work / "commit.tmp").write_text(plan, encoding="utf-8")
            sync(work / "commit.tmp")
            os.replace(work / "commit.tmp", work / "commit.json")
        self.finish()

    def finish(self) -> None:
        """Complete the remaining renames or uploads, and delete the work folder."""
        with writing(self.path):
            self._target.settle(self.work.path, self._planned())
            # If the deletion is interrupted, the next run must not mistake the rest for an output without parts.
            (self.work.path / "commit.tmp").write_text("[]", encoding="utf-8")
            os.replace(self.work.path / "commit.tmp", self.work.path / "commit.json")
        self.work.remove()

    def _planned(self) -> list[tuple[str, str]]:
        """The names of finished files and their final names; those of the journal, if they are of this output."""
        finals = {"rejects.jsonl": self.rejects, "meta.json": self.sidecar, self.temporary.name: self.path}
        names = [(name, last_name(final)) for name, final in finals.items() if final is not None]
        try:
            plan = json.loads((self.work.path / "commit.json").read_text(encoding="utf-8"))
            listed = [(temporary, final) for temporary, final in plan]
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
        raise FileFormatError(f"{shown(text)}: contains no metadata of fastmetrics")
    return metadata


def find_metadata(path: str | Path, files: Sequence[DataFile] = ()) -> dict[str, Any] | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises ``FileFormatError`` for metadata that cannot be read.
    """
    if is_database(as_local(path)):
        with reading(shown(as_local(path))):
            return stored_metadata(as_local(path))
    for beside in _places_of_metadata(as_local(path)):
        with reading(shown(beside)):
            data = read_small(beside)
        if data is not None:
            return json_object(data, shown(beside))
    if len(files) != 1 or files[0].format != "parquet":  # with several files, each has its own metadata
        return None
    with reading(files[0].shown), pq.ParquetFile(files[0].at_random()) as parquet:
        return metadata_in(parquet, files[0].shown)


def _places_of_metadata(text: str) -> list[str]:
    return [mark_path(text), str(parse(text).beside(".meta.json")) if is_url(text) else f"{text}.meta.json"]
