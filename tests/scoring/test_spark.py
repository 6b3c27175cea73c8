"""Spark and the scorer: the scores of a DataFrame are those of the same rows at hand, bit for bit."""

import os
import sys

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError
from tests.metrics.test_plugins import OWN
from tests.support.clusters import METRICS, bits, rows, snippets
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT

pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark[.]", "ignore::FutureWarning:pyspark[.]"),
]


@pytest.fixture(scope="module")
def spark():
    """Two workers of this machine, which import the package from this checkout."""
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("fastmetrics")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    return rows(3000)


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
    """The rows as Spark reads them from Parquet."""
    folder = tmp_path_factory.mktemp("spark") / "rows"
    folder.mkdir()
    for number in range(3):
        pq.write_table(table.slice(number * 1000, 1000), folder / f"{number}.parquet")
    return spark.read.parquet(str(folder))


@pytest.mark.parametrize(("partitions", "batch"), [(1, 10_000), (5, 7)])
def test_scores_have_the_same_bits(spark, frame, table, partitions, batch):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    made = fm.score(frame.repartition(partitions), METRICS)
    assert bits(made.toArrow()) == bits(fm.score(table, METRICS))


def test_the_lines_of_the_docs_make_a_score_file(spark, table, tmp_path, monkeypatch):
    """Read, scored and written by Spark; summarized, compared and gated like the output of a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    pq.write_table(table, tmp_path / "answers" / "0.parquet")
    lines = next(one for one in snippets("docs/extending.md", "Beyond one machine") if "spark.read" in one)
    lines = lines.replace('"answers"', f'"{tmp_path}/answers"').replace('"scores"', f'"{tmp_path}/scores"')
    exec(lines, {"spark": spark})
    fm.score("answers", ["token_f1", "latency_ms"], output="whole.parquet")
    expected, found = fm.summarize("whole.parquet"), fm.summarize("scores")
    assert [found[name].mean.hex() for name in found.metrics] == [expected[name].mean.hex() for name in found.metrics]
    assert "b has the same scores as a in every row" in str(fm.compare({"a": "whole.parquet", "b": "scores"}))
    assert fm.gate("scores", ["token_f1 >= 0"]).passed


def test_requested_and_kept_columns(frame, table):
    made = fm.score(frame, suites=["lexical"], columns={"answer": "question"}, keep=["latency_ms"])
    expected = fm.score(table, suites=["lexical"], columns={"answer": "question"})
    assert made.columns == ["id", "latency_ms", *expected.schema.names[1:]]
    assert bits(made.drop("latency_ms").toArrow()) == bits(expected)
    assert bits(made.select("id", "latency_ms").toArrow()) == bits(table.select(["id", "latency_ms"]))
    extracted = fm.score(frame, ["answer_words"], extract="first_line", keep_extracted=True)
    assert bits(extracted.toArrow()) == bits(
        fm.score(table, ["answer_words"], extract="first_line", keep_extracted=True)
    )


def test_names_with_special_meaning_in_spark(spark):
    frame = spark.createDataFrame([("a", "b c"), ("b", "d")], ["my.id", "an`swer"])
    made = fm.score(frame, ["answer_words"], columns={"id": "my.id", "answer": "an`swer"}).toArrow()
    assert made.sort_by("answer_words").to_pydict() == {"id": ["b", "a"], "answer_words": [1.0, 2.0]}


def test_empty_large_and_null_columns(spark, frame, table):
    assert fm.score(frame.where("id is null"), METRICS).toArrow().num_rows == 0
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        made = fm.score(frame, ["token_f1", "recall@3"]).toArrow()
    finally:
        spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")
    assert bits(made) == bits(fm.score(table, ["token_f1", "recall@3"]))
    nulls = frame.selectExpr("id", "cast(null as string) as answer", "cast(null as array<string>) as reference")
    assert set(fm.score(nulls, ["token_f1"]).toArrow()["token_f1"].to_pylist()) == {None}


def test_invalid_calls_raise_immediately(frame):
    refused(
        ColumnError,
        "answer",
        lambda: fm.score(frame.selectExpr("id", "struct(id) as answer", "reference"), ["token_f1"]),
    )
    refused(ColumnError, "contexts", fm.score, frame, ["grounding_overlap"])
    refused(OptionError, "corpus_bleu", fm.score, frame, ["token_f1", "corpus_bleu"])
    refused(InputError, "folder", fm.summarize, frame)


def test_custom_metrics_are_sent_to_workers(frame, table, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    fm.metrics.load_plugin(tmp_path / "mine.py")
    (tmp_path / "mine.py").unlink()
    assert bits(fm.score(frame, ["own_overlap"]).toArrow()) == bits(fm.score(table, ["own_overlap"]))
