"""Folders as inputs: keys are columns of one type, nothing is lost in silence, nothing read that is no input."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
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


NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder of rows without a key."""

KINDS = [
    (["1", "2", "30", "0", "-4"], pa.int64()),
    (["1", "2", NULL], pa.int64()),
    (["1", "02", "abc"], pa.string()),
    (["1", "02"], pa.string()),
    (["02", "1"], pa.string()),
    (["abc", "1"], pa.string()),
    (["1", "2", "2.5"], pa.string()),
    (["1", "-0"], pa.string()),
    (["1", "٢"], pa.string()),
    (["1", "1e3", "nan", ""], pa.string()),
    (["1", str(10**18)], pa.string()),
    (["1", "x", NULL], pa.string()),
]


def folder(top, values, name):
    for value in values:
        place = top / f"key={value}"
        place.mkdir(parents=True)
        write(pa.table({"id": [value], "answer": ["a b"], "reference": ["a"]}), place / name)
    return top


def expected(values, kind):
    """The key of each id: an integer, or the text of the folder."""
    keys = {value: None if value == NULL else value for value in values}
    return {one: None if key is None else int(key) if kind == pa.int64() else key for one, key in keys.items()}


@pytest.mark.parametrize(("values", "kind"), KINDS, ids=[" ".join(values) for values, _ in KINDS])
@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_key_has_one_type_by_the_values_of_all_folders(tmp_path, values, kind, name):
    source = open_source(folder(tmp_path, values, name))
    table, rejects = read(source, {"id": "id", "key": "any"})
    assert (table["key"].type, rejects) == (kind, [])
    assert dict(zip(table["id"].to_pylist(), table["key"].to_pylist(), strict=True)) == expected(values, kind)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("values", [["1", "02", "abc"], ["abc", "1", "02"], ["02", "1"], ["1", "2"]])
def test_kept_keys_are_the_same_values_in_every_format(tmp_path, name, values):
    out = tmp_path / "o.parquet"
    rows = folder(tmp_path / "rows", values, name)
    fm.score(
        rows, output=out, metrics="token_f1", keep=["id", "key"], threads=1, files=fm.tables.FileSettings(batch_rows=1)
    )
    table = pq.read_table(out)
    kind = pa.int64() if "2" in values else pa.string()
    assert table["key"].type == kind
    assert dict(zip(table["id"].to_pylist(), table["key"].to_pylist(), strict=True)) == expected(values, kind)
    found = fm.gate(out, "token_f1 >= 0 where key=1", min_n=1)
    assert (found.passed, found[0].n) == (True, 1)


def test_names_and_values_of_folders_are_unquoted(tmp_path):
    """Writers quote the characters that a path cannot contain, in names as in values."""
    place = tmp_path / "two%20words=a%2Fb" / "part%3Dof%25=50%25" / "plain=1%202"
    place.mkdir(parents=True)
    write(pa.table({"id": ["x"]}), place / "t.parquet")
    source = open_source(tmp_path)
    keys = {"two words": "a/b", "part=of%": "50%", "plain": "1 2"}
    assert source.names == ["id", *keys]
    table, _ = read(source, dict.fromkeys(source.names, "any"))
    assert table.to_pylist() == [{"id": "x", **keys}]
