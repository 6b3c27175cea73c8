"""Success, turns, latency and cost by session, against plain Python."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import program


def rows_of(seed: int, n: int = 60) -> list[dict[str, Any]]:
    """The turns of a log in any order, some without a session, a success or a latency."""
    chance = random.Random(seed)
    return [
        {
            "session_id": chance.choice(["a", "b", "c", "d", "e", None]),
            "turn": chance.random(),
            "success": chance.choice([True, True, True, False, None]),
            "answer": chance.choice(["Paris", "Rome", "in Rome"]),
            "reference": "Rome",
            "latency_ms": None if chance.random() < 0.02 else float(chance.randint(1, 999)),
            "cost_usd": chance.randint(1, 99) / 100,
            "prompt_tokens": chance.randint(1, 500),
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
        "id": ["a", "b"],
        "task_success": [1.0, 0.0],
        "turns": [2.0, 1.0],
        "token_f1": [pytest.approx(0.8), 0.1],
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
