"""Odd inputs that the program scores, and names that would write on a terminal or into logs of CI."""

import json

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import jsonl, program

GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
NUL = '{"id": 3, "answer": "a\\u0000 b", "reference": "a\\u0000 b c"}'
METRICS = ("-m", "token_f1,exact_match")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def scored(name, *options):
    done = program("score", name, "-o", "o.parquet", *options)
    assert (done.code, done.err) == (0, "")
    return pq.read_table("o.parquet").to_pydict()


@pytest.mark.parametrize("line", ['{"id": 3, "answer"', b'{"id": 3, "answer": "\xff"}', {"answer": {"a": 7}}])
def test_bad_lines_are_set_aside_and_counted(tmp_path, line):
    jsonl(tmp_path / "t.jsonl", GOOD, {**GOOD, "id": 2}, line, {**GOOD, "id": 4}, {"id": 5, "reference": {"a": 8}})
    done = program("score", "t.jsonl", "-o", "o.parquet", "--on-error", "skip", *METRICS)
    assert (done.code, pq.read_table("o.parquet")["id"].to_pylist()) == (0, [1, 2, 4])
    rejects = [json.loads(text) for text in (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in rejects] == [("t.jsonl", 3), ("t.jsonl", 5)]
    assert done.out.splitlines()[-1] == f"2 rows rejected: {tmp_path}/o.parquet.rejects.jsonl"
    assert [line.split()[-2:] for line in done.out.splitlines()[:3]] == [["n", "error"], *[["3", "2"]] * 2]
    assert done.out.startswith(program("summarize", "o.parquet").out.rstrip("\n"))


def test_nul_bytes_are_characters_like_others(tmp_path):
    jsonl(tmp_path / "t.jsonl", NUL)
    assert scored("t.jsonl", *METRICS, "-m", "answer_length") == {
        "id": [3],
        "token_f1": [0.8],
        "exact_match": [0.0],
        "answer_length": [4.0],
    }


def test_long_cells_and_many_tokens_in_a_row(tmp_path, full):
    n = 100_000 if full else 10_000
    long, many = "x" * 100 * n, " ".join(f"w{k % (n * 7 // 10)}" for k in range(n))
    rows = [{"answer": a, "reference": b} for a, b in ((long, long), (many, many + " end"), (long, "y"), ("b", "b"))]
    jsonl(tmp_path / "t.jsonl", *rows)
    found = scored("t.jsonl", "-m", "token_f1,exact_match,answer_words,squad_f1")
    assert found["exact_match"] == [1.0, 0.0, 0.0, 1.0]
    assert found["answer_words"] == [1.0, n, 1.0, 1.0]
    assert found["token_f1"] == found["squad_f1"] == [1.0, pytest.approx(2 * n / (2 * n + 1), rel=1e-15), 0.0, 1.0]


@pytest.mark.parametrize(
    ("ids", "kept"), [([7, 7, 7], [7, 7, 7]), ([1, "b", 3], ["1", "b", "3"]), ([None, "b", "b"], [None, "b", "b"])]
)
def test_ids_may_repeat_and_mix(tmp_path, ids, kept):
    jsonl(tmp_path / "t.jsonl", *({**GOOD, "id": one} for one in ids))
    assert scored("t.jsonl", *METRICS)["id"] == kept


EVIL = "a\x1b]0;title\x07\n::error::b\u202e\x9b31m"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs with such a name, such ids, segments and questions."""
    folder = tmp_path_factory.mktemp("names")
    for name, shift in (("old", 0.0), ("new", 0.2)):
        rows = {
            "id": [f"{n}{EVIL}" for n in range(24)],
            "question": [f"{EVIL}{n}?" for n in range(24)],
            "answer": [("in Paris" if n % 3 else EVIL) for n in range(24)],
            "reference": ["Paris" if n % 2 else f"Rome {shift}" for n in range(24)],
            "kind": [f"{n % 2}{EVIL}" for n in range(24)],
        }
        out = folder / f"{name}.parquet"
        fm.score(rows, "token_f1,answer_words", output=out, name=f"{name}{EVIL}", keep=["question", "answer", "kind"])
    return folder


GATE = ("gate", "new.parquet", "--baseline", "old.parquet", "-r", "token_f1 >= 0.9 where kind=*", "-r", "drop <= 0")


@pytest.mark.parametrize(
    "words",
    [
        ("summarize", "--intervals", "old.parquet", "--by", "kind"),
        ("compare", "old.parquet", "new.parquet", "--by", "kind"),
        ("compare", "old.parquet", "new.parquet", "--by", "kind", "--json"),
        ("compare", "old.parquet", "new.parquet", "--by", "kind", "--markdown"),
        ("compare", "old.parquet", "new.parquet", "--latex"),
        ("classification", "old.parquet", "--predicted", "kind", "--expected", "answer", "--by", "kind"),
        ("summarize", "old.parquet", "new.parquet", "--side-by-side"),
        GATE,
        (*GATE, "--json", "-"),
        (*GATE, "--markdown", "-"),
        ("summarize", "new.parquet", "--worst", "token_f1", "--baseline", "old.parquet"),
        ("runs", "list", "."),
        ("runs", "list", ".", "--json"),
        ("runs", "trend", ".", "token_f1"),
        ("compare", f"no{EVIL}.parquet", "new.parquet"),
    ],
    ids=lambda words: " ".join((words[0], *(word for word in words if word in ("--json", "--markdown", "--latex")))),
)
def test_names_are_printed_in_one_line_without_control_characters(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    done = program(*words)
    assert "::error::b" in done.out + done.err
    for text in (done.out, done.err):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
        assert not any(line.lstrip().startswith("::error") for line in text.splitlines())
