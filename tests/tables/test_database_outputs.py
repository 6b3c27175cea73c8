"""Tables of databases as outputs: whole or not at all, with metadata, and read back as scores."""

import sqlite3

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, OutputError
from fastmetrics.base.limits import RETRY_LIMITS
from fastmetrics.tables import database_writer
from fastmetrics.tables.databases import Session
from fastmetrics.tables.outputs import read_metadata
from tests.support.optional_parts import NEEDS
from tests.support.program import program

ROWS = pa.table({"id": ["a", "b", "c"], "answer": ["in Paris", None, "Rome"], "reference": ["Paris", "Lyon", "Rome"]})
METRICS = ["token_f1", "keyword_recall"]


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=NEEDS["postgres"])])
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
    fm.score(ROWS, METRICS, output=file)
    written = fm.score(ROWS, METRICS, output=table)
    assert (written.rows, written.summary["token_f1"].mean) == (3, fm.summarize(file)["token_f1"].mean)
    assert execute("SELECT id, token_f1 FROM scores ORDER BY id") == [("a", 2 / 3), ("b", None), ("c", 1.0)]
    assert read_metadata(table) == read_metadata(file)
    assert str(fm.summarize(table)) == str(fm.summarize(file))
    better = fm.score(
        ROWS.set_column(1, "answer", [["Paris", "Lyon", "Rome"]]), METRICS, output=tmp_path / "new.parquet"
    )
    pairs = [fm.compare({"old": scores, "new": str(better.output)}, bootstrap=50) for scores in (file, table)]
    assert str(pairs[0]) == str(pairs[1])
    gates = [fm.gate(scores, ["token_f1 >= 0.5 with n >= 2"]) for scores in (file, table)]
    assert [gate.passed for gate in gates] == [True, True]


def test_overwriting_follows_the_rules_of_files(database):
    address, execute = database
    table = f"{address}table=scores"
    execute("CREATE TABLE scores (mine integer)")
    with pytest.raises(OutputError, match="the table 'scores' exists; choose overwrite=True to replace it"):
        fm.score(ROWS, METRICS, output=table)
    assert execute("SELECT count(*) FROM scores") == [(0,)]
    for _ in range(2):
        fm.score(ROWS, METRICS, output=table, overwrite=True)
        assert execute("SELECT count(*) FROM scores") == [(3,)]
    with pytest.raises(OutputError, match="exists; choose"):
        fm.score(ROWS, METRICS, output=table)
    execute("DROP TABLE scores", "CREATE VIEW scores AS SELECT 1 AS x")
    with pytest.raises(OutputError, match="'scores' exists and is not a table"):
        fm.score(ROWS, METRICS, output=table, overwrite=True)


def test_an_input_is_not_replaced(database):
    address, execute = database
    execute("CREATE TABLE rows (answer text, reference text)", "INSERT INTO rows VALUES ('in Paris', 'Paris')")
    with pytest.raises(OutputError, match="is an input; write to another name"):
        fm.score(f"{address}table=rows", METRICS, output=f"{address}table=rows", overwrite=True)
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
    with pytest.raises(OutputError, match="the connection was cut"):
        fm.score(ROWS, METRICS, output=table, overwrite=True)
    assert execute("SELECT count(*) FROM scores") == [(0,)]
    monkeypatch.setattr(Session, "commit", commit)
    with pytest.raises(OutputError, match=r"cannot be resumed: run again without resume=True"):
        fm.score(ROWS, METRICS, output=table, resume=True)
    assert fm.score(ROWS, METRICS, output=table, overwrite=True).rows == 3
    assert execute("SELECT count(*) FROM scores") == [(3,)]


def test_a_table_made_meanwhile_stays(database, monkeypatch):
    address, execute = database
    write = database_writer.DatabaseTarget.publish

    def late(self, *args, **options):
        execute("CREATE TABLE scores (mine integer)")
        write(self, *args, **options)

    monkeypatch.setattr(database_writer.DatabaseTarget, "publish", late)
    with pytest.raises(OutputError, match="the table 'scores' exists"):
        fm.score(ROWS, METRICS, output=f"{address}table=scores")
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
    with pytest.raises(Exception, match="scores_rejects"):
        execute("SELECT * FROM scores_rejects")


def test_lists_need_a_type(database):
    address, execute = database
    rows = ROWS.append_column("contexts", pa.array([["a", "b"], [], None]))
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
    rows = ROWS.append_column("lists", pa.array([value] * 3, kind))
    pq.write_table(rows, tmp_path / "rows.parquet")
    asked = []
    with pytest.raises(OutputError, match=r"column 'lists' is of type .*, which no column of sqlite has"):
        fm.answer(
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
    with pytest.raises(OutputError, match="the table 'scores' exists"):
        fm.score(ROWS, METRICS, output=f"{address}table=scores")
    with pytest.raises(OutputError, match="is an input"):
        fm.score(f"{address}table=Scores", METRICS, output=f"{address}table=scores", overwrite=True)
    assert execute("SELECT answer FROM Scores") == [("a",)]


@pytest.mark.parametrize("suffix", ["_fastmetrics", "_rejects"])
def test_an_input_beside_the_output_is_not_replaced(database, suffix):
    address, execute = database
    execute(f"CREATE TABLE scores{suffix} (answer text, reference text)")
    execute(f"INSERT INTO scores{suffix} VALUES ('a', 'a')")
    with pytest.raises(OutputError, match="is an input; write to another name"):
        fm.score(f"{address}table=scores{suffix}", METRICS, output=f"{address}table=scores", overwrite=True)
    assert execute(f"SELECT answer FROM scores{suffix}") == [("a",)]


@NEEDS["postgres"]
def test_parameters_of_a_connection_do_not_hide_an_input(postgres):
    postgres.execute("CREATE TABLE rows (answer text, reference text)", "INSERT INTO rows VALUES ('a', 'a')")
    with pytest.raises(OutputError, match="is an input"):
        fm.score(
            postgres.address(table="rows"),
            METRICS,
            output=postgres.address(connect_timeout=9, table="rows"),
            overwrite=True,
        )


@NEEDS["postgres"]
def test_a_table_that_another_connection_reads_is_not_waited_for(postgres, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "lock_seconds", 0.2)
    postgres.execute("CREATE TABLE rows (answer text)", "INSERT INTO rows VALUES ('a')")
    with postgres.server.connect(postgres.name) as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT * FROM rows")
        cursor.fetchall()
        with pytest.raises(OutputError, match="lock timeout"):
            fm.score(ROWS, METRICS, output=postgres.address(table="rows"), overwrite=True)
    assert postgres.execute("SELECT answer FROM rows") == [("a",)]


def test_the_schema_of_an_output(database):
    address, execute = database
    schema = "public" if address.startswith("postgresql") else "main"
    fm.score(ROWS, METRICS, output=f"{address}table={schema}.scores")
    assert execute(f"SELECT count(*) FROM {schema}.scores") == [(3,)]
    with pytest.raises(OptionError, match="expected the name of a table, with its schema at most"):
        fm.score(ROWS, METRICS, output=f"{address}table=a.{schema}.scores")


def test_a_table_below_a_view_is_not_replaced_in_postgresql(postgres):
    """Its server does not drop such a table, which is said before the rows are read."""
    postgres.execute("CREATE TABLE scores (id text)", "CREATE VIEW latest AS SELECT * FROM scores")
    with pytest.raises(OutputError, match=r"cannot drop table scores because other objects depend on it"):
        fm.score(ROWS, METRICS, output=postgres.address(table="scores"), overwrite=True)
    postgres.execute("DROP VIEW latest")
    fm.score(ROWS, METRICS, output=postgres.address(table="scores"), overwrite=True)
