"""Cells of text files: blank ones are missing, words are flags, and numbers may be of any size."""

import io
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError, InputError
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.opening import open_table
from tests.support.judge_server import judge_server
from tests.support.program import program, unfolded

_BLANKS = ("missing", "empty")
ROWS = "id,answer,reference\n1,Lyon,Paris\n2,Milan,Rome\n,,\n,,\n,,\n"


def csv(folder, text, name="rows.csv"):
    """A file of this text."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


def cells(path, kind, column="c", **settings):
    """The values of a column, as one of this kind."""
    return list(whole_table(open_table(path, ReadSettings(**settings)), {column: kind})[column].to_pylist())


def test_blank_rows_are_missing_and_counted(tmp_path):
    summary = fm.score(csv(tmp_path, ROWS), "exact_match", output=tmp_path / "o.parquet").summary
    found = summary["exact_match"]
    assert (found.mean, found.n, found.n_missing) == (0.0, 2, 3)
    note = "blank cells are missing: 3 of 5 in answer, 3 of 5 in reference; blank='empty' (--blank empty) reads them as"
    assert summary.notes == [f"{note} empty texts"]
    assert fm.summarize(tmp_path / "o.parquet").notes == summary.notes


def test_pandas_and_polars_give_the_same_scores(tmp_path):
    scores = fm.score(csv(tmp_path, ROWS), "exact_match")["exact_match"].to_pylist()
    assert scores == [0.0, 0.0, None, None, None]
    for frame in (pd.read_csv(io.StringIO(ROWS)), pl.read_csv(io.StringIO(ROWS))):
        assert fm.score(frame, "exact_match")["exact_match"].to_pylist() == scores


def test_blank_cells_are_empty_texts_on_request(tmp_path):
    path, output = csv(tmp_path, ROWS), tmp_path / "o.parquet"
    files = fm.tables.FileSettings(blank="empty")
    assert fm.score(path, "exact_match", files=files)["exact_match"].to_pylist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    done = program("score", path, "-o", output, "-m", "exact_match", "--blank", "empty")
    assert (done.code, fm.summarize(output)["exact_match"].n) == (0, 5)
    assert "--blank" not in done.out


def test_a_gate_fails_on_blank_rows(tmp_path):
    output = tmp_path / "o.parquet"
    done = program("score", csv(tmp_path, ROWS), "-o", output, "-m", "exact_match")
    assert "blank cells are missing: 3 of 5 in answer, 3 of 5 in reference" in unfolded(done.out)
    assert program("gate", output, "--require", "exact_match >= 0.5").code == 6  # two rows with a score


def test_a_run_is_not_resumed_with_another_meaning_of_blank(tmp_path):
    path = csv(tmp_path, ROWS)
    plain, empty = (open_table(path, ReadSettings(blank=blank)) for blank in _BLANKS)
    assert plain.fingerprint != empty.fingerprint


def test_a_blank_answer_is_not_sent_to_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = csv(tmp_path, 'question,answer\nquestion 1?,Paris\nquestion 2?,\nquestion 3?,""\n')
    with judge_server() as judge:
        made = fm.judge(path, "correctness", columns={"reference": "answer"}, model="m", base_url=judge.url)
        assert len(judge.questions) == 2
    assert made["judge_correctness_status"].to_pylist() == ["ok", "missing", "ok"]


def test_a_blank_context_is_no_hallucination(tmp_path):
    text = 'answer,contexts\nParis lies in France.,\nParis lies in France.,""\nParis lies in France.,Paris\n'
    scores = fm.score(csv(tmp_path, text), "hallucination_risk")["hallucination_risk"].to_pylist()
    assert scores[0] is None
    assert scores[1] is not None


KINDS = {"text": ["a", None, ""], "texts": ["a", None, ""], "id": ["a", None, ""], "any": ["a", None, ""]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("column", ["c", "d"], ids=["in the middle", "last"])
def test_blank_and_quoted_empty_cells_differ(tmp_path, end, delimiter, column):
    text = end.join(["x,c,d", "1,a,a", "2,,", '3,"",""', ""]).replace(",", delimiter)
    path = csv(tmp_path, text, "rows.tsv" if delimiter == "\t" else "rows.csv")
    for kind, expected in KINDS.items():
        assert cells(path, kind, column) == expected
        assert cells(path, kind, column, blank="empty") == ["a", "", ""]


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("number", "1.5", 1.5),
        ("flag", "true", True),
        ("ids", '"[""a""]"', ["a"]),
        ("vector", "[1.0]", [1.0]),
        ("amounts", "2", 2.0),
    ],
)
@pytest.mark.parametrize("blank", ["missing", "empty"])
def test_no_cell_that_is_empty_is_a_number_a_flag_or_a_list(tmp_path, kind, cell, value, blank):
    path = csv(tmp_path, f'x,c\n1,{cell}\n2,\n3,""\n')
    assert cells(path, kind, blank=blank) == [value, None, None]


def test_lists_in_cells_may_be_blank(tmp_path):
    path = csv(tmp_path, 'answer,reference\nParis,"[""Paris"", ""Rome""]"\nParis,\nParis,"[]"\n')
    assert fm.score(path, "exact_match", lists="reference")["exact_match"].to_pylist() == [1.0, None, None]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_is_a_row_of_an_only_column_alone(tmp_path, end):
    """As in Polars; the last line end begins no row."""
    text = end.join(["c", "a", "", '""', "b", "", ""])
    assert cells(csv(tmp_path, text), "text") == ["a", None, "", "b", None]
    assert cells(csv(tmp_path, text), "text") == pl.read_csv(io.StringIO(text))["c"].to_list()
    two = end.join(["c,d", "a,b", "", ",", ""])
    assert cells(csv(tmp_path, two), "text") == ["a", None]
    assert cells(csv(tmp_path, two), "text") == [
        text if isinstance(text, str) else None for text in pd.read_csv(io.StringIO(two))["c"]
    ]


def test_rows_that_are_blank_alone(tmp_path):
    summary = fm.score(csv(tmp_path, "answer,reference\n,\n,\n"), "token_f1", output=tmp_path / "o.csv").summary
    assert (summary["token_f1"].n, summary["token_f1"].n_missing) == (0, 2)


def test_logs_and_profiles_take_the_option(tmp_path):
    log = csv(tmp_path, "question,answer\nWhere?,\nWho?,Ann\n")
    for blank in _BLANKS:
        assert fm.logs.check_dataset(log, reading=fm.tables.ReadSettings(blank=blank)).rows == 2
        assert program("logs", "domains", log, "--blank", blank).code == 0
        assert program("profile", log, "-m", "answer_words", "--blank", blank).code == 0


WORDS = [
    ("yes", "no"), ("Ja", "Nein"), ("да", "НЕТ"), ("oui", "non"), ("si", "no"), ("sí", "no"), ("PASS", "fail"),
    ("passed", "failed"), ("True", "FALSE"), ("1", "0"), (" y ", "n"), ("1.0", "0.0"), ("sim", "não"),
    ("evet", "hayır"),
]  # fmt: skip


def written(values, kind, folder):
    rows = [{"id": str(number), "success": value, "answer": "a"} for number, value in enumerate(values)]
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    return {"frame": pd.DataFrame(rows), "arrow": pa.Table.from_pylist(rows)}.get(kind, path)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "frame", "arrow"])
def test_words_are_flags_and_other_texts_an_error_in_any_table(kind, tmp_path):
    values = [word for pair in WORDS for word in pair]
    scores = fm.score(written([*values, None], kind, tmp_path), "task_success")["task_success"].to_pylist()
    assert scores == [*[1.0, 0.0] * len(WORDS), None]
    expected = "(also yes/no, ja/nein, oui/non, si/no, да/нет, pass/fail, 1/0), got 'maybe'; write this value as true"
    with pytest.raises(FastmetricsError, match=re.escape(expected)) as raised:
        fm.score(written(["yes", "no", "maybe"], kind, tmp_path), "task_success")
    assert "success" in str(raised.value)


@pytest.mark.parametrize(("true", "false"), WORDS)
def test_answerable_and_labels_in_words(true, false, tmp_path):
    np.testing.assert_array_equal(fm.task_success([true, false, None]), [1, 0, np.nan])
    rows = {"answer": ["Rome", "I don't know."], "answerable": [true, false]}
    np.testing.assert_array_equal(fm.score(rows, "correct_abstention")["correct_abstention"], [np.nan, 1])
    scores = {"id": list("abcdef"), "token_f1": [0.9, 0.1, 0.8, 0.2, 0.7, 0.3]}
    words, flags = [true, false] * 3, [True, False] * 3
    found = [fm.validate(scores, {"id": list("abcdef"), "label": labels}).to_dict() for labels in (words, flags)]
    assert found[0] == found[1]


def test_a_label_that_is_no_flag_is_named():
    scores = {"id": list("abc"), "token_f1": [0.9, 0.1, 0.8]}
    with pytest.raises(InputError, match=r"labels, row 1: column 'label': expected true or false .*got 'unsure'"):
        fm.validate(scores, {"id": list("abc"), "label": ["yes", "unsure", "no"]}, label="label")


BIG = "9" * 5000


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", [BIG, f'{{"n": {BIG}}}', f"[1, {BIG}]"])
def test_an_integer_of_thousands_of_digits_takes_no_column_away(value, place, suffix, tmp_path):
    rows = [f'{{"id": "{number}", "answer": "a", "reference": "a"' for number in range(3)]
    rows = [f'{row}, "latency_ms": 5, "n": {value}}}' if at == place else f"{row}}}" for at, row in enumerate(rows)]
    path = tmp_path / f"rows.{suffix}"
    path.write_text("\n".join([*rows, ""]) if suffix == "jsonl" else f"[{','.join(rows)}]")
    scores = fm.score(path, "exact_match,latency_ms", columns={"latency_ms": "latency_ms"})
    assert scores["exact_match"].to_pylist() == [1.0] * 3
    assert scores["latency_ms"].to_pylist() == [5.0 if at == place else None for at in range(3)]


@pytest.mark.parametrize("number", ["1e999999", "-1e400", BIG])
def test_a_number_beyond_floats_is_unread(number, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"latency_ms": 1}}\n{{"latency_ms": {number}}}\n')
    done = fm.score(path, "latency_ms", columns={"latency_ms": "latency_ms"}, output=tmp_path / "s.parquet")
    found = fm.summarize(tmp_path / "s.parquet")["latency_ms"]
    assert (found.n, found.n_unread, list(found.unread)) == (1, 1, ["hold a number beyond the range of floats"])
    assert any("latency_ms: 1 of 2 rows (first: row 1) hold a number beyond" in note for note in done.summary.notes)
