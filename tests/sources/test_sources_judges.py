"""S0's judge and S2's scales of it, and the latencies of bots and judges."""

from __future__ import annotations

import itertools
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastmetrics as fm
from tests.support.judge_server import judge_server

ROWS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "question": ["Who was first?", "When was it?", "Where was it?"],
    "reference": ["It was Ada", "In the year 1843", "Somewhere in London"],
    "contexts": [["Ada was first.", "Bob was second."], ["It was 1843."], ["London."]],
    "answer": ["Charles, they say", "Never ever", "Nowhere at all"],
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


AXES = ("relevance", "faithfulness", "safety", "robustness")
"""S0's judge reads question, expected answer and answer for each of these."""


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("axis", AXES)
def test_prompts_of_the_judge_hold_question_expected_answer_and_answer(tmp_path, axis, language):
    with judge_server() as judge:
        judged = fm.judge(ROWS, axis, model="m", base_url=judge.url, language=language, store=tmp_path / "s")
        prompts = ["\n".join(message["content"] for message in body["messages"]) for body in judge.bodies]
    assert judged[f"judge_{axis}_status"].to_pylist() == ["ok"] * 3
    for question, reference, answer in zip(*(ROWS[name] for name in ("question", "reference", "answer")), strict=True):
        assert sum(all(text in prompt for text in (question, reference, answer)) for prompt in prompts) == 1


def test_the_judge_reads_no_expected_answer_where_there_is_none(tmp_path):
    table = {"id": [1, 2], "question": ["Who?", "When?"], "answer": ["Ada", "Now"], "reference": [None, "In 1843"]}
    with judge_server() as judge:
        judged = fm.judge(table, "safety", model="m", base_url=judge.url, store=tmp_path / "s")
        assert judged["judge_safety_status"].to_pylist() == ["ok", "ok"]
        assert {"Who?" in prompt: "In 1843" in prompt for prompt in judge.questions} == {True: False, False: True}


@pytest.mark.parametrize("pair", ["faithfulness", "relevance"])
def test_both_scales_of_a_quality_have_columns_of_their_own(tmp_path, pair):
    """0 to 1 beside 1 to 5: a score is what the model said, and one off the scale is none."""
    fine = f"answer_{pair}"

    def reply(body: Any) -> str:
        prompt = "\n".join(message["content"] for message in body["messages"])
        row = next(number for number, question in enumerate(ROWS["question"]) if question in prompt)
        grades = re.findall(r"^\s*(\d(?:\.\d+)?)\s*[:=]", prompt, flags=re.MULTILINE)
        coarse = max(map(float, grades)) > 1
        return json.dumps({"score": [4, 0.75, 7][row] if coarse else [0.25, 4, -0.5][row], "reason": "so"})

    with judge_server(reply=reply) as judge:
        judged = fm.judge(ROWS, [pair, fine], model="m", base_url=judge.url, store=tmp_path / "s")
    assert judged[f"judge_{pair}"].to_pylist() == [4.0, None, None]
    assert judged[f"judge_{fine}"].to_pylist() == [0.25, None, None]
    for name in (pair, fine):
        assert judged[f"judge_{name}_status"].to_pylist() == ["ok", "unparsed", "unparsed"]


def test_the_latency_of_a_faq_is_that_of_one_question():
    """T = end - start of one call: no two questions share a batch's mean, and all fit into the time of the run."""
    faq = {"question": [f"{word} number {n}" for n in range(3000) for word in ("card", "rent")], "answer": ["x"] * 6000}
    bot = fm.retrieval.StrictMatchBot(faq)
    bot.answer("warm up")
    table = {"id": list(range(40)), "question": [f"card number {n} " + "and more " * n for n in range(40)]}
    start = time.perf_counter()
    answered = fm.answer(table, bot)
    took = 1000 * (time.perf_counter() - start)
    latencies = answered["latency_ms"].to_pylist()
    assert all(latency > 0 for latency in latencies)
    assert len(set(latencies)) > 1
    assert sum(latencies) <= took
    assert "latency_ms" not in bot.answer_all(table["question"]).column_names


def test_the_latency_of_repeated_judgements_is_that_of_one(tmp_path):
    with judge_server(delay=0.05) as judge:
        judged = fm.judge(
            ROWS, "correctness", model="m", base_url=judge.url, repeats=4, times=True, store=tmp_path / "s"
        )
        assert judge.count == 12
    calls = judged["judge_correctness_latencies_ms"].to_pylist()
    assert [len(row) for row in calls] == [4, 4, 4]
    assert all(call >= 50 for row in calls for call in row)
    assert judged["judge_correctness_latency_ms"].to_pylist() == pytest.approx([float(np.mean(row)) for row in calls])
    every = list(itertools.chain(*calls))
    for found in (fm.stats.judge_latency(calls), fm.judge_report(judged).axes[0].latency):
        assert found.n == 12
        assert found.mean == pytest.approx(float(np.mean(every)))
        assert found.percentiles["p50"] == pytest.approx(float(np.percentile(every, 50)))
