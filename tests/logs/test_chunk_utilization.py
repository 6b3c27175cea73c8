"""Chunks used by the rankings of a log: by the definition, by hand, from every kind of input, and from bad ones."""

import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.opening import open_source
from tests.reference import usage as reference
from tests.support.program import jsonl, program

NAMES = st.sampled_from(["a", "b", "c", "1", "2", "doc 3", "é"])
MARKS = st.sampled_from(
    ["[1]", "[2]", "[ a ]", "[b]", "[7]", "[[c]]", "[]", "]", "[", "x ", "[02]", "[doc 3]", "é", "\n"]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "retrieved_ids": st.none() | st.lists(NAMES, max_size=6),
            "answer": st.none() | st.lists(MARKS, max_size=8).map("".join),
            "relevant_ids": st.none() | st.lists(NAMES, max_size=3),
            "score": st.none() | st.integers(-8, 8).map(lambda n: n / 4),
        }
    ),
    max_size=12,
)
TYPES = pa.schema(
    {
        "retrieved_ids": pa.list_(pa.string()),
        "answer": pa.string(),
        "relevant_ids": pa.list_(pa.string()),
        "score": pa.float64(),
    }
)


@given(ROWS, st.sets(NAMES, min_size=1), st.integers(1, 7), st.sampled_from([0.1, 0.5, 0.8, 1.0]), st.integers(1, 5))
def test_every_figure_is_the_definition(rows, chunks, k, share, step):
    expected, by = reference.chunk_utilization(rows, sorted(chunks), k, share)
    table = pa.Table.from_pylist(rows, TYPES)
    pieces = [table.slice(at, step) for at in range(0, len(rows), step)] or [table]
    seen = {one for row in rows for one in (row["retrieved_ids"] or [])[:k]}
    if seen and not seen & chunks:
        with pytest.raises(InputError, match=r"^no retrieved id, such as"):
            fm.logs.chunk_utilization(pieces, chunks=sorted(chunks), k=k, scores="score", share=share)
        return
    found = fm.logs.chunk_utilization(pieces, chunks=sorted(chunks), k=k, scores="score", share=share, threads=1)
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-12, nan_ok=True), name
    assert set(found.unused_ids) == {one for one, use in by.items() if not use["retrieved"]}
    for row in found.to_arrow().to_pylist():
        use = by[row["chunk"]]
        assert [row[name] for name in ("retrieved", "cited", "relevant")] == [
            use[name] for name in ("retrieved", "cited", "relevant")
        ]
        for name, values in (("mean_rank", use["ranks"]), ("mean_score", use["scores"])):
            assert row[name] == pytest.approx(sum(values) / len(values) if values else math.nan, nan_ok=True)
    retrieved = [row["retrieved"] for row in found.to_arrow().to_pylist()]
    assert retrieved == sorted(retrieved, reverse=True)


def test_hand_case():
    """Ten chunks, of which two fill all but one place."""
    rankings = [["a", "b"]] * 9 + [["a", "c"]]
    use = fm.logs.chunk_utilization(rankings, chunks=list("abcdefghij"), share=0.9)
    assert (use.total_chunks, use.used_chunks, use.unused_chunks, use.utilization_rate) == (10, 3, 7, 0.3)
    assert (use.places, use.chunks_filling_share, use.short) == (20, 2, 10)
    assert use.gini == pytest.approx((2 * (8 * 1 + 9 * 9 + 10 * 10) - 11 * 20) / (10 * 20))
    assert use.hubs == ["a"]
    assert use.expected_unseen == 0.0  # one chunk was seen once: 1·0 / 2


def test_counts_do_not_depend_on_files_threads_or_order(tmp_path):
    rng = np.random.default_rng(3)
    n = 3 * SIZES.log_rows // 2
    lists = rng.zipf(1.3, (n, 4)).clip(max=5000)
    table = pa.table({"retrieved_ids": list(lists), "s": rng.random(n), "answer": ["so [1] [3]", "no"] * (n // 2)})
    pq.write_table(table, tmp_path / "whole.parquet")
    turned = table.take(pa.array(rng.permutation(n)))
    pq.write_table(turned.slice(0, 1000), tmp_path / "x1.parquet")
    pq.write_table(turned.slice(1000), tmp_path / "x2.parquet")
    chunks = pa.array(np.arange(1, 6001))
    whole = fm.logs.chunk_utilization(tmp_path / "whole.parquet", chunks=chunks, k=3, scores=["s"], threads=1)
    for given_log, threads in ((str(tmp_path / "x*.parquet"), 2), (table, 3), (turned.to_batches(777), 1)):
        other = fm.logs.chunk_utilization(given_log, chunks=chunks, k=3, scores=["s"], threads=threads)
        assert str(other.to_arrow().to_pydict()) == str(whole.to_arrow().to_pydict())  # as strings, NaN equals NaN
        assert other.to_json() == whole.to_json()
    first, n_first = np.unique(lists[:, :3], return_counts=True)
    assert whole.used_chunks == len(first)
    assert n_first.sum() > whole.places  # some rows hold a chunk twice


def test_context_ids_are_what_numbers_mean_where_there_are_any():
    log = {"retrieved_ids": [["a", "b", "c"]], "context_ids": [["c", "a"]], "answer": ["yes [1]"]}
    assert fm.logs.chunk_utilization(log).never_cited_ids == ["a", "b"]
    del log["context_ids"]
    assert fm.logs.chunk_utilization(log).never_cited_ids == ["b", "c"]
    named = {"retrieved_ids": [["2", "1"]], "answer": ["yes [1]"]}  # an id comes before a number
    assert fm.logs.chunk_utilization(named).never_cited_ids == ["2"]


def test_citations_of_several_rows_count_each_rows_own_context_ids():
    log = {
        "retrieved_ids": [["a"], ["b", "c", "d", "e"]],
        "context_ids": [["a", "b", "c"], ["e", "d"]],
        "answer": ["yes [3]", "no [1] [d]"],
    }
    use = fm.logs.chunk_utilization(log)
    assert {row["chunk"]: row["cited"] for row in use.to_arrow().to_pylist()} == {
        **{"a": 0, "b": 0, "c": 1, "d": 1, "e": 1}
    }


@pytest.mark.parametrize(
    ("rankings", "ids"),
    [
        ([[1, 2], [1]], [1, 2, 3]),
        ([["1", "2"], ["1"]], [1, 2, 3]),
        ([[1, 2], [1]], ["1", "2", "3"]),
        (np.array([[1, 2], [1, -1]]), pa.array([1, 2, 3])),
        (pa.array([[1, 2], [1]], pa.list_view(pa.int32())), {"chunk_id": [1, 2, 3], "text": ["", "", ""]}),
        ([{"retrieved_ids": [1, 2]}, {"retrieved_ids": [1]}], pa.table({"my_id": [1, 2, 3]})),
        (pa.array([["1", "2"], ["1"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), ["1", "2", "3"]),
    ],
)
def test_ids_of_every_type_and_container(rankings, ids):
    use = fm.logs.chunk_utilization(rankings, chunks=ids)
    assert (use.used_chunks, use.total_chunks, use.places) == (2, 3, 3)
    assert list(map(str, use.unused_ids)) == ["3"]


def test_relevance_grades_and_empty_logs():
    log = {"retrieved_ids": [["a"], ["a"]], "relevant_ids": [["a", "b"], None], "relevance": [[0.5, 2], None]}
    rows = {row["chunk"]: row["relevant"] for row in fm.logs.chunk_utilization(log).to_arrow().to_pylist()}
    assert rows == {"a": 0, "b": 1}
    use = fm.logs.chunk_utilization([None, []], chunks=["a", "b"])
    assert (use.rows, use.missing, use.short, use.used_chunks, use.utilization_rate) == (1, 1, 1, 0, 0.0)
    assert math.isnan(use.gini)
    assert fm.logs.chunk_utilization([], chunks=["a"]).unused_ids == ["a"]


def test_unknown_chunks_are_counted_in_a_note():
    use = fm.logs.chunk_utilization([["a", "z"], ["y"]], chunks=["a", "b"])
    assert (use.unknown_chunks, list(use.unknown_ids), use.used_chunks, use.places) == (2, ["y", "z"], 1, 1)
    assert "2 retrieved ids are not in the table of chunks: " in str(use)
    assert "…" not in str(use)


def test_the_command_writes_figures_and_table(tmp_path):
    log = jsonl(tmp_path / "log.jsonl", {"hits": ["a", "b"]}, {"hits": [7]}, {"hits": None})
    (tmp_path / "chunks.csv").write_text("chunk_id,text\na,x\n7,y\nc,z\n")
    out, table = tmp_path / "usage.json", tmp_path / "by.csv"
    words = ("logs", "chunks", log, "--chunks", tmp_path / "chunks.csv", "-k", 1, "-o", out, "--table", table)
    done = program(*words, "--columns", "retrieved_ids=hits")
    assert (done.code, done.err) == (0, "")
    made = json.loads(out.read_text())
    names = ("total_chunks", "used_chunks", "unused_chunks", "utilization_rate")
    assert [made[name] for name in names] == [3, 2, 1, pytest.approx(2 / 3)]
    assert table.read_text().splitlines()[:2] == ['"chunk","retrieved","mean_rank"', '"7",1,1']
    done = program("logs", "chunks", log, "--chunks", tmp_path / "chunks.csv", "--chunk-column", "no")
    assert (done.code, "--columns retrieved_ids=..." in done.err) == (3, True)
    done = program("logs", "chunks", log, "--columns", "retrieved_ids=hits", "--json")
    assert json.loads(done.out)["total_chunks"] is None


@pytest.mark.parametrize("share", [0.07, 0.14, 0.28, 0.29, 0.55, 0.56, 0.57, 0.58, 1.0])
def test_share_of_equally_used_chunks_is_exact(share):
    """0.07 · 100 is 7.000000000000001 in floats."""
    log = {"retrieved_ids": [[str(place)] for place in range(100)]}
    assert fm.logs.chunk_utilization(log, share=share).chunks_filling_share == round(share * 100)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_short_rankings_of_several_parts(tmp_path, monkeypatch, size):
    monkeypatch.setattr(SIZES, "log_rows", size)

    def parts(name, rows):
        return open_source(jsonl(tmp_path / name, *rows), sizes=ReadSizes(line_block_bytes=80 * size))

    rows = [{"retrieved_ids": ["a", "b"][: 1 + row % 2], "relevant_ids": ["a"], "relevance": [1.0]} for row in range(8)]
    figures = fm.logs.chunk_utilization(parts("log.jsonl", rows), k=2)
    assert (figures.rows, figures.short, figures.places) == (8, 4, 12)
    assert fm.logs.chunk_utilization(rows, k=2).short == 4


def test_the_mean_of_scores_is_exact():
    scores = [0.1, 1 / 3, -(2.0**32), 2.0**-52, None]
    for some in (scores, scores[:1], scores[3:4], scores[:2] * 50):
        table = fm.logs.chunk_utilization({"retrieved_ids": [["a"]] * len(some), "s": some}, scores="s").to_arrow()
        known = [Fraction(one) for one in some if one is not None]
        assert table["mean_s"].to_pylist() == [pytest.approx(float(sum(known) / len(known)), rel=1e-15)]
