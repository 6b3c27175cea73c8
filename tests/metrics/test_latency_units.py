"""The unit of latencies belongs to their column; where its name says nothing, a note names the option that does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fastmetrics as fm
from tests.support.table_files import write


def scored(name: str, values: Any, **options: Any) -> tuple[list[float | None], list[str]]:
    scores = fm.score({name: values}, "latency_ms", **options)
    return scores["latency_ms"].to_pylist(), list(fm.summarize(scores).notes)


@pytest.mark.parametrize("name", ["latency_s", "Latency_S", "latency_seconds", "duration", "duration_s"])
def test_seconds_are_read_as_milliseconds(name: str) -> None:
    assert scored(name, [1.53, None, 2]) == ([1530.0, None, 2000.0], [])
    assert fm.summarize(fm.score({name: [1.53] * 3}, "latency_ms")).figures["latency_ms.p50"] == 1530.0


@pytest.mark.parametrize("name", ["latency_ms", "duration_ms", "LATENCY_MS"])
def test_milliseconds_stay(name: str) -> None:
    assert scored(name, [1.53, 20]) == ([1.53, 20.0], [])


@pytest.mark.parametrize(
    ("columns", "values"), [({"latency_s": "latency"}, [1530.0, 800.0]), ({"latency_ms": "latency"}, [1.53, 0.8])]
)
def test_the_unit_of_a_bare_latency_is_named(columns: dict[str, str], values: list[float]) -> None:
    _, (note,) = scored("latency", [1.53, 0.8])
    assert all(words in note for words in ("latency_ms: 2 of 2 rows", "--columns latency_s="))
    assert scored("latency", [1.53, 0.8], columns=columns) == (values, [])
    assert scored("took", [1.5], columns={"latency_s": "took"}) == ([1500.0], [])


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_files_have_units_too(tmp_path: Path, name: str) -> None:
    path = write(
        pa.table({"id": [1, 2], "duration": ["1.5", None] if name == "t.csv" else [1.5, None]}), tmp_path / name
    )
    done = fm.score(path, "latency_ms", output=tmp_path / "o.parquet")
    assert done.summary["latency_ms"].mean == 1500.0
    assert fm.summarize(tmp_path / "o.parquet")["latency_ms"].mean == 1500.0


def test_a_name_with_its_own_unit_wins_over_others() -> None:
    scores = fm.score({"latency_ms": [12.0], "latency_s": [3.0]}, "latency_ms")
    assert scores["latency_ms"].to_pylist() == [12.0]


def test_a_path_has_the_unit_of_its_last_name() -> None:
    rows = {"run": [{"latency_s": 2.0}, {"latency_s": 0.5}]}
    assert fm.score(rows, "latency_ms", columns={"latency_ms": "run.latency_s"})["latency_ms"].to_pylist() == [
        2000,
        500,
    ]


def test_the_unit_is_part_of_the_signature(tmp_path: Path) -> None:
    path = write(pa.table({"id": [1], "latency": [2.0]}), tmp_path / "t.parquet")
    for unit in ("latency_s", "latency_ms"):
        fm.score(path, "latency_ms", output=tmp_path / f"{unit}.parquet", columns={unit: "latency"})
    found = [fm.summarize(tmp_path / f"{unit}.parquet") for unit in ("latency_s", "latency_ms")]
    assert [one.columns for one in found] == [{"latency_s": "latency"}, {"latency_ms": "latency"}]
    assert [one["latency_ms"].mean for one in found] == [2000.0, 2.0]
