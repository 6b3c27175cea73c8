"""The rows of a rule: the same for every kind of rule and every type of column, and never none."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.results.gate import Gate
from tests.support.program import jsonl, program

N = 60
SCORES = np.round(np.random.default_rng(1).random(N), 3)
CHANGED = np.clip(SCORES - 0.001 * (np.arange(N) % 3), 0, 1)
KINDS = {
    "int64": pa.array([n % 2 for n in range(N)], pa.int64()),
    "int8": pa.array([n % 2 for n in range(N)], pa.int8()),
    "uint64": pa.array([n % 2 for n in range(N)], pa.uint64()),
    "float64": pa.array([float(n % 2) for n in range(N)], pa.float64()),
    "float32": pa.array([float(n % 2) for n in range(N)], pa.float32()),
    "decimal": pa.array([n % 2 for n in range(N)]).cast(pa.decimal128(30, 3)),
    "bool": pa.array([bool(n % 2) for n in range(N)]),
    "text": pa.array([str(n % 2) for n in range(N)]),
    "text of floats": pa.array([f"{n % 2}.0" for n in range(N)]),
    "text of flags": pa.array([str(bool(n % 2)) for n in range(N)]),
    "categories": pa.array([str(n % 2) for n in range(N)]).dictionary_encode(),
    "flags with null": pa.array([None if n == 0 else bool(n % 2) for n in range(N)]),
    "numbers with null": pa.array([None if n == 0 else float(n % 2) for n in range(N)]),
    "many numbers": pa.array([1.0 if n % 2 else 10.0 + n for n in range(N)]),
}


def tables(column):
    ids = [f"q{n}" for n in range(N)]
    return [pa.table({"id": ids, "token_f1": scores, "g": column}) for scores in (SCORES, CHANGED)]


@pytest.mark.parametrize("value", ["1", "1.0", "1e0", "true", "True"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_means_the_same_in_every_rule_and_column(kind, value):
    old, new = tables(KINDS[kind])
    odd = np.arange(N) % 2 == 1
    for rule in ("token_f1 >= 0", "token_f1.p50 >= 0", "token_f1.low >= 0"):
        (one,) = fm.gate(new, f"{rule} where g={value}")
        assert (one.n, one.met, one.segment) == (30, True, f"g={value}")
        assert "p50" in rule or one.value == pytest.approx(CHANGED[odd].mean(), abs=1e-15)
    for rule in ("token_f1.drop <= 0.5", "token_f1.delta.point >= -1"):
        (one,) = fm.gate(new, f"{rule} where g={value}", baseline=old)
        assert (one.n, one.met) == (30, True)
        assert abs(one.value) == pytest.approx((SCORES - CHANGED)[odd].mean(), abs=1e-15)


def test_missing_values_dates_and_texts_are_named():
    days = pa.array([datetime.date(2024, 1, 1 + n % 3) for n in range(N)])
    for column, value, n in [
        (days, "2024-01-02", 20),
        (KINDS["flags with null"], "null", 1),
        (KINDS["numbers with null"], "null", 1),
        (pa.array(["null"] * 10 + [None] * 50), "null", 10),
        (pa.array(["a, b"] * N), "*", 60),
        (pa.array([2**62 + n % 2 for n in range(N)]), str(2**62 + 1), 30),
    ]:
        for rule, options in (("token_f1 >= 0", {}), ("token_f1.delta.point >= -1", {"baseline": tables(column)[0]})):
            (one,) = fm.gate(tables(column)[1], f"{rule} where g={value}", min_n=1, **options)
            assert one.n == n, (value, rule)


def test_kept_columns_of_csv_have_the_same_rows(tmp_path):
    rows = [
        {"id": n, "answer": "a b", "reference": "a", "g": n % 2, "b": bool(n % 2), "x": n % 2 / 1.0} for n in range(N)
    ]
    jsonl(tmp_path / "rows.jsonl", *rows)
    for suffix in (".csv", ".parquet", ".jsonl"):
        out = tmp_path / f"scores{suffix}"
        fm.score(tmp_path / "rows.jsonl", output=out, metrics="token_f1", keep=["g", "b", "x"])
        for where in ("g=1", "g=1.0", "b=true", "b=True", "b=1", "x=1", "x=1.0"):
            rules = [f"token_f1 >= 0 where {where}", f"token_f1.drop.point <= 0 where {where}"]
            assert [one.n for one in fm.gate(out, rules, baseline=out)] == [30, 30], (suffix, where)


def test_a_rule_without_large_segments_is_no_pass():
    old, new = tables(pa.array([f"s{n // 4}" for n in range(N)]))
    for rule, options in (("token_f1 >= 0", {}), ("token_f1.drop.point <= 1", {"baseline": old})):
        found = fm.gate(new, f"{rule} where g=*", **options)
        assert (found.passed, len(found), found[0].reason) == (False, 1, "no segment has at least 5 rows")
        assert found.verdict == "FAILED: 1 of 1 check not met"
        found = fm.gate(new, f"{rule} where g=* with n >= 4", **options)
        assert (found.passed, len(found)) == (True, 15)
        found = fm.gate(new, f"{rule} where g=* with n >= 61", **options)
        assert (found.passed, found[0].reason) == (False, "no segment has at least 61 rows")
    nothing = pa.table({"token_f1": pa.array([], pa.float64()), "g": pa.array([], pa.string())})
    found = fm.gate(nothing, "token_f1 >= 0 where g=*")
    assert (found.passed, found[0].reason) == (False, "there are no rows")
    assert not Gate("scores", [], None, 0.95).passed
    assert Gate("scores", [], None, 0.95).verdict == "FAILED: no rule was checked"


def test_the_program_fails_a_rule_that_met_no_rows(tmp_path):
    _, new = tables(pa.array([f"s{n // 4}" for n in range(N)]))
    pq.write_table(new, tmp_path / "new.parquet")
    done = program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=*", "--json", "-")
    assert done.code == 6
    told = json.loads(done.out)
    assert (told["passed"], told["checks"][0]["reason"]) == (False, "no segment has at least 5 rows")
    done = program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=*", "--min-n", "4")
    assert (done.code, "passed: 15 checks met" in done.out) == (0, True)
    assert program("gate", tmp_path / "new.parquet", "-r", "token_f1 >= 0 where g=x").code == 3


def test_large_segments_of_many_numbers_are_the_same_quarters_in_every_rule():
    old, new = tables(pa.array([float(n) for n in range(N)]))
    found = fm.gate(new, ["token_f1 >= 0 where g=*", "token_f1.drop.point <= 1 where g=*"], baseline=old)
    assert [one.segment for one in found[:4]] == [one.segment for one in found[4:]]
    assert [one.n for one in found] == [15] * 8


def test_pandas_flags_with_missing_values():
    frame = pd.DataFrame({"token_f1": SCORES, "g": pd.array([None, *[n % 2 == 1 for n in range(1, N)]], "boolean")})
    assert fm.gate(frame, "token_f1 >= 0 where g=true")[0].n == 30
    assert fm.gate(frame, "token_f1 >= 0 where g=false")[0].n == 29


def test_rows_that_scoring_rejected_are_in_no_segment(tmp_path):
    """Nobody knows their values, so they count in rules over all rows only, as worst scores or as lost counts."""
    rows = [
        {"id": n, "answer": f"on mat {n % 7}", "reference": f"on mat {n % 5}", "g": ["even", "odd"][n % 2]}
        for n in range(40)
    ]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines[:10], "{", "{", *lines[10:]]))
    out, files = tmp_path / "scores.parquet", fm.tables.FileSettings(on_error="skip")
    fm.score(tmp_path / "rows.jsonl", "token_f1,corpus_chrf", output=out, keep="g", keep_counts=True, files=files)
    scores = pq.read_table(out).to_pylist()
    means = {name: np.mean([row["token_f1"] for row in scores if row["g"] == name]) for name in ("even", "odd")}
    (whole,) = fm.gate(out, "token_f1 >= 0.1")
    assert (whole.n, whole.n_worst, whole.value) == (40, 2, pytest.approx(20 * (means["even"] + means["odd"]) / 42))
    (lost,) = fm.gate(out, "corpus_chrf >= 1")
    assert (lost.n, lost.n_worst, lost.met, lost.reason[:24]) == (40, 2, False, "2 rows have no score, an")
    for name, mean in means.items():
        (segment,) = fm.gate(out, f"token_f1 >= 0.1 where g={name}")
        assert (segment.n, segment.n_worst, segment.value) == (20, 0, pytest.approx(mean))
        (segment,) = fm.gate(out, f"corpus_chrf >= 1 where g={name}")
        own = [row for row in rows if row["g"] == name]
        expected = fm.corpus_chrf([row["answer"] for row in own], [row["reference"] for row in own]).score
        assert (segment.n, segment.n_worst, segment.value) == (20, 0, pytest.approx(expected))
