"""Spark on this machine: the scores and sums of a DataFrame are those of the same rows at hand, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.metrics.plan import ScoreRequest
from tests.metrics.test_plugins import OWN
from tests.support.many_rows import METRICS, bits, rows
from tests.support.program import ENVIRONMENT

pytest.importorskip("pyspark")

from fastmetrics.engines import cluster_rows as engine

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark[.]", "ignore::FutureWarning:pyspark[.]"),
    pytest.mark.slow,
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
def table() -> pa.Table:
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
def test_scores_and_summary_have_the_same_bits(spark, frame, table, partitions, batch):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    expected = fm.score(table, METRICS)
    made = fm.score(frame.repartition(partitions), METRICS).cache()
    try:
        assert bits(made.toArrow()) == bits(expected)
        assert fm.summarize(made).to_json() == replace(fm.summarize(expected), notes=[]).to_json()
    finally:
        made.unpersist()


def test_default_metrics_and_requested_columns(frame, table):
    made = fm.score(frame, suites=["lexical"], columns={"answer": "question"}, keep=["latency_ms"])
    expected = fm.score(table, suites=["lexical"], columns={"answer": "question"})
    assert made.columns == ["id", "latency_ms", *expected.schema.names[1:]]
    assert bits(made.drop("latency_ms").toArrow()) == bits(expected)
    assert bits(made.select("id", "latency_ms").toArrow()) == bits(table.select(["id", "latency_ms"]))


def test_scores_can_be_written_to_files_and_summarized(frame, table, tmp_path):
    fm.score(frame, ["latency_ms", "token_f1"]).write.parquet(str(tmp_path / "scores"))
    expected = fm.summarize(fm.score(table, ["latency_ms", "token_f1"]))
    # a DataFrame stores no notes on its rows
    without = replace(expected, notes=[])
    assert fm.summarize(pq.read_table(tmp_path / "scores")).to_json() == without.to_json()


def test_names_with_special_meaning_in_spark(spark):
    frame = spark.createDataFrame([("a", "b c"), ("b", "d")], ["my.id", "an`swer"])
    made = fm.score(frame, ["answer_words"], columns={"id": "my.id", "answer": "an`swer"}).toArrow()
    assert made.sort_by("answer_words").to_pydict() == {"id": ["b", "a"], "answer_words": [1.0, 2.0]}


def test_empty_dataframe_gives_no_rows(frame, table):
    none = frame.where("id is null")
    assert fm.score(none, METRICS).toArrow().num_rows == 0
    summary = fm.summarize(fm.score(none, METRICS))
    assert summary.to_json() == fm.summarize(fm.score(table.slice(0, 0), METRICS)).to_json()


def test_large_types_and_all_null_columns(spark, frame, table):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        made = fm.score(frame, ["token_f1", "recall@3"]).toArrow()
    finally:
        spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")
    assert bits(made) == bits(fm.score(table, ["token_f1", "recall@3"]))
    nulls = frame.selectExpr("id", "cast(null as string) as answer", "cast(null as array<string>) as reference")
    assert set(fm.score(nulls, ["token_f1"]).toArrow()["token_f1"].to_pylist()) == {None}


def test_invalid_calls_raise_immediately(frame):
    with pytest.raises(ColumnError, match="column 'answer': expected text, got struct"):
        fm.score(frame.selectExpr("id", "struct(id) as answer", "reference"), ["token_f1"])
    with pytest.raises(OptionError, match="embedder='wordllama': a Spark DataFrame needs its embeddings as columns"):
        fm.score(frame, ["token_f1"], embedder="wordllama")
    with pytest.raises(ColumnError, match="needs the column 'contexts'"):
        fm.score(frame, ["grounding_overlap"])
    with pytest.raises(OptionError, match="corpus_bleu is one value per table"):
        fm.score(frame, ["token_f1", "corpus_bleu"])
    with pytest.raises(InputError, match="expected a Spark DataFrame, got dict"):
        engine.score({"answer": ["a"]}, ScoreRequest())
    with pytest.raises(UnknownNameError, match="unknown statistic"):
        fm.summarize(fm.score(frame, ["token_f1"]), statistics={"token_f1": ["q9"]})


def test_score_accepts_spark_dataframes(frame, table):
    made = fm.score(frame, ["token_f1"])
    assert bits(made.toArrow()) == bits(fm.score(table, ["token_f1"]))


def test_custom_metrics_are_sent_to_workers(frame, table, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    fm.metrics.load_plugin(tmp_path / "mine.py")
    (tmp_path / "mine.py").unlink()
    assert bits(fm.score(frame, ["own_overlap"]).toArrow()) == bits(fm.score(table, ["own_overlap"]))


def test_workers_use_one_thread(frame):
    def count(batches):
        import pyarrow as pa_
        import threadpoolctl

        from fastmetrics.base.threads import keep_to_one

        keep_to_one()
        for batch in batches:
            pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
            yield pa_.record_batch({"most": pa_.array([max([pa_.cpu_count(), *pools])] * batch.num_rows, pa_.int64())})

    assert frame.select("id").mapInArrow(count, "most long").agg({"most": "max"}).collect()[0][0] == 1


def test_missing_spark_error_names_the_extra(tmp_path):
    (tmp_path / "pyspark.py").write_text("raise ImportError('no spark')\n")
    code = "from fastmetrics.engines.cluster_rows import collect_dataframe; collect_dataframe(None, list)"
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "fastmetrics.base.errors.MissingExtraError: this needs pyspark, which is not installed; "
        "in a clone of fastmetrics, run: pip install -e '.[spark]'"
    )
    assert done.returncode == 1
