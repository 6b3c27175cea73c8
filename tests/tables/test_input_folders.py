"""Folders as inputs: keys are columns in every format, nothing is lost in silence, nothing read that is no input."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.table_files import FORMATS, read, write
from tests.support.toy_scores import JOB, run, table

KEYED = {"answer": "text", "lang": "any", "year": "any"}


class StopError(Exception):
    """What ends a run early here."""


@pytest.mark.parametrize("name", FORMATS)
def test_keys_are_columns_whatever_the_format(tmp_path, name):
    for lang, year in (("de", 2023), ("__HIVE_DEFAULT_PARTITION__", 2024)):
        folder = tmp_path / f"lang={lang}" / f"year={year}"
        folder.mkdir(parents=True)
        write(pa.table({"id": [year], "answer": [lang]}), folder / name)
    found, rejects = read(open_source(tmp_path), KEYED)
    assert found["lang"].to_pylist() == [None, "de"]
    assert found["year"].to_pylist() == [2024, 2023]
    assert rejects == []


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
def test_a_column_of_a_file_wins_over_the_name_of_its_folder(tmp_path, name):
    for lang, columns in {"de": {"answer": ["a", "b"], "lang": ["x", "y"]}, "fr": {"answer": ["c"]}}.items():
        (tmp_path / f"lang={lang}").mkdir()
        write(pa.table(columns), tmp_path / f"lang={lang}" / name)
    source = open_source(tmp_path)
    found, _ = read(source, {"answer": "text", "lang": "any"})
    assert found.to_pydict() == {"answer": ["a", "b", "c"], "lang": ["x", "y", "fr"]}
    assert source.notes == ["lang is read from the files, not from the names of their folders (lang=…)"]


def test_patterns_find_a_file_once_in_spite_of_links(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to("..")
    write(pa.table({"answer": ["a"]}), tmp_path / "a" / "t.csv")
    assert len(open_source(f"{tmp_path}/**/*.csv").files) == 1


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    write(pa.table({"answer": ["a"]}), tmp_path / "t.csv")

    def refusing(path, real=os.scandir):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(FileFormatError, match=f"^{tmp_path}/closed: cannot be read: Permission denied$"):
        open_source(tmp_path, "csv")


def test_folder_links_are_followed_without_cycles(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "far").mkdir()
    write(pa.table({"answer": ["a"]}), tmp_path / "in" / "deep" / "t.csv")
    write(pa.table({"answer": ["b"]}), tmp_path / "far" / "u.csv")
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "far")
    (tmp_path / "in" / "twice").symlink_to(tmp_path / "far")
    (tmp_path / "in" / "deep" / "up").symlink_to(tmp_path / "in")
    (tmp_path / "far" / "back").symlink_to(tmp_path / "in")
    (tmp_path / "far" / "further").symlink_to(tmp_path)
    found, _ = read(open_source(tmp_path / "in", "csv"), {"answer": "text"})
    assert found["answer"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o/"])
def test_a_run_into_the_folder_that_it_reads_can_be_resumed(tmp_path, name):
    write(table(1000), tmp_path / "in.parquet")
    left = [3]

    def stopping(progress):
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    options = {"limits": Limits(batch_rows=64, part_rows=100)}
    with pytest.raises(StopError):
        run(open_source(tmp_path), JOB, f"{tmp_path}/{name}", progress=stopping, **options)
    made = run(open_source(tmp_path), JOB, f"{tmp_path}/{name}", resume=True, **options)
    assert (made.rows, made.resumed_rows > 0) == (1000, True)


def test_a_folder_of_inputs_is_never_replaced(tmp_path):
    inputs = tmp_path / "answers"
    inputs.mkdir()
    pq.write_table(table(10), inputs / "part-0.parquet")
    for output in (f"{inputs}/", str(inputs), f"{tmp_path}/answers/../answers/"):
        with pytest.raises(OutputError) as caught:
            run(open_source(inputs), JOB, output, overwrite=True)
        assert str(caught.value) == f"{inputs} holds an input; write to another name"
    rejects = write(table(10), tmp_path / "o.csv.rejects.jsonl")
    with pytest.raises(OutputError, match=rf"^{rejects} is an input; write to another name$"):
        run(open_source(rejects), JOB, tmp_path / "o.csv", overwrite=True)
    assert pq.read_table(inputs).num_rows == len(rejects.read_text().splitlines()) == 10


def test_a_folder_that_is_no_work_folder_is_not_emptied(tmp_path):
    write(table(10), tmp_path / "in.parquet")
    own = tmp_path / "o.csv.partial" / "my-notes.txt"
    own.parent.mkdir()
    own.write_text("mine")
    with pytest.raises(OutputError, match=f"^{own.parent} is not the work folder of a run"):
        run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "o.csv", overwrite=True)
    assert own.read_text() == "mine"


def test_a_link_or_a_mounted_disk_is_refused_before_any_work(tmp_path, monkeypatch):
    write(table(10), tmp_path / "in.parquet")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(OutputError, match=f"^{tmp_path}/link is a link, which no output replaces; write to .*/there$"):
        run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "link")
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("there"))
    with pytest.raises(
        OutputError, match=f"^{tmp_path}/there is a mounted disk, which no output replaces; use a folder"
    ):
        run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "there", overwrite=True)
    assert run(open_source(tmp_path / "in.parquet"), JOB, tmp_path / "link" / "s").rows == 10
