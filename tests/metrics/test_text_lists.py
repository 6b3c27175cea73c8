"""What looks like structure in a column of text is noted in any format, and read if an option says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import text_of_arrow
from fastmetrics.base.text_structure import as_text_lists, printed_list, text_list
from fastmetrics.base.text_structure import looks as structures
from fastmetrics.tables.outputs import read_metadata
from tests.support.judge_server import judge_server
from tests.support.program import program, unfolded
from tests.support.strategies import texts
from tests.support.table_files import FORMATS, write

REFERENCES = [["Paris", "Paris, France"], ["Rome"], None, ["it's", 'a "quote"'], []]
ANSWERS = ["in Paris", "Rome", "Oslo", "it's", "Bonn"]
NOTE = (
    "gold: 4 texts are lists, as JSON, Python or NumPy writes them, and each was read as one text; "
    "lists='gold' (--lists gold) reads the lists"
)


def rows(write_list: Any = json.dumps) -> pa.Table:
    """Rows whose references are lists that somebody wrote as text."""
    gold = [None if one is None else write_list(one) for one in REFERENCES]
    return pa.table({"id": range(5), "answer": ANSWERS, "gold": pa.array(gold, pa.string())})


def expected() -> list[float | None]:
    """The scores of the references as lists."""
    table = {"answer": ANSWERS, "reference": pa.array(REFERENCES, pa.list_(pa.string()))}
    return fm.score(table, metrics="token_f1")["token_f1"].to_pylist()


def apart(notes: Sequence[str]) -> list[str]:
    """The notes, apart from that on blank cells of CSV."""
    return [note for note in notes if not note.startswith("blank cells")]


def looks(values: list[str | None]) -> list[bool]:
    """The rows that look like lists."""
    column = pa.array(values, pa.string())
    rows = structures(column, text_of_arrow(column, "c", lists=True), "texts").get("lists")
    return [False] * len(values) if rows is None else rows.tolist()


@pytest.mark.parametrize(("name", "write_list"), [*((name, json.dumps) for name in FORMATS), ("t.csv", repr)])
def test_texts_that_are_lists_are_noted_and_parsed_on_request(tmp_path: Path, name: str, write_list: Any) -> None:
    path = write(rows(write_list), tmp_path / name)
    columns = {"reference": "gold"}
    scored = fm.score(path, output=tmp_path / "a.parquet", metrics=["token_f1", "token_recall"], columns=columns)
    assert apart(scored.summary.notes) == apart(fm.summarize(tmp_path / "a.parquet").notes) == [NOTE]
    done = program("score", path, "-o", tmp_path / "b.parquet", "-m", "token_f1", "--columns", "reference=gold")
    assert NOTE in unfolded(done.out)
    scored = fm.score(
        path, output=tmp_path / "c.parquet", metrics="token_f1", columns=columns, lists="gold", keep="gold"
    )
    assert apart(scored.summary.notes) == []
    table = pa.parquet.read_table(tmp_path / "c.parquet")
    assert table["token_f1"].to_pylist() == expected()
    assert table["gold"].to_pylist() == rows(write_list)["gold"].to_pylist()
    arguments = ("score", path, "-o", tmp_path / "d.parquet", "--columns", "reference=gold", "-m", "token_f1")
    done = program(*arguments, "--lists", "gold")
    assert "texts are lists" not in done.out
    assert fm.summarize(tmp_path / "d.parquet")["token_f1"] == scored.summary["token_f1"]


@pytest.mark.parametrize(
    "kind", ["arrow", "chunked", "dictionary", "large", "view", "pandas", "polars", "dict", "dicts"]
)
def test_tables_in_memory_too(kind: str) -> None:
    table = rows()
    of_kind = {
        "arrow": lambda: table,
        "chunked": lambda: pa.concat_tables([table.slice(0, 2), table.slice(2)]),
        "dictionary": lambda: table.set_column(2, "gold", table["gold"].combine_chunks().dictionary_encode()),
        "large": lambda: table.set_column(2, "gold", table["gold"].cast(pa.large_string())),
        "view": lambda: table.set_column(2, "gold", table["gold"].cast(pa.string_view())),
        "pandas": table.to_pandas,
        "polars": lambda: pl.from_arrow(table),
        "dict": table.to_pydict,
        "dicts": table.to_pylist,
    }
    columns = {"reference": "gold"}
    made = of_kind[kind]()
    assert fm.summarize(fm.score(made, metrics="token_f1", columns=columns)).notes == [NOTE]
    scored = fm.score(made, metrics="token_f1", columns=columns, lists=["gold"], threads=2)
    assert scored["token_f1"].to_pylist() == expected()
    assert fm.summarize(scored).notes == []


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_counts_do_not_depend_on_batches(tmp_path: Path, count: int) -> None:
    references = ["plain", '["a", "b"]', "[1, 2]", "[]", "[sic] a"][:count]
    table = pa.table({"answer": pa.array(["a"] * count, pa.string()), "reference": pa.array(references, pa.string())})
    path = write(table, tmp_path / "t.parquet")
    whole = fm.summarize(fm.score(table, metrics="token_f1")).notes
    for size in (1, 2, 100):
        scored = fm.score(
            path, output=tmp_path / f"{size}.parquet", metrics="token_f1", files=fm.tables.FileSettings(batch_rows=size)
        )
        assert scored.summary.notes == whole
    lists = {0: 0, 1: 0, 2: 1, 5: 2}[count]
    assert [note.split(",")[0] for note in whole] == [
        f"reference: {lists} {'text is a list' if lists == 1 else 'texts are lists'}" for _ in range(lists > 0)
    ]


def test_lists_of_other_values_and_half_lists_are_texts() -> None:
    assert looks(["[1, 2]", '["a", 1]', '["a"', "[a]", "a]", '["a"] b', "['a''b']", "[", "]"]) == [False] * 9
    assert looks(["['a' 'b']", "['a'\n 'b']", "['a', None]", "['a' nan]"]) == [True] * 4
    assert looks(['["a"]', "[]", "[ ]", '[ "a" , "b" ]\n', "['a', \"b\"]", '["\\""]']) == [True] * 6
    assert looks([None, "", "a"]) == [False] * 3


@given(st.lists(st.lists(texts, max_size=4), max_size=4), st.sampled_from([json.dumps, repr]))
def test_every_list_of_texts_is_noticed_and_parsed(lists: list[list[str]], write_list: Any) -> None:
    written = [write_list(one) for one in lists]
    assert looks(written) == [True] * len(lists)
    assert [text_list(one) for one in written] == lists
    assert as_text_lists(pa.array(written, pa.string()), "c").to_pylist() == lists


@given(texts)
def test_any_other_text_is_a_list_of_one(text: str) -> None:
    if not text.strip().startswith("["):
        assert text_list(text) == ([text] if text.strip() else None)


@pytest.mark.parametrize("text", ["[sic] Paris", "[" * 100_000])
def test_half_lists_are_bad_rows_of_a_column_of_lists(tmp_path: Path, text: str) -> None:
    path = write(pa.table({"id": [1, 2], "answer": ["a", "b"], "reference": ['["a"]', text]}), tmp_path / "t.jsonl")
    skip = fm.tables.FileSettings(on_error="skip")
    skipped = fm.score(path, output=tmp_path / "a.parquet", metrics="token_f1", lists="reference", files=skip)
    assert (skipped.rows, skipped.rejected) == (1, 1)


def test_settings_of_lists_are_compared(tmp_path: Path) -> None:
    path = write(rows().rename_columns(["id", "answer", "reference"]), tmp_path / "t.parquet")
    for name, lists in (("a.parquet", ()), ("b.parquet", "reference")):
        fm.score(path, output=tmp_path / name, metrics="token_f1", lists=lists, name=name)
    assert read_metadata(tmp_path / "b.parquet")["lists"] == ["reference"]
    assert "lists" not in read_metadata(tmp_path / "a.parquet")


def test_profile_has_the_option_too(tmp_path: Path) -> None:
    path = write(rows(), tmp_path / "t.parquet")
    done = program("profile", path, "-m", "token_f1", "--columns", "reference=gold", "--lists", "gold")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("parsed", [True, False])
def test_judge_notes_and_parses_lists_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: bool) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    table = rows().append_column("question", pa.array([f"q{n}" for n in range(5)]))
    options = {"columns": {"reference": "gold"}, "lists": "gold" if parsed else ()}
    with judge_server() as judge:
        where = {"base_url": judge.url, "store": tmp_path / "calls.sqlite"}
        made = fm.judge(table, "correctness", model="m", **where, **options)
        asked = "\n".join(judge.questions)
    assert (NOTE in fm.summarize(made).notes) != parsed
    assert ('["Rome"]' in asked) != parsed
    assert ("[2] Paris, France" in asked) == parsed


def test_check_of_a_dataset_finds_them() -> None:
    found = fm.logs.check_dataset({"reference": ['["a", "b"]', "a", None], "contexts": [["a"], ['["a"]'], []]})
    assert {one.check: one.rows for one in found.findings if "list" in one.check} == {
        "reference is a list": 1,
        "contexts are a list": 0,
    }
    found = fm.logs.check_dataset({"contexts": ["['a', 'b']", None]})
    assert [(one.rows, one.examples) for one in found.findings if one.check == "contexts are a list"] == [
        (1, [((0,), "['a', 'b']")])
    ]


def test_pandas_frames_written_to_csv_keep_their_lists(tmp_path: Path) -> None:
    frame = pd.DataFrame({"answer": ANSWERS, "reference": [one or [] for one in REFERENCES]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    scored = fm.score(tmp_path / "t.csv", output=tmp_path / "a.parquet", metrics="token_f1", lists="reference")
    assert scored.summary.metrics["token_f1"].n == 3


CHAT = json.dumps([{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": "Rome"}])


def told(table: Any, **options: Any) -> tuple[list[float | None], list[str]]:
    """The scores of exact match, and the notes."""
    scores = fm.score(table, "exact_match", **options)
    return scores["exact_match"].to_pylist(), list(fm.summarize(scores).notes)


def test_lists_of_numpy_after_pandas_wrote_csv(tmp_path: Path) -> None:
    references = [np.array(["Paris", "Paris, France"], object), np.array(["it's", 'a "b"'], object), np.array(["Oslo"])]
    ids = [np.array(["d1", "d2"], object), np.array(["d3"], object), np.array(["d4", "d5"], object)]
    frame = pd.DataFrame({"answer": ["Paris, France", 'a "b"', "Rome"], "reference": references, "retrieved_ids": ids})
    frame["relevant_ids"] = [np.array(["d2"], object)] * 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv")):
        scores, notes = told(table)
        assert (scores, [note.partition(";")[2] for note in notes]) == (
            [0, 0, 0],
            [" lists='reference' (--lists reference) reads the lists"],
        )
        assert told(table, lists="reference") == ([1, 1, 0], [])
        lists = "reference,retrieved_ids,relevant_ids"
        assert fm.score(table, "retrieval_precision", lists=lists)["retrieval_precision"].to_pylist() == [0.5, 0, 0]
    # ids of CSV are lists, whoever printed them; in memory an option says so
    assert fm.score(tmp_path / "t.csv", "reciprocal_rank")["reciprocal_rank"].to_pylist() == [0.5, 0, 0]
    numbers = {"retrieved_ids": ["[1 2]", "[3]"], "relevant_ids": [[2], [4]]}
    assert fm.score(numbers, "reciprocal_rank", lists="retrieved_ids")["reciprocal_rank"].to_pylist() == [0.5, 0]


@given(st.lists(texts.filter(lambda text: text.isprintable()), max_size=6))
def test_every_list_that_numpy_prints_is_read(items: list[str]) -> None:
    with np.printoptions(threshold=1000):
        assert printed_list(str(np.array(items, object))) == items


def test_a_list_that_numpy_cut_short_is_none() -> None:
    assert printed_list(str(np.array([f"d{n}" for n in range(2000)], object))) is None
    assert printed_list("[0.5 1. ]") == [0.5, 1.0]
    assert printed_list("['a' nan]") == ["a", None]
    assert printed_list("[a b]") is None


@pytest.mark.parametrize(
    ("column", "value", "start", "option", "read"),
    [
        ("answer", '{"answer":"Rome"}', "answer: 2 texts are objects in JSON", {"answer": "answer.answer"}, 1),
        (
            "answer",
            CHAT,
            "answer: 2 texts are histories of messages in JSON",
            {"answer": "answer[turn=last].answer"},
            1,
        ),
        ("reference", '{"text": "Rome"}', "reference: 2 texts are objects in JSON", {"reference": "reference.text"}, 1),
        (
            "reference",
            '[{"text": "Oslo"}, {"text": "Rome"}]',
            "reference: 2 texts are lists of objects in JSON",
            {"reference": "reference[].text"},
            1,
        ),
        ("reference", "Oslo | Rome", "reference: 2 texts have parts between pipes", "reference=|", 1),
        ("reference", "Oslo|Rome", "reference: 2 texts have parts between pipes", "reference=|", 1),
        ("reference", "Oslo||Rome", "reference: 2 texts have parts between pipes", "reference=|", 1),
        ("answer", '["Rome"]', "answer: 2 texts are lists", "answer", 1),
        ("answer", "['Rome']", "answer: 2 texts are lists", "answer", 1),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "memory"])
def test_structure_is_named_with_the_option_that_reads_it(
    tmp_path: Path, name: str, column: str, value: str, start: str, option: Any, read: int
) -> None:
    table: Any = pa.table({"answer": ["Rome"] * 2, "reference": ["Rome"] * 2} | {column: [value] * 2})
    if name != "memory":
        table = write(table, tmp_path / name)
    scores, (note,) = told(table)
    assert scores == [0, 0]
    assert note.startswith(f"{start}")
    assert "and each was read as one text; " in note
    options = {"columns": option} if isinstance(option, dict) else {"lists": option}
    (given,) = options.values()
    words = str(given) if isinstance(given, dict) else f"{given!r}"
    assert words.replace("answer.answer'", "answer.FIELD'").replace(".text'", ".FIELD'") in note
    assert told(table, **options) == ([read] * 2, [])


@pytest.mark.parametrize(
    "value", ["| a | b |\n|---|---|\n| 1 | 2 |", "a|b", "x || ", "{braces} of a text", "[1] and [2]"]
)
def test_texts_without_structure_have_no_note(value: str) -> None:
    assert told({"answer": [value] * 2, "reference": [value] * 2}) == ([1, 1], [])


@pytest.mark.parametrize(
    ("answer", "reference", "scores", "notes"),
    [
        ([42, 7], ["42", "8"], [1, 0], ["answer: 2 numbers or flags were read as text"]),
        ([42.0, None], ["42", "8"], [1, None], ["answer: 1 number or flag was read as text"]),
        ([0.5, 1e20], ["0.5", "1e+20"], [1, 1], ["answer: 2 numbers or flags were read as text"]),
        (["true", "no"], [True, False], [1, 0], ["reference: 2 numbers or flags were read as text"]),
        (["2", "4"], [[1, 2], [3]], [1, 0], ["reference: 2 numbers or flags were read as text"]),
        ([["Rome"], ["Oslo"]], ["Rome", "Rome"], [1, 0], ["answer: 2 lists of one were read as text"]),
        ([["Rome"], []], ["Rome", "Rome"], [1, None], ["answer: 1 list of one was read as text"]),
    ],
)
@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet", "memory"])
def test_numbers_flags_and_lists_of_one_are_text_with_a_note(
    tmp_path: Path, name: str, answer: Any, reference: Any, scores: list[float | None], notes: list[str]
) -> None:
    table: Any = pa.table({"answer": answer, "reference": reference})
    if name != "memory":
        table = write(table, tmp_path / name)
    assert told(table) == (scores, notes)


def test_several_texts_for_one_answer_are_a_bad_row(tmp_path: Path) -> None:
    table = pa.table({"answer": [["a"], ["a", "b"]], "reference": ["a", "a"]})
    path = write(table, tmp_path / "t.parquet")
    skipped = fm.score(
        path, "exact_match", output=tmp_path / "a.parquet", files=fm.tables.FileSettings(on_error="skip")
    )
    assert (skipped.rows, skipped.rejected) == (1, 1)


def test_numbers_among_texts_of_json_lines(tmp_path: Path) -> None:
    lines = ['{"answer": 42, "reference": "42"}', '{"answer": "Rome", "reference": ["Rome", 7]}']
    lines += [
        '{"answer": 7.0, "reference": 7}',
        '{"answer": ["Oslo"], "reference": true}',
        '{"answer": null, "reference": 1}',
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert told(tmp_path / "t.jsonl")[0] == [1, 1, 1, 0, None]
