"""Outputs in the making: where they are, what killed runs leave, and work folders that somebody else made."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.outputs import page_target, table_target, write_whole
from tests.support.program import jsonl, program


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows():
    jsonl(Path("in.jsonl"), *({"id": n, "answer": "a b", "reference": "b"} for n in range(20)))


def test_hidden_folder_is_new_and_of_its_owner_alone():
    """So a run meets neither what a killed one left, nor a link that somebody put there."""
    place = page_target("page.html", ())
    with place.unfinished() as left, place.unfinished() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder.parent, folder.name[:13]) == (Path.cwd(), ".fastmetrics-")
        place.write("the page")
        assert sorted(Path.cwd().iterdir()) == sorted([left, folder, Path("page.html").absolute()])
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("page.html", "the page")]


def test_table_killed_between_its_two_files_is_one_without_metadata(monkeypatch):
    """Never the table of one run beside the metadata of another."""
    write_whole(pa.table({"a": [1]}), table_target("o.csv", ()), {"run": 1}, set())
    replace = os.replace

    def kill(source, final):
        if final.name == "o.csv.meta.json":
            raise KeyboardInterrupt
        replace(source, final)

    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(KeyboardInterrupt):
        write_whole(pa.table({"a": [2]}), table_target("o.csv", (), overwrite=True), {"run": 2}, set())
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("o.csv", '"a"\n2\n')]
    monkeypatch.undo()


def test_failed_write_leaves_nothing():
    def batches():
        yield pa.record_batch({"id": [1]})
        raise OSError(28, "No space left on device")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(OutputError, match=r"cannot write o\.csv: No space left on device"):
        write_whole(reader, table_target("o.csv", ()), {}, set())
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["", "lock", "run.json", "output", "output.parquet", "part-000000.arrow"])
def test_links_in_a_work_folder_are_not_followed(name):
    rows()
    Path("precious").mkdir()
    Path("precious/owner").write_text("mine")
    folder = Path("o.parquet.partial")
    if name:
        (folder / name).parent.mkdir(parents=True)
    is_folder = name in ("", "output")
    (folder / name).symlink_to(Path("precious" if is_folder else "precious/owner").absolute())
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite")
    assert (done.code, "is not the work folder of a run" in done.err) == (4, True), done.err
    assert [path.read_text() for path in Path("precious").iterdir()] == ["mine"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "7", "{}"])
def test_garbled_record_of_a_run_is_no_run(text):
    rows()
    assert program("score", "in.jsonl", "-o", "whole.parquet", "-m", "token_f1").code == 0
    folder = Path("o.parquet.partial")
    folder.mkdir()
    (folder / "run.json").write_text(text)
    (folder / "part-000000.json").write_text("[" * 100_000)
    done = program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--resume")
    if done.code:  # a record of other settings
        assert (done.code, "cannot resume" in done.err) == (4, True), done.err
        assert program("score", "in.jsonl", "-o", "o.parquet", "-m", "token_f1", "--overwrite").code == 0
    assert Path("o.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert not folder.exists()
