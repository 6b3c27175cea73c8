"""Figures, row numbers and places that must hold over more than one batch, file or bucket."""

from __future__ import annotations

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.dry_run import estimate_judging
from fastmetrics.tables.addresses import parse
from fastmetrics.tables.remote_files import store
from tests.support.judge_server import completion, judge_server
from tests.support.program import jsonl


def rows(count, distinct):
    """So many rows with so many distinct prompts, in turn."""
    return ({"id": n, "question": f"q {n % distinct}", "answer": "a"} for n in range(count))


def test_a_dry_run_counts_prompts_once_over_batches_and_retries(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    count = 3 * SIZES.call_rows + 5
    path, some = jsonl(tmp_path / "rows.jsonl", *rows(count, 7)), jsonl(tmp_path / "some.jsonl", *rows(3, 7))
    with judge_server(reply=lambda body: completion(None, refusal="no")) as judge:
        how = {"store": tmp_path / "s.sqlite", "base_url": judge.url}
        fm.judge(some, fm.models.JudgeSettings("safety", "m", **how), output=tmp_path / "o.jsonl")
        for retry, calls, known in (((), 4, 3), (("refused",), 7, 0)):
            estimate = estimate_judging(path, fm.models.JudgeSettings("safety", "m", retry=retry, **how))
            assert (estimate.rows, estimate.calls, estimate.stored_calls) == (count, calls, known)
        fm.judge(path, fm.models.JudgeSettings("safety", "m", retry="refused", **how), output=tmp_path / "all.jsonl")
        assert judge.count == 3 + 7


def test_the_number_of_a_long_row_counts_all_batches_and_files(tmp_path):
    first = jsonl(tmp_path / "a.jsonl", *rows(2 * SIZES.call_rows + 1, 5))
    second = jsonl(tmp_path / "b.jsonl", *rows(2, 5), {"id": 9, "question": "long " * 100, "answer": "a"})
    bot = fm.models.FullContextBot(
        "text", "m", base_url="http://localhost:1/v1", client={"max_chars": 500}, store=tmp_path / "s.sqlite"
    )
    row = 2 * SIZES.call_rows + 4
    with pytest.raises(InputError) as raised:
        fm.answer([first, second], bot, output=tmp_path / "o.jsonl", keep=["id"])
    assert f"row {row:,}: " in str(raised.value)


def test_changed_credentials_open_a_new_connection(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    systems = []
    for key in ("one", "one", "two"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        systems.append(store(parse("s3://bucket/o.parquet?region=eu-west-1")).system)
    assert systems[0] is systems[1]
    assert systems[2] is not systems[1]
