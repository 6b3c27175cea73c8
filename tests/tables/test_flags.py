"""Flags in words: in every kind of table, in the columns of flags and as labels; any other text is an error."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError, InputError

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
