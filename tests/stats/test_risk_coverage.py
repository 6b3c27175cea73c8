"""Risk and coverage: every order of ties by brute force, bounded memory to the bit, aurc wherever scores are summed."""

from __future__ import annotations

import itertools
import json
import math
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.risk import _finish
from fastmetrics.plans.corpus_values import together
from fastmetrics.stats.risk import risks
from tests.reference import risk as oracle

sure = st.none() | st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.3, 0.9, math.inf, math.nan])
good = st.none() | st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 1e-20, 0.1, math.nan])
rows = st.lists(st.tuples(sure, good), max_size=6)
many = st.lists(st.tuples(st.floats(allow_nan=True) | st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), max_size=60)


def columns(rows):
    return [pa.array([row[at] for row in rows], pa.float64()) for at in (0, 1)]


def in_batches(rows, chance):
    """The rows in batches of any size, in any order."""
    mixed = chance.sample(rows, len(rows))
    cuts = sorted(chance.choices(range(len(rows) + 1), k=3))
    return [
        (np.array([one for one, _ in part], float), np.array([other for _, other in part], float))
        for part in (mixed[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True))
    ]


@given(rows)
def test_equals_the_mean_over_all_orders_of_ties(rows):
    confidence, quality = (column.to_pylist() for column in columns(rows))
    table = fm.stats.risk_coverage(*columns(rows)).to_arrow()
    assert table["risk"].to_pylist() == pytest.approx(oracle.curve(confidence, quality), rel=1e-14, abs=1e-15)
    n = table.num_rows
    assert table["coverage"].to_pylist() == [i / n for i in range(1, n + 1)]
    assert table["confidence"].to_pylist() == [one for one, _ in oracle.defined(confidence, quality)]
    found = _finish(lambda: [tuple(column.to_numpy(zero_copy_only=False) for column in columns(rows))], quality="")
    assert found.n == n
    assert found.score == pytest.approx(oracle.aurc(confidence, quality), rel=1e-14, abs=1e-15, nan_ok=True)


@given(many, st.randoms(use_true_random=False))
def test_order_and_batches_do_not_change_results(rows, chance):
    held = [tuple(column.to_numpy(zero_copy_only=False) for column in columns(rows))]
    expected = risks(lambda: held)
    parts = in_batches(rows, chance)
    assert risks(lambda: parts).tobytes() == expected.tobytes()


def test_long_table_equals_running_means():
    chance = np.random.default_rng(2)
    confidence, quality = chance.permutation(300_000) / 300_000, chance.random(300_000)
    losses = 1 - quality[np.argsort(-confidence)]
    expected = np.cumsum(losses) / np.arange(1, 300_001)
    np.testing.assert_allclose(fm.stats.risk_coverage(confidence, quality).risk, expected, rtol=1e-11)


def test_constant_confidence_gives_the_risk_of_all_rows():
    found = fm.aurc([0.5] * 4, ["a", "b", "c", "d"], ["a", "x", "x", "x"])
    assert (found.score, found.risk, found.n, float(found)) == (0.75, 0.75, 4, 0.75)
    assert math.isnan(fm.aurc([None], ["a"], ["a"]).score)
    assert fm.aurc([None, 1.0], ["a", None], ["a", "b"]).n == 0


TABLE = {
    "id": list(range(40)),
    "confidence": [random.Random(n).choice([0.1, 0.5, 0.9, n / 40, None]) for n in range(40)],
    "answer": [random.Random(n).choice(["Paris", "in Paris", "Rome", None]) for n in range(40)],
    "reference": ["Paris"] * 40,
}


def expected(metric="token_f1"):
    quality = fm.score(TABLE, metric)[metric].to_pylist()
    return oracle_of(TABLE["confidence"], quality)


def oracle_of(confidence, quality):
    """The area by the formula for ties, as there are too many orders to try."""
    known = oracle.defined(confidence, quality)
    total, before, loss = 0.0, 0, 0.0
    for level in dict.fromkeys(one for one, _ in known):
        tie = [float(lost) for one, lost in known if one == level]
        for into in range(1, len(tie) + 1):
            total += (loss + sum(tie) * into / len(tie)) / (before + into)
        before, loss = before + len(tie), loss + sum(tie)
    return total / before


def test_summaries_of_tables():
    scores = fm.score(TABLE, "aurc")
    assert scores.schema.names == ["id", "confidence", "token_f1"]
    value = fm.summarize(scores).corpus["aurc"]
    assert value == pytest.approx(expected(), rel=1e-14)
    assert fm.aurc(*(TABLE[name] for name in ("confidence", "answer", "reference"))).score == value
    for threads in (1, 3):
        assert fm.summarize(fm.score(TABLE, "aurc", threads=threads)).figures["aurc"] == value
    batches = (batch for batch in scores.to_batches(max_chunksize=7))
    assert fm.summarize(batches).corpus["aurc"] == value
    assert (
        fm.summarize(pa.RecordBatchReader.from_batches(scores.schema, scores.to_batches(max_chunksize=7))).corpus[
            "aurc"
        ]
        == value
    )


def test_pooled_parts_equal_the_risks():
    table = pa.table(TABLE)
    parts = [fm.score(table.slice(start, 13), "aurc") for start in range(0, 40, 13)]
    assert fm.summarize(parts).corpus == fm.summarize(fm.score(table, "aurc")).corpus
    assert fm.summarize(iter(parts)).corpus == fm.summarize(parts).corpus


@pytest.mark.parametrize("quality", ["exact_match", "squad_f1(version=2)", "overall_accuracy"])
def test_every_quality_metric_is_accepted(quality):
    value = fm.summarize(fm.score(TABLE, [f"aurc(quality={quality!r})"])).corpus[f"aurc(quality={quality!r})"]
    assert value == pytest.approx(expected(quality), rel=1e-14)
    assert fm.aurc(TABLE["confidence"], TABLE["answer"], TABLE["reference"], quality=quality).score == value


def test_quality_metric_can_read_other_columns():
    table = {"certainty": [0.9, 0.1], "retrieved_ids": [["a"], ["b"]], "relevant_ids": [["a"], ["a"]]}
    assert fm.summarize(fm.score(table, ["aurc(quality='hit_rate@1')"])).figures["aurc(quality='hit_rate@1')"] == 0.25


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "arrow"])
def test_aurc_of_files(tmp_path, suffix):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps(dict(zip(TABLE, row, strict=True))) + "\n" for row in zip(*TABLE.values(), strict=True))
    )
    value = fm.summarize(fm.score(TABLE, "aurc")).corpus["aurc"]
    for size in (3, 1000):
        out = tmp_path / f"{size}.{suffix}"
        scored = fm.score(
            rows, output=out, metrics=["aurc", "exact_match"], files=fm.tables.FileSettings(batch_rows=size)
        )
        assert scored.summary.corpus == {"aurc": value}
        assert fm.summarize(out).corpus == {"aurc": value}


def test_metric_with_missing_column_is_excluded_with_note():
    scores = fm.score(TABLE, "aurc")
    found = fm.summarize(scores.drop_columns("confidence"))
    assert found.corpus == {}
    assert "left out: aurc, which needs the scores confidence" in found.notes


def test_confidence_metrics_run_only_on_request():
    assert "confidence" not in fm.score(TABLE).schema.names
    assert fm.score({"answer_confidence": [0.5]}, "confidence")["confidence"].to_pylist() == [0.5]


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=8))
def test_columns_of_different_batches_are_aligned(one, other):
    n = min(sum(one), sum(other))
    values = np.arange(100.0)

    def cut(sizes):
        ends = np.cumsum([0, *sizes])
        return [values[a:b] for a, b in itertools.pairwise(ends)]

    found = list(together({"a": cut(one), "b": cut(other)}.__getitem__, ["a", "b"]))
    for place in (0, 1):
        assert np.concatenate([[], *(pair[place] for pair in found)]).tolist() == values[:n].tolist()
