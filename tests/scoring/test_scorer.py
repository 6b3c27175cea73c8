"""A prepared scorer, its threads and its profile."""

import json
import math
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.plans.score_batch import slices
from fastmetrics.scoring.profiling import Watch
from fastmetrics.vectors.search_files import build_index
from tests.support.program import program

TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "answer": ["in Paris", "Rome", None, ""],
        "reference": [["Paris"], ["rome", "Roma"], ["x"], []],
        "latency_ms": [1.5, None, math.nan, 4.0],
        "note": [b"\x00", None, b"x", b"y"],
    }
)
METRICS = ["token_f1", "latency_ms"]


def bits(table):
    """What the scores are to the bit, nulls and NaN apart."""
    return [str(column.is_valid().to_pylist()).encode() + np.asarray(column).tobytes() for column in table.columns[1:]]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_pieces_have_the_scores_of_the_whole(size):
    scored = pickle.loads(pickle.dumps(fm.scorer(METRICS)))
    expected = fm.score(TABLE, METRICS)
    made = [scored(TABLE.slice(start, size)) for start in range(0, 4, size)]
    found = pa.concat_tables(made).combine_chunks()
    assert found.schema == expected.schema == scored.types(TABLE.schema)
    assert found["id"].to_pylist() == TABLE["id"].to_pylist()
    assert bits(found) == bits(expected)


def test_a_record_batch_gives_a_record_batch_of_all_its_rows():
    scored, batch = fm.scorer(METRICS), TABLE.to_batches()[0]
    for rows in (batch, batch.slice(0, 0)):
        made = scored(rows)
        assert isinstance(made, pa.RecordBatch)
        assert (made.num_rows, made.schema.names) == (rows.num_rows, ["id", *METRICS])
    many = pa.record_batch({"answer": ["a"] * 20_000, "reference": ["a"] * 20_000})
    assert fm.scorer("token_f1")(many).num_rows == 20_000


def test_kept_columns_and_others():
    table = TABLE.select(TABLE.column_names[::-1]).append_column("more", [["x"] * 4])
    assert fm.scorer(METRICS, keep=["note", "id"])(table).column_names == ["id", "note", *METRICS]
    assert bits(fm.scorer(METRICS)(table)) == bits(fm.score(TABLE, METRICS))
    assert fm.scorer(suites="core")(TABLE).column_names == fm.score(TABLE, suites="core").column_names


class Boxed(pa.ExtensionType):
    """A type of another package, around one of Arrow's."""

    def __init__(self, inside):
        super().__init__(inside, "tests.boxed")

    def __arrow_ext_serialize__(self):
        return b""


@pytest.mark.parametrize("inside", [pa.list_(pa.float64()), pa.large_list(pa.float64())])
def test_vectors_in_foreign_types_are_converted_and_kept_columns_are_not(inside):
    vectors = pa.array([[1.0, 0.0], None, [0.6, 0.8]], inside)
    boxed = pa.ExtensionArray.from_storage(Boxed(inside), vectors)
    plain = pa.table({"answer_embedding": vectors, "reference_embedding": vectors})
    columns = {"answer_embedding": pa.chunked_array([boxed[:1], boxed[1:]]), "reference_embedding": vectors}
    made = fm.scorer("semantic_similarity", keep="note")(pa.table({**columns, "note": boxed}))
    assert made["semantic_similarity"].to_pylist() == fm.score(plain, ["semantic_similarity"])[0].to_pylist()
    assert (made["semantic_similarity"].null_count, made["note"].type) == (1, boxed.type)


def test_texts_of_a_dictionary_count_as_often_as_rows_have_them(monkeypatch):
    monkeypatch.setattr(SIZES, "batch_bytes", 10_000)
    texts = pa.DictionaryArray.from_arrays(pa.array([0, None, 1] * 100, pa.int32()), ["a " * 500, "b"])
    batches = list(slices(pa.table({"answer": texts})))
    assert sum(batch.num_rows for batch in batches) == 300
    assert max(batch.num_rows for batch in batches) < 60


def test_a_folder_of_parts_is_a_score_file(tmp_path):
    """As Ray and Spark write it: without the metadata of a run, and with files that are no parts."""
    scored, whole = fm.scorer(METRICS), tmp_path / "whole.parquet"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").touch()
    for number in range(2):
        pq.write_table(scored(TABLE.slice(2 * number, 2)), tmp_path / "parts" / f"part-{number}.snappy.parquet")
    fm.score(TABLE, METRICS, output=whole)
    found, expected = fm.summarize(tmp_path / "parts"), fm.summarize(whole)
    assert repr(found["token_f1"].mean) == repr(expected["token_f1"].mean)
    assert "b has the same scores as a in every row" in str(fm.compare({"a": whole, "b": tmp_path / "parts"}))
    assert fm.gate(tmp_path / "parts", ["token_f1 >= 0 with n >= 2"]).passed


MISSING = "there-is-no-such-file"
FUNCTIONS = {
    "token_f1": lambda **options: fm.token_f1([1], [], **options),
    "rouge": lambda **options: fm.rouge([1], [], **options),
    "score": lambda **options: fm.score({"answer": ["a"]}, "no such metric", **options),
    "score of files": lambda **options: fm.score(MISSING, output="out.parquet", **options),
    "rank": lambda **options: fm.rank(MISSING, MISSING, **options),
    "rank of runs": lambda **options: fm.rank({"run": {"q": {"a": 1}}}, {"q": {"a": 1}}, "mrr", **options),
    "geometry": lambda **options: fm.vectors.geometry(MISSING, **options),
    "project": lambda **options: fm.vectors.project(MISSING, **options),
    "nearest": lambda **options: fm.vectors.nearest(MISSING, **options),
    "Index.build": lambda **options: fm.Index.build(MISSING, **options),
    "Index.load": lambda **options: fm.Index.load(MISSING, **options),
    "Index.search": lambda **options: fm.Index.build(np.eye(3)).search(MISSING, **options),
    "build_index": lambda **options: build_index(MISSING, **options),
    "search": lambda **options: fm.search(fm.Index.build(np.eye(3)), MISSING, **options),
    "match_faq": lambda **options: fm.retrieval.match_faq([1], ["a"], **options),
    "match": lambda **options: fm.match(MISSING, MISSING, **options),
    "answer_all": lambda **options: fm.retrieval.StrictMatchBot({"question": ["a"], "answer": ["b"]}).answer_all(
        [1], **options
    ),
    "check_dataset": lambda **options: fm.logs.check_dataset(MISSING, **options),
    "chunk_utilization": lambda **options: fm.logs.chunk_utilization(MISSING, **options),
    "domain_analysis": lambda **options: fm.logs.domain_analysis(MISSING, **options),
}
"""Calls in which much is wrong: the number of threads is checked before anything is read."""


REFUSED = r"^threads=.*: expected a whole number from 1 to 1,024$"


def test_functions_refuse_the_same_thread_counts():
    for call in FUNCTIONS.values():
        with pytest.raises(OptionError, match=REFUSED):
            call(threads=0)


def test_threads_accept_integers_of_any_type():
    assert fm.token_f1(["a"], ["a"], threads=np.int64(1)).tolist() == [1.0]
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, "mrr", threads=np.int8(2)).mean == {"mrr": 1.0}


PROFILE_METRICS = "token_f1,rougeL_f1,ndcg@5,semantic_similarity"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows whose later ones need kernels that the first ones do without."""
    path, count = tmp_path_factory.mktemp("rows") / "rows.parquet", 3000
    plain = np.arange(count) < count // 2
    vectors = np.random.default_rng(0).normal(size=(count, 4)).tolist()
    columns = {
        "answer": [f"some words {n % 97}" if plain[n] else f"Слова {'ß' * (n % 60)} ΑΣ" for n in range(count)],
        "reference": [f"other words {n % 89}" if plain[n] else None if n % 2 else "Слова" for n in range(count)],
        "retrieved_ids": [[f"d{n % 7}", "d3"] for n in range(count)],
        "relevant_ids": [["d3"] if n % 3 else [] for n in range(count)],
        "answer_embedding": vectors,
        "reference_embedding": [None if n % 10 == 9 else vector[::-1] for n, vector in enumerate(vectors)],
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000)
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_stages_add_up(rows, threads):
    found = fm.scoring.profile(rows, metrics=PROFILE_METRICS.split(","), threads=threads)
    assert (found.rows, found.threads) == (3000, threads)
    assert list(found.stages) == ["read", "tokenise", "kernels", "write"]
    assert list(found.metrics) == PROFILE_METRICS.split(",")
    assert found.stages["kernels"] == pytest.approx(sum(found.metrics.values()))
    assert found.stages["tokenise"] == pytest.approx(sum(found.representations.values()))
    assert found.stages["kernels"] + found.stages["tokenise"] <= found.elapsed * threads
    assert {"text answer", "tokens answer plain"} <= set(found.representations)
    assert not any("scores" in name for name in found.representations), "scores are the time of their metric"
    assert found.to_dict()["threads"] == threads
    assert found.remarks()[0].endswith("on 1 thread" if threads == 1 else "on 2 threads, whose seconds are added up")


def test_no_time_is_counted_twice(monkeypatch):
    """What is made within a metric's time, and within the making of something else, is that much less of theirs."""
    clock = iter([0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 10.0])
    monkeypatch.setattr("fastmetrics.scoring.profiling.time", SimpleNamespace(perf_counter=clock.__next__))
    watch = Watch()
    with watch.on("metric"):
        with watch.on("tokens"), watch.on("text"):
            pass
        with watch.on("tokens"):
            pass
    assert watch.seconds == {"metric": 5.0, "tokens": 4.0, "text": 1.0}


def test_threads_do_not_nest(monkeypatch):
    """A name of one thread is not within that of another, which begins before it and ends after it."""
    clock = iter([0.0, 1.0, 3.0, 10.0])
    monkeypatch.setattr("fastmetrics.scoring.profiling.time", SimpleNamespace(perf_counter=clock.__next__))
    watch = Watch()

    def other():
        with watch.on("metric"):
            pass

    with watch.on("metric"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert watch.seconds == {"metric": 12.0}


def test_command_prints_the_profile(rows):
    done = program("profile", rows, "-m", PROFILE_METRICS, "--threads", 2, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["threads"] == 2
    assert set(json.loads(done.out)["metrics"]) == set(PROFILE_METRICS.split(","))
    tables = program("profile", rows, "-m", "token_f1").out
    shown = {"stage", "read", "tokenise", "kernels", "write", "total", "rows/s", "MB/s", "token_f1", "3,000"}
    assert shown <= set(tables.split())


def test_no_rows(tmp_path):
    pq.write_table(pa.table({"answer": pa.array([], pa.string())}), tmp_path / "rows.parquet")
    found = fm.scoring.profile(tmp_path / "rows.parquet", metrics="answer_words")
    assert (found.rows, found.nbytes) == (0, 0)
    assert str(found).startswith("stage ")
