"""The end of a run: what is finished takes its final names, in an order that a crash at any point cannot harm."""

import json
import os
from pathlib import Path

import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, run


class CrashError(Exception):
    """What ends a process at once here."""


@pytest.fixture
def source(tmp_path):
    """A thousand rows of several parts, some of which are bad."""
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(json.dumps({"id": n, "answer": "bad" if n % 83 == 5 else "a b"}) + "\n" for n in range(300))
    )
    return path


def go(source, output, rows=100, **options):
    job = FunctionMaker(choosy, KINDS, {"version": "1"})
    return run(open_source(source), job, output, limits=Limits(part_rows=rows), on_error="skip", **options)


def held(folder):
    """What lies in a folder, by its path there."""
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o/"])
def test_files_are_flushed_before_rename(tmp_path, source, monkeypatch, name):
    """The files, then the renames, the metadata last, then their folder."""
    events = []
    fsync, replace, open_ = os.fsync, os.replace, os.open
    opened = {}

    def opening(path, flags, mode=0o777, **options):
        handle = open_(path, flags, mode, **options)
        opened[handle] = Path(path).name
        return handle

    def syncing(handle):
        events.append(f"sync {opened[handle]}")
        fsync(handle)

    def replacing(old, new):
        events.append(f"name {Path(new).name}")
        replace(old, new)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    (tmp_path / "out").mkdir()
    go(source, f"{tmp_path}/out/{name}")
    last = events[events.index("sync rejects.jsonl") :]
    output_ = name.rstrip("/")
    named = last.index(f"name {output_}.rejects.jsonl")
    metadata = ["name o.csv.meta.json"] if name == "o.csv" else []
    assert last[named:] == [f"name {output_}.rejects.jsonl", f"name {output_}", *metadata, "sync out"]
    made = ["part-000000.parquet", "part-000001.parquet", "part-000002.parquet", "_fastmetrics.json", "output"]
    synced = made if name == "o/" else ["meta.json", "output.csv"] if name == "o.csv" else ["output.parquet"]
    assert sorted(last[:named]) == sorted(f"sync {one}" for one in ["rejects.jsonl", *synced])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o/"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("rows", [300, 0])
def test_a_crash_at_any_rename_leaves_the_old_output_or_the_new_one(
    tmp_path, source, monkeypatch, name, overwrite, rows
):
    """And the next run that resumes makes it the new one, with all that belongs to it, without scoring a row."""
    if not rows:
        source = tmp_path / "in.csv"
        source.write_text("id,answer\n")
    (tmp_path / "whole").mkdir()
    whole = go(source, f"{tmp_path}/whole/{name}")
    wanted, replace, finished = held(tmp_path / "whole"), os.replace, 0
    for stop in range(20):
        folder = tmp_path / str(stop)
        folder.mkdir()
        if overwrite:
            (tmp_path / "old.jsonl").write_text('{"id": 1, "answer": "old"}\n' * 2)
            go(tmp_path / "old.jsonl", f"{folder}/{name}", rows=1)
        before, left = held(folder), [stop]

        def crash(old, new, left=left):
            if "partial" not in str(new):
                left[0] -= 1
                if left[0] < 0:
                    raise CrashError
            replace(old, new)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", crash)
            try:
                go(source, f"{folder}/{name}", overwrite=overwrite)
                finished = stop
            except CrashError:
                pass
        there = {path: data for path, data in held(folder).items() if ".partial/" not in path}
        foreign = ("rejects", "meta")
        mine = {path: data for path, data in there.items() if not any(part in path for part in foreign)}
        assert all(data in (before.get(path), wanted.get(path)) for path, data in mine.items())
        if finished:
            break
        made = go(source, f"{folder}/{name}", resume=True, overwrite=overwrite)
        assert (made.rows, made.rejected, made.resumed_rows) == (whole.rows, whole.rejected, whole.rows)
        assert held(folder) == wanted
    assert finished == (3 if name == "o.csv" else 2) - (not rows), "each rename was a crash once"


@pytest.mark.parametrize("name", ["o.csv", "o/"])
def test_a_crash_while_the_work_folder_is_deleted_changes_nothing(tmp_path, source, monkeypatch, name):
    """The output is there; who resumes is told of all its rows, and no row is lost or scored into another place."""
    (tmp_path / "whole").mkdir()
    whole = go(source, f"{tmp_path}/whole/{name}")
    wanted, unlink = held(tmp_path / "whole"), os.unlink
    for stop in range(40):
        folder, left = tmp_path / str(stop), [stop]
        work = folder / f"{name.rstrip('/')}.partial"
        folder.mkdir()

        def crash(path, *arguments, left=left, folder=folder, **options):
            left[0] -= (folder / name.rstrip("/")).exists()
            if left[0] < 0:
                raise CrashError
            unlink(path, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", crash)
            try:
                go(source, f"{folder}/{name}")
            except CrashError:
                assert set(wanted) <= set(held(folder))
        ended = not work.exists()
        made = go(source, f"{folder}/{name}", resume=True)
        assert (made.rows, made.rejected) == (whole.rows, whole.rejected)
        assert held(folder) == wanted
        if ended:
            break
    assert stop >= 6, "a crash at each file"


def test_files_that_the_user_put_into_a_folder_of_scores_stay(tmp_path, source, monkeypatch):
    """Even where a run that had been told to replace the folder ended before it could."""
    go(source, tmp_path / "o")
    replace = os.replace

    def crash(old, new):
        if Path(new) == tmp_path / "o.rejects.jsonl":
            raise CrashError
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(CrashError):
            go(source, tmp_path / "o", overwrite=True)
    (tmp_path / "o" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"contains other files \('notes.txt'\)"):
        go(source, tmp_path / "o", overwrite=True)
    assert (tmp_path / "o" / "notes.txt").read_text() == "mine"
