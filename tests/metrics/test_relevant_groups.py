"""Groups of relevant documents, of each of which any is enough: the numbers of AutoRAG's documentation and tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.support.table_files import write

RELEVANT = [
    [["test-1", "test-2"], ["test-3"]],
    [["test-4", "test-5"], ["test-6", "test-7"], ["test-8"]],
    [["test-9", "test-10"]],
    [["test-11"], ["test-12"], ["test-13"]],
    [["test-14"]],
    [[]],
    [[""]],
    [["test-15"]],
]
RETRIEVED = [
    ["test-1", "pred-1", "test-2", "pred-3"],
    ["test-6", "pred-5", "pred-6", "pred-7"],
    ["test-9", "pred-0", "pred-8", "pred-9"],
    ["test-13", "test-12", "pred-10", "pred-11"],
    ["test-14", "pred-12"],
    ["pred-13"],
    ["pred-14"],
    ["pred-15", "pred-16", "test-15"],
]
NONE = float("nan")
EXPECTED = {
    "retrieval_recall": [0.5, 1 / 3, 1, 2 / 3, 1, NONE, NONE, 1],
    "retrieval_precision": [0.5, 0.25, 0.25, 0.5, 0.5, NONE, NONE, 1 / 3],
    "retrieval_f1": [0.5, 2 / 7, 2 / 5, 4 / 7, 2 / 3, NONE, NONE, 0.5],
    "reciprocal_rank": [1 / 2, 1 / 3, 1, 1 / 2, 1, NONE, NONE, 1 / 3],
    "average_precision": [5 / 12, 1 / 3, 1, 1 / 2, 1, NONE, NONE, 1 / 3],
    "ndcg": [0.7039180890341347, NONE, 0.6131471927654584, 0.7653606369886217, 1, NONE, NONE, 0.5],
}


@pytest.mark.parametrize("kind", ["memory", "numpy", "t.parquet", "t.jsonl", "printed.csv"])
def test_the_numbers_are_those_of_autorag(tmp_path: Path, kind: str) -> None:
    rows: Any = {"qid": [f"q{n}" for n in range(8)], "retrieved_ids": RETRIEVED, "retrieval_gt": RELEVANT}
    if kind == "numpy":
        rows["retrieval_gt"] = [[np.array(group, object) for group in groups] for groups in RELEVANT]
    elif kind == "printed.csv":
        pd.DataFrame(rows).to_csv(tmp_path / kind, index=False)
        rows = tmp_path / kind
    elif kind != "memory":
        rows = write(pa.table(rows), tmp_path / kind)
    scores = fm.score(rows, list(EXPECTED), schema="autorag")
    assert scores.column_names == ["qid", *EXPECTED]
    for name, expected in EXPECTED.items():
        found = scores[name].to_pylist()
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            # row 1: AutoRAG's ideal ranking is no longer than the one retrieved, that of trec_eval has all documents
            if (name, place) != ("ndcg", 1):
                assert one == pytest.approx(other, rel=1e-12, nan_ok=True), (name, place)


def test_functions_take_groups_too() -> None:
    assert fm.retrieval_recall([["a", "x"]], [[["a", "b"], ["c"]]]).tolist() == [0.5]
    assert fm.retrieval_recall([[1, 9]], [[[1, 2], [3]]]).tolist() == [0.5]
    assert fm.reciprocal_rank([["x", "a", "c"]], [[["a", "b"], ["c"]]], k=2).tolist() == [0.25]


def test_an_id_may_be_in_several_groups() -> None:
    assert fm.retrieval_recall([["a", "x"]], [[["a"], ["a", "b"], ["c"]]]).round(4).tolist() == [0.6667]
    assert fm.reciprocal_rank([["x", "a"]], [[["a", "a"], ["b", "a"]]]).tolist() == [0.5]


IDS = st.sampled_from("abcdef")


@given(
    st.lists(
        st.tuples(st.lists(IDS, unique=True), st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=1, max_size=4))
    )
)
def test_recall_rank_and_precision_of_any_groups(rows: list[tuple[list[str], list[list[str]]]]) -> None:
    for k in (None, 2):
        recall, ranks, precisions = [], [], []
        for retrieved, groups in rows:
            top = retrieved if k is None else retrieved[:k]
            places = [[place for place, one in enumerate(top, 1) if one in group] for group in groups]
            recall.append(sum(map(bool, places)) / len(groups))
            ranks.append(sum(1 / one[0] for one in places if one) / len(groups))
            means = [sum(at / place for at, place in enumerate(one, 1)) / len(one) for one in places if one]
            precisions.append(sum(means) / len(groups))
        if rows:
            retrieved, groups = map(list, zip(*rows, strict=True))
            options = {} if k is None else {"k": k}
            assert fm.retrieval_recall(retrieved, groups, **options).tolist() == pytest.approx(recall)
            assert fm.reciprocal_rank(retrieved, groups, **options).tolist() == pytest.approx(ranks)
            assert fm.average_precision(retrieved, groups, **options).tolist() == pytest.approx(precisions)


def test_plain_lists_among_groups_of_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"retrieved_ids": ["a"], "relevant_ids": ["a", "b"]}',
        '{"retrieved_ids": ["a"], "relevant_ids": [["a", "b"]]}',
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert fm.score(tmp_path / "t.jsonl", "retrieval_recall")["retrieval_recall"].to_pylist() == [0.5, 1.0]
