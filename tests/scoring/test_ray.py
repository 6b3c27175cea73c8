"""Ray Data and the scorer: the scores of a Dataset are those of the same rows at hand, bit for bit."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError
from tests.support.clusters import METRICS, bits, rows, snippets
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray[.]"),
]  # warnings of Ray about its own modules


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers of this machine, which import the package from this checkout."""
    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    ray.init("local", num_cpus=2, object_store_memory=256 << 20, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table():
    return rows(3000)


def table_of(dataset):
    """All rows of a Dataset."""
    return pa.concat_tables(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))


@pytest.mark.parametrize("blocks", [1, 7])
def test_scores_have_the_same_bits(table, blocks):
    made = fm.score(ray.data.from_arrow(table).repartition(blocks), METRICS)
    assert isinstance(made, ray.data.Dataset)
    assert bits(table_of(made)) == bits(fm.score(table, METRICS))


def test_the_lines_of_the_docs_make_a_score_file(table, tmp_path, monkeypatch, capsys):
    """Read, scored and written by Ray; summarized, compared and gated like the output of a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    for number in range(3):
        pq.write_table(table.slice(number * 1000, 1000), tmp_path / "answers" / f"{number}.parquet")
    lines = snippets("docs/extending.md", "Beyond one machine")
    of_ray = next(one for one in lines if "ray.data" in one)
    exec(of_ray.replace('"answers"', f'"{tmp_path}/answers"').replace('"scores"', f'"{tmp_path}/scores"'), {})
    exec(next(one for one in lines if "summarize" in one), {})
    fm.score("answers", ["token_f1", "latency_ms"], output="whole.parquet")
    expected = fm.summarize("whole.parquet")
    found = fm.summarize("scores")
    assert [found[name].mean.hex() for name in found.metrics] == [expected[name].mean.hex() for name in found.metrics]
    assert f"{found['token_f1'].mean:.4f}" in capsys.readouterr().out
    assert "b has the same scores as a in every row" in str(fm.compare({"a": "whole.parquet", "b": "scores"}))
    assert fm.gate("scores", ["token_f1 >= 0", "latency_ms.p50 <= 1e9 with unpaired=ignore"]).passed


def test_workers_use_the_requested_embedder(table):
    embedder = fm.Embedder(sizes)
    names = ["semantic_similarity", "dot_similarity"]
    made = fm.score(ray.data.from_arrow(table), names, embedder=embedder)
    assert bits(table_of(made)) == bits(fm.score(table, names, embedder=embedder))


def sizes(texts):
    """As vectors: lengths and numbers of words."""
    return [[len(text), 1.0 + text.count(" ")] for text in texts]


def test_null_empty_and_lacking_columns_are_scored():
    full = pa.table({"id": [3], "answer": ["a b"], "reference": ["b"], "latency_ms": [0.5]})
    nulls = pa.table({"id": [1, 2], "answer": pa.nulls(2), "reference": pa.nulls(2), "latency_ms": pa.nulls(2)})
    for second in (nulls, full.select(["id", "answer"]), full.slice(0, 0)):
        made = fm.score(ray.data.from_arrow([full, second]), ["token_f1", "latency_ms"])
        whole = pa.concat_tables([full, second], promote_options="permissive")
        assert bits(table_of(made)) == bits(fm.score(whole, ["token_f1", "latency_ms"]))


def test_pandas_blocks_and_numpy_columns_are_scored(table):
    """Ray then holds vectors as tensors, and lists of unequal lengths pickled."""
    few = table.select(["id", "answer", "question"]).slice(0, 50)
    dataset = ray.data.from_pandas(few.to_pandas())
    assert bits(table_of(fm.score(dataset, ["jaccard"]))) == bits(fm.score(few, ["jaccard"]))
    rows_ = [{"id": n, "answer": "a b", "reference": ["a", "b"][: n + 1]} for n in range(2)]
    vectors = {"answer_embedding": np.eye(2), "reference_embedding": np.ones((2, 2))}
    dataset = ray.data.from_items(rows_, override_num_blocks=1).map_batches(lambda batch: {**batch, **vectors})
    made = table_of(fm.score(dataset, ["token_f1", "semantic_similarity"]))
    assert made["token_f1"].to_pylist() == [2 / 3, 2 / 3]
    assert made["semantic_similarity"].to_pylist() == pytest.approx([0.5**0.5] * 2)


@pytest.mark.parametrize(
    ("metrics", "options", "error", "message"),
    [
        ("grounding_overlap", {}, ColumnError, "needs the column 'contexts'"),
        ("corpus_bleu", {}, OptionError, "corpus_bleu has one value for a whole table"),
        ("token_f1", {"threads": 2}, OptionError, "threads=2: the cluster that holds the rows reads and writes files"),
        ("token_f1", {"output": "o.csv"}, OptionError, "output='o.csv': the cluster that holds"),
    ],
)
def test_invalid_calls_raise_immediately(table, metrics, options, error, message):
    with pytest.raises(error, match=message):
        fm.score(ray.data.from_arrow(table), metrics, **options)


def test_datasets_without_columns_and_sums_are_refused(table):
    refused(InputError, "columns", lambda: fm.score(ray.data.from_items([])))
    refused(InputError, "folder", lambda: fm.summarize(ray.data.from_arrow(table.select(["latency_ms"]))))
