"""The work folder of a run: what counts as a finished part, and what a crash may leave without harm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables import Position
from fastmetrics.tables.run_outputs import WorkFolder

SCHEMA = pa.schema([("answer", pa.string())])
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
        work.start({"version": 1}, SCHEMA)
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
    if found is None:
        return None
    work.parts = {number: work.parts[number]}
    return found.to_pybytes(), "".join(work.rejects())


def test_saved_part_is_restored_unchanged(path: Path) -> None:
    begun(path)
    work = again(path)
    work.load()
    part = work.parts[0]
    assert read(path, 0) == (b"the bytes", REJECT)
    assert (part.rows, part.rejects, part.next, part.observed) == (5, 1, Position(0, 7), {"n": 0})
    assert read(path, 1) is None


@pytest.mark.parametrize("harm", ["truncate", "extend", "flip", "empty", "remove"])
def test_part_with_changed_bytes_is_invalid(path: Path, harm: str) -> None:
    begun(path)
    victim = path / "parts" / "part-000000.arrow"
    data = victim.read_bytes()
    changed = {"truncate": data[:-1], "extend": data + b"\n", "flip": bytes([data[0] ^ 1]) + data[1:], "empty": b""}
    if harm == "remove":
        victim.unlink()
    else:
        victim.write_bytes(changed[harm])
    assert read(path, 0) is None


def test_truncated_record_loses_one_part(path: Path) -> None:
    """Wherever it was cut, as a disk may do when power fails."""
    work = begun(path)
    keep(work, 1)
    record = path / "records" / "000001.json"
    whole = record.read_bytes()
    for stop in range(len(whole)):
        record.write_bytes(whole[:stop])
        torn = again(path)
        torn.load()
        assert list(torn.parts) == [0]
    keep(torn, 1, b"made anew")
    assert read(path, 1) == (b"made anew", REJECT)


@pytest.mark.parametrize("text", [b"null", b"7", b"[]", b'"part"', b"{}", b'{"rows": 1}', b"\xff\xfe", b"[" * 100_000])
def test_invalid_record_is_no_part(path: Path, text: bytes) -> None:
    begun(path)
    (path / "records" / "000001.json").write_bytes(text)
    assert [read(path, number) is not None for number in range(2)] == [True, False]


def test_last_saved_version_of_a_part_counts(path: Path) -> None:
    keep(begun(path), 0, b"made anew", "")
    assert read(path, 0) == (b"made anew", "")


@pytest.mark.parametrize("name", ["part-000001.arrow", "000001.json"])
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


def test_new_start_discards_earlier_parts(path: Path) -> None:
    begun(path)
    (path / "output.csv").write_text("half")
    work = again(path)
    with work:
        work.load()
        work.start({"version": 2}, SCHEMA)
        assert (work.parts, work.recorded()) == ({}, ({"version": 2}, SCHEMA))
        assert sorted(one.relative_to(path).as_posix() for one in path.rglob("*")) == [
            *("lock", "owner", "parts", "records", "run.json", "schema.arrow")
        ]
        assert not work.unfinished()
    assert not path.exists(), "nothing was done, so nothing is left"


def test_folder_counts_as_unfinished_if_it_can_be_resumed(path: Path) -> None:
    work = again(path)
    with work:
        work.start({"version": 1}, SCHEMA)
        assert not work.unfinished(), "a process may end before its first part"
        (path / "finished").touch()
        assert work.unfinished(), "its renames may be left to do"
        (path / "finished").unlink()
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


@pytest.mark.parametrize("names", [["notes.txt"], ["lock", "notes.txt"], ["parts"], ["run.json", "finished"]])
def test_folder_with_foreign_files_is_not_entered(path: Path, names: list[str]) -> None:
    path.mkdir()
    for name in names:
        (path / name).write_text("mine")
    with pytest.raises(OutputError, match=f"^{path} is not the work folder of a run"), again(path):
        pass
    assert sorted(one.name for one in path.iterdir()) == sorted(names)


def test_folder_can_be_entered_after_a_crash_at_any_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, call in ((filelock.BaseFileLock, "acquire"), (Path, "write_text")):

        def crash(*arguments: Any, **options: Any) -> None:
            raise CrashError

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
    assert left[-2:] == [{"lock"}, set()]


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
    (path / "run.json").write_text("{}")
    assert work.recorded() == ({}, SCHEMA)
    for data in (b"", b"garbled"):
        (path / "schema.arrow").write_bytes(data)
        assert work.recorded() is None
