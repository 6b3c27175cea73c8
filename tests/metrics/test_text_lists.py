"""Texts that are lists, as JSON or Python writes them: noted in any format, and parsed if their column is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import text_of_arrow
from fastmetrics.base.columns import as_text_lists, look_like_lists, text_list
from fastmetrics.base.errors import InputError, OptionError, UnknownNameError
from fastmetrics.tables import read_metadata
from tests.support.judge_server import judge_server
from tests.support.program import program, unfolded
from tests.support.strategies import texts
from tests.support.table_files import FORMATS, write

REFERENCES = [["Paris", "Paris, France"], ["Rome"], None, ["it's", 'a "quote"'], []]
ANSWERS = ["in Paris", "Rome", "Oslo", "it's", "Bonn"]
NOTE = (
    "gold: 4 texts are lists, as JSON or Python writes them, and each was read as one text; "
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


def looks(values: list[str | None]) -> list[bool]:
    """The rows that look like lists."""
    column = pa.array(values, pa.string())
    rows = look_like_lists(column, text_of_arrow(column, "c", lists=True))
    return [False] * len(values) if rows is None else rows.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("write_list", [json.dumps, repr])
@pytest.mark.parametrize("name", FORMATS)
def test_texts_that_are_lists_are_noted_and_parsed_on_request(tmp_path: Path, name: str, write_list: Any) -> None:
    path = write(rows(write_list), tmp_path / name)
    columns = {"reference": "gold"}
    scored = fm.score(path, output=tmp_path / "a.parquet", metrics=["token_f1", "token_recall"], columns=columns)
    assert scored.summary.notes == [NOTE]
    assert fm.summarize(tmp_path / "a.parquet").notes == [NOTE]
    done = program("score", path, "-o", tmp_path / "b.parquet", "-m", "token_f1", "--columns", "reference=gold")
    assert NOTE in unfolded(done.out)
    scored = fm.score(
        path, output=tmp_path / "c.parquet", metrics="token_f1", columns=columns, lists="gold", keep="gold"
    )
    assert scored.summary.notes == []
    table = pa.parquet.read_table(tmp_path / "c.parquet")
    empty = "sv" in name  # CSV of other programs has no nulls
    assert table["token_f1"].to_pylist() == expected()
    assert table["gold"].to_pylist() == [one or ("" if empty else None) for one in rows(write_list)["gold"].to_pylist()]
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
            path, output=tmp_path / f"{size}.parquet", metrics="token_f1", files=fm.FileSettings(batch_rows=size)
        )
        assert scored.summary.notes == whole
    lists = {0: 0, 1: 0, 2: 1, 5: 2}[count]
    assert [note.split(",")[0] for note in whole] == [
        f"reference: {lists} {'text is a list' if lists == 1 else 'texts are lists'}" for _ in range(lists > 0)
    ]


def test_lists_of_other_values_and_half_lists_are_texts() -> None:
    assert looks(["[1, 2]", '["a", 1]', '["a"', "[a]", "a]", '["a"] b', "['a' 'b']", "[", "]"]) == [False] * 9
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


@pytest.mark.parametrize("text", ["[sic] Paris", '["a"', "[1, 2]", "['a' 'b']", "[" * 100_000, '[{"a": 1}]'])
def test_half_lists_are_bad_rows_of_a_column_of_lists(tmp_path: Path, text: str) -> None:
    table = pa.table({"id": [1, 2], "answer": ["a", "b"], "reference": ['["a"]', text]})
    message = f"column 'reference': expected a list of texts in JSON, got {text[:40]!r}"
    with pytest.raises(InputError) as raised:
        fm.score(table, metrics="token_f1", lists="reference")
    assert str(raised.value) == message
    path = write(table, tmp_path / "t.jsonl")
    with pytest.raises(InputError) as raised:
        fm.score(path, output=tmp_path / "a.parquet", metrics="token_f1", lists="reference")
    assert str(raised.value) == f"{path}, line 2: {message}"
    skipped = fm.score(
        path,
        output=tmp_path / "a.parquet",
        metrics="token_f1",
        lists="reference",
        files=fm.FileSettings(on_error="skip"),
    )
    assert (skipped.run.rows, skipped.run.rejected) == (1, 1)


def test_only_columns_of_references_and_contexts_hold_lists(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown column 'golt'.*gold"):
        fm.score(rows(), metrics="token_f1", columns={"reference": "gold"}, lists="golt")
    with pytest.raises(OptionError, match=r"^lists='answer': only the columns reference and contexts can hold lists$"):
        fm.score(rows(), metrics="answer_words", lists="answer")
    path = write(rows(), tmp_path / "t.parquet")
    done = program("score", path, "-o", tmp_path / "a.parquet", "-m", "answer_words", "--lists", "answer")
    assert (done.code, done.err) == (
        2,
        "error: --lists answer: only the columns reference and contexts can hold lists\n",
    )


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
    path = write(table, tmp_path / "t.parquet")
    options = {"columns": {"reference": "gold"}, "lists": "gold" if parsed else ()}
    with judge_server() as judge:
        where = {"base_url": judge.url, "store": tmp_path / "calls.sqlite"}
        made = fm.judge(table, "correctness", model="m", **where, **options)
        settings = fm.JudgeSettings("correctness", "m", **where)
        judged = fm.judge(path, settings, output=tmp_path / "a.parquet", **options)
        done = program(
            "judge",
            path,
            "-o",
            tmp_path / "b.csv",
            "--model",
            "m",
            "--rubrics",
            "correctness",
            "--base-url",
            judge.url,
            "--store",
            tmp_path / "calls.sqlite",
            "--columns",
            "reference=gold",
            *(["--lists", "gold"] * parsed),
        )
        assert done.code == 0
        asked = "\n".join(judge.questions)
    for notes in (fm.summarize(made).notes, judged.summary.notes, fm.summarize(tmp_path / "b.csv").notes):
        assert (NOTE in notes) != parsed
    assert (NOTE in unfolded(done.out)) != parsed
    assert ('["Rome"]' in asked) != parsed
    assert ("[2] Paris, France" in asked) == parsed


def test_check_of_a_dataset_finds_them() -> None:
    found = fm.check_dataset({"reference": ['["a", "b"]', "a", None], "contexts": [["a"], ['["a"]'], []]})
    assert {one.check: one.rows for one in found.findings if "list" in one.check} == {
        "reference is a list": 1,
        "contexts are a list": 0,
    }
    found = fm.check_dataset({"contexts": ["['a', 'b']", None]})
    assert [(one.rows, one.examples) for one in found.findings if one.check == "contexts are a list"] == [
        (1, [((0,), "['a', 'b']")])
    ]


def test_pandas_frames_written_to_csv_keep_their_lists(tmp_path: Path) -> None:
    frame = pd.DataFrame({"answer": ANSWERS, "reference": [one or [] for one in REFERENCES]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    scored = fm.score(tmp_path / "t.csv", output=tmp_path / "a.parquet", metrics="token_f1", lists="reference")
    assert scored.summary.metrics["token_f1"].n == 3
