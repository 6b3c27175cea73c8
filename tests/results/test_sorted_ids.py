"""Sorted ids against plain Python, and the memory that pairing by them takes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.reporting.page_rows import least
from fastmetrics.results.row_groups import SortedIds, rows_of_ids
from tests.support.program import ENVIRONMENT

TEXTS = st.lists(st.text("ab\x00é中", max_size=3), max_size=12)


@given(TEXTS)
def test_duplicates_come_in_the_order_of_their_first_rows(texts: list[str]) -> None:
    ids = SortedIds.of(pa.array(texts, pa.large_string()))
    counts = Counter(texts)
    assert list(ids.duplicates()) == [(text, count) for text, count in counts.items() if count > 1]
    assert ids.are_distinct == (len(counts) == len(texts))
    by_bytes = sorted(counts, key=str.encode)
    assert ids.distinct().to_pylist() == by_bytes
    assert [by_bytes[number] for number in ids.numbers] == texts
    assert [ids.distinct_text(place) for place in range(len(counts))] == by_bytes


@given(st.tuples(TEXTS, TEXTS, TEXTS))
def test_each_distinct_id_has_its_row_in_every_column(columns: tuple[list[str], ...]) -> None:
    unique = [list(dict.fromkeys(texts)) for texts in columns]
    every, rows = rows_of_ids([SortedIds.of(pa.array(texts, pa.large_string())) for texts in unique])
    names = every.distinct().to_pylist()
    assert names == sorted({text for texts in unique for text in texts}, key=str.encode)
    for texts, places in zip(unique, rows, strict=True):
        assert places.tolist() == [texts.index(name) if name in texts else -1 for name in names]


def test_duplicates_are_seen_across_blocks() -> None:
    texts = [f"{number:07d}" for number in range(300_000)]
    for place in (0, 131_071, 131_072, 299_999):
        ids = SortedIds.of(pa.array([*texts, texts[place]], pa.large_string()))
        assert list(ids.duplicates()) == [(texts[place], 2)]


def test_least_rows_are_the_same_in_blocks() -> None:
    values = np.random.default_rng(0).integers(0, 40, 600_000).astype(float)
    values[::7] = np.nan
    rows = np.flatnonzero(np.isfinite(values))
    expected = rows[np.lexsort((rows, values[rows]))][:25]
    assert least(values, 25).tolist() == expected.tolist()


@pytest.mark.full
@pytest.mark.parametrize("order", [pytest.param("same", marks=pytest.mark.full), "other"])
def test_comparing_takes_a_few_numbers_per_row(tmp_path: Path, order: str) -> None:
    n = 200_000
    rng = np.random.default_rng(0)
    for name in ("old", "new"):
        rows = rng.permutation(n) if (name, order) == ("new", "other") else np.arange(n)
        table = {"id": [f"question-{row:08d}" for row in rows], "token_f1": rng.random(n), "chrf": rng.random(n)}
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    script = """
import sys, tracemalloc
import pyarrow as pa
import fastmetrics as fm
fm.compare(sys.argv[1:], bootstrap=20, resamples=20)
before = pa.default_memory_pool().max_memory()
tracemalloc.start()
fm.compare(sys.argv[1:], bootstrap=20, resamples=20)
print(tracemalloc.get_traced_memory()[1], before)
"""
    paths = [str(tmp_path / f"{name}.parquet") for name in ("old", "new")]
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    numpy_bytes, arrow_bytes = map(int, done.stdout.split())
    # about 11 numbers per row, and 16 if the runs have different orders; the ids, which have 26 bytes, and the columns
    # of both runs, which are read at once
    assert numpy_bytes / n < {"same": 100, "other": 145}[order]
    assert arrow_bytes / n < {"same": 240, "other": 240}[order]  # some of it whatever the number of rows
