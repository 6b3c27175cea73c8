"""Sessions and caches of earlier answers: success, turns, cost, by plain Python and in any order."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.limits import SIZES
from tests.reference import usage as reference
from tests.support.program import jsonl, program


def rows_of(seed: int, n: int = 60) -> list[dict[str, Any]]:
    """The turns of a log in any order, some without a session, a success or a latency."""
    chance = random.Random(seed)
    return [
        {
            **{"session_id": chance.choice(["a", "b", "c", "d", "e", None]), "turn": chance.random()},
            "success": chance.choice([True, True, True, False, None]),
            **{"answer": chance.choice(["Paris", "Rome", "in Rome"]), "reference": "Rome"},
            "latency_ms": None if chance.random() < 0.02 else float(chance.randint(1, 999)),
            **{"cost_usd": chance.randint(1, 99) / 100, "prompt_tokens": chance.randint(1, 500)},
            "completion_tokens": chance.randint(1, 90),
        }
        for _ in range(n)
    ]


def by_session(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each session in the order of their turns; sessions in the order of their first rows."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["session_id"] is not None:
            sessions.setdefault(row["session_id"], []).append(row)
    return {name: sorted(turns, key=lambda row: row["turn"]) for name, turns in sessions.items()}


def succeeded(values: list[float | None], turn: str) -> float | None:
    """Whether a session is a success."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return float(all(known) if turn == "all" else any(known) if turn == "any" else known[-1])


def total(values: list[Any]) -> float | None:
    """The sum, or None if one is missing."""
    return None if None in values else math.fsum(values)


@pytest.mark.parametrize("turn", ["all", "last", "any"])
@pytest.mark.parametrize("seed", range(5))
def test_sessions_are_those_of_plain_python(seed: int, turn: Any) -> None:
    rows = rows_of(seed)
    prices = {"m": {"input": 2.0, "output": 8.0}}
    found = fm.logs.sessions(pa.Table.from_pylist(rows), "exact_match", turn=turn, model="m", prices=prices)
    table = found.to_arrow().to_pydict()
    sessions = by_session(rows)
    assert (found.sessions, found.left_out) == (len(sessions), sum(row["session_id"] is None for row in rows))
    expected: dict[str, list[Any]] = {name: [] for name in table}
    for name, turns in sessions.items():
        column = {key: [row[key] for row in turns] for key in turns[0]}
        tokens = [2 * i + 8 * o for i, o in zip(column["prompt_tokens"], column["completion_tokens"], strict=True)]
        hits = [float(answer == "Rome") for answer in column["answer"]]
        values = {
            "id": name,
            "task_success": succeeded(column["success"], turn),
            "turns": len(turns),
            "exact_match": sum(hits) / len(hits),
            "total_tokens": total(column["prompt_tokens"] + column["completion_tokens"]),
            "cost": total(tokens) / 1e6,  # type: ignore[operator]
        }
        values |= {key: total(column[key]) for key in ("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")}
        for key, value in values.items():
            expected[key].append(value)
    assert table.pop("id") == expected.pop("id")
    for key, some in expected.items():
        assert table[key] == pytest.approx(some), key


@pytest.mark.parametrize("turn", ["all", "last", "any"])
def test_a_metric_or_column_with_a_limit_is_success(turn: Any) -> None:
    rows = rows_of(9)
    table = pa.Table.from_pylist(rows)
    for rule, good in (
        ("token_f1 >= 0.6", ("Rome", "in Rome")),
        ("exact_match", ("Rome",)),
        ("wer<=0", ("Rome",)),
        ("cost_usd <= 0.5", None),
    ):
        flags = {
            name: [row["cost_usd"] <= 0.5 if good is None else row["answer"] in good for row in turns]
            for name, turns in by_session(rows).items()
        }
        expected = [succeeded([float(flag) for flag in some], turn) for some in flags.values()]
        assert fm.logs.sessions(table, success=rule, turn=turn).to_arrow()["task_success"].to_pylist() == expected, rule


def test_scores_of_a_file_are_not_computed_again(tmp_path: Path) -> None:
    scores = {"session_id": ["a", "a", "b"], "token_f1": [0.9, 0.7, 0.1], "tool_call_count": [1.0, 2.0, 0.0]}
    pq.write_table(pa.table(scores), tmp_path / "scores.parquet")
    found = fm.logs.sessions(tmp_path / "scores.parquet", "token_f1", success="token_f1 >= 0.5").to_arrow()
    assert found.to_pydict() == {
        **{"id": ["a", "b"], "task_success": [1.0, 0.0], "turns": [2.0, 1.0], "token_f1": [pytest.approx(0.8), 0.1]},
        "tool_call_count": [3.0, 0.0],
    }


TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "frame", "arrow"])
def test_a_row_with_messages_is_a_session(kind: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "x", "messages": TALK * 3, "success": True, "duration_s": 2.5},
        {"id": "y", "messages": TALK, "success": False, "duration_s": 1.0},
    ]
    written = [{**row, "messages": json.dumps(row["messages"])} for row in rows]
    path = tmp_path / f"log.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        pd.DataFrame(written).to_csv(path, index=False)
    log = {"frame": pd.DataFrame(rows), "arrow": pa.Table.from_pylist(rows)}.get(kind, path)
    assert fm.logs.sessions(log).to_arrow().to_pydict() == {
        "id": ["x", "y"],
        "task_success": [1.0, 0.0],
        "turns": [3.0, 1.0],
        "latency_ms": [2500.0, 1000.0],
        **({"tool_call_count": [0.0, 0.0]} if kind == "jsonl" else {}),
    }


def test_the_program_writes_tables_that_are_compared(tmp_path: Path) -> None:
    chance = random.Random(3)
    for name, share in (("old", 0.3), ("new", 0.9)):
        rows = [
            {"session": f"s{n // 2}", "success": chance.random() < share, "lang": "de" if n % 4 < 2 else "en"}
            for n in range(200)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        table = ("--table", tmp_path / f"{name}.parquet")
        done = program("logs", "sessions", tmp_path / f"{name}.jsonl", "--by", "lang", *table)
        assert (done.code, done.err) == (0, "")
        assert "task_success" in done.out
        assert "lang=de" in done.out
        assert "100 sessions" in done.out
    done = program("compare", tmp_path / "old.parquet", tmp_path / "new.parquet", "--json")
    (change,) = (c for c in json.loads(done.out)["comparisons"] if c["metric"] == "task_success")
    assert change["n_paired"] == 100
    assert change["delta"] > 0.3
    streamed = program("logs", "sessions", "-", "--format", "jsonl", stdin=(tmp_path / "new.jsonl").read_bytes())
    assert "100 sessions" in streamed.out


def test_names_of_sessions_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("session,resolved,cost\n007,true,1\n7,false,2\n007,true,3\n")
    found = fm.logs.sessions(tmp_path / "log.csv").to_arrow().to_pydict()
    assert found == {"id": ["007", "7"], "task_success": [1.0, 0.0], "turns": [2.0, 1.0], "cost": [4.0, 2.0]}


def test_a_log_without_rows_has_no_sessions() -> None:
    empty = pa.table({"session_id": pa.array([], pa.string()), "success": pa.array([], pa.bool_())})
    assert fm.logs.sessions(empty).to_arrow().num_rows == 0
    assert fm.logs.sessions({"session_id": [None], "success": [True]}).left_out == 1


VECTORS = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"v": VECTORS, "time": st.integers(0, 9), "rating": st.integers(4, 5), "answer": st.sampled_from("ab")}
    ),
    min_size=1,
    max_size=14,
)


@given(ROWS, st.sampled_from([0.3, 0.85]), st.sampled_from([(2048, 4096), (3, 2)]))
def test_cache_hit_rate_equals_the_definition(rows, tau, sizes):
    best = max(row["rating"] for row in rows)
    expected = reference.cache_hits(rows, tau, best)
    log = {
        "question_embedding": [list(map(float, row["v"])) for row in rows],
        "timestamp": [row["time"] for row in rows],
        "rating": [row["rating"] for row in rows],
        "answer": [row["answer"] for row in rows],
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SIZES, "question_block_rows", sizes[0])
        patched.setattr(SIZES, "question_tile_rows", sizes[1])
        found = fm.logs.cache_hit_rate(log, tau=tau, threads=1)
    table = found.to_arrow().to_pylist()
    for row, near in zip(table, expected, strict=True):
        assert row["cosine"] == (None if near is None else pytest.approx(near[0], abs=1e-6))
        if near is not None:  # float32 may choose another of equally near rows
            chosen = reference.cosine(rows[row["stored_row"]]["v"], rows[table.index(row)]["v"])
            assert chosen == pytest.approx(near[0], abs=1e-6)
    hits = [near is not None and near[0] > tau for near in expected]
    assert [row["cache_hit"] for row in table] == hits
    assert found.cache_hit_rate == pytest.approx(sum(hits) / len(rows))
    wrong = [rows[row["stored_row"]]["answer"] != rows[at]["answer"] for at, row in enumerate(table) if hits[at]]
    assert found.wrong_share == pytest.approx(sum(wrong) / len(wrong) if wrong else math.nan, nan_ok=True)
    rates = [point["cache_hit_rate"] for point in found.curve]
    assert rates == sorted(rates, reverse=True)


def test_cache_hit_rate_by_hand():
    log = {"question": ["a", "b", "a", "a", None], "answer": ["x", "y", "x", "z", "x"], "rating": [5, 5, 1, None, 5]}
    embed = {"a": [1.0, 0.0], "b": [0.0, 1.0]}

    def model(texts):
        return np.array([embed[text] for text in texts])

    found = fm.logs.cache_hit_rate(log, embedder=model)
    assert (found.questions, found.left_out, found.stored, found.best_rating) == (4, 1, 2, 5.0)
    assert (found.cache_hit_rate, found.wrong_share) == (0.5, 0.5)
    assert found.to_arrow()["stored_row"].to_pylist() == [None, 0, 0, 0, None]
    assert found.to_arrow()["cache_hit"].to_pylist() == [0.0, 0.0, 1.0, 1.0, None]
    assert [fm.logs.cache_hit_rate(log, tau=tau, embedder=model).cache_hit_rate for tau in (0.99, 1)] == [0.5, 0.0]
    assert fm.logs.cache_hit_rate(log, best=1, embedder=lambda texts: np.ones((len(texts), 2))).stored == 3


def test_a_row_without_an_answer_is_not_stored():
    log = {"question_embedding": [[1.0, 0.0]] * 3, "answer": [None, "x", "x"]}
    found = fm.logs.cache_hit_rate(log)
    assert (found.questions, found.stored, found.cache_hit_rate, found.wrong_share) == (3, 2, pytest.approx(1 / 3), 0.0)
    assert found.to_arrow()["stored_row"].to_pylist() == [None, None, 1]


def test_equal_times_do_not_hit_and_threads_do_not_change_bits():
    same = {"question_embedding": [[1.0, 0.0]] * 4, "timestamp": ["2024-01-05"] * 4}
    assert fm.logs.cache_hit_rate(same).cache_hit_rate == 0.0
    later = {**same, "timestamp": ["2024-01-05"] * 3 + ["2024-01-06"]}
    assert fm.logs.cache_hit_rate(later).cache_hit_rate == 0.25
    rng = np.random.default_rng(2)
    rows = pa.array(rng.standard_normal((2500, 8), np.float32).tolist(), pa.list_(pa.float32()))
    one, other = (fm.logs.cache_hit_rate({"question_embedding": rows}, threads=n).to_arrow() for n in (1, 3))
    assert one.equals(other)
    units = np.array(rows.to_pylist())
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    every = np.where(np.tri(2500, k=-1, dtype=bool), units @ units.T, -2)
    assert np.allclose(one["cosine"].to_numpy()[1:], every.max(axis=1)[1:], atol=1e-6)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.none() | VECTORS), max_size=14), st.randoms())
def test_context_preservation_equals_the_definition(rows, chance):
    log = {
        "session_id": pa.array([f"s{row[0]}" for row in rows], pa.string()),
        "turn": pa.array([row[1] for row in rows], pa.int64()),
        "question_embedding": pa.array([row[2] for row in rows], pa.list_(pa.float64())),
    }
    found = fm.logs.context_preservation(log)
    assert found.context_preservation == pytest.approx(reference.context_preservation(rows), abs=1e-6, nan_ok=True)
    pairs = {session: 0 for session, _, vector in rows if vector is not None}
    for session in pairs:
        turns = sorted((row for row in rows if row[0] == session), key=lambda row: row[1])
        pairs[session] = sum(None not in (a[2], b[2]) for a, b in itertools.pairwise(turns))
    assert (found.sessions, found.single) == (len(pairs), list(pairs.values()).count(0))
    assert found.pairs == sum(pairs.values())
    if len({row[:2] for row in rows}) == len(rows):  # without repeated turns, row order does not matter
        order = pa.array(chance.sample(range(len(rows)), len(rows)), pa.int64())
        turned = pa.table(log).take(order)
        assert str(fm.logs.context_preservation(turned).context_preservation) == str(found.context_preservation)


def test_sessions_are_ordered_by_time_or_row():
    vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    log = {"conversation_id": ["s"] * 3, "question_embedding": vectors}
    assert fm.logs.context_preservation(log).context_preservation == 0.0
    timed = {**log, "timestamp": ["2024-01-01", "2024-01-03", "2024-01-02"]}
    assert fm.logs.context_preservation(timed).context_preservation == 0.5
    lacking = {**log, "question_embedding": [[1.0, 0.0], None, [1.0, 0.0]]}
    found = fm.logs.context_preservation(lacking)
    assert math.isnan(found.context_preservation), "a missing vector separates the questions around it"
    assert (found.left_out, found.sessions, found.single, found.pairs) == (1, 1, 1, 0)
    alone = {**log, "conversation_id": ["a", "b", None]}
    assert math.isnan(fm.logs.context_preservation(alone).context_preservation)
    assert fm.logs.context_preservation(alone).single == 2


def test_rows_without_a_time():
    vectors = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    log = {"question_embedding": vectors, "answer": ["x", "y", "z"], "timestamp": [None, "2024-01-02", "2024-01-01"]}
    cached = fm.logs.cache_hit_rate(log)
    assert cached.left_out == 1
    assert cached.cache_hit_rate == 0.0, "the row without a time is no earlier question"
    assert cached.to_arrow()["stored_row"].to_pylist() == [None, 2, None]
    for order, expected in (([None, "2024-01-02", "2024-01-01"], 0.5), (["2024-01-01", None, "2024-01-02"], 0.0)):
        timed = {
            **log,
            "conversation_id": ["s"] * 3,
            "timestamp": order,
            "question_embedding": [*vectors[:1], *vectors[1:]],
        }
        found = fm.logs.context_preservation(timed)
        # the question without a time comes last: pairs are (2, 1), (1, 0) and (0, 2), (2, 1)
        assert (found.pairs, found.left_out, found.context_preservation) == (2, 0, expected)


def test_programs_print_and_write_the_figures(tmp_path):
    rows = ({"question_embedding": [1.0, 0.0], "session": 1, "answer": "a"} for _ in range(2))
    log = jsonl(tmp_path / "log.jsonl", *rows)
    for command, figure, value in (("cache", "cache_hit_rate", 0.5), ("context", "context_preservation", 1.0)):
        done = program("logs", command, log, "-o", tmp_path / f"{command}.json")
        assert (done.code, done.err) == (0, "")
        figures = json.loads((tmp_path / f"{command}.json").read_text())
        assert figures[figure] == value
        streamed = program("logs", command, "-", "--format", "jsonl", "--json", stdin=log.read_bytes())
        assert json.loads(streamed.out) == figures


@pytest.mark.parametrize("best", [None, 5])
def test_null_ratings_leave_the_hit_rate_undefined(best):
    log = {"question_embedding": [[1.0, 0.0]] * 2, "rating": pa.array([None, None], pa.float64())}
    hits = fm.logs.cache_hit_rate(log, best=best)
    assert math.isnan(hits.cache_hit_rate)
    assert hits.stored == 0
    assert hits.to_arrow()["cache_hit"].null_count == 2
    assert any("all ratings are null" in remark for remark in hits.remarks())
    assert "NaN" not in hits.to_json()


def test_turns_order_a_session_before_its_times():
    log = {
        "session_id": [1, 1, 1],
        "turn": [1, 2, 3],
        "timestamp": [5.0, 1.0, 3.0],
        "question_embedding": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    }
    assert fm.logs.context_preservation(log).context_preservation == 0.5
    del log["turn"]
    assert fm.logs.context_preservation(log).context_preservation == 0.0


def test_a_cost_under_its_own_name_adds_up():
    log = {"session_id": [1, 1, 2], "руб": [0.5, 0.25, 2.0]}
    found = fm.logs.sessions(log, columns={"cost": "руб"}).to_arrow().to_pydict()
    assert found == {"id": [1, 2], "turns": [2.0, 1.0], "cost": [0.75, 2.0]}
    with pytest.raises(ColumnError, match="session_id"):
        fm.logs.sessions({"руб": [1.0]}, columns={"cost": "руб"})


@pytest.mark.parametrize("more", [{}, {"metrics": "token_f1"}, {"by": "nr"}])
def test_ids_have_the_name_that_columns_give_them(more):
    rows = {"nr": [1, 2, 3], "s": ["a", "a", "b"], "answer": ["x", "y", "z"], "reference": ["x", "q", "z"]}
    found = fm.logs.sessions(rows | {"latency_ms": [1.0, 2.0, 4.0]}, columns={"id": "nr", "session_id": "s"}, **more)
    assert found.to_arrow().to_pydict()["latency_ms"] == [3.0, 4.0]
