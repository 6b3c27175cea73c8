"""Pairs of near duplicates: by plain NumPy, their ids and texts, rows without a direction, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from tests.support.program import program

TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "question": ["who", "what", None, "where", "when", "why"],
        "answer": ["1", "2", "3", "4", "5", "6"],
        "answer_embedding": pa.array([[3.0, 4.0], [4.0, 3.0], [6.0, 8.0], None, [0.0, 0.0], [-0.3, -0.4]]),
    }
)
"""Cosines: a and c 1, b with a and c 0.96, f with these −1 and −0.96; d and e have no direction."""


@pytest.mark.parametrize("tile", [1, 7, 1024])
@pytest.mark.parametrize("near", [0.9, 0.3, -1.0])
@pytest.mark.parametrize("limit", [1, 40, 10_000])
def test_pairs_are_those_of_all_cosines(monkeypatch, tile, near, limit):
    monkeypatch.setattr(SIZES, "vector_tile_rows", tile)
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    rows[[5, 17, 30]], rows[8], rows[9] = rows[2], 0.0, np.nan
    rows[30] *= 4
    exact = rows.astype(np.float64)
    expected = []
    for row, one in enumerate(exact):
        for other in range(row):
            lengths = np.sqrt((one @ one) * (exact[other] @ exact[other]))
            cosine = one @ exact[other] / lengths if {row, other}.isdisjoint({8, 9}) else np.nan
            if cosine >= near - 1e-12:
                expected.append((-round(float(cosine), 12), other, row))
    expected.sort()
    for threads in (1, 2):
        found = fm.vectors.duplicates(rows, near=near, limit=limit, threads=threads)
        rows_of, others, cosines = (found.table[name].to_pylist() for name in ("row", "other", "cosine"))
        assert list(zip(rows_of, others, strict=True)) == [pair[1:] for pair in expected[:limit]]
        assert cosines == pytest.approx([-pair[0] for pair in expected[:limit]], abs=2e-12)
        assert (found.rows, found.left_out, found.pairs) == (40, 2, len(expected))
        assert found.rows_in_pairs == len({row for pair in expected for row in pair[1:]})


def test_equal_directions_have_one_whatever_their_lengths():
    found = fm.vectors.duplicates(TABLE, near=1.0)
    assert found.table.to_pylist() == [
        {"row": 0, "other": 2, "id": "a", "other_id": "c", "cosine": 1.0, "text": "1", "other_text": "3"}
    ]
    many = fm.vectors.duplicates(np.outer([1e-30, 1.0, 7.0, 1e30] * 300, [0.1, 0.7, 0.3]), near=1.0, limit=3)
    assert (many.pairs, many.rows_in_pairs) == (1200 * 1199 // 2, 1200)
    assert many.table.to_pylist() == [{"row": 0, "other": other, "cosine": 1.0} for other in (1, 2, 3)]


@pytest.mark.parametrize(
    ("columns", "options", "texts"),
    [
        (["answer_embedding", "question", "answer"], {}, [("1", "3"), ("1", "2"), ("2", "3")]),
        (["answer_embedding", "question"], {}, [("who", None), ("who", "what"), ("what", None)]),
        (["answer_embedding", "answer", "id"], {"text": "id"}, [("a", "c"), ("a", "b"), ("b", "c")]),
        (["answer_embedding"], {}, None),
    ],
)
def test_texts_are_those_that_were_embedded(tmp_path: Path, columns, options, texts):
    table = TABLE.select(columns)
    pq.write_table(table, tmp_path / "v.parquet")
    for source in (table, table.to_pandas(), tmp_path / "v.parquet"):
        found = fm.vectors.duplicates(source, near=0.96, **options).table
        assert found["cosine"].to_pylist() == [1.0, 0.96, 0.96]
        assert ("id" in found.column_names) == ("id" in columns)
        both = [found[name].to_pylist() for name in ("text", "other_text") if name in found.column_names]
        assert (list(zip(*both, strict=True)) or None) == texts


def test_the_command_prints_and_writes_the_pairs(tmp_path: Path):
    pq.write_table(TABLE, tmp_path / "v.parquet")
    words = ["vectors", "duplicates", tmp_path / "v.parquet", "--near", "0.95", "--limit", "2"]
    done = program(*words, "-o", tmp_path / "pairs.csv")
    assert (done.code, done.err) == (0, "")
    assert [line.split() for line in done.out.splitlines() if line.startswith("0 ")] == [
        ["0", "2", "a", "c", "1", "1", "3"],
        ["0", "1", "a", "b", "0.9600", "1", "2"],
    ]
    written = (tmp_path / "pairs.csv").read_text().replace('"', "").splitlines()
    assert written[:2] == ["row,other,id,other_id,cosine,text,other_text", "0,2,a,c,1,1,3"]
    found = fm.vectors.duplicates(TABLE, near=0.95, limit=2)
    expected = {"rows": 6, "left_out": 2, "near": 0.95, "pairs": 3, "rows_in_pairs": 3, "notes": []}
    expected["table"] = found.table.to_pylist()
    assert json.loads(program(*words, "--json").out) == found.to_dict() == expected
