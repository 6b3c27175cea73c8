"""Tokens, money and time as exports have them: what belongs together, what is unread, and what it costs."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fastmetrics as fm
from tests.support.goldens import tables

TABLES = tables("usage")

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")
NAN = math.nan


def scored(rows: Any, metrics: Any, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    scores = fm.score(rows, metrics, **options)
    return {name: scores[name].to_pylist() for name in scores.column_names if name != "id"}, fm.summarize(scores)


FORMS = TABLES["forms"]
"""Rows by their form, and the tokens of prompt, completion and both."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
def test_cached_and_reasoning_tokens_belong_to_the_totals(tmp_path: Path, form: str) -> None:
    row, right = FORMS[form]
    (path := tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    found, _ = scored(path, TOKENS)
    assert [found[name][0] for name in TOKENS] == right
    if not form.startswith(("o", "otlp")) or form.startswith("openai"):  # a preset of spans is one of files
        assert scored([row], TOKENS)[0] == found


def test_counts_stand_beside_those_that_are_named(tmp_path: Path) -> None:
    row = {"input": "Why?", "calls": {"input_tokens": 5, "cache_read_input_tokens": 95, "output_tokens": 1}}
    columns = {"prompt_tokens": "calls.input_tokens"}
    assert scored([row], TOKENS, columns=columns)[0] == {TOKENS[0]: [100], TOKENS[1]: [1], TOKENS[2]: [101]}
    with open(path := tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "usage"], ["1", json.dumps(FORMS["langfuse"][0]["usageDetails"])], ["2", ""]]
        )
    assert scored(path, "total_tokens")[0] == {"total_tokens": [17913, None]}


@pytest.mark.parametrize(
    ("total", "said"), [(218, None), (623, "1 of 1"), (None, None), (200, "1 of 1"), (217.5, "1 of 1")]
)
def test_a_total_that_is_no_sum_is_said(total: float | None, said: str | None) -> None:
    rows = {"prompt_tokens": [20], "completion_tokens": [198], "total_tokens": [total]}
    _, summary = scored(rows, "total_tokens")
    notes = [note for note in summary.notes if "a total of tokens that is not prompt + completion" in note]
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


@pytest.mark.parametrize(
    ("rows", "metric", "values", "unread"),
    [
        ({"prompt_tokens": [100], "completion_tokens": [1], "cache_read_input_tokens": [80]}, "total_tokens", [NAN], 1),
        ({"prompt_tokens": [100, 9], "prompt_cache_read_tokens": [80, None]}, "prompt_tokens", [NAN, 9], 1),
        ({"prompt_tokens": [-1, 5]}, "prompt_tokens", [NAN, 5], 1),
        ({"total_tokens": [-1, None, 5]}, "total_tokens", [NAN, None, 5], 1),
        ({"latency_ms": [-0.5, 0, 12.5, None]}, "latency_ms", [NAN, 0, 12.5, None], 1),
        ({"duration": [-1, 2]}, "latency_ms", [NAN, 2000], 1),
        ({"latency": [1.53, 0.8, 31]}, "latency_ms", [NAN] * 3, 3),
        ({"latency": [0.21, None, 0.0]}, "latency_ms", [NAN, None, 0], 1),
        ({"latency": [-3.0, 250.0, 900.0]}, "latency_ms", [NAN, 250, 900], 1),
        ({"latency": [512, 98.5, 1400]}, "latency_ms", [512, 98.5, 1400], 0),
        ({"latency": [None, None]}, "latency_ms", [None, None], 0),
    ],
)
def test_what_nothing_tells_is_unread(rows: Any, metric: str, values: list[Any], unread: int) -> None:
    found, summary = scored(rows, metric)
    assert str(found[metric]) == str([value if value is None else float(value) for value in values])
    assert summary[metric].n_unread == unread


@pytest.mark.parametrize(
    ("start", "end", "milliseconds"),
    [
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:02Z", 2000),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:02", 2000),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:02Z", NAN),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:02", NAN),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:02Z", 2000),
        ("2026-01-01T10:00:02Z", "2026-01-01T10:00:00Z", NAN),
        ("yesterday", "2026-01-01T10:00:00Z", NAN),
        (1767261600, "2026-01-01T10:00:02", NAN),
        (1767261600, 1767261602.5, 2500),
        (None, "2026-01-01T10:00:00", None),
    ],
)
@pytest.mark.parametrize("where", ["memory", "file", "sessions"])
def test_times_of_unlike_clocks_are_unread(
    tmp_path: Path, start: Any, end: Any, milliseconds: float | None, where: str
) -> None:
    rows = [{"session_id": "s", "success": True, "run": {"start": start, "end": end}}]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n")
    table, columns = rows if where == "memory" else path, {"latency_ms": "run.end since run.start"}
    if where == "sessions":
        made = fm.logs.sessions(table, columns=columns).to_arrow()
        expected = None if milliseconds is None or math.isnan(milliseconds) else milliseconds
        assert made["latency_ms"].to_pylist() == [expected]
        return
    found, summary = scored(table, "latency_ms", columns=columns)
    assert str(found["latency_ms"]) == str([None if milliseconds is None else float(milliseconds)])
    assert summary["latency_ms"].n_unread == int(milliseconds is not None and math.isnan(milliseconds))


@pytest.mark.parametrize(
    ("others", "is_known"),
    [
        (("sessionId", "release", "environment", "bookmarked"), True),
        (("session_id", "release", "environment"), True),
        (("bookmarked", "environment"), True),
        (("htmlPath", "output"), True),
        (("session_id", "environment"), False),
        (("release", "version"), False),
        ((), False),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "csv", "jsonl"])
@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
def test_an_export_in_seconds_is_known_by_its_other_columns(
    tmp_path: Path, others: tuple[str, ...], is_known: bool, kind: str
) -> None:
    rows = [{"id": str(k), "input": "q", **dict.fromkeys(others, "x"), "latency": 1.5 + k} for k in range(3)]
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            (writer := csv.DictWriter(file, rows[0])).writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found, summary = scored(rows if kind == "memory" else path, "latency_ms")
    assert str(found["latency_ms"]) == str([1500.0, 2500.0, 3500.0] if is_known else [NAN] * 3)
    assert summary["latency_ms"].n_unread == (0 if is_known else 3)


PRICES = {
    "big": {"input": 2.5, "output": 10, "cached_input": 0.25, "cache_write": 3},
    "small": {"input": 0.5, "output": 2},
}


@pytest.mark.parametrize(
    ("row", "cost"),
    [
        ({"model": "big", "prompt_tokens": 1000, "completion_tokens": 100}, 0.0035),
        ({"model": "big", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 800}, 0.0017),
        ({"model": "big", "input_tokens": 200, "output_tokens": 100, "cache_read_input_tokens": 800}, 0.0017),
        ({"model": "big", "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1000}, 0.003),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100}, 0.0007),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 0}, 0.0007),
        ({"model": "small", "prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 1}, NAN),
        ({"model": "other", "prompt_tokens": 1000, "completion_tokens": 100}, NAN),
        ({"model": "other", "prompt_tokens": 1000, "completion_tokens": 100, "cost": 0.25}, 0.25),
        ({"model": None, "prompt_tokens": 1000, "completion_tokens": 100}, None),
        ({"model": "small", "prompt_tokens": None, "completion_tokens": 100}, None),
        ({"model": "small", "prompt_tokens": 0, "completion_tokens": 0}, 0.0),
    ],
)
def test_a_row_costs_what_its_model_does(tmp_path: Path, row: dict[str, Any], cost: float | None) -> None:
    table = {
        "model": ["small", row["model"]],
        **{name: [int("cache" not in name), value] for name, value in row.items() if name != "model"},
    }
    found, summary = scored(table, "cost", prices=PRICES)
    assert str(found["cost"][1]) == str(cost)
    assert summary["cost"].n_unread == int(cost is not None and math.isnan(cost))
    known = [value for value in found["cost"] if value is not None and not math.isnan(value)]
    assert summary.figures["cost.sum"] == pytest.approx(math.fsum(known))
    (path := tmp_path / "prices.json").write_text(json.dumps(PRICES))
    assert str(scored(table, None, prices=path)[0]["cost"]) == str(found["cost"])


def test_money_has_significant_digits_and_a_sum() -> None:
    rows = {"prompt_tokens": [1000, 1060, 1120], "completion_tokens": [10] * 3}
    scores = fm.score(rows, "cost", prices={"m": {"input": 0.5, "output": 0}})
    text = str(fm.summarize(scores))
    assert all(words in text for words in ("0.000530", "cost.sum", "0.00159"))
    assert "[0.00045" in str(fm.results.summarize_by(scores))


# Two hundred exports made by a script that knows the truth: none silently wrong, and what is unread counted exactly.


class Made(NamedTuple):
    row: dict[str, Any]
    total: int | None
    """None where nothing in the row tells."""


def _openai(p: int, r: int, w: int, c: int, g: int) -> Made:
    details = {"prompt_tokens_details": {"cached_tokens": r + w}, "completion_tokens_details": {"reasoning_tokens": g}}
    usage = {"prompt_tokens": p + r + w, "completion_tokens": c + g, "total_tokens": p + r + w + c + g, **details}
    return Made({"usage": usage}, p + r + w + c + g)


def _anthropic(p: int, r: int, w: int, c: int, g: int) -> Made:
    cached = {"cache_read_input_tokens": r, "cache_creation_input_tokens": w}
    return Made({"usage": {"input_tokens": p, "output_tokens": c + g, **cached}}, p + r + w + c + g)


def _gemini(p: int, r: int, w: int, c: int, g: int) -> Made:
    usage = {"promptTokenCount": p + r, "cachedContentTokenCount": r, "candidatesTokenCount": c}
    total = {"thoughtsTokenCount": g, "totalTokenCount": p + r + c + g}
    return Made({"usageMetadata": {**usage, **total}}, p + r + c + g)


def _langfuse(p: int, r: int, w: int, c: int, g: int) -> Made:
    parts = {"input_cached_tokens": r, "input_cache_creation": w, "output_reasoning_tokens": g}
    return Made({"usageDetails": {"input": p, "output": c, **parts, "total": p + r + w + c + g}}, p + r + w + c + g)


def _bedrock(p: int, r: int, w: int, c: int, g: int) -> Made:
    usage = {"inputTokens": p, "outputTokens": c + g, "cacheReadInputTokens": r, "cacheWriteInputTokens": w}
    return Made({"usage": usage}, p + r + w + c + g)


def _xai(p: int, r: int, w: int, c: int, g: int) -> Made:
    usage = {"prompt_tokens": p + r + w, "completion_tokens": c, "total_tokens": p + r + w + c + g}
    return Made({"usage": {**usage, "completion_tokens_details": {"reasoning_tokens": g}}}, p + r + w + c + g)


def _proxy(p: int, r: int, w: int, c: int, g: int) -> Made:
    """Cached tokens beside a prompt, under names that others use for those within, and no total."""
    usage = {"prompt_tokens": p, "completion_tokens": c + g, "cache_read_input_tokens": r}
    return Made({"usage": usage}, p + r + c + g if r == 0 or r > p else None)


def _proxy_with_total(p: int, r: int, w: int, c: int, g: int) -> Made:
    usage = {"prompt_tokens": p, "completion_tokens": c + g, "cache_read_input_tokens": r}
    return Made({"usage": {**usage, "total_tokens": p + r + c + g}}, p + r + c + g)


MAKERS: tuple[Callable[[int, int, int, int, int], Made], ...] = (
    *(_openai, _anthropic, _gemini, _langfuse, _bedrock, _xai, _proxy, _proxy_with_total),
)


@pytest.mark.filterwarnings("ignore::fastmetrics.base.errors.ScoreWarning")
def test_two_hundred_made_exports(tmp_path: Path) -> None:
    chance = random.Random(50)
    wrong = unread = counted = 0
    for maker in MAKERS:
        made = []
        for _ in range(25):
            counts = [
                chance.randrange(1, chance.choice((5_000, 200_000))),
                *(chance.choice((0, chance.randrange(1, 90_000))) for _ in range(2)),
            ]
            made.append(maker(*counts, chance.randrange(1, 900), chance.choice((0, chance.randrange(1, 4000)))))
        path = tmp_path / f"{maker.__name__}.jsonl"
        path.write_text("".join(json.dumps(one.row) + "\n" for one in made))
        found, summary = scored(path, "total_tokens")
        for value, one in zip(found["total_tokens"], made, strict=True):
            unread += one.total is None
            wrong += not math.isnan(value) and value != one.total
        counted += summary["total_tokens"].n_unread
    assert (wrong, counted) == (0, unread)
    assert 0 < unread < 25
