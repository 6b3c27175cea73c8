"""Results of many segments: their figures against plain Python, and the memory that they take."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.core.conversion.records import Mapped, Records
from fastmetrics.core.display.printed_tables import json_pieces, strict
from fastmetrics.reporting.charts.heat_map import SEGMENTS, fewer_segments
from fastmetrics.results.runs.open_runs import open_run
from tests.support.program import ENVIRONMENT


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    segment: str | None
    n: int
    share: float | None
    wins: int | None
    met: bool
    rule: tuple[int, ...]


def _rows(count: int) -> list[_Row]:
    rules = [(1,), (2,)]
    shares = [0.5, None, math.nan, -1, math.inf]
    return [
        _Row(
            f"m{n % 3}",
            None if n % 4 == 0 else f"s{n}\n",
            n,
            shares[n % 5],
            n if n % 2 else None,
            n % 2 > 0,
            rules[n % 2],
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 7, 1_023, 1_024, 1_025, 3_001])
def test_records_are_the_instances_that_they_were_made_of(count: int) -> None:
    rows = _rows(count)
    records = Records.of(_Row, iter(rows))
    assert len(records) == count
    assert repr(records) == repr(rows)  # with the integers among the floats
    assert list(records) == rows
    assert records[1:5] == rows[1:5]
    order = np.arange(count)[::-1]
    assert list(records.at(order).at(order[:3])) == rows[:3] if count > 2 else True
    assert list(records.at(records.not_none("segment"))) == [row for row in rows if row.segment is not None]
    assert records.distinct("rule", "name") == list(dict.fromkeys((row.rule, row.name) for row in rows))
    if count:
        assert records[-1] == rows[-1]
    with pytest.raises(IndexError):
        records[count]


@pytest.mark.parametrize("rows", [[], [1], [{"a": [1, math.nan], "b": {}}, "x\ny", None, [], -math.inf]])
def test_json_in_pieces_is_that_of_the_library(rows: list[object]) -> None:
    figures = {"n": 1, "rows": rows, "é": "x\n", "none": {}, "more": (1, 2), "within": {"rows": [1, {"a": 2}]}}
    expected = json.dumps(strict(figures), ensure_ascii=False, indent=2)
    assert "".join(json_pieces(figures)) == expected
    assert "".join(json_pieces({**figures, "rows": Mapped(lambda row: row, rows)})) == expected
    assert "".join(json_pieces({})) == "{}"


def test_a_table_lists_segments_from_the_worst_and_equal_ones_by_name() -> None:
    n = 60
    scores = {
        "id": range(n),
        "token_f1": [(row % 5) / 4 for row in range(n)],
        "topic": [f"t{row % 20}" for row in range(n)],
    }
    means = {f"topic=t{topic}": (topic % 5) / 4 for topic in range(20)}
    table = fm.summarize_by(scores, by="topic").grids()[1]
    assert [row[0] for row in table.rows] == sorted(means, key=lambda name: (means[name], name))
    other = {**scores, "token_f1": [1.0 - score for score in scores["token_f1"]]}
    found = fm.compare({"a": scores, "b": other}, by="topic", tests="t", interval="t")
    shown = [row[0] for row in found.grids()[2].rows]
    assert shown == sorted(means, key=lambda name: (1 - 2 * means[name], name))


def test_many_segments_are_merged_except_for_the_largest() -> None:
    sizes = {f"t{number:03d}": 1 + number % 97 for number in range(97)}
    topics = [name for name, size in sizes.items() for _ in range(size)]
    order = np.random.default_rng(0).permutation(len(topics))
    table = pa.table(
        {"id": list(map(str, order)), "token_f1": order / len(order), "topic": [topics[at] for at in order]}
    )
    [run], [note] = fewer_segments([open_run(table)], ["topic"])
    kept = run.column("topic", "").to_pylist()
    largest = sorted(sizes, key=lambda name: -sizes[name])[:SEGMENTS]
    others = 97 - SEGMENTS
    assert set(kept) == {*largest, f"({others} others)"}
    assert kept.count(f"({others} others)") == sum(sizes.values()) - sum(sizes[name] for name in largest)
    assert f"shows {SEGMENTS} of 97 segments, those of most rows" in note


def test_a_column_that_is_given_twice_segments_once() -> None:
    table = {"id": list("abcd"), "token_f1": [0.1, 0.2, 0.3, 0.4], "lang": ["en", "ru", "en", "ru"]}
    worst = fm.worst_rows(table, "token_f1", by=["lang", "lang"], segment="lang=ru")
    assert worst["id"].to_pylist() == ["b", "d"]
    found = fm.compare({"a": table, "b": table}, by=[["lang"], "lang,lang", ["lang"]])
    assert [one.segment for one in found] == [None, "lang=en", "lang=ru"]
    judged = {"id": list("abcd"), "judge_x": [1.0, 2.0, 3.0, 4.0], "judge_x_status": ["ok"] * 4, "lang": table["lang"]}
    [axis] = fm.judge_report(judged, by="lang,lang").axes
    assert [one.segment for one in axis.segments] == ["lang=en", "lang=ru"]


_SCRIPT = """
import sys, tracemalloc
import numpy as np
import pyarrow as pa
import fastmetrics as fm
def made(n):
    scores = np.random.default_rng(n).random(n)
    ids, topics = [f"{row:08d}" for row in range(n)], [f"topic {row:07d}" for row in range(n)]
    old, new = (pa.table({"id": ids, "token_f1": some, "topic": topics}) for some in (scores, scores[::-1]))
    return {
        "compare": lambda: fm.compare({"old": old, "new": new}, by="topic", tests="t"),
        "summarize": lambda: fm.summarize_by(old, by="topic"),
        "gate": lambda: fm.gate(old, "token_f1 >= 0.5 where topic=* with n >= 1"),
    }[sys.argv[1]]
def bytes_of(make):
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    result = make()
    kept = pa.total_allocated_bytes() - before
    sum(map(len, result.lines())), sum(map(len, result.json_pieces()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak + kept
made(50)()
print(bytes_of(made(3_000)) - bytes_of(made(1_000)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["compare", "summarize", "gate"])
def test_a_segment_takes_a_few_hundred_bytes(what: str) -> None:
    command = [sys.executable, "-c", _SCRIPT, what]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert int(done.stdout) / 2_000 < 600  # objects of Python took from 2,000 to 4,000 bytes


def test_a_number_at_a_quartile_is_in_the_range_that_begins_there() -> None:
    scores = {"token_f1": [0.5] * 13, "length": list(range(13))}
    found = fm.summarize_by(scores, by="length")
    ranges = ["[0.0000, 3.0000)", "[3.0000, 6.0000)", "[6.0000, 9.0000)", "[9.0000, 12.0000]"]
    assert [(one.segment, one.n) for one in found][1:] == [
        (f"length={name}", n) for name, n in zip(ranges, (3, 3, 3, 4), strict=True)
    ]
