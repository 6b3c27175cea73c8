"""Outputs in the making: where they are, what killed runs leave, and work folders that somebody else made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.outputs import page_place, table_place, unfinished, write_page, write_whole
from fastmetrics.tables.run_outputs import WorkFolder
from tests.support.program import ENVIRONMENT, jsonl, program

KILLED = """
import os, signal, sys
from pathlib import Path
from fastmetrics.tables.outputs import unfinished
with unfinished(Path(sys.argv[1]), sys.argv[2]) as folder:
    (folder / "whole").write_bytes(b"x" * 1000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows() -> None:
    jsonl(Path("in.jsonl"), *({"id": n, "answer": "a b", "reference": "b"} for n in range(20)))


def test_hidden_folder_has_an_unguessable_name_and_one_owner() -> None:
    with unfinished(Path(), "page.html") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        name = folder.name
    with unfinished(Path(), "page.html") as folder:
        assert folder.name != name
        assert folder.name.startswith(".fastmetrics-")
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_next_run_removes_what_killed_runs_left() -> None:
    for output in ("page.html", "page.html", "other.html"):
        subprocess.run([sys.executable, "-c", KILLED, ".", output], env=ENVIRONMENT, timeout=300, check=False)
    assert len(list(Path().iterdir())) == 2, "the second run for the page removed what the first left"
    write_page(page_place("page.html", ()), "the page")
    assert len(list(Path().iterdir())) == 2, "the page, and what was left for another output"
    write_page(page_place("other.html", ()), "the page")
    assert sorted(path.name for path in Path().iterdir()) == ["other.html", "page.html"]


def test_running_writer_is_left_alone() -> None:
    position = page_place("page.html", ())
    with unfinished(Path.cwd(), "page.html") as folder:
        with pytest.raises(OutputError, match=r"another run is writing page\.html; wait for its end"):
            write_page(position, "the page")
        assert folder.exists()


def test_links_at_hidden_names_are_neither_followed_nor_deleted() -> None:
    Path("precious").mkdir()
    Path("precious/file").write_text("mine")
    with unfinished(Path.cwd(), "page.html") as folder:
        Path(f"{folder.name[:-4]}0000").symlink_to("precious")
    write_page(page_place("page.html", ()), "the page")
    assert Path("precious/file").read_text() == "mine"
    assert sum(path.is_symlink() for path in Path().iterdir()) == 1


def test_failed_write_leaves_nothing() -> None:
    def batches() -> object:
        yield pa.record_batch({"id": [1]})
        raise OSError(28, "No space left on device")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(OutputError, match=r"cannot write o\.csv: No space left on device"):
        write_whole(reader, table_place("o.csv", ()), {}, set())
    assert not list(Path().iterdir())


def work_folder(commit: object) -> None:
    """A work folder of an interrupted run, with a journal of renames by somebody else."""
    rows()
    folder = Path("o.parquet.partial")
    (folder / "parts").mkdir(parents=True)
    (folder / "owner").write_text("1")
    (folder / "run.json").write_text("{}")
    (folder / "commit.json").write_text(commit if isinstance(commit, str) else json.dumps(commit))


@pytest.mark.parametrize(
    "commit",
    [
        [["parts", "precious"]],
        [["../precious/file", "o.parquet"]],
        [["output.parquet", "../o.parquet"]],
        [["output.parquet", "precious/file"]],
        "[" * 100_000,
        "{",
        [[1, 2]],
        [1],
        None,
        {"a": 1},
    ],
)
def test_foreign_list_of_renames_moves_nothing(monkeypatch: pytest.MonkeyPatch, commit: object) -> None:
    work_folder(commit)
    Path("precious").mkdir()
    Path("precious/file").write_text("mine")
    monkeypatch.setattr("fastmetrics.engines.run_job.compare", lambda *_: None)
    monkeypatch.setattr("fastmetrics.engines.run_job.decode_schema", lambda _: pa.schema([("answer", pa.string())]))
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--resume")
    assert (done.code, "commit.json does not name the files of" in done.err) == (4, True), done.err
    assert Path("precious/file").read_text() == "mine"
    assert program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite").code == 0


@pytest.mark.parametrize(
    "name", ["", "owner", "lock", "parts", "journal.jsonl", "output.parquet", "parts/part-000000.arrow"]
)
def test_links_in_a_work_folder_are_not_followed(name: str) -> None:
    rows()
    Path("precious").mkdir()
    Path("precious/owner").write_text("mine")
    folder = Path("o.parquet.partial")
    if name:
        (folder / name).parent.mkdir(parents=True)
        (folder / "owner").write_text("1")
        (folder / name).unlink(missing_ok=True)
    is_folder = name in ("", "parts")
    (folder / name).symlink_to(Path("precious" if is_folder else "precious/owner").absolute())
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite")
    assert (done.code, "is a link, which no run makes in its work folder; delete" in done.err) == (4, True), done.err
    assert [path.read_text() for path in Path("precious").iterdir()] == ["mine"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "7", '{"schema": 7}', '{"schema": "AAAA"}'])
def test_garbled_record_of_a_run_is_no_run(text: str) -> None:
    rows()
    assert program("score", "in.jsonl", "-o", "whole.parquet", "-m", "token_f1").code == 0
    folder = Path("o.parquet.partial")
    (folder / "parts").mkdir(parents=True)
    (folder / "owner").write_text("1")
    (folder / "run.json").write_text(text)
    (folder / "journal.jsonl").write_text('{"number": 0}\n' + "[" * 100_000)
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--resume")
    if done.code:  # a record of other settings
        assert (done.code, "cannot resume" in done.err) == (4, True), done.err
        assert program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite").code == 0
    assert Path("o.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert not folder.exists()


def test_changed_line_of_the_journal_is_ignored() -> None:
    from fastmetrics.tables.table_chunks import Position

    work = WorkFolder(Path("o.csv.partial").absolute(), "o.csv", ".arrow")
    with work:
        work.start({})
        work.save(0, [pa.py_buffer(b"data")], rows=5, rejects="", stop=Position(0, 5), observed={"n": 1})
        journal = work.path / "journal.jsonl"
        line = journal.read_text()
        for old, new in (('"n": 1', '"n": 2'), ('"rows": 5', '"rows": "5"'), ("[0, 5]", '["0", {}]')):
            assert old in line
            journal.write_text(line.replace(old, new))
            work.load()
            assert work.parts == {}
        journal.write_text(line)
        work.load()
        assert list(work.parts) == [0]
        os.unlink(journal)
