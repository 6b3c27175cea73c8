"""The statistic ``sum``: exact in every form of scores, declared by metrics, asked for by name, and read by gates."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from tests.support.program import jsonl, program

IDK = ["I don't know [1].", "Paris [1].", "I don't know. [2] Ask again. I don't know [1].", None, "Не знаю [2]."]
COUNTS = [1.0, 0.0, 2.0, None, 1.0]


def expected(values: list[float | None]) -> float:
    """The sum of the finite values, rounded once; NaN without any."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return math.nan
    try:
        return float(sum(map(Fraction, known)))
    except OverflowError:
        return math.inf if sum(map(Fraction, known)) > 0 else -math.inf


@given(st.lists(st.none() | st.floats(), max_size=20), st.integers(0, 20))
def test_the_sum_is_exact_however_the_rows_are_cut(values: list[float | None], cut: int) -> None:
    column = pa.array(values, pa.float64())
    whole = pa.table({"own": column})
    parts = [whole.slice(0, cut), whole.slice(cut)]
    same = fm.summarize(parts, statistics={"own": ["sum", "p50"]})["own"].extra
    np.testing.assert_equal(same["sum"], expected(values))
    assert list(same) == ["sum", "p50"]
    reader = pa.RecordBatchReader.from_batches(whole.schema, pa.concat_tables(parts).to_batches())
    np.testing.assert_equal(fm.summarize(reader, statistics={"own": ["sum"]}).figures["own.sum"], expected(values))


def test_the_sum_beyond_the_range_of_a_float_is_infinite() -> None:
    for sign in (1, -1):
        figures = fm.summarize({"own": [sign * 1.5e308] * 2}, statistics={"own": ["sum"]}).figures
        assert (figures["own.sum"], figures["own.mean"]) == (sign * math.inf, sign * 1.5e308)


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_a_summary_of_idk_citations_has_their_sum(tmp_path, rows: int) -> None:
    assert REGISTRY["idk_citations"].statistics == ("sum",)
    answers = pa.array(IDK[:rows], pa.string())
    scores = fm.score(pa.table({"answer": pa.chunked_array([answers[:1], answers[1:]])}), ["idk_citations"])
    known = [count for count in COUNTS[:rows] if count is not None]
    want = sum(known) if known else math.nan
    path = jsonl(tmp_path / "t.jsonl", *({"answer": answer} for answer in IDK[:rows]))
    summaries = [fm.summarize(scores), fm.summarize(scores.to_batches() or scores)]
    if rows:
        for name in ("o.parquet", "o.csv", "o.jsonl"):
            summaries += [fm.score(path, output=tmp_path / name, metrics="idk_citations").summary]
            summaries += [fm.summarize(tmp_path / name)]
    for summary in summaries:
        np.testing.assert_equal(summary.figures["idk_citations.sum"], want)
        np.testing.assert_equal(summary["idk_citations"].extra, {"sum": want})
        np.testing.assert_equal(summary.to_arrow()["sum"].to_pylist(), [want])
    if rows:
        assert json.loads(program("summarize", tmp_path / "o.csv", "--json").out)["figures"]["IDK+Cit Count"] == want


@pytest.mark.parametrize(
    ("rule", "met", "value", "n"),
    [
        ("idk_citations.sum <= 0", False, 4.0, 4),
        ("idk_citations.sum <= 4", True, 4.0, 4),
        ("IDK+Cit Count <= 0", False, 4.0, 4),
        ("idk_citations.sum <= 0 where language=en", True, 0.0, 1),
        ("idk_citations.sum <= 1 where language=ru", True, 1.0, 1),
        ("idk_citations.sum <= 0 where language=de", False, 3.0, 2),
        ("token_f1.sum == 1.5", True, 1.5, 4),
        ("idk_citations <= 1", True, 1.0, 4),
    ],
)
def test_gates_take_the_sum(tmp_path, rule: str, met: bool, value: float, n: int) -> None:
    rows = zip(COUNTS, [0.5, 0.5, None, 0.25, 0.25], ["de", "en", "de", "en", "ru"], strict=True)
    table = pa.Table.from_pylist([{"idk_citations": a, "token_f1": b, "language": c} for a, b, c in rows])
    path = tmp_path / "s.parquet"
    pa.parquet.write_table(table, path)
    for scores in (table, path):
        (checked,) = fm.gate(scores, [rule], unpaired="ignore", min_n=1)
        assert (checked.met, checked.value, checked.n) == (met, value, n)
    done = program("gate", path, "-r", rule, "--unpaired", "ignore", "--min-n", 1)
    assert done.code == (0 if met else 1)


def test_a_rule_on_the_sum_of_no_scores_is_not_met() -> None:
    (checked,) = fm.gate({"idk_citations": pa.array([None, None], pa.float64())}, ["idk_citations.sum <= 0"])
    assert (checked.met, checked.n) == (False, 0)
    assert math.isnan(checked.value)


def test_a_metric_of_ones_own_may_declare_the_sum() -> None:
    @fm.metric(
        bounds=(0, 10), better="lower", statistics=["sum", "p90"], labels={"sum": "shouts in all"}, name="shouts"
    )
    def shouts(answer: str) -> float:
        return float(answer.count("!"))

    figures = fm.summarize(fm.score({"answer": ["a!", "b!!", None]}, ["shouts"])).figures
    assert (figures["shouts.sum"], figures["shouts in all"]) == (3.0, 3.0)
    assert figures["shouts.p90"] == pytest.approx(1.9)
