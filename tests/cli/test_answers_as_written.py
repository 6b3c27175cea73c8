"""Jobs as new users have them: one command of docs/metrics.md each, from a small file to the right number."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.program import jsonl, program

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
BLOCK = PAGE.partition("\n## Answers as models and people write them\n")[2].partition("```sh\n")[2].partition("```")[0]
COMMANDS = {line.split()[2]: shlex.split(line)[1:] for line in BLOCK.splitlines() if not line.startswith("#")}

JOBS = {
    "gsm8k.jsonl": (
        [
            ("<think>3 · 4 = 13</think>12 apples; she eats 2.\n#### 10", "3 · 4 = 12 apples, 12 - 2 = 10\n#### 10"),
            ("Together $1,200.50 + $99.50, so the total is $1,300.", "1200.50 + 99.50 = 1300\n#### 1,300"),
            (r"As 40 + 2 = 42, it is $\boxed{42}$, not 7.", "40 + 2 = 42\n#### 42"),
            ("I do not know.", "2 + 3 = 5\n#### 5"),
        ],
        {"number_match": 0.75},
    ),
    "choices.jsonl": (
        [
            ("The correct answer is **B**.", "B", ["Rome", "Paris", "Oslo"]),
            ("It must be Oslo.", "C", ["Rome", "Paris", "Oslo"]),
            ("(C) 5", "B", ["3", "4", "5"]),
            ("A or B", "A", ["3", "4", "5"]),
        ],
        {"choice_match": 2 / 3},
    ),
    "rag.jsonl": (
        [
            ("Based on the context, **Jane Austen** wrote *Emma* in 1815 [1].", "Jane Austen"),
            ("York is not new, so I would say London.", ["New York", "NYC"]),
        ],
        {"cover_match": 0.5, "token_recall": 1.0},
    ),
    "extraction.jsonl": (
        [
            ('Here you are:\n```json\n{"age": 31, "name": "Ann"}\n```', '{"name": "Ann", "age": 31}'),
            ('{"age": 30, "name": "Bob"}', '{"name": "Bob", "age": 31}'),
        ],
        {"json_match": 0.75},
    ),
    "arabic.jsonl": (
        [("إنه كِتَابٌ جَدِيدٌ", "كتاب جديد"), ("العدد هو ٤٢", "42"), ("القاهرة", "الرياض")],
        {"cover_match": 0.6667, "number_match": 1.0},
    ),
    "german.jsonl": (
        [("Die Antwort lautet: Hauptstraße.", "Hauptstrasse"), ("Mu\u0308nchen", "München"), ("Bonn", "Berlin")],
        {"exact_match": 0.6667},
    ),
    "turkish.jsonl": (
        [("Doğru cevap: İSTANBUL", "istanbul"), ("IĞDIR", "ığdır"), ("Ankara", "İzmir")],
        {"exact_match": 0.6667},
    ),
    "russian.jsonl": (
        [("Столица России — Москва.", "Москва"), ("в 1703 году", "В 1703 году.")],
        {"token_f1": 0.75, "rougeL_f1(tokenizer='unicode')": 0.75},
    ),
    "chinese.jsonl": (
        [("答案是北京。", "北京"), ("会议在１２月举行", "12月"), ("中国的首都是北京市", "上海")],
        {"cover_match(tokenizer='unicode')": 0.6667},
    ),
    "tools.jsonl": (
        [
            {
                "messages": [
                    {"role": "user", "content": "How warm is it in Rome?"},
                    {
                        "role": "assistant",
                        "tool_calls": [
                            {"type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
                        ],
                    },
                ],
                "expected_tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}],
            },
            {
                "messages": [{"role": "assistant", "content": "It is warm."}],
                "expected_tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}],
            },
        ],
        {"tool_call_f1": 0.5, "tool_call_accuracy": 0.5},
    ),
    "labels.jsonl": ([("spam", "spam"), ("ham", "spam"), ("ham", "ham"), ("ham", "ham")], {"accuracy": 0.75}),
}
"""The rows of each job, and its figures."""


def test_every_command_of_the_page_has_a_job():
    assert list(COMMANDS) == list(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_one_command_gives_the_right_number(name, tmp_path, monkeypatch):
    rows, figures = JOBS[name]
    monkeypatch.chdir(tmp_path)
    named = [
        row if isinstance(row, dict) else dict(zip(("answer", "reference", "choices"), row, strict=False))
        for row in rows
    ]
    jsonl(tmp_path / name, *named)
    done = program(*COMMANDS[name])
    assert done.code == 0, done.err
    for figure, value in figures.items():
        found = re.search(rf"^{re.escape(figure)} +([\d.]+)", done.out, re.M)
        assert found is not None, done.out
        assert float(found[1]) == pytest.approx(value, abs=5e-5)
    assert "--normalize" not in done.out, "no note asks for more"
