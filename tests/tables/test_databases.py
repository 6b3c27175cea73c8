"""SQLite and DuckDB: read by queries, and written."""

import shutil
import sqlite3

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, OptionError, OutputError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.results.opening_scores import open_file
from fastmetrics.tables import database_writer
from fastmetrics.tables.databases import Session
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from tests.support.goldens import refused
from tests.support.optional_parts import NEEDS
from tests.support.program import program
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
    refused(FileFormatError, "disabled", lambda: read(f"{address}?query=select * from {source.format(file)}"))
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
    refused(FileFormatError, "a", read, f"{address}?table=t", a="number")


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
    refused(ColumnError, "bytes", read, f"{address}?table=t", bytes="text")


def test_changes_that_wait_beside_a_database_are_read_and_left_there(tmp_path):
    writer = sqlite3.connect(tmp_path / "live.db")
    for statement in ("PRAGMA journal_mode = WAL", "CREATE TABLE t (id integer)", "INSERT INTO t VALUES (7)"):
        writer.execute(statement)
    writer.commit()
    for suffix in ("", "-wal"):  # as a writer leaves them that was killed
        shutil.copy(tmp_path / f"live.db{suffix}", tmp_path / f"left.db{suffix}")
    writer.close()
    before = {suffix: (tmp_path / f"left.db{suffix}").read_bytes() for suffix in ("", "-wal")}
    assert read(f"sqlite:///{tmp_path}/left.db?table=t") == [{"id": 7}]
    assert {suffix: (tmp_path / f"left.db{suffix}").read_bytes() for suffix in before} == before


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_changed_database_ends_the_run(scheme, tmp_path):
    address = make(scheme, tmp_path, "CREATE TABLE t (id integer)", "INSERT INTO t VALUES (7)")
    source = open_source(f"{address}?table=t")
    make(scheme, tmp_path, "INSERT INTO t VALUES (8)")
    refused(FileFormatError, "changed", lambda: list(source.chunks(source.select({"id": "id"}))))


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
    refused(OptionError, "table", open_source, f"{address}?table={table}")
    refused(
        OptionError,
        "table",
        fm.score,
        {"answer": ["a"], "reference": ["a"]},
        ["token_f1"],
        output=f"{address}?table={table}",
    )


RIGHT_AND_WRONG = pa.table(
    {"id": ["a", "b", "c"], "answer": ["in Paris", None, "Rome"], "reference": ["Paris", "Lyon", "Rome"]}
)
METRICS = ["token_f1", "keyword_recall"]


def scored(output, rows=RIGHT_AND_WRONG, **options):
    return fm.score(rows, METRICS, output=output, **options)


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=[NEEDS["postgres"], pytest.mark.full])])
def database(request, tmp_path):
    """The address of an empty database, with a separator, and a function that executes statements in it."""
    if request.param == "postgresql":
        own = request.getfixturevalue("postgres")
        return f"{own.address()}&", own.execute
    path = tmp_path / f"scores.{request.param}"

    def execute(*statements):
        connection = sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(path)
        rows = [tuple(row) for statement in statements for row in connection.execute(statement).fetchall()]
        connection.commit()
        connection.close()
        return rows

    return f"{request.param}:///{path}?", execute


def test_scores_are_read_back_as_a_score_file(database, tmp_path):
    address, execute = database
    file, table = str(tmp_path / "scores.parquet"), f"{address}table=scores"
    scored(file)
    written = scored(table)
    assert (written.rows, written.summary["token_f1"].mean) == (3, fm.summarize(file)["token_f1"].mean)
    assert execute("SELECT id, token_f1 FROM scores ORDER BY id") == [("a", 2 / 3), ("b", None), ("c", 1.0)]
    assert read_metadata(table) == read_metadata(file)
    assert str(fm.summarize(table)) == str(fm.summarize(file))
    better = fm.score(
        RIGHT_AND_WRONG.set_column(1, "answer", [["Paris", "Lyon", "Rome"]]), METRICS, output=tmp_path / "new.parquet"
    )
    pairs = [fm.compare({"old": scores, "new": str(better.output)}, bootstrap=50) for scores in (file, table)]
    assert str(pairs[0]) == str(pairs[1])
    gates = [fm.gate(scores, ["token_f1 >= 0.5 with n >= 2"]) for scores in (file, table)]
    assert [gate.passed for gate in gates] == [True, True]


def test_overwriting_follows_the_rules_of_files(database):
    address, execute = database
    table = f"{address}table=scores"
    execute("CREATE TABLE scores (mine integer)")
    refused(OutputError, "scores overwrite=True", scored, table)
    assert execute("SELECT count(*) FROM scores") == [(0,)]
    for _ in range(2):
        scored(table, overwrite=True)
        assert execute("SELECT count(*) FROM scores") == [(3,)]
    refused(OutputError, "exists", scored, table)
    execute("DROP TABLE scores", "CREATE VIEW scores AS SELECT 1 AS x")
    refused(OutputError, "scores", scored, table, overwrite=True)


def test_an_input_is_not_replaced(database):
    address, execute = database
    execute("CREATE TABLE rows (answer text, reference text)", "INSERT INTO rows VALUES ('in Paris', 'Paris')")
    refused(OutputError, "input", scored, f"{address}table=rows", f"{address}table=rows", overwrite=True)
    fm.score(f"{address}table=rows", METRICS, output=f"{address}table=scores")
    assert execute("SELECT keyword_recall FROM scores") == [(1.0,)]


def test_a_table_is_written_whole_or_not_at_all(database, monkeypatch, tmp_path):
    address, execute = database
    table = f"{address}table=scores"
    execute("CREATE TABLE scores (mine integer)")
    commit = Session.commit

    def refuse(session):
        raise ConnectionError("the connection was cut")

    monkeypatch.setattr(Session, "commit", refuse)
    refused(OutputError, "connection", scored, table, overwrite=True)
    assert execute("SELECT count(*) FROM scores") == [(0,)]
    monkeypatch.setattr(Session, "commit", commit)
    refused(OutputError, "resume=True", scored, table, resume=True)
    assert scored(table, overwrite=True).rows == 3
    assert execute("SELECT count(*) FROM scores") == [(3,)]


def test_a_table_made_meanwhile_stays(database, monkeypatch):
    address, execute = database
    write = database_writer.DatabaseTarget.publish

    def late(self, *args, **options):
        execute("CREATE TABLE scores (mine integer)")
        write(self, *args, **options)

    monkeypatch.setattr(database_writer.DatabaseTarget, "publish", late)
    refused(OutputError, "scores", scored, f"{address}table=scores")
    assert execute("SELECT count(*) FROM scores") == [(0,)]


def test_rejected_rows_are_a_table_beside(database, tmp_path):
    address, execute = database
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"answer": "in Paris", "reference": "Paris"}\n{"answer": {"a": 7}, "reference": "x"}\n')
    skip = fm.tables.FileSettings(on_error="skip")
    result = fm.score(rows, METRICS, output=f"{address}table=scores", files=skip)
    assert (result.rows, result.rejected) == (1, 1)
    assert "table=scores_rejects" in str(result.rejects)
    assert execute('SELECT line, "column" FROM scores_rejects') == [(2, "answer")]
    rows.write_text('{"answer": "in Paris", "reference": "Paris"}\n')
    fm.score(rows, METRICS, output=f"{address}table=scores", files=skip, overwrite=True)
    refused(Exception, "scores_rejects", execute, "SELECT * FROM scores_rejects")


def test_lists_need_a_type(database):
    address, execute = database
    rows = RIGHT_AND_WRONG.append_column("contexts", pa.array([["a", "b"], [], None]))
    if address.startswith("sqlite"):
        refused = r"column 'contexts' is of type list<.*>, which no column of sqlite has; leave it out, or write"
        with pytest.raises(OutputError, match=refused):
            fm.score(rows, METRICS, output=f"{address}table=scores", keep=["contexts"])
        return
    fm.score(rows, METRICS, output=f"{address}table=scores", keep=["contexts"])
    assert [row[0] for row in execute("SELECT contexts FROM scores ORDER BY id")] == [["a", "b"], [], None]


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.float32(), 2)])
def test_a_type_that_no_column_has_is_refused_before_a_row_is_read(tmp_path, kind):
    value = ["1", "2"] if kind.value_type == pa.string() else [1.0, 2.0]
    rows = RIGHT_AND_WRONG.append_column("lists", pa.array([value] * 3, kind))
    pq.write_table(rows, tmp_path / "rows.parquet")
    asked = []
    refused(
        OutputError,
        "lists",
        fm.answer,
        tmp_path / "rows.parquet",
        asked.append,
        columns={"question": "reference"},
        keep=["lists"],
        output=f"sqlite:///{tmp_path}/scores.db?table=answers",
    )
    assert asked == []
    assert not (tmp_path / "scores.db").exists()
    assert not list((tmp_path / "cache").rglob("*.partial"))


def test_rankings_are_refused_before_the_search(tmp_path):
    output = f"sqlite:///{tmp_path}/r.db?table=rankings"
    done = program("vectors", "search", tmp_path / "absent", tmp_path / "absent.npy", "-o", output)
    assert (done.code, "column 'retrieved_ids' is of type" in done.err) == (4, True), done.err


def test_a_name_in_other_letters_is_the_same_table(database):
    address, execute = database
    if address.startswith("postgresql"):
        return  # quoted names are exact there
    execute("CREATE TABLE Scores (answer text, reference text)", "INSERT INTO Scores VALUES ('a', 'a')")
    refused(OutputError, "scores", scored, f"{address}table=scores")
    refused(OutputError, "input", scored, f"{address}table=scores", f"{address}table=Scores", overwrite=True)
    assert execute("SELECT answer FROM Scores") == [("a",)]


@pytest.mark.parametrize("suffix", ["_fastmetrics", "_rejects"])
def test_an_input_beside_the_output_is_not_replaced(database, suffix):
    address, execute = database
    execute(f"CREATE TABLE scores{suffix} (answer text, reference text)")
    execute(f"INSERT INTO scores{suffix} VALUES ('a', 'a')")
    refused(OutputError, "input", scored, f"{address}table=scores", f"{address}table=scores{suffix}", overwrite=True)
    assert execute(f"SELECT answer FROM scores{suffix}") == [("a",)]


@NEEDS["postgres"]
def test_parameters_of_a_connection_do_not_hide_an_input(postgres):
    postgres.execute("CREATE TABLE rows (answer text, reference text)", "INSERT INTO rows VALUES ('a', 'a')")
    refused(
        OutputError,
        "input",
        lambda: fm.score(
            postgres.address(table="rows"),
            METRICS,
            output=postgres.address(connect_timeout=9, table="rows"),
            overwrite=True,
        ),
    )


@NEEDS["postgres"]
def test_a_table_that_another_connection_reads_is_not_waited_for(postgres, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "lock_seconds", 0.2)
    postgres.execute("CREATE TABLE rows (answer text)", "INSERT INTO rows VALUES ('a')")
    with postgres.server.connect(postgres.name) as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT * FROM rows")
        cursor.fetchall()
        refused(OutputError, "timeout", lambda: scored(postgres.address(table="rows"), overwrite=True))
    assert postgres.execute("SELECT answer FROM rows") == [("a",)]


def test_the_schema_of_an_output(database):
    address, execute = database
    schema = "public" if address.startswith("postgresql") else "main"
    scored(f"{address}table={schema}.scores")
    assert execute(f"SELECT count(*) FROM {schema}.scores") == [(3,)]
    refused(OptionError, "most", scored, f"{address}table=a.{schema}.scores")


def test_a_table_below_a_view_is_not_replaced_in_postgresql(postgres):
    """Its server does not drop such a table, which is said before the rows are read."""
    postgres.execute("CREATE TABLE scores (id text)", "CREATE VIEW latest AS SELECT * FROM scores")
    refused(OutputError, "depend", lambda: scored(postgres.address(table="scores"), overwrite=True))
    postgres.execute("DROP VIEW latest")
    scored(postgres.address(table="scores"), overwrite=True)
