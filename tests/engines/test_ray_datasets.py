"""Ray Datasets: the scores and sums of a Dataset are those of the same rows at hand, bit for bit."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError
from tests.support.many_rows import METRICS, bits, rows
from tests.support.program import ENVIRONMENT

ray = pytest.importorskip("ray")

from fastmetrics.engines.ray import Cluster, quietly  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray[.]"),
    pytest.mark.slow,
]  # warnings of Ray about its own modules


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers of this machine, which import the package from this checkout."""
    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    started = Cluster(2, None)
    started.start()
    with quietly():
        yield
    started.close()
    assert not ray.is_initialized()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rows(3000)


def table_of(dataset) -> pa.Table:
    """All rows of a Dataset."""
    return pa.concat_tables(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))


@pytest.mark.parametrize(("blocks", "workers"), [(1, None), (7, 2), (40, 1)])
def test_scores_and_summary_have_the_same_bits(table, blocks, workers):
    expected = fm.score(table, METRICS)
    dataset = ray.data.from_arrow(table).repartition(blocks)
    made = fm.score(dataset, METRICS, threads=workers).materialize()
    assert bits(table_of(made)) == bits(expected)
    assert fm.summarize(made).to_json() == replace(fm.summarize(expected), notes=[]).to_json()


def test_workers_use_the_requested_embedder(table):
    embedder = fm.Embedder(sizes)
    names = ["semantic_similarity", "dot_similarity"]
    made = fm.score(ray.data.from_arrow(table), names, embedder=embedder)
    assert bits(table_of(made)) == bits(fm.score(table, names, embedder=embedder))


def sizes(texts):
    """As vectors: lengths and numbers of words."""
    return [[len(text), 1.0 + text.count(" ")] for text in texts]


def test_datasets_are_scored_lazily(table):
    made = fm.score(ray.data.from_arrow(table), ["token_f1", "latency_ms"])
    assert isinstance(made, ray.data.Dataset)
    assert bits(table_of(made.limit(10)))["id"] == sorted(f"q{n}" for n in range(10))
    expected = fm.summarize(fm.score(table, ["token_f1", "latency_ms"]))
    # a Dataset stores no notes on its rows
    assert fm.summarize(made).to_json() == replace(expected, notes=[]).to_json()


def test_null_and_empty_blocks_are_scored(table):
    nulls = pa.table({"id": [1, 2], "answer": pa.nulls(2), "reference": pa.nulls(2), "latency_ms": pa.nulls(2)})
    full = pa.table({"id": [3], "answer": ["a b"], "reference": ["b"], "latency_ms": [0.5]})
    dataset = ray.data.from_arrow([full, nulls])
    made = fm.score(dataset, ["token_f1", "latency_ms"])
    expected = fm.score(pa.concat_tables([full, nulls], promote_options="default"), ["token_f1", "latency_ms"])
    assert bits(table_of(made)) == bits(expected)
    none = fm.score(ray.data.from_arrow([full, full.slice(0, 0)]), ["token_f1"])
    assert table_of(none).num_rows == 1


def test_pandas_blocks_are_scored(table):
    few = table.select(["id", "answer", "question"]).slice(0, 50)
    dataset = ray.data.from_pandas(few.to_pandas())
    assert bits(table_of(fm.score(dataset, ["jaccard"]))) == bits(fm.score(few, ["jaccard"]))


def test_blocks_without_a_column_have_nulls(table):
    full = pa.table({"id": [1], "answer": ["a b"], "reference": ["b"], "latency_ms": [0.5]})
    dataset = ray.data.from_arrow([full, full.select(["id", "answer"])])
    made = table_of(fm.score(dataset, ["token_f1", "latency_ms"])).sort_by("token_f1")
    assert made.to_pydict() == {"id": [1, 1], "token_f1": [2 / 3, None], "latency_ms": [0.5, None]}


def test_numpy_converted_columns_are_scored(table):
    """Ray then holds vectors as tensors, and lists of unequal lengths pickled."""
    rows_ = [{"id": n, "answer": "a b", "reference": ["a", "b"][: n + 1]} for n in range(2)]
    vectors = {"answer_embedding": np.eye(2), "reference_embedding": np.ones((2, 2))}
    dataset = ray.data.from_items(rows_, override_num_blocks=1).map_batches(lambda batch: {**batch, **vectors})
    made = table_of(fm.score(dataset, ["token_f1", "semantic_similarity"]))
    assert made["token_f1"].to_pylist() == [2 / 3, 2 / 3]
    assert made["semantic_similarity"].to_pylist() == pytest.approx([0.5**0.5] * 2)


def test_embedder_is_used(table):
    def embedder(texts):
        return [[float(len(text)), 1.0] for text in texts]

    few = table.select(["id", "answer", "question"]).rename_columns(["id", "answer", "reference"]).slice(0, 50)
    expected = fm.score(few, suites=["semantic"], embedder=embedder)
    made = fm.score(ray.data.from_arrow(few), suites=["semantic"], embedder=embedder)
    assert bits(table_of(made)) == bits(expected)


def test_invalid_calls_raise_immediately(table):
    dataset = ray.data.from_arrow(table)
    with pytest.raises(ColumnError, match="column 'answer': expected text, got struct"):
        fm.score(ray.data.from_arrow(pa.table({"answer": [{"a": 1}], "reference": ["a"]})), ["token_f1"])
    with pytest.raises(OptionError, match="threads=0: expected a whole number from 1 to 1,024"):
        fm.score(dataset, ["token_f1"], threads=0)
    with pytest.raises(ColumnError, match="needs the column 'contexts'"):
        fm.score(dataset, ["grounding_overlap"])
    with pytest.raises(OptionError, match="corpus_bleu is one value per table"):
        fm.score(dataset, ["token_f1", "corpus_bleu"])
    with pytest.raises(InputError, match="expected a Dataset with columns"):
        fm.score(ray.data.from_items([]))
