"""Tables and queries of SQLite and DuckDB as inputs."""

import sqlite3

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.results.opening_scores import open_file
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_source
from tests.support.table_files import column_bytes

ROWS = [(3, "in Paris", "Paris"), (1, None, "Lyon"), (2, "Rome", "Rome, Italy")]
SCHEMES = ("sqlite", "duckdb")


def make(scheme, folder, *statements):
    """A database in which the statements were executed; its address without a table."""
    path = folder / f"rows.{scheme}"
    connection = sqlite3.connect(path) if scheme == "sqlite" else duckdb.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"{scheme}:///{path}"


@pytest.fixture(params=SCHEMES)
def answers(request, tmp_path):
    """The address of a database with a table of answers."""
    values = ", ".join(str(row).replace("None", "NULL") for row in ROWS)
    return make(
        request.param,
        tmp_path,
        "CREATE TABLE answers (id integer, answer text, reference text)",
        f"INSERT INTO answers VALUES {values}",
    )


def read(address, **kinds):
    source = open_source(address)
    return whole_table(source, kinds or dict.fromkeys(source.names, "any")).to_pylist()


def test_tables_and_queries(answers):
    rows = [dict(zip(("id", "answer", "reference"), row, strict=True)) for row in ROWS]
    assert read(f"{answers}?table=answers") == rows
    assert read(f"{answers}?query=select id, reference from answers order by id desc;") == [
        {"id": row["id"], "reference": row["reference"]} for row in sorted(rows, key=lambda row: -row["id"])
    ]
    table = pa.Table.from_pylist(rows)
    scores = fm.score(f"{answers}?table=answers", ["token_f1", "keyword_recall"])
    assert scores.drop(["id"]).equals(fm.score(table, ["token_f1", "keyword_recall"]).drop(["id"]))


def test_many_batches_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "read_batch_rows", 64)
    numbers = [number * 37 % 1009 for number in range(1000)]
    values = ", ".join(f"({number}, 'x{number}')" for number in numbers)
    for scheme in SCHEMES:
        address = make(scheme, tmp_path, "CREATE TABLE t (id integer, answer text)", f"INSERT INTO t VALUES {values}")
        for rows, expected in (
            ("table=t", numbers),
            ("query=select * from t order by id desc", sorted(numbers, reverse=True)),
        ):
            source = open_source(f"{address}?{rows}")
            selection = source.select({"id": "id", "answer": "text"})
            batches = [chunk.batch for chunk in source.chunks(selection)]
            assert [number for batch in batches for number in batch["id"].to_pylist()] == expected
            assert max(batch.num_rows for batch in batches) <= 64
            assert [text for batch in batches for text in batch["answer"].to_pylist()] == [f"x{n}" for n in expected]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "sql",
    [
        "insert into t values (1)",
        "insert into t values (1) returning id",
        "drop table t",
        "select 1; drop table t",
        "select 1) x; drop table t; --",
        "attach 'new.db' as other",
        "copy t to 'new.csv'",
        "pragma query_only = 0",
        "commit",
        "select nosuch from t",
        "select * from nosuch",
    ],
)
def test_a_query_only_reads(scheme, sql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = make(scheme, tmp_path, "CREATE TABLE t (id integer)", "INSERT INTO t VALUES (7)")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileFormatError) as error:
        read(f"{address}?query={sql}")
    advice = "the query must be one SELECT that only reads, as in"
    assert (advice in str(error.value)) == ("nosuch" not in sql)
    assert "\n" not in str(error.value)
    assert read(f"{address}?table=t") == [{"id": 7}]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("source", ["read_csv('{}')", "'{}'", "glob('{}')"])
def test_a_query_of_duckdb_reads_no_files(source, tmp_path):
    file = tmp_path / "private.csv"
    file.write_text("id,answer\n1,Paris\n", encoding="utf-8")
    address = make("duckdb", tmp_path, "CREATE TABLE t (id integer)", f"CREATE VIEW v AS FROM '{file}'")
    with pytest.raises(FileFormatError, match="file system operations are disabled"):
        read(f"{address}?query=select * from {source.format(file)}")
    assert read(f"{address}?table=v") == [{"id": 1, "answer": "Paris"}]  # its owner's choice


def test_scores_of_a_table_have_the_bytes_of_those_from_parquet(answers, tmp_path):
    rows = pa.Table.from_pylist([dict(zip(("id", "answer", "reference"), row, strict=True)) for row in ROWS] * 400)
    number = pa.int64() if answers.startswith("sqlite") else pa.int32()  # as the database has them
    pq.write_table(rows.set_column(0, "id", rows["id"].cast(number)), tmp_path / "rows.parquet")
    copies = " union all ".join(["select * from answers"] * 400)
    outputs = []
    for name, source in (("file", tmp_path / "rows.parquet"), ("query", f"{answers}?query={copies}")):
        outputs.append(tmp_path / f"{name}.parquet")
        fm.score(source, ["token_f1", "keyword_recall", "bleu"], output=outputs[-1])
    assert column_bytes(outputs[0]) == column_bytes(outputs[1])
    about = [dict(open_file(output).metadata.stored) for output in outputs]
    assert [entry.pop("inputs")["files"] for entry in about] == [1, 1]
    assert about[0] == about[1]


def test_values_of_sqlite_have_types_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "read_batch_rows", 4)
    rows = ["(null, null, null, 1)"] * 6 + ["('late', 1, 'a', 0)", "('7', 2.5, 7, 1)"]
    address = make("sqlite", tmp_path, "CREATE TABLE t (a, b, c, d)", f"INSERT INTO t VALUES {', '.join(rows)}")
    read_rows = read(f"{address}?table=t", a="text", b="number", c="id", d="flag")
    assert [row["a"] for row in read_rows[6:]] == ["late", "7"]
    assert [row["b"] for row in read_rows[6:]] == [1.0, 2.5]
    assert [row["c"] for row in read_rows[6:]] == ["a", "7"]
    assert [row["d"] for row in read_rows[5:]] == [True, False, True]
    with pytest.raises(FileFormatError, match="column 'a': expected numbers in all rows, as in the first ones"):
        read(f"{address}?table=t", a="number")


def test_types_of_duckdb(tmp_path):
    sql = """select 1 as id, [1.5, 2]::float[2] as v, ['a', 'b'] as texts, 1.50::decimal(10, 2) as exact,
        {'a': 1} as parts, 'ab'::blob as bytes,
        '6ab8d2f1-0000-4000-8000-0123456789ab'::uuid as key, 'x'::enum('x', 'y') as word"""
    address = make("duckdb", tmp_path, f"CREATE TABLE t AS {sql}")
    (row,) = read(f"{address}?table=t", v="vector", texts="texts", exact="number", key="id", word="text", parts="any")
    key = "6ab8d2f1-0000-4000-8000-0123456789ab"
    assert {**row, "exact": float(row["exact"])} == {
        **{"v": [1.5, 2.0], "texts": ["a", "b"], "exact": 1.5, "key": key, "word": "x", "parts": {"a": 1}}
    }
    with pytest.raises(ColumnError, match="column 'bytes': expected text, got binary"):
        read(f"{address}?table=t", bytes="text")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_changed_database_ends_the_run(scheme, tmp_path):
    address = make(scheme, tmp_path, "CREATE TABLE t (id integer)", "INSERT INTO t VALUES (7)")
    source = open_source(f"{address}?table=t")
    make(scheme, tmp_path, "INSERT INTO t VALUES (8)")
    with pytest.raises(FileFormatError, match="the database changed while it was read"):
        list(source.chunks(source.select({"id": "id"})))


@pytest.mark.parametrize("statement", ["copy (select 42) to 'new.csv'", "export database 'new'", "attach 'new' as n"])
def test_a_query_cannot_end_its_brackets(statement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = make("duckdb", tmp_path, "CREATE TABLE t (id integer)")
    before = sorted(tmp_path.iterdir())
    for sql in (
        f"select 1 as q) x; {statement}; select * from (select 1 as q",
        f"select 1 as q) x) y; {statement}; select * from (select * from (select 1 as q",
    ):
        with pytest.raises(FileFormatError):
            read(f"{address}?query={sql}")
    assert sorted(tmp_path.iterdir()) == before


def test_no_extension_is_downloaded(tmp_path):
    address = make("duckdb", tmp_path, "CREATE TABLE t (id integer)")
    off = read(f"{address}?query=select current_setting('autoinstall_known_extensions') as a")
    assert off == [{"a": False}]


def test_an_index_does_not_order_the_rows(tmp_path):
    address = make(
        "sqlite",
        tmp_path,
        "CREATE TABLE t (id integer primary key, answer text, more text)",
        "INSERT INTO t VALUES (1, 'c', 'x'), (2, 'a', 'x'), (3, 'b', 'x')",
        "CREATE INDEX i ON t (answer)",
        "CREATE VIEW v AS SELECT * FROM t ORDER BY id",
    )
    for table in ("t", "v", "main.t"):
        assert [row["answer"] for row in read(f"{address}?table={table}", answer="text")] == ["c", "a", "b"]


@pytest.mark.parametrize("table", [".", '"', 't"', "a.", ".t", '"a', '""'])
def test_a_name_of_a_table_is_whole(table, tmp_path):
    address = make("sqlite", tmp_path, "CREATE TABLE t (id integer)")
    with pytest.raises(OptionError, match="expected the name of a table"):
        open_source(f"{address}?table={table}")
    with pytest.raises(OptionError, match="expected the name of a table"):
        fm.score({"answer": ["a"], "reference": ["a"]}, ["token_f1"], output=f"{address}?table={table}")
