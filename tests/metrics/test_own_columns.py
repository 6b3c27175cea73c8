"""Columns that a metric of one's own declares."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.column_names import BUILT_IN, COLUMNS
from fastmetrics.base.errors import InputError, PluginError
from tests.support.program import jsonl, program

PLUGIN = """
import fastmetrics as fm

MEANINGS = {"tools_used": "the tools", "category": "the area", "steps": "what was done", "weight": "w", "urgent": "u"}

@fm.metric(bounds=(0, 1), better="higher", columns=MEANINGS)
def tool_use(
    answer: str, tools_used: list[str], steps: list, weight: float, urgent: bool, category: str | None = None
) -> float:
    assert isinstance(steps, list) and isinstance(tools_used, list)
    return float("search" in tools_used) * weight * (category != "smalltalk") * bool(urgent)
"""
WHOLE = {"answer": "a", "steps": [], "weight": 1, "urgent": True}
ROWS = [
    {**WHOLE, "id": 1, "tools_used": ["search"], "steps": [{"n": 1}], "category": "x"},
    {**WHOLE, "id": 2, "tools_used": [], "category": None},
    {**WHOLE, "id": 3, "tools_used": None, "category": "x"},
    {**WHOLE, "id": 4, "tools_used": ["search"], "weight": 0.5, "category": "y"},
]
SCORES = [1.0, 0.0, None, 0.5]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(PLUGIN)
    return tmp_path / "mine.py"


def test_the_columns_are_read_from_files_and_tables(tmp_path: Path, plugin: Path) -> None:
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    words = ("score", rows, "-m", "tool_use", "--plugin", plugin, "--keep", "category,tools_used")
    done = program(*words, "-o", tmp_path / "scores.parquet")
    assert (done.code, done.err) == (0, "")
    by = program("summarize", "--intervals", tmp_path / "scores.parquet", "--by", "category", "-m", "tool_use")
    assert (by.code, by.err) == (0, "")
    assert fm.metrics.load_plugin(plugin) == ["tool_use"]
    assert fm.score(rows, "tool_use")["tool_use"].to_pylist() == SCORES
    assert fm.score(pa.Table.from_pylist(ROWS), "tool_use")["tool_use"].to_pylist() == SCORES
    renamed = pa.Table.from_pylist(ROWS).rename_columns({"category": "area"})
    assert fm.score(renamed, "tool_use", columns={"category": "area"})["tool_use"].to_pylist() == SCORES
    assert fm.tool_use(["a"], [["search"]], [[]], [1.0], [True]).tolist() == [1.0]


def test_the_columns_go_with_the_metric(plugin: Path) -> None:
    assert set(COLUMNS) == BUILT_IN
    fm.metrics.load_plugin(plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "weight", "urgent"}
    plugin.write_text(PLUGIN.replace('"weight": "w", ', "").replace("weight: float, ", "").replace("* weight", ""))
    fm.metrics.load_plugin(plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "urgent"}
    plugin.write_text(PLUGIN + "1 / 0\n")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        fm.metrics.load_plugin(plugin)
    assert set(COLUMNS) - BUILT_IN == {"tools_used", "category", "steps", "urgent"}


def test_whole_columns(plugin: Path) -> None:
    @fm.metric(bounds=(0, 10), better="higher", columns={"tools": "the tools"})
    def calls(tools: pa.Array):
        return pa.compute.list_value_length(tools).to_numpy(zero_copy_only=False)

    assert fm.score({"tools": [["a"], [], None]}, "calls")["calls"].to_pylist() == [1.0, 0.0, None]


def test_parameters_may_have_the_aliases_of_columns() -> None:
    @fm.metric(bounds=(0, 1), better="higher")
    def same(response: str, gold: str | None = None) -> float:
        return float(response == gold)

    @fm.metric(bounds=(0, 9), better=None)
    def characters(output: pa.Array):
        return pa.compute.utf8_length(output).fill_null(0).to_numpy(zero_copy_only=False)

    rows = {"answer": ["a", "b", None], "target": ["a", "c", "d"]}
    scores = fm.score(rows, "same,characters")
    assert scores["same"].to_pylist() == [1.0, 0.0, None]
    assert scores["characters"].to_pylist() == [1.0, 1.0, None]
    assert fm.same(["a"], ["a"]).tolist() == [1.0]


def test_values_have_the_type_of_their_annotation() -> None:
    seen = []

    @fm.metric(bounds=(0, 9), better=None, columns=dict.fromkeys(("big", "oks", "counts", "shares", "done"), "x"))
    def typed(
        turn: int,
        total_tokens: int,
        big: int,
        oks: list[bool],
        counts: list[int],
        shares: list[float],
        done: bool,
        round: int | None = None,
    ) -> float:
        seen.append((turn, total_tokens, big, oks, counts, shares, done, round))
        return 1.0

    rows = {"turn": [3.0], "total_tokens": [[5, 6]], "big": [2**60 + 1], "oks": [[1.0, False, None]]}
    rows |= {"counts": [[1.0, 2.0]], "shares": [[1, 2]], "done": [1.0], "round": [float("nan")]}
    wanted = "(3, 11, 1152921504606846977, [True, False, None], [1, 2], [1.0, 2.0], True, None)"
    for table in (rows, pa.table({**rows, "oks": [[True, False, None]], "done": [True]})):
        fm.score(table, "typed")
        assert repr(seen.pop()) == wanted
    fm.typed(*rows.values())
    assert repr(seen.pop()) == wanted
    for bad, expected in (("turn", "a whole number"), ("counts", "a whole number"), ("done", "true or false")):
        value = [[1.0, 2.5]] if bad == "counts" else [2.5]
        with pytest.raises(InputError, match=f"^row 1: column '{bad}': expected {expected}, got 2.5"):
            fm.score({name: given + (value if name == bad else given) for name, given in rows.items()}, "typed")
