"""Means with their intervals, over all rows and over segments."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import program

N = 400
RNG = np.random.default_rng(6)
VALUES = RNG.random(N)
LANGUAGE = [None if n % 40 == 0 else ("en", "ru")[n % 2] for n in range(N)]
SCORES = pa.table(
    {
        "token_f1": pa.array([None if n % 10 == 0 else value for n, value in enumerate(VALUES)]),
        "hallucination": VALUES,
        "language": LANGUAGE,
        "session": np.arange(N) // 8,
    }
)


def test_means_are_those_of_the_rows_and_intervals_hold_them():
    found = fm.results.summarize_by(SCORES, by="language", metrics="token_f1")
    assert [one.segment for one in found] == [None, "language=en", "language=ru", "language=null"]
    for one in found:
        rows = [
            n for n in range(N) if one.segment in (None, f"language={'null' if LANGUAGE[n] is None else LANGUAGE[n]}")
        ]
        known = [VALUES[n] for n in rows if n % 10]
        assert (one.n, one.n_missing) == (len(known), len(rows) - len(known))
        if known:
            assert one.mean == pytest.approx(np.mean(known), rel=1e-12)
            assert one.low < one.mean < one.high
            margin = 1.96 * np.std(known, ddof=1) / math.sqrt(len(known))
            assert one.high - one.low == pytest.approx(2 * margin, rel=0.15)
        else:
            assert math.isnan(one.mean)


def test_clusters_widen_intervals_and_threads_do_not_matter():
    shared = pa.table({"token_f1": np.repeat(RNG.random(50), 8), "session": np.arange(N) // 8})
    alone, together = (
        fm.results.summarize_by(shared, metrics="token_f1", cluster=name)[0] for name in (None, "session")
    )
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert (
        fm.results.summarize_by(SCORES, by="language", threads=1).to_json()
        == fm.results.summarize_by(SCORES, by="language", threads=3).to_json()
    )


def test_the_program_summarizes_segments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(SCORES, "scores.parquet")
    told = json.loads(program("summarize", "--intervals", "scores.parquet", "--json").out)
    assert told == json.loads(fm.results.summarize_by("scores.parquet").to_json())
