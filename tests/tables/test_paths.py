"""Paths: folders, partitions, names and patterns."""

import json
import os
import shutil
import sqlite3

import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.goldens import refused
from tests.support.program import jsonl, program
from tests.support.table_files import FORMATS, read, write
from tests.support.toy_scores import JOB, run, table

ROWS = [
    {
        "id": number,
        "output": {"answer": answer, "meta": {"n": number}},
        "docs": [{"text": "Paris is big."}, {"text": "Rome is old."}],
        "choices": [{"message": {"role": "assistant", "content": answer}}],
        "gold": {"refs": ["Paris", "Paris, France"]},
    }
    for number, answer in enumerate(["Paris", "Rome", None, "in Paris"])
]
COLUMNS = {"answer": "choices[0].message.content", "reference": "gold.refs", "contexts": "docs[].text"}
METRICS = "exact_match,token_f1,answer_words"
EXPECTED = {"exact_match": [1, 0, None, 0], "token_f1": [1, 0, None, 2 / 3], "answer_words": [1, 1, None, 2]}
KINDS = ["list", "arrow", "pandas", "jsonl", "parquet", "feather", "csv", "sqlite", "texts"]


def as_texts(rows):
    """The rows with JSON in place of objects and lists."""
    return [{name: json.dumps(v) if isinstance(v, dict | list) else v for name, v in row.items()} for row in rows]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def source(kind, folder):
    """The rows in memory, in a file, or in a database."""
    table = pa.Table.from_pylist(ROWS)
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        return lines(path, ROWS)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "feather":
        pf.write_feather(table, path)
    elif kind == "csv":
        pd.DataFrame(as_texts(ROWS)).to_csv(path, index=False)
    elif kind == "sqlite":
        with sqlite3.connect(path) as connection:
            pd.DataFrame(as_texts(ROWS)).to_sql("rows", connection, index=False, if_exists="replace")
        return f"sqlite:///{path}?table=rows"
    else:
        return {
            "list": ROWS,
            "arrow": table,
            "pandas": pd.DataFrame(ROWS),
            "texts": pa.Table.from_pylist(as_texts(ROWS)),
        }[kind]
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_scores(kind, tmp_path):
    scores = fm.score(source(kind, tmp_path), METRICS, columns=COLUMNS, keep="output.meta.n")
    assert {name: scores[name].to_pylist() for name in EXPECTED} == EXPECTED
    assert [int(n) for n in scores["output.meta.n"].to_pylist()] == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("path", "meant"), [("output.anwser", "answer"), ("otput.answer", "output")])
def test_a_path_that_no_row_has_names_what_is_near(kind, path, meant, tmp_path):
    columns = {**COLUMNS, "answer": path}
    refused(ColumnError, meant, fm.score, source(kind, tmp_path), "exact_match", columns=columns)


def test_commands_read_paths(tmp_path):
    path, output = source("jsonl", tmp_path), tmp_path / "scores.jsonl"
    columns = ",".join(f"{name}={own}" for name, own in COLUMNS.items())
    assert program("score", path, "-m", "exact_match", "--columns", columns, "-o", output).code == 0
    assert fm.summarize(output)["exact_match"].mean == pytest.approx(1 / 3)


def test_rows_of_several_kinds_are_read_one_by_one(tmp_path):
    """A text of JSON is parsed where a path goes into it; any other text is a bad row."""
    rows = [*ROWS, {"output": '{"answer": "Paris"}'}, {"output": None}, {}]
    path = lines(tmp_path / "rows.jsonl", rows)
    answers = {"answer": "output.answer"}
    assert fm.score(path, "answer_words", columns=answers)["answer_words"].to_pylist() == [1, 1, None, 2, 1, None, None]
    lines(path, [*rows, {"output": "oops"}])
    skipping = fm.tables.FileSettings(on_error="skip")
    result = fm.score(path, "answer_words", columns=answers, output=tmp_path / "scores.csv", files=skipping)
    assert (result.rows, result.rejected) == (7, 1)
    rejects = [json.loads(line) for line in (tmp_path / "scores.csv.rejects.jsonl").read_text().splitlines()]
    assert [(reject["line"], reject["column"]) for reject in rejects] == [(8, "output.answer")]


def test_a_bad_text_in_a_table_of_texts_is_a_bad_row(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"output": ['{"answer": "yes"}', "oops", '{"answer": "no way"}']}).to_csv(path, index=False)
    output, skipping = tmp_path / "scores.jsonl", fm.tables.FileSettings(on_error="skip")
    fm.score(path, "answer_words", columns={"answer": "output.answer"}, output=output, files=skipping)
    assert [json.loads(line)["answer_words"] for line in output.read_text().splitlines()] == [1, 2]


def test_a_column_with_dots_in_its_name_wins(tmp_path):
    path = lines(tmp_path / "rows.jsonl", [{"output.answer": "one", "output": {"answer": "two words"}}])
    assert fm.score(path, "answer_words", columns={"answer": "output.answer"})["answer_words"].to_pylist() == [1]


def test_files_that_differ_within_a_column_are_one_table(tmp_path):
    """The type of what a path leads to must agree, not that of all that surrounds it."""
    for name, meta in (("a", {"n": 1}), ("b", {"model": "x", "t": [1]})):
        table = pa.Table.from_pylist([{"output": {"answer": "yes", **meta}}])
        pq.write_table(table, tmp_path / f"{name}.parquet")
        lines(tmp_path / f"{name}.jsonl", table.to_pylist())
    for suffix in ("parquet", "jsonl"):
        files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        assert fm.score(files, "answer_words", columns={"answer": "output.answer"})["answer_words"].to_pylist() == [
            1,
            1,
        ]


def test_alternatives_of_two_shapes_are_read(tmp_path):
    rows = [{"input": "Why so?"}, {"input": [{"role": "user", "content": "Why?"}]}, {"input": None}]
    path = lines(tmp_path / "rows.jsonl", rows)
    columns = {"answer": "input[role=user].content || input"}
    assert fm.score(path, "answer_words", columns=columns)["answer_words"].to_pylist() == [2, 1, None]


KEYED = {"answer": "text", "lang": "any", "year": "any"}


class StopError(Exception):
    """What ends a run early here."""


@pytest.mark.parametrize("name", FORMATS)
def test_keys_are_columns_whatever_the_format(tmp_path, name):
    for lang, year in (("de", 2023), ("__HIVE_DEFAULT_PARTITION__", 2024)):
        folder = tmp_path / f"lang={lang}" / f"year={year}"
        folder.mkdir(parents=True)
        write(pa.table({"id": [year], "answer": [lang]}), folder / name)
        (folder / "_SUCCESS").touch()
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
    refused(FileFormatError, f"{tmp_path}/closed", open_source, tmp_path, "csv")


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
    refused(OutputError, f"{rejects}", lambda: run(open_source(rejects), JOB, tmp_path / "o.csv", overwrite=True))
    assert pq.read_table(inputs).num_rows == len(rejects.read_text().splitlines()) == 10


def test_a_folder_that_is_no_work_folder_is_not_emptied(tmp_path):
    write(table(10), tmp_path / "in.parquet")
    own = tmp_path / "o.csv.partial" / "my-notes.txt"
    own.parent.mkdir()
    own.write_text("mine")
    rows = open_source(tmp_path / "in.parquet")
    refused(OutputError, f"{own.parent}", run, rows, JOB, tmp_path / "o.csv", overwrite=True)
    assert own.read_text() == "mine"


def test_a_link_or_a_mounted_disk_is_refused_before_any_work(tmp_path, monkeypatch):
    write(table(10), tmp_path / "in.parquet")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    rows = open_source(tmp_path / "in.parquet")
    refused(OutputError, f"{tmp_path}/link /there", run, rows, JOB, tmp_path / "link")
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("there"))
    refused(OutputError, f"{tmp_path}/there", run, rows, JOB, tmp_path / "there", overwrite=True)
    assert run(rows, JOB, tmp_path / "link" / "s").rows == 10


NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder of rows without a key."""

INPUT_FOLDERS_KINDS = [
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


@pytest.mark.parametrize(
    ("values", "kind"), INPUT_FOLDERS_KINDS, ids=[" ".join(values) for values, _ in INPUT_FOLDERS_KINDS]
)
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


FILE_NAMES_ROWS = pa.table({"id": [1], "question": ["q"], "answer": ["a"], "reference": ["a"], "v": [[1.0, 2.0]]})
ODD = "caf" + b"\xe9".decode(errors="surrogateescape")
SAID = "expected a file name in UTF-8; rename the file or its folder"


@pytest.fixture
def odd(tmp_path):
    """Files of every format under a name that is not UTF-8, and beside them under a plain one."""
    for suffix in ("parquet", "arrow", "jsonl", "csv"):
        rows = FILE_NAMES_ROWS.drop_columns("v") if suffix == "csv" else FILE_NAMES_ROWS
        shutil.copy(write(rows, tmp_path / f"good.{suffix}"), tmp_path / f"{ODD}.{suffix}")
    (tmp_path / ODD).mkdir()
    shutil.copy(tmp_path / "good.csv", tmp_path / ODD / "x.csv")
    (tmp_path / "run").write_text("q1 Q0 d1 1 1.0 t\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    return tmp_path


def commands(folder, name):
    """One for each way of reading: tables, rankings, and vectors where the file has any."""
    yield "score", folder / name, "-o", folder / "o.csv"
    yield "rank", folder / name, folder / "qrels"
    yield "rank", folder / "run", folder / name
    if name.endswith(("parquet", "arrow")):
        yield "vectors", "geometry", folder / name


@pytest.mark.parametrize("name", [f"{ODD}.parquet", f"{ODD}.arrow", f"{ODD}.jsonl", f"{ODD}.csv", ODD, f"{ODD}.none"])
def test_inputs(odd, name):
    for arguments in commands(odd, name):
        done = program(*arguments)
        assert (done.code, SAID in done.err) == (2, True), (arguments, done.err)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv", "csv.gz", ""])
def test_outputs(odd, suffix):
    out = odd / f"out{ODD}.{suffix}" if suffix else odd / f"out{ODD}"
    good = odd / "good.jsonl"
    for arguments in (("score", good), ("rank", odd / "run", odd / "qrels")):
        done = program(*arguments, "-o", out)
        assert (done.code, SAID in done.err) == (2, True), (arguments, done.err)
    assert not [name for name in os.listdir(odd) if name.startswith("out")]


def test_files_that_folders_and_patterns_find(odd):
    for inputs in (odd, odd / "*.csv"):
        done = program("score", inputs, "-o", odd / "o.csv")
        assert (done.code, SAID in done.err) == (2, True), done.err
    hive = odd / "h" / f"k={ODD}"
    hive.mkdir(parents=True)
    shutil.copy(odd / "good.csv", hive / "x.csv")
    assert SAID in program("score", odd / "h", "-o", odd / "o.csv").err


@pytest.mark.parametrize("command", ["score", "rank"])
def test_a_json_key_that_is_not_utf8_is_named_by_its_line(odd, command):
    path = jsonl(odd / "key.jsonl", b'{"question": "q", "answer": "a", "reference": "a", "b\xe9d": 1}')
    done = program(command, path, *(["-o", odd / "o.csv"] if command == "score" else [path]))
    assert (done.code, done.err.startswith(f"error: {path}"), "byte 0xe9" in done.err) == (3, True, True)
