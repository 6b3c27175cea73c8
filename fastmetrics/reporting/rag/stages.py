"""The stages of a run in a folder: a file each, made once from the same settings and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, OutputError
from fastmetrics.base.public_names import __version__, source_digest
from fastmetrics.tables.outputs import page_place, write_page
from fastmetrics.tables.run_outputs import differences

RECORD = "stages.json"
STORE = "answers.sqlite"
"""The file of answers of a function that has no store of its own."""


class Stages:
    """The stages in a folder: ``reused`` are those of which an earlier run wrote the whole file.

    With ``overwrite`` all are made again.  Raises ``OutputError`` for a folder with other files.
    """

    def __init__(self, folder: Path, *, overwrite: bool) -> None:
        self.folder = folder
        self.reused: list[str] = []
        self.resume = not overwrite
        self._records: dict[str, Any] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            others = any(folder.iterdir())
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror}") from error
        recorded = self._read()
        if others and recorded is None:
            raise OutputError(f"{folder}: the folder has other files; choose a new or empty folder")
        if overwrite:
            (folder / STORE).unlink(missing_ok=True)
        else:
            self._records = recorded or {}
        self._went_before = bool(self._records)
        self._write()

    @property
    def has_files(self) -> bool:
        """Whether an earlier run made a file."""
        return self._went_before

    def path(self, name: str) -> Path:
        """The file of a stage."""
        return self.folder / name

    def run(
        self, name: str, settings: Mapping[str, Any], files: Sequence[str], make: Callable[[Path], bool | None]
    ) -> Path:
        """The file of a stage, by ``make`` unless an earlier run made it with these ``settings`` from these ``files``.

        ``make`` returns False for a whole file that the next run should make again, since calls failed.  Raises
        ``OutputError`` if the file was made with other settings.
        """
        path, earlier = self.path(name), self._records.get(name)
        record = {
            "settings": {"fastmetrics": __version__, "sources": {"fastmetrics": source_digest()}, **settings},
            "files": [self._content(file) for file in files],
        }
        record = json.loads(json.dumps(record, default=str))
        if earlier is not None:
            changes = differences(earlier["settings"], record["settings"])
            if changes:
                what, was, now = changes[0]
                differs = (
                    f"{path} was made with other settings ({what} was {was}, is {now}); choose another folder, or "
                )
                raise OutputError(differs, Argument("overwrite", True), " to start again")
            if earlier["files"] == record["files"] and earlier["content"] == self._content(name):
                self.reused.append(name)
                return path
        whole = make(path)
        self._records[name] = {**record, "content": None if whole is False else self._content(name)}
        self._write()
        return path

    def _content(self, name: str) -> list[int] | None:
        """What tells whether a file was written again."""
        try:
            about = self.path(name).stat()
        except OSError:
            return None
        return [about.st_size, about.st_mtime_ns]

    def _read(self) -> dict[str, Any] | None:
        try:
            records = json.loads((self.folder / RECORD).read_bytes())
            return {
                str(name): {key: own[key] for key in ("settings", "files", "content")} for name, own in records.items()
            }
        except (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
            return None

    def _write(self) -> None:
        text = json.dumps(self._records, ensure_ascii=False, indent=1) + "\n"
        write_page(page_place(self.folder / RECORD, [], overwrite=True), text)
