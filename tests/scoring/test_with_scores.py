"""Scores within pandas, Polars and DuckDB: beside the user's own columns, as expressions and as functions."""

import gc
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base import threads as thread_pools
from fastmetrics.base.columns import open_frame
from fastmetrics.engines import run as engine_run
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.plans import score_batch
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.scoring.frames.with_scores import RowFunction, TableFunction, score_of
from fastmetrics.tables.sources import FrameSource
from fastmetrics.text.tokenize import Vocabularies
from tests.support import every_metric
from tests.support.every_metric import READERS
from tests.support.optional_parts import needs

ROWS = {
    "id": ["a", "b", "c", "d", "e"],
    "answer": ["in Paris", None, "", "Rome, Италия", "\U0001f600 Oslo"],
    "reference": [["Paris", "Rome"], ["x"], [], None, ["Oslo", "oslo"]],
    "question": ["Where?", "Why?", "", None, "How far is Oslo?"],
    "user": [1, 2, 3, None, 5],
}
METRICS = "token_f1,squad_f1(version=2),rougeL_f1(stemmer=True),answer_relevance"
ROW_METRICS = sorted(name for name, metric in REGISTRY.items() if metric.corpus is None)
WITHOUT_EMBEDDER = [name for name in ROW_METRICS if "embedder" not in REGISTRY[name].defaults]


def scores(table=None, metrics=METRICS):
    """The scores of ``fm.score``, as bits: NaN equals NaN, and differs from null."""
    scored = fm.score(pa.table(ROWS) if table is None else table, metrics)
    return {name: bits(scored[name].to_pylist()) for name in scored.column_names if name != "id"}


def bits(values):
    """Values that can be compared: numbers by their bits, so that NaN equals NaN."""
    return [value if value is None or isinstance(value, str) else float(value).hex() for value in values]


def columns_of(name, rows=12):
    """Made columns for a metric, in the order in which it takes them."""
    made = every_metric.columns(name, rows)
    return {column: made[column] for column in REGISTRY[name].needs if column in made}


N = [0, 1, 2, 5]


def rows(n):
    return pa.table(ROWS).slice(0, n)


@pytest.mark.parametrize("n", N)
def test_arrow_tables_and_batches_stay_what_they_are(n):
    table = rows(n)
    batch = table.combine_chunks().to_batches()[0] if n else pa.RecordBatch.from_pylist([], table.schema)
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    for each in (table, batch, chunks):
        scored = fm.with_scores(each, METRICS)
        assert type(scored) is type(each)
        assert scored.select(list(ROWS)).to_pydict() == each.to_pydict()
        assert {name: bits(scored[name].to_pylist()) for name in scored.schema.names[5:]} == scores(table)


@pytest.mark.parametrize("n", N)
def test_polars_frames_stay_eager_or_lazy(n):
    frame = pl.DataFrame(ROWS).head(n)
    eager, lazy = fm.with_scores(frame, METRICS), fm.with_scores(frame.lazy(), METRICS)
    assert isinstance(lazy, pl.LazyFrame)
    for scored in (eager, lazy.collect(), lazy.collect(engine="streaming")):
        assert scored[list(ROWS)].equals(frame)
        assert {name: bits(scored[name]) for name in scored.columns[5:]} == scores(frame)


@pytest.mark.parametrize("n", N)
@pytest.mark.parametrize(
    "index", [None, [3, 1, 3, 2, 0], pd.MultiIndex.from_tuples([(1, "a")] * 5, names=["token_f1", None])]
)
def test_pandas_frames_keep_their_index_even_if_it_repeats(n, index):
    frame = pd.DataFrame(ROWS, index=index).head(n)
    before = frame.copy()
    scored = fm.with_scores(frame, METRICS)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(scored[list(ROWS)], before)
    expected = {
        name: np.array(values, float)
        for name, values in fm.score(frame, METRICS).to_pydict().items()
        if "_" in name and name in scored
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(scored[name].to_numpy(), values)
    assert len(expected) == 4


def test_names_of_pandas_columns_may_have_levels():
    frame = pd.DataFrame({("x", "answer"): ["in Paris"], ("x", "reference"): ["Paris"]})
    columns = {"answer": ("x", "answer"), "reference": ("x", "reference")}
    scored = fm.with_scores(frame, "token_recall", columns=columns)
    assert scored["token_recall"].tolist() == [1.0]


def test_an_index_that_arrow_cannot_hold_stays():
    frame = pd.DataFrame({"answer": ["in Paris", "Rome"], "reference": ["Paris", "Rome"]}, index=[1, "x"])
    scored = fm.with_scores(frame, "token_recall")
    assert scored["token_recall"].to_dict() == {1: 1.0, "x": 1.0}


@pytest.mark.parametrize("n", N)
def test_dicts_and_lists_of_dicts(n):
    columns, dicts = rows(n).to_pydict(), rows(n).to_pylist()
    scored = fm.with_scores(columns, METRICS)
    assert {name: bits(scored[name]) for name in list(scored)[5:]} == scores(rows(n))
    assert {name: scored[name] for name in ROWS} == columns
    if n:
        assert [list(row)[:5] for row in fm.with_scores(dicts, METRICS)] == [list(ROWS)] * n
        assert bits(row["token_f1"] for row in fm.with_scores(dicts, METRICS)) == scores(rows(n))["token_f1"]


def test_keep_all_copies_every_column(tmp_path):
    scored = fm.score(pa.table(ROWS), "token_f1", keep="all")
    assert scored.column_names == [*ROWS, "token_f1"]
    assert scored.select(list(ROWS)).to_pydict() == ROWS
    fm.score(pa.table(ROWS), "token_f1", keep="all", output=tmp_path / "scores.parquet")
    assert pa.parquet.read_table(tmp_path / "scores.parquet").column_names == [*ROWS, "token_f1"]
    named = pa.table({**ROWS, "all": ROWS["user"]})
    assert fm.score(named, "token_f1", keep="all").column_names == ["id", "all", "token_f1"]
    stale = scored.set_column(len(ROWS), "token_f1", pa.array([-1.0] * scored.num_rows))
    assert fm.score(stale, "token_f1", keep="all").equals(scored)


def test_a_score_never_replaces_a_column():
    frame = pl.DataFrame(ROWS)
    twice = fm.with_scores(frame, "token_f1")
    assert fm.with_scores(twice, "token_f1(name='f1')").columns[-1] == "f1"


def test_metrics_of_all_rows_are_added_to_eager_frames():
    spec = "answer_relevance(idf='corpus')"
    assert fm.with_scores(pl.DataFrame(ROWS), spec)[spec].to_list()[0] is not None


fm.pandas.register()


@pytest.mark.parametrize("index", [None, [5, 4, 4, 2, 1], list("vwxyz")])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_results_keep_the_index(index, n):
    fm.pandas.register()  # a second call changes nothing
    frame = pd.DataFrame(ROWS, index=index).head(n)
    scored = frame.fm.score(METRICS)
    assert scored.index.equals(frame.index)
    pd.testing.assert_frame_equal(scored, fm.score(frame, METRICS).to_pandas())
    f1 = frame.fm.token_f1("answer", "reference")
    assert f1.index.equals(frame.index)
    assert f1.name == "token_f1"
    np.testing.assert_array_equal(f1.to_numpy(), fm.token_f1(frame["answer"], frame["reference"]))
    np.testing.assert_array_equal(frame.fm.token_f1().to_numpy(), f1.to_numpy())
    assert list(frame.fm.with_scores("token_f1").columns) == [*ROWS, "token_f1"]


def test_columns_by_name_and_options():
    frame = pd.DataFrame(ROWS)
    squad = frame.fm.squad_f1(answer="answer", reference="reference", version=2)
    assert squad.name == "squad_f1(version=2)"


PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Frames:")[2].partition("\n## ")[0], re.DOTALL)


@pytest.mark.filterwarnings("error::fastmetrics.ScoreWarning")
@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=needs("datasets") if "import datasets" in code else ()) for code in EXAMPLES],
    ids=range(len(EXAMPLES)),
)
def test_examples_run(code):
    exec(code, {"frame": pd.DataFrame({"answer": ["in Paris"], "reference": ["Paris"]})})


def test_the_page_has_examples():
    assert len(EXAMPLES) == 6


fm.polars.register()


@pytest.mark.parametrize("name", [name for name in READERS if name in WITHOUT_EMBEDDER])
def test_every_metric_of_a_row_is_an_expression(name):
    frame = pl.DataFrame(columns_of(name), strict=False)
    expected = scores(frame, name)[name]
    scored = frame.lazy().select(getattr(fm.polars, name)(*frame.columns)).collect(engine="streaming")
    assert scored.columns == [name]
    assert bits(scored[name]) == expected


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_absent_values_filters_and_groups(n):
    frame = pl.DataFrame(ROWS).head(n)
    expression = fm.polars.token_f1("answer", pl.col("reference"))
    assert bits(frame.select(expression).to_series()) == scores(frame)["token_f1"]
    some = frame.filter(pl.col("id") != "a")
    assert (
        bits(frame.lazy().filter(pl.col("id") != "a").select(expression).collect().to_series())
        == scores(some)["token_f1"]
    )
    groups = frame.lazy().group_by("id", maintain_order=True).agg(expression.first()).collect()
    assert bits(groups["token_f1"]) == scores(frame)["token_f1"]


def test_options_constants_and_names():
    frame = pl.DataFrame(ROWS)
    squad = frame.select(fm.polars.squad_f1("answer", reference="reference", version=2))
    assert bits(squad["squad_f1(version=2)"]) == scores()["squad_f1(version=2)"]
    rouge = frame.select(fm.polars.expression("rougeL_f1(stemmer=True)", "answer", "reference"))
    assert bits(rouge.to_series()) == scores()["rougeL_f1(stemmer=True)"]
    constant = frame.with_columns(reference=pl.lit("Oslo"))
    for text in (pl.lit("Oslo"), pl.lit(None, pl.String)):
        expected = scores(frame.with_columns(reference=text), "token_f1")["token_f1"]
        assert bits(frame.lazy().select(fm.polars.token_f1("answer", text)).collect().to_series()) == expected
    assert bits(constant.select(fm.polars.token_f1("answer", "reference").alias("f"))["f"])[4] is not None
    assert frame.clear().select(fm.polars.token_f1("answer", pl.lit("x"))).height == 0


def test_the_namespace_gives_frames():
    fm.polars.register()  # a second call changes nothing
    frame = pl.DataFrame(ROWS)
    assert {name: bits(column) for name, column in frame.fm.score(METRICS).drop("id").to_dict().items()} == scores()
    lazy = frame.lazy().fm.score(METRICS)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(frame.fm.score(METRICS), null_equal=True)
    assert frame.fm.with_scores(METRICS).columns == frame.lazy().fm.with_scores(METRICS).collect().columns
    assert bits(frame.fm.token_f1()) == bits(frame.fm.token_f1("answer", "reference")) == scores()["token_f1"]
    assert frame.fm.token_f1().name == "token_f1"
    assert "token_f1" in dir(frame.fm)


def test_lazy_scores_are_those_of_eager_frames():
    frame = pl.DataFrame(ROWS).rename({"id": "key"})
    scored = frame.fm.with_scores("token_f1")  # whose column the scores do not replace
    for metrics in ("token_f1", METRICS):
        for table, columns in ((frame, {"id": "key"}), (scored, {"id": "key"}), (scored, None)):
            eager = table.fm.score(metrics, columns=columns)
            lazy = table.lazy().fm.score(metrics, columns=columns).collect()
            assert lazy.schema == eager.schema
            assert all(lazy[name].equals(eager[name]) for name in eager.columns)


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.register("answers", pa.table(ROWS))
        yield connection


def test_every_metric_of_a_row_is_a_function(connection, full):
    names = fm.duckdb.register(connection)
    assert set(names.values()) == set(ROW_METRICS)
    assert names["fm_jaccard"] == "jaccard"  # DuckDB has a function jaccard of its own
    for function, metric in [*names.items()][:: 1 if full else 12]:
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


TABLE = pa.table(ROWS)
SLICES = [TABLE.slice(0, 0), *(TABLE.slice(start, rows) for start, rows in ((0, 1), (1, 2), (3, 2), (0, 5)))]


@pytest.fixture
def vocabularies(monkeypatch):
    """The vocabularies that are made during a test."""
    made = []

    def make():
        made.append(Vocabularies())
        return made[-1]

    monkeypatch.setattr(score_batch, "Vocabularies", make)
    return made


def table_function():
    return TableFunction(plan(FrameSource(TABLE).names, ScoreRequest(METRICS)))


def callers():
    """Functions of tables, as each tool calls them, on two threads."""
    by_plan, by_metric = table_function(), RowFunction(score_of("token_f1", {}))
    yield lambda table: by_plan(FrameSource(table), 2)["token_f1"]
    yield lambda table: by_metric({name: table[name] for name in ("answer", "reference")}, 2)


def test_calls_of_several_threads_share_words_and_give_the_same_bits(vocabularies):
    expected = [scores(table, "token_f1")["token_f1"] for table in SLICES]
    for call in callers():
        del vocabularies[:]
        with ThreadPoolExecutor(4) as pool:
            scored = list(pool.map(call, SLICES * 8))
        assert [bits(column.to_pylist()) for column in scored] == expected * 8
        assert 0 < len(vocabularies) <= 2


def test_batches_of_a_dataset_share_words_and_a_plan(vocabularies):
    function = fm.datasets.scorer("token_f1")
    batches = [function(table) for table in SLICES[1:]]
    assert len(vocabularies) <= thread_pools.cores()
    assert [batch["token_f1"].to_pylist() for batch in batches] == [
        fm.score(table, "token_f1")["token_f1"].to_pylist() for table in SLICES[1:]
    ]
    others = {"output": ["in Paris"], "reference": ["Paris"]}  # of another dataset
    assert function(others) == {"token_f1": fm.score(others, "token_f1")["token_f1"].to_pylist()}
    gold = fm.datasets.scorer("token_recall", columns={"reference": "gold"})
    assert gold({"answer": ["in Paris"], "gold": ["Paris"], "reference": ["x"]}) == {"token_recall": [1.0]}


def test_functions_are_sent_without_their_words():
    scorer = fm.datasets.scorer("token_f1")
    before = pickle.dumps(scorer)
    scorer(TABLE)
    assert pickle.dumps(scorer) == before  # by which datasets recognises it
    function = table_function()
    function(FrameSource(TABLE), 1)
    again = pickle.loads(pickle.dumps(function))(FrameSource(TABLE), 1)
    assert {name: bits(again[name].to_pylist()) for name in again.column_names} == scores()


def test_one_thread_is_that_of_the_caller(monkeypatch):
    def refuse(thread):
        raise AssertionError(f"{thread.name} is started")

    expected = scores()["token_f1"]
    monkeypatch.setattr(threading.Thread, "start", refuse)
    function = RowFunction(score_of("token_f1", {}))
    scored = function({name: TABLE[name] for name in ("answer", "reference")})
    assert bits(scored.to_pylist()) == expected


def test_only_a_table_that_is_alone_is_divided_over_the_threads():
    def sizes(*rows):
        pieces = open_frame([pa.table({"answer": ["a"] * number}) for number in rows]).pieces(["answer"])
        return [batch.num_rows for batch in engine_run._batches(iter(pieces), 4)]

    assert sizes(0) == []
    assert sizes(0, 2_048, 0) == [512] * 4
    assert sizes(0, 2_048, 4_096, 1) == [2_048, 4_096, 1]


def test_columns_of_text_are_added_to_a_pandas_frame():
    import pandas as pd

    rows = {"question": ["Where?", "Who?"], "answer": ["in Oslo", ""], "contexts": [["in Oslo"], ["Ann"]]}
    frame = pd.DataFrame(rows, index=["x", "y"])
    for added in (fm.with_scores(frame, "verdict"), frame.fm.with_scores("verdict")):
        expected = fm.with_scores(pa.table(rows), "verdict").select(["verdict", "verdict_word", "verdict_reason"])
        found = pa.Table.from_pandas(added[expected.column_names], preserve_index=False)
        assert found.to_pydict() == expected.to_pydict()
        assert isinstance(added.loc["x", "verdict_word"], str)
