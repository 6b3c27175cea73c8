"""Names, ids and texts of users on a terminal and in logs of CI: no control characters, and no lines of their own."""

import pytest

import fastmetrics as fm
from tests.support.program import program

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
        (*GATE, "--json"),
        (*GATE, "--markdown"),
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
