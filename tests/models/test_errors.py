"""What judges, bots, embedders and rubrics refuse, before anything is asked."""

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    PluginError,
    ServiceError,
    UnknownColumnError,
    UnknownNameError,
)
from tests.support.goldens import errors_of
from tests.support.judge_server import client_file
from tests.support.program import jsonl, program

NOWHERE = {"model": "m", "base_url": "http://localhost:1/v1", "store": "s.sqlite", "max_calls": 0}
ROWS = {"id": ["a"], "question": ["Who?"], "contexts": [["Ada."]], "level": [1]}
ANSWERED = {"id": [1], "question": ["q"], "answer": ["a"], "reference": ["r"], "contexts": [["c"]]}
OLD = [{"id": 1, "question": "q1", "answer": "long"}, {"id": 2, "question": "q2", "answer": "brief"}]
RUBRIC = """
name = "mine"
version = 1
language = "en"
range = [1, 3]
instructions = "Judge."
template = "{question} {answer}"
optional = ["question"]
[grades]
1 = "bad"
3 = "good"
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def answered(*arguments, table=ROWS, template="{question}", **options):
    """Answer by the contexts of each row."""
    bot = fm.models.GivenContextsBot("m", template=template, base_url="http://localhost:1/v1", store="s", **options)
    return fm.answer(table, bot)


def bot(function, questions=1, **options):
    """Answer by a function."""
    asked = {"question": [f"{n}?" for n in range(questions)]}
    return fm.answer(asked, fm.models.FunctionBot(function, name="own", **options))


def told(*words):
    """A command on a table of questions and answers."""
    jsonl(Path("t.jsonl"), {"id": 1, "question": "q", "answer": "a"})
    Path("k.bin").write_bytes(b"ab\xff")
    return program(*words)


def asked(*options):
    return told("answer", "t.jsonl", "-o", "o.parquet", *options)


def judging(*options):
    return told("judge", "run", "t.jsonl", "-o", "o.csv", "--model", "m", "--rubrics", "safety", *options)


def priced(text):
    Path("p.toml").write_text(text)
    return judging("--dry-run", "--client", client_file(Path(), prices="p.toml"))


def judged(rubrics="safety", table=ANSWERED, **options):
    return fm.judge(table, rubrics, **{**NOWHERE, **options})


def settings(**options):
    return fm.models.JudgeSettings(**{"rubrics": "safety", "model": "m", **options})


def pairs(new, rubrics="preference", old=OLD):
    """The answers of one table judged against those of another."""
    return judged(rubrics, {"old": old, "new": new}, pairwise=True)


def rubric(old, new):
    """A rubric of one's own with a fault."""
    Path("mine.toml").write_text(RUBRIC.replace(old, new, 1))
    return judged("mine.toml")


def in_bytes(name):
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    return judged(name)


def store(make):
    """A store of calls that is none."""
    make(Path("calls.sqlite"))
    return program("judge", "store", "calls.sqlite")


def of_others(path):
    with sqlite3.connect(path) as other:
        other.execute("create table t (x)")
    other.close()


def embedder(*arguments, **options):
    return fm.Embedder(*arguments, **options)


def letters(texts):
    return np.array([[len(text), 1.0] for text in texts])


def embedded(table, **options):
    return fm.embed(table, fm.Embedder(letters), **options)


def scored(metrics, embedder):
    return fm.score({"answer": ["a"], "reference": ["a"], "contexts": [["a"]]}, metrics, embedder=embedder)


def client(reply):
    fm.models.model_client("mine")(lambda request: reply)
    return judged(base_url="mine:", max_calls=None)


def plugin(name):
    Path("emb.py").write_text("def embed(texts):\n    return [[1.0]] * len(texts)\n")
    return fm.Embedder(f"emb.py:{name}")


SETTINGS = [
    ({"rubrics": []}, "rubric"),
    ({"rubrics": ["safety", "safety"]}, "safety"),
    ({"model": " "}, "model"),
    ({"model": str}, "model"),
    ({"base_url": "localhost:8000"}, "base_url"),
    ({"base_url": "http://host:x/v1"}, "base_url"),
    ({"repeats": 0}, "repeats"),
    ({"retry": "http"}, "retry", "unparsed"),
    ({"max_cost": 1.0}, "max_cost", "client"),
    ({"parameters": {"model": "n"}}, "model"),
    ({"language": "de"}, "language", "ru"),
    ({"concurrency": True}, "concurrency"),
    ({"max_unparsed": -1}, "max_unparsed"),
    ({"client": {"timeout": 0}}, "timeout"),
    ({"client": {"retries": 1}}, "retries", "max_chars"),
]
OPTIONS = [
    ("--repeats 0", "--repeats"),
    ("--base-url nowhere", "--base-url"),
    ("--retry all", "--retry"),
    ("--max-cost 1", "--max-cost", "--client"),
    ("--parameters x", "--parameters"),
    ("--sample 0", "--sample"),
]
RUBRICS = [
    (("{question} {answer}", "no column"), "template"),
    (('["question"]', '["question", "answer"]'), "optional"),
    (('["question"]', '["reference"]'), "optional", "reference"),
    (('["question"]', '"question"'), "optional", "question"),
    (("[1, 3]", "[3, 1]"), "range"),
    (("[1, 3]", "[2, 2]"), "range"),
    (("[1, 3]", "[nan, 3]"), "range"),
    (("[1, 3]", "[1, inf]"), "range"),
    (("[1, 3]", f"[1, 1{'0' * 400}]"), "range"),
    (("[1, 3]", "[true, 3]"), "range"),
    (("[1, 3]", '"1-3"'), "range"),
    (("range = [1, 3]", ""), "range"),
    (('"mine"', '"My own"'), "name", "My own"),
    (('name = "mine"', ""), "name"),
    (("version = 1", "version = 0"), "version"),
    (('"Judge."', '" "'), "instructions"),
    (("language", "langauge"), "langauge", "language"),
    (('1 = "bad"', '0 = "bad"'), "grades", "0"),
    (('1 = "bad"', 'one = "bad"'), "grades", "one"),
    (('"bad"', "7"), "grades", "7"),
    (("version", 'kind = "essay"\nversion'), "kind", "essay"),
    (("version", 'one_of = ["answer"]\nversion'), "one_of", "answer"),
    (("version", 'kind = "decision"\nversion'), "range"),
    (("version", 'pair = ["a", "b"]\nversion'), "pair"),
    (("range = [1, 3]", 'kind = "pairwise"'), "pair"),
    (("range = [1, 3]", 'kind = "pairwise"\npair = ["a", "a"]'), "pair"),
    (("range = [1, 3]", 'kind = "pairwise"\npair = ["a", "b"]'), "template"),
    (("version =", "version"), "mine.toml"),
]
RETURNED = [5, ["a"], {"text": "a"}, {"answer": 5}, {"answer": "a", "contexts": ["b"]}]
MADE = [
    ("vectors of two lengths", lambda texts: [[1.0]] * (len(texts) == 1) or [[1.0], [1.0, 2.0]]),
    ("vectors of texts", lambda texts: [["a"]] * len(texts)),
    ("no vectors", lambda texts: None),
    ("complex vectors", lambda texts: np.ones((len(texts), 2)) * 1j),
    ("vectors of no numbers", lambda texts: np.ones((len(texts), 0))),
    ("one row of numbers", lambda texts: np.ones(3)),
    ("too few vectors", lambda texts: np.ones((1, 2))),
]
EMBEDDERS = [
    (3, OptionError, "embedder"),
    (["wordllama"], OptionError, "embedder"),
    ("wordlama", UnknownNameError, "wordllama"),
    ("WordLlama", UnknownNameError, "wordllama"),
    ("model2vec", OptionError, "model2vec:PATH"),
    ("sentence-transformers:", OptionError, "sentence-transformers:PATH"),
    ("minilm:large", OptionError, "minilm"),
    ("wordllama:", OptionError, "wordllama"),
    ("model2vec:absent", InputError, "absent"),
]

ERRORS = [
    # bots
    ("no question", lambda: fm.answer({"a": ["x"]}, str.upper), ColumnError, "question", "a"),
    ("kept answer", lambda: fm.answer({**ROWS, "answer": ["y"]}, str.upper, keep="answer"),
     ColumnError, "answer", "keep"),
    ("no bot", lambda: fm.answer(ROWS, "faq"), OptionError, "bot"),
    ("template without a question", lambda: fm.models.FullContextBot("k", "m", template="{knowledge}?"),
     OptionError, "template"),
    ("template without a column", lambda: answered(template="{{question}} none"), OptionError, "template"),
    ("unknown placeholder", lambda: answered(template="{question} {contxts}"), ColumnError, "{contxts}", "contexts"),
    ("placeholder of two words", lambda: answered(template="{question} {first name}"), ColumnError, "{first name}"),
    ("long prompt", lambda: answered(table={"question": ["a", "b" * 99]}, client={"max_chars": 50}),
     InputError, "row 2", "max_chars"),
    ("long context", lambda: answered(table={"question": ["b" * 999]}, context_window=100),
     InputError, "row 1", "context_window"),
    ("unknown parameter", lambda: fm.answer(ROWS, lambda question, topic: ""), ColumnError, "topic", "id"),
    ("reads", lambda: bot(str.upper, reads=[5]), OptionError, "reads"),
    *((f"returned {one}", lambda one=one: bot(lambda question: one), InputError, "0?") for one in RETURNED),
    ("contexts of text", lambda: bot(lambda question: {"answer": "a", "contexts": "b"}, returns=["contexts"]),
     InputError, "contexts"),
    ("function without an end", lambda: bot(lambda question: 1 / 0, 50), ServiceError, "50", "ZeroDivisionError"),
    ("function that fails for forty", lambda: bot(lambda question: 1 / 0, 40), ServiceError, "40"),
    ("kept repeat", lambda: fm.answer({**ROWS, "repeat": [1]}, str.upper, repeats=2, keep="repeat"),
     ColumnError, "repeat"),
    *((f"repeats {one}", lambda one=one: fm.answer(ROWS, str.upper, repeats=one),
     OptionError, "repeats") for one in (0, -1, 1.5)),
    ("faq without a faq", lambda: asked("--bot", "faq"), 2, "--bot", "--faq"),
    ("bot without knowledge", lambda: asked("--bot", "full-context", "--model", "m"), 2, "--knowledge"),
    ("unknown bot", lambda: asked("--bot", "none"), 2, "--bot", "given-contexts"),
    ("file of a bot", lambda: asked("--bot", "mine.py"), 2, "--bot", "FILE.py:FUNCTION"),
    ("knowledge of bytes", lambda: asked("--bot", "full-context", "--model", "m", "--knowledge", "k.bin"),
     3, "k.bin", "byte 2"),
    # judges
    *((f"settings {at}", lambda one=one: settings(**one),
     OptionError, *names) for at, (one, *names) in enumerate(SETTINGS)),
    *((f"judge run {one}", lambda one=one: judging(*one.split()), 2, *names) for one, *names in OPTIONS),
    ("judge run without output", lambda: told("judge", "run", "t.jsonl", "--model", "m", "--rubrics", "safety"),
     2, "--output"),
    ("settings twice", lambda: fm.judge(ANSWERED, settings(), model="other"), OptionError, "model"),
    ("kept column of an axis",
     lambda: judged(table={**ANSWERED, "judge_safety_a": ["b"]}, keep="judge_safety_a"), ColumnError, "judge_safety_a"),
    ("kept unknown column", lambda: judged(keep=["nothing"]), UnknownColumnError, "nothing"),
    ("numbers as answers", lambda: judged(table={**ANSWERED, "answer": [1]}), ColumnError, "answer"),
    ("no contexts", lambda: judged("faithfulness", {"question": ["q"], "answer": ["a"]}),
     ColumnError, "contexts", "reference"),
    ("column of a rubric", lambda: rubric("{question} {answer}", "{question} {price}"), ColumnError, "mine", "price"),
    ("prices of another model", lambda: priced("[n]\ninput = 1\noutput = 1"), 2, "m"),
    ("price without an output", lambda: priced("[m]\ninput = 1"), 3, "m"),
    ("price below zero", lambda: priced("[m]\ninput = -1\noutput = 1"), 3, "m"),
    ("price as a number", lambda: priced("m = 3"), 3, "m"),
    ("no table of prices", lambda: priced("[m"), 3, "p.toml"),
    # pairs
    ("ids twice", lambda: pairs([{"id": "3", "answer": "a"}] * 2), InputError, "new", "3"),
    ("other questions", lambda: pairs([{"id": 1, "question": "other", "answer": "a"}]), InputError, "1"),
    ("second table without ids", lambda: pairs([{"question": "q1", "answer": "a"}]), ColumnError, "new", "id"),
    ("second table without answers", lambda: pairs([{"id": 1, "question": "q1"}]), ColumnError, "new", "answer"),
    ("numbers as ids", lambda: pairs([{"id": 1.5, "answer": "a"}]), ColumnError, "id"),
    ("rubric of one answer", lambda: pairs(OLD, ["preference", "safety"]), OptionError, "safety"),
    ("one table", lambda: judged("preference", pa.Table.from_pylist(OLD), pairwise=True), OptionError, "1"),
    ("other answers twice",
     lambda: pairs(OLD, old=[{**OLD[0], "other_answer": "x"}]), ColumnError, "old", "other_answer", "new"),
    # rubrics
    *((f"rubric {at}", lambda one=one: rubric(*one),
     FileFormatError, *names) for at, (one, *names) in enumerate(RUBRICS)),
    *((f"rubric {name}", lambda name=name: in_bytes(name),
     FileFormatError, name) for name in ("bytes.toml", "none.toml")),
    ("Faithfulness", lambda: judged("Faithfulness"), UnknownNameError, "Faithfulness", "faithfulness"),
    ("faithfullness", lambda: judged("faithfullness"), UnknownNameError, "faithfulness"),
    ("zzz", lambda: judged("zzz"), UnknownNameError, ".toml"),
    ("column of an unknown rubric", lambda: fm.score({"answer": ["a"]}, "judge_complet"), ColumnError, "judge_complet"),
    # clients and stores
    *((f"client {name!r}", lambda name=name: fm.models.model_client(name),
     OptionError) for name in ("https", "Mine", "my client", "")),
    ("client returned dict", lambda: client({"choices": []}), PluginError, "mine", "dict"),
    ("unknown client", lambda: judged(base_url="other:"), OptionError, "other", "--plugin"),
    ("store of bytes", lambda: store(lambda path: path.write_bytes(b"no database at all" * 100)), 4, "calls.sqlite"),
    ("store of others", lambda: store(of_others), 4, "calls.sqlite"),
    # embedders
    *((f"embedder {one}", lambda one=one: embedder(one), error, *names) for one, error, *names in EMBEDDERS),
    *((name, lambda one=one: embedder(one).embed(["a", "b"]), InputError) for name, one in MADE),
    *(
        (f"embedder that {name} needs", lambda name=name: scored(name, "wordlama"), UnknownNameError, "wordllama")
        for name in ("token_f1", None, "grounding_overlap")
    ),
    ("absent folder that no metric needs", lambda: scored("token_f1", "model2vec:absent"), InputError, "absent"),
    ("option of an embedder",
     lambda: told("score", "t.jsonl", "-m", "answer_words", "--embedder", "wordlama"), 2, "wordllama"),
    ("cache without revision", lambda: embedder(letters, cache="cache"), InputError, "revision"),
    ("numbers to embed", lambda: embedder(letters).embed([1, 2]), ColumnError, "int64"),
    ("function of no file", lambda: plugin("other"), OptionError, "other"),
    ("no table", lambda: embedded(5), ColumnError, "int"),
    ("kept embedding", lambda: embedded({"answer": ["a"], "answer_embedding": [[1.0]]}, keep="answer_embedding"),
     ColumnError, "answer_embedding", "keep"),
    ("nothing to embed", lambda: embedded({"a": ["b"]}), ColumnError, "question", "of"),
    ("unknown column to embed", lambda: fm.embed({"text": ["a"]}, fm.Embedder(letters), "txt"),
     UnknownColumnError, "txt", "text"),
    ("lists of answers", lambda: embedded(pa.table({"answer": [["a"]]})), ColumnError, "answer"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
