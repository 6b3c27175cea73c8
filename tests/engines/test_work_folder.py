"""The work folder of a run: what counts as a finished part, and what a crash may leave without harm."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables import Position
from fastmetrics.tables import run_outputs as checkpoint
from fastmetrics.tables.run_outputs import WorkFolder

REJECT = '{"file": "in.csv", "line": 3}\n'


class CrashError(Exception):
    """What ends a process at once here."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "o.csv.partial"


def begun(path: Path) -> WorkFolder:
    """A work folder in which a run has started."""
    work = again(path)
    with work:
        work.start({"version": 1})
        keep(work, 0)
    return work


def again(path: Path) -> WorkFolder:
    """The folder as another process finds it."""
    return WorkFolder(path, path.with_suffix(""), ".arrow")


def keep(work: WorkFolder, number: int, data: bytes = b"the bytes", rejects: str = REJECT) -> None:
    """Save a part in two pieces, with a reject."""
    pieces = [pa.py_buffer(data[:4]), pa.py_buffer(data[4:])]
    work.save(number, pieces, rows=5, rejects=rejects, stop=Position(number, 7), observed={"n": number})


def read(path: Path, number: int) -> tuple[bytes, str] | None:
    """A part as another process finds it."""
    work = again(path)
    work.load()
    found = work.part(number)
    return None if found is None else (found[0].to_pybytes(), found[1])


def test_saved_part_is_restored_unchanged(path: Path) -> None:
    begun(path)
    work = again(path)
    work.load()
    part = work.parts[0]
    assert read(path, 0) == (b"the bytes", REJECT)
    assert (part.rows, part.rejects, part.next, part.observed) == (5, 1, Position(0, 7), {"n": 0})
    assert read(path, 1) is None


@pytest.mark.parametrize("victim", ["parts/part-000000.arrow", "rejects/part-000000.jsonl"])
@pytest.mark.parametrize("harm", ["truncate", "extend", "flip", "empty", "remove"])
def test_part_with_changed_bytes_or_rejects_is_invalid(path: Path, victim: str, harm: str) -> None:
    begun(path)
    data = (path / victim).read_bytes()
    changed = {"truncate": data[:-1], "extend": data + b"\n", "flip": bytes([data[0] ^ 1]) + data[1:], "empty": b""}
    if harm == "remove":
        (path / victim).unlink()
    else:
        (path / victim).write_bytes(changed[harm])
    assert read(path, 0) is None


def test_truncated_journal_line_loses_one_part(path: Path) -> None:
    """Wherever the line was cut, and whatever is written after it."""
    work = begun(path)
    before = (path / "journal.jsonl").read_bytes()
    keep(work, 1)
    whole = (path / "journal.jsonl").read_bytes()
    for stop in range(len(before) + 1, len(whole) - 1):
        (path / "journal.jsonl").write_bytes(whole[:stop])
        torn = again(path)
        torn.load()
        assert list(torn.parts) == [0]
        keep(torn, 1, b"made anew")
        keep(torn, 2)
        assert [read(path, number) is not None for number in range(4)] == [True, True, True, False]
        assert read(path, 1) == (b"made anew", REJECT)


@pytest.mark.parametrize("line", [b"null", b"7", b"[]", b'"part"', b"{}", b'{"number": 1}', b"\xff\xfe"])
def test_invalid_journal_line_is_skipped(path: Path, line: bytes) -> None:
    work = begun(path)
    with open(path / "journal.jsonl", "ab") as journal:
        journal.write(b"\n" + line + b"\n")
    keep(work, 1)
    assert [read(path, number) is not None for number in range(3)] == [True, True, False]


def test_last_saved_version_of_a_part_counts(path: Path) -> None:
    keep(begun(path), 0, b"made anew", "")
    assert read(path, 0) == (b"made anew", "")


@pytest.mark.parametrize("name", ["part-000001.arrow", "part-000001.jsonl"])
def test_parts_are_written_atomically(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A process may end between any two writes: what is there then under the name of a part is all of it."""
    work, replace = begun(path), os.replace

    def crash(old: Path, new: Path) -> None:
        if new.name == name:
            raise CrashError
        replace(old, new)

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(CrashError):
        keep(work, 1)
    assert not list(path.rglob(name))
    assert read(path, 1) is None
    assert read(path, 0) is not None


@pytest.mark.parametrize("most", [1, 3, 100])
def test_partial_write_is_continued(path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    class Short(io.FileIO):
        def write(self, data: memoryview) -> int:  # type: ignore[override]
            return super().write(data[:most])

    def opening(file: Path, mode: str, **options: object) -> object:
        return Short(file, mode) if options.get("buffering") == 0 else open(file, mode, **options)

    monkeypatch.setattr(checkpoint, "open", opening, raising=False)
    keep(begun(path), 1, b"bytes that are many " * 20)
    assert read(path, 1) == (b"bytes that are many " * 20, REJECT)


def test_journal_line_is_written_after_part_and_rejects(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line comes last: before it, neither the part nor its rejects may be missing."""
    work, seen = begun(path), []
    dumps = json.dumps

    def look(*arguments: object, **options: object) -> str:
        seen.append((work.part_path(1).exists(), work.rejects_path(1).exists()))
        return dumps(*arguments, **options)

    monkeypatch.setattr(json, "dumps", look)
    keep(work, 1)
    assert set(seen) == {(True, True)}


def test_new_start_discards_earlier_parts(path: Path) -> None:
    begun(path)
    (path / "output.csv").write_text("half")
    work = again(path)
    with work:
        work.load()
        work.start({"version": 2})
        assert (work.parts, work.recorded()) == ({}, {"version": 2})
        assert sorted(one.relative_to(path).as_posix() for one in path.rglob("*")) == [
            *("lock", "owner", "parts", "rejects", "run.json")
        ]
        assert not work.unfinished()
    assert not path.exists(), "nothing was done, so nothing is left"


def test_folder_counts_as_unfinished_if_it_can_be_resumed(path: Path) -> None:
    work = again(path)
    with work:
        work.start({"version": 1})
        (path / "journal.jsonl").touch()
        assert not work.unfinished(), "a process may end before its first line"
        (path / "commit.json").write_text("[]")
        assert work.unfinished(), "a run of no rows has no parts, and yet an output"
        (path / "commit.json").unlink()
        keep(work, 0)
        assert work.unfinished()
    assert path.exists()


def test_lock_error_names_the_holder(path: Path) -> None:
    path.mkdir()
    (path / "owner").write_text("123456789012345678901")  # left by an earlier run with a longer process id
    with again(path), pytest.raises(OutputError) as caught, again(path):
        pass
    assert str(caught.value) == f"another run (process {os.getpid()}) is writing {path.with_suffix('')}"
    with again(path):
        pass


@pytest.mark.parametrize("owner", [None, b"", b"\xff"])
def test_lock_without_recorded_holder_is_unknown(path: Path, owner: bytes | None) -> None:
    path.mkdir()
    with filelock.FileLock(path / "lock"):
        if owner is not None:
            (path / "owner").write_bytes(owner)
        with pytest.raises(OutputError, match=r"^another run \(process unknown\) is writing "), again(path):
            pass


@pytest.mark.parametrize("names", [["notes.txt"], ["lock", "notes.txt"], ["parts"], ["run.json", "journal.jsonl"]])
def test_folder_with_foreign_files_is_not_entered(path: Path, names: list[str]) -> None:
    path.mkdir()
    for name in names:
        (path / name).write_text("mine")
    with pytest.raises(OutputError, match=f"^{path} is not the work folder of a run"), again(path):
        pass
    assert sorted(one.name for one in path.iterdir()) == sorted(names)


def test_folder_can_be_entered_after_a_crash_at_any_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, call in ((filelock.BaseFileLock, "acquire"), (Path, "write_text"), (os, "mkdir")):
        done = getattr(owner, call)

        def crash(*arguments: Any, done: Callable[..., object] = done, call: str = call, **options: Any) -> None:
            if call != "mkdir" or Path(arguments[0]).name == "rejects":
                raise CrashError
            done(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(owner, call, crash)
            with pytest.raises(CrashError):
                again(path).__enter__()
        with again(path):
            assert (path / "owner").read_text() == str(os.getpid())


def test_lock_is_deleted_last(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is there beside it, another run must not enter before the end, nor take the folder for the user's."""
    work, left = begun(path), []
    unlink = os.unlink

    def look(file: str | Path, *arguments: Any, **options: Any) -> None:
        unlink(file, *arguments, **options)
        left.append({one.name for one in path.iterdir()})

    with work:
        monkeypatch.setattr(os, "unlink", look)
        work.remove()
    assert not path.exists()
    assert left[-3:] == [{"lock", "owner"}, {"lock"}, set()]


def test_releasing_an_undeletable_lock_removes_the_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: whoever holds the lock deletes its file as it lets go of it."""
    unlink, release, held = os.unlink, filelock.FileLock._release, [True]

    def refuse(file: str | Path, *arguments: Any, **options: Any) -> None:
        if Path(file).name == "lock" and held:
            raise PermissionError(13, "Permission denied")
        unlink(file, *arguments, **options)

    def let_go(lock: filelock.FileLock) -> None:
        release(lock)
        held.clear()
        unlink(path / "lock")

    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(filelock.FileLock, "_release", let_go)
    with again(path):
        pass
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\udcff"])
def test_folder_without_valid_run_file_has_no_recorded_run(path: Path, text: str) -> None:
    work = begun(path)
    (path / "run.json").write_bytes(text.encode(errors="surrogateescape"))
    assert work.recorded() is None
    (path / "run.json").unlink()
    assert work.recorded() is None
