"""Bots and templates that read named columns of a row, and several answers to each question."""

import datetime
import json
import math
import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ServiceError
from fastmetrics.models.dry_run import estimate_answering
from tests.support.goldens import refused
from tests.support.judge_server import judge_server, user_message, with_client
from tests.support.program import jsonl, program

ROWS = {
    "id": ["a", "b", "c", "d", "e"],
    "question": ["Who?", "When?", None, "Where?", "Who?"],
    "contexts": [["Ada.", "Bob."], ["In 1815."], ["x"], [], ["Eve."]],
    "level": [1, 2, 3, 4, 5],
}
TEMPLATE = "<{contexts}> {question} ({level}) {{level}} {question}"
PROMPTS = [
    "<[1] Ada.\n[2] Bob.> Who? (1) {level} Who?",
    "<In 1815.> When? (2) {level} When?",
    "<Eve.> Who? (5) {level} Who?",
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def given_contexts(judge, folder, **more):
    """A bot that reads the contexts of each row."""
    return fm.models.GivenContextsBot(
        "m",
        **with_client(**{"base_url": judge.url, "store": folder / "s.sqlite", "timeout": 5.0, "pause": 0.01, **more}),
    )


def echo(body):
    """The prompt itself as the answer."""
    return user_message(body)


KINDS = {
    "dict": lambda table: table,
    "arrow": pa.table,
    "chunked": lambda table: pa.concat_tables([pa.table(table).slice(0, 2), pa.table(table).slice(2)]),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "rows": lambda table: pa.table(table).to_pylist(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_have_the_columns_of_each_row(tmp_path, kind):
    with judge_server(reply=echo) as judge:
        answered = fm.answer(KINDS[kind](ROWS), given_contexts(judge, tmp_path, template=TEMPLATE))
        assert sorted(judge.questions) == sorted(PROMPTS)
    assert answered["answer"].to_pylist() == [PROMPTS[0], PROMPTS[1], None, None, PROMPTS[2]]
    assert answered["answer_status"].to_pylist() == ["ok", "ok", "missing", "missing", "ok"]
    assert answered["answer_reason"].to_pylist() == [None, None, "null: question", "null: contexts", None]
    assert answered["contexts"].to_pylist() == ROWS["contexts"]
    assert set(answered["system"].to_pylist()) == {"given-contexts"}


def test_files_command_and_function_send_the_same_prompts(tmp_path):
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    (tmp_path / "t.txt").write_text(TEMPLATE)
    with judge_server(reply=echo) as judge:
        bot = given_contexts(judge, tmp_path, template=TEMPLATE)
        assert estimate_answering(path, bot).calls == 3
        fm.answer(path, bot, output=tmp_path / "f.parquet")
        assert sorted(judge.questions) == sorted(PROMPTS)
        command = ["answer", path, "--bot", "given-contexts", "--model", "m", "--base-url", judge.url]
        command += ["--template", tmp_path / "t.txt", "--store", tmp_path / "s.sqlite"]
        assert "3 already stored" in program(*command, "--dry-run").out
        done = program(*command, "-o", tmp_path / "c.parquet")
        assert (done.code, judge.count) == (0, 3), done.err
        assert "3 from the store" in done.out
    assert pq.read_table(tmp_path / "c.parquet").equals(pq.read_table(tmp_path / "f.parquet"))
    in_memory = fm.answer(pq.read_table(tmp_path / "f.parquet").select(list(ROWS)), bot)
    assert in_memory["answer"].to_pylist() == pq.read_table(tmp_path / "f.parquet")["answer"].to_pylist()


def test_default_template_reads_contexts_and_aliases_of_columns(tmp_path):
    table = {"user_input": ["Who?"], "retrieved_contexts": [["Ada."]]}
    with judge_server(reply=echo) as judge:
        fm.answer(table, given_contexts(judge, tmp_path))
        fm.answer(
            {"question": ["Who?"], "passages": ["Ada."]},
            given_contexts(judge, tmp_path),
            columns={"contexts": "passages"},
        )
        assert judge.count == 1  # the prompts are equal
        [prompt] = judge.questions
    assert prompt.startswith("Answer the question from the passages below.")
    code = re.findall(r"<question id=(\w+)>", prompt)[0]
    fenced = {"passages": "Ada.", "question": "Who?"}
    texts = "\n\n".join(f"<{name} id={code}>\n{text}\n</{name} id={code}>" for name, text in fenced.items())
    assert prompt.endswith(f"\n\n{texts}\nAnswer:")


def test_text_of_a_row_is_never_a_placeholder(tmp_path):
    table = {"question": ["{contexts} {{contexts}} {knowledge}"], "contexts": [["{question}"]]}
    with judge_server(reply=echo) as judge:
        answered = fm.answer(table, given_contexts(judge, tmp_path, template="{contexts}|{question}"))
    assert answered["answer"].to_pylist() == ["{question}|{contexts} {{contexts}} {knowledge}"]


def test_full_context_prompt_may_name_other_columns(tmp_path):
    with judge_server(reply=echo) as judge:
        bot = fm.models.FullContextBot(
            "K", "m", base_url=judge.url, store=tmp_path / "s", template="{knowledge}{level}{question}"
        )
        answered = fm.answer({"question": ["q", "r"], "level": [1.5, math.nan], "knowledge": ["x", "y"]}, bot)
        assert answered["answer"].to_pylist() == ["K1.5q", None]
        assert answered["answer_reason"].to_pylist() == [None, "null: level"]


def test_rubrics_read_any_column_of_the_table(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nversion = 1\nlanguage = "en"\nrange = [1, 5]\ninstructions = "Judge {{so}}."\n'
        'template = "{question} {price} {tags} {day} {{price}}"\n'
    )
    table = {
        "question": ["q", "r"],
        "price": [2.5, None],
        "tags": [["a", "b"], ["c"]],
        "day": [datetime.date(2024, 1, 5)] * 2,
    }
    with judge_server() as judge:
        options = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        judged = fm.judge(table, tmp_path / "mine.toml", **options)
        [prompt] = judge.questions
    assert judged["judge_mine_status"].to_pylist() == ["ok", "missing"]
    for text in (">\n2.5\n</price", ">\n[1] a\n[2] b\n</tags", ">\n2024-01-05\n</day", " {price}"):
        assert text in prompt


def test_functions_read_named_columns(tmp_path):
    def rag(question, contexts, level=7):
        assert level == 7
        return f"{question} {len(contexts)}"

    assert fm.answer(ROWS, rag)["answer"].to_pylist() == ["Who? 2", "When? 1", None, None, "Who? 1"]
    bot = fm.models.FunctionBot(lambda *values: repr(values), reads=("level", "contexts"), name="all")
    assert fm.answer(ROWS, bot)["answer"].to_pylist()[:2] == ["(1, ['Ada.', 'Bob.'])", "(2, ['In 1815.'])"]
    seen = []
    stored = fm.models.FunctionBot(
        lambda question, contexts: seen.append(question) or contexts[0], name="s", store=tmp_path / "s.sqlite"
    )
    for _ in range(2):
        assert fm.answer(ROWS, stored)["answer"].to_pylist() == ["Ada.", "In 1815.", None, None, "Eve."]
    assert sorted(seen) == ["When?", "Who?", "Who?"]


class Counter:
    """A bot whose answers differ from call to call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, question):
        self.calls += 1
        return f"{question} {self.calls}"


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_repeats_are_calls_of_their_own(n, kind):
    table = {"id": pa.array(range(n), pa.int64()), "question": pa.array([f"q{k}" for k in range(n)], pa.string())}
    make = {
        "arrow": lambda: pa.table(table),
        "pandas": lambda: pa.table(table).to_pandas(),
        "polars": lambda: pl.from_arrow(pa.table(table)),
    }
    bot = Counter()
    answered = fm.answer(make[kind](), bot, repeats=3)
    assert bot.calls == 3 * n
    assert answered["id"].to_pylist() == [k for k in range(n) for _ in range(3)]
    assert answered["repeat"].to_pylist() == [1, 2, 3] * n
    assert len(set(answered["answer"].to_pylist())) == len(set(answered["answer_call"].to_pylist())) == 3 * n
    rate = fm.response_exact_match_rate(answered["answer"], answered["id"])
    assert (rate.n_questions, rate.n_pairs) == (n, 3 * n)
    assert math.isnan(rate.score) if n == 0 else rate.score == 0.0


def test_repeats_of_files_resume_and_agree_with_dry_run_and_budget(tmp_path):
    path = jsonl(tmp_path / "q.jsonl", *({"id": n, "question": f"{n}?"} for n in range(40)))
    with judge_server(reply=lambda body: f"answer {judge.count}") as judge:
        bot = fm.models.FullContextBot(
            "k", "m", base_url=judge.url, store=tmp_path / "s.sqlite", concurrency=2, client={"tries": 1, "pause": 0.01}
        )
        assert estimate_answering(path, bot, repeats=3).calls == 120
        judge.draw = lambda body, seen: "500" if judge.count > 50 else None
        refused(ServiceError, "20", fm.answer, path, bot, output=tmp_path / "o.parquet", repeats=3)
        judge.draw = lambda body, seen: None
        estimate = estimate_answering(path, bot, repeats=3)
        assert (estimate.rows, estimate.calls, estimate.stored_calls) == (40, 70, 50)
        before = judge.count
        run = fm.answer(path, bot, output=tmp_path / "o.parquet", repeats=3, resume=True)
        assert (judge.count - before, run.spending.from_store, run.counts) == (70, 50, {"ok": 120})
        again = fm.answer(path, bot, output=tmp_path / "again.parquet", repeats=3)
        assert again.spending.requests == 0
        more = fm.answer(path, bot, output=tmp_path / "more.parquet", repeats=4)  # the first three are stored
        assert (more.spending.requests, more.spending.from_store) == (40, 120)
        limited = fm.models.FullContextBot("k", "m", base_url=judge.url, store=tmp_path / "t.sqlite", max_calls=7)
        part = fm.answer(path, limited, output=tmp_path / "part.parquet", repeats=3)
        assert part.counts == {"budget": 113, "ok": 7}
        command = ["answer", path, "-o", tmp_path / "c.parquet", "--bot", "full-context", "--knowledge", tmp_path / "k"]
        (tmp_path / "k").write_text("k")
        command += ["--model", "m", "--base-url", judge.url, "--store", tmp_path / "s.sqlite", "--repeats", 3]
        assert "40 rows: 0 calls to make, 120 already stored" in program(*command, "--dry-run").out
        done = program(*command)
        assert (done.code, "40 questions, 3 answers each (120 ok)" in done.out) == (0, True), done.err
    assert (tmp_path / "c.parquet").read_bytes() == (tmp_path / "o.parquet").read_bytes()
    answered = pq.read_table(tmp_path / "o.parquet")
    assert answered["id"].to_pylist() == [n for n in range(40) for _ in range(3)]
    assert answered["repeat"].to_pylist() == [1, 2, 3] * 40
    assert len(set(answered["answer"].to_pylist())) == 120


def test_a_faq_bot_repeats_its_answers():
    faq = fm.retrieval.StrictMatchBot({"question": ["a"], "answer": ["A"]})
    answered = fm.answer({"id": [1, 2], "question": ["a", None]}, faq, repeats=2)
    assert answered.select(["id", "repeat", "answer", "answer_call"]).to_pylist() == [
        {"id": 1, "repeat": 1, "answer": "A", "answer_call": None},
        {"id": 1, "repeat": 2, "answer": "A", "answer_call": None},
        {"id": 2, "repeat": 1, "answer": None, "answer_call": None},
        {"id": 2, "repeat": 2, "answer": None, "answer_call": None},
    ]


def test_documents_a_bot_returns_are_compared_over_repeats(tmp_path):
    ranked = iter([["a", "b"], ["a", "c"], ["d"], ["d"]])
    bot = fm.models.FunctionBot(
        lambda question: {"answer": "", "retrieved_ids": next(ranked)}, returns=["retrieved_ids"]
    )
    answered = fm.answer({"question": ["q", "r"]}, bot, repeats=2)
    assert fm.retrieval_consistency(answered["question"], answered["retrieved_ids"], k=2).score == (1 / 3 + 1) / 2
    assert json.loads(answered.schema.metadata[b"fastmetrics"])["repeats"] == 2
