"""DuckDB: metrics as functions of SQL, and relations as tables."""

import gc

import duckdb
import pyarrow as pa
import pytest

import fastmetrics as fm
from tests.scoring.frames.tables import ROW_METRICS, ROWS, WITHOUT_EMBEDDER, bits, columns_of, scores
from tests.support.every_metric import READERS


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.register("answers", pa.table(ROWS))
        yield connection


def test_every_metric_of_a_row_is_a_function(connection, full):
    names = fm.duckdb.register(connection)
    assert set(names.values()) == set(ROW_METRICS)
    assert names["fm_jaccard"] == "jaccard"  # DuckDB has a function jaccard of its own
    for function, metric in [*names.items()][:: 1 if full else 6]:
        if metric not in READERS or metric not in WITHOUT_EMBEDDER:
            continue
        columns = columns_of(metric)
        connection.register("rows", pa.table(columns))
        scored = connection.sql(f'SELECT "{function}"({", ".join(columns)}) AS score FROM rows').to_arrow_table()
        assert bits(scored["score"].to_pylist()) == scores(pa.table(columns), metric)[metric], metric


def test_absent_and_constant_values(connection):
    fm.duckdb.register(connection, "token_f1,squad_f1(version=2, name='squad')")
    scored = connection.sql("SELECT token_f1(answer, reference) AS f, squad(answer, reference) AS s FROM answers")
    assert bits(scored.to_arrow_table()["f"].to_pylist()) == scores()["token_f1"]
    assert bits(scored.to_arrow_table()["s"].to_pylist()) == scores()["squad_f1(version=2)"]
    constant = connection.sql(
        "SELECT token_f1(answer, 'Oslo'), token_f1('Oslo', 'Oslo'), token_f1(answer, NULL) FROM answers"
    )
    expected = fm.score({**ROWS, "reference": ["Oslo"] * 5}, "token_f1")["token_f1"].to_pylist()
    assert constant.fetchall() == [(score, 1.0, None) for score in expected]
    assert connection.sql("SELECT token_f1(answer, reference) FROM answers WHERE id = 'none'").fetchall() == []


def test_parallel_scans_give_the_same_bits(connection):
    words = ["Paris", "Rome", "Oslo", None, "", "in", "Ünïcode"]
    answers = [words[row % 7] and f"{words[row % 7]} {row % 1_000}" for row in range(300_000)]
    table = pa.table({"row": range(len(answers)), "answer": answers, "reference": answers[1:] + answers[:1]})
    connection.register("many", table)
    connection.execute("SET threads = 4; CREATE TABLE stored AS SELECT * FROM many")
    fm.duckdb.register(connection, "token_f1")
    scored = connection.sql("SELECT row, token_f1(answer, reference) AS f FROM stored").to_arrow_table().sort_by("row")
    assert scored["f"].combine_chunks().equals(fm.score(table, "token_f1")["token_f1"].combine_chunks())


def test_a_second_call_replaces_the_functions(connection):
    fm.duckdb.register(connection, "squad_f1(name='f')")
    fm.duckdb.register(connection, "token_f1(name='f')")
    fm.duckdb.register(connection, "jaccard")
    assert fm.duckdb.register(connection, "jaccard") == {"fm_jaccard": "jaccard"}
    assert connection.sql("SELECT f('the a', 'the b')").fetchall() == [(0.5,)]


def test_functions_of_a_closed_cursor_stay(connection):
    cursor = connection.cursor()
    names = fm.duckdb.register(cursor, "token_f1,jaccard")
    assert names == {"token_f1": "token_f1", "fm_jaccard": "jaccard"}
    cursor.close()
    del cursor
    gc.collect()
    query = "SELECT token_f1('in Paris', 'Paris'), fm_jaccard('a', 'a b')"
    assert connection.sql(query).fetchall() == [(2 / 3, 0.5)]


def test_a_relation_is_a_table_of_which_only_needed_columns_are_read(connection):
    connection.execute('CREATE TABLE odd AS SELECT *, 1 AS "a ""b", error(\'read\') AS bad FROM answers LIMIT 0')
    relation = connection.sql('SELECT *, CAST(NULL AS BLOB) AS other, 1 AS "a ""b" FROM answers')
    assert fm.score(relation, "token_f1").equals(fm.score(pa.table(ROWS), "token_f1"))
    assert fm.score(relation, "token_f1", keep='a "b').column_names == ["id", 'a "b', "token_f1"]
    failing = connection.sql("SELECT *, CAST(answer AS INTEGER) AS number FROM answers")
    assert fm.score(failing, "token_f1,answer_relevance(idf='corpus')").num_rows == 5
    assert fm.score(relation.limit(0), "token_f1").num_rows == 0
