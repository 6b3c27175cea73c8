"""Where scores go: whether they may, and how a finished file takes its final name, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fastmetrics.errors import FileFormatError, OutputError
from fastmetrics.tables.checkpoint import WorkFolder
from fastmetrics.tables.files import DataFile, reading
from fastmetrics.tables.sinks import CONCLUSION, KEY, output_format, writing

_OURS = ("part-", "_fastmetrics.json")


class Output:
    """The file or folder that a run makes, with its rejects file and, where the format has no place, a sidecar."""

    def __init__(self, path: str | Path) -> None:
        self.format, self.compression = output_format(path)
        self.path = Path(os.path.abspath(path))
        self.folder = self.format == "folder"
        self.rejects = self.path.with_name(self.path.name + ".rejects.jsonl")
        self.sidecar = None if self.format in ("parquet", "folder") else Path(f"{self.path}.meta.json")
        self.work = WorkFolder(self.path, ".parquet" if self.folder else ".arrow")

    @property
    def temporary(self) -> Path:
        """The output under the name it has until it is whole."""
        return self.work.path / ("parts" if self.folder else f"output{self.path.suffix}")

    def check(self, inputs: list[DataFile], *, resume: bool, overwrite: bool) -> None:
        """Raise ``OutputError`` if the output must not be written."""
        if self.path.exists():
            if any(os.path.samefile(self.path, file.path) for file in inputs):
                raise OutputError(f"{self.path} is an input; write to another name")
            if not (resume and self.work.committed()):
                self._check_existing(overwrite)
        parent = self.path.parent
        if not parent.is_dir():
            raise OutputError(f"cannot write {self.path}: there is no folder {parent}")
        if not (resume or overwrite) and self.work.unfinished():
            raise OutputError(
                f"{self.work.path} holds an unfinished run; choose resume to continue it or overwrite to start again"
            )

    def _check_existing(self, overwrite: bool) -> None:
        if self.folder != self.path.is_dir():
            kind = "a folder" if self.path.is_dir() else "not a folder"
            raise OutputError(f"{self.path} exists and is {kind}")
        names = sorted(os.listdir(self.path)) if self.folder else []
        if self.folder and not names:
            return
        if not overwrite:
            raise OutputError(f"{self.path} exists; choose overwrite to replace it")
        foreign = [name for name in names if not name.startswith(_OURS)]
        if foreign:
            raise OutputError(f"{self.path} holds other files ({foreign[0]!r}); choose another folder")

    def commit(self, metadata: str, rejects: int) -> None:
        """Give everything its final name; a kill between two renames is made good by the next resume."""
        work = self.work.path
        moves = []
        with writing(self.path):
            if rejects:
                with open(work / "rejects.jsonl", "wb") as stream:
                    for number in sorted(self.work.parts):
                        if self.work.parts[number].rejects:
                            stream.write(self.work.rejects_path(number).read_bytes())
                moves.append((work / "rejects.jsonl", self.rejects))
            elif self.rejects.exists():
                self.rejects.unlink()
            if self.folder:
                (self.temporary / "_fastmetrics.json").write_text(metadata + "\n", encoding="utf-8")
            elif self.sidecar is not None:
                (work / "meta.json").write_text(metadata + "\n", encoding="utf-8")
                moves.append((work / "meta.json", self.sidecar))
            moves.append((self.temporary, self.path))
            for temporary, _ in moves:
                _sync(temporary)
            plan = json.dumps([[str(temporary.name), str(final.name)] for temporary, final in moves])
            (work / "commit.tmp").write_text(plan, encoding="utf-8")
            _sync(work / "commit.tmp")
            os.replace(work / "commit.tmp", work / "commit.json")
        self.finish()

    def finish(self) -> None:
        """Do the renames that are left, and delete the work folder."""
        with writing(self.path):
            for temporary, final in json.loads((self.work.path / "commit.json").read_text(encoding="utf-8")):
                source, target = self.work.path / temporary, self.path.parent / final
                if source.exists():
                    if target.is_dir():
                        shutil.rmtree(target)
                    os.replace(source, target)
            _sync(self.path.parent)
        self.work.remove()


def read_metadata(path: str | Path) -> dict[str, Any]:
    """What a run wrote of itself into or beside its output: the signature and the conclusion.

    Raises ``FileFormatError`` for a file that no run made.
    """
    path = Path(path)
    for beside in (path / "_fastmetrics.json", Path(f"{path}.meta.json")):
        if beside.exists():
            return dict(json.loads(beside.read_text(encoding="utf-8")))
    found: dict[bytes, bytes] = {}
    if path.is_file() and output_format(path)[0] == "parquet":
        with reading(str(path)), pq.ParquetFile(path) as file:
            found = {**(file.schema_arrow.metadata or {}), **(file.metadata.metadata or {})}
    if KEY.encode() not in found:
        raise FileFormatError(f"{path}: holds no metadata of fastmetrics")
    return dict(json.loads(found[KEY.encode()])) | dict(json.loads(found.get(CONCLUSION.encode(), b"{}")))


def _sync(path: Path) -> None:
    """Wait until a file, or a folder and the files in it, are on the disk."""
    for one in [*(sorted(path.iterdir()) if path.is_dir() and path.name == "parts" else []), path]:
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
