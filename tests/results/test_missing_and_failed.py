"""Rows without a score for two reasons at once: missing inputs and failed calls."""

from __future__ import annotations

import fastmetrics as fm
from tests.support.judge_server import judge_server, user_message
from tests.support.program import jsonl


def test_shares_of_missing_and_failed_rows_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    answers = ["a", "a", None, "bad", "bad", "a", None, "bad", "a", "a"]
    path = jsonl(
        tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": a} for n, a in enumerate(answers))
    )
    fault = lambda body, seen: "400" if "bad" in user_message(body) else None  # noqa: E731
    with judge_server(draw=fault) as judge:
        settings = fm.models.JudgeSettings(
            "safety", "m", base_url=judge.url, store=tmp_path / "s.sqlite", concurrency=1
        )
        fm.judge(path, settings, output=tmp_path / "o.parquet")
    expected = {"n": 5, "n_missing": 2, "n_error": 3, "share_missing": 0.2, "share_error": 0.3}
    for figure, value in expected.items():
        for sign, passes in ((">=", True), ("<=", True), (">", False)):
            rule = f"judge_safety.{figure} {sign} {value}"
            assert fm.gate(tmp_path / "o.parquet", [rule]).passed is passes, rule
