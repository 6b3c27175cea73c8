"""Texts that are none: lone surrogates, and missing values as pandas has them."""

import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.arrays import text_of_strings, well_formed
from fastmetrics.base.errors import InputError
from tests.support.program import jsonl, program

HIGH, LOW = "\ud83d", "\ude00"
TEXTS = ["a " + HIGH, LOW + " b", HIGH + LOW, LOW + HIGH, "\ufeff" + HIGH + HIGH, "é" + LOW + "x", "plain"]
MENDED = ["a \ufffd", "\ufffd b", "😀", "\ufffd\ufffd", "\ufeff\ufffd\ufffd", "é\ufffdx", "plain"]
PAIRS = list(itertools.product(range(len(TEXTS)), repeat=2))
METRICS = ["exact_match", "token_f1", "rougeL_f1", "chrf", "squad_f1", "bleu"]


def columns(texts):
    return {
        "id": [f"{texts[a]}{n}" for n, (a, _) in enumerate(PAIRS)],
        "answer": [texts[a] for a, _ in PAIRS],
        "reference": [[texts[b]] for _, b in PAIRS],
    }


def rows(texts):
    found = columns(texts)
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def scores(table):
    return {name: np.asarray(table[name], np.float64).view(np.int64).tolist() for name in METRICS}


@pytest.mark.parametrize(("given", "mended"), list(zip(TEXTS, MENDED, strict=True)))
def test_lone_surrogates_are_replaced_and_pairs_decoded(given, mended):
    assert well_formed(given) == mended
    assert text_of_strings([given]).strings() == [mended]
    assert text.tokens([given], "characters") == text.tokens([mended], "characters")


@pytest.mark.parametrize(
    "table",
    [columns(TEXTS), rows(TEXTS), pd.DataFrame(columns(TEXTS), dtype=object)],
    ids=["columns", "rows", "pandas"],
)
def test_scores_of_every_container_have_the_same_bits(table):
    expected = fm.score(pa.table(columns(MENDED)), METRICS)
    found = fm.score(table, METRICS)
    assert scores(found) == scores(expected)
    assert found["id"].to_pylist() == expected["id"].to_pylist()


@pytest.mark.parametrize("out", ["s.parquet", "s.jsonl", "s.csv", "s.arrow"])
def test_json_lines_with_surrogates_are_scored_and_repaired(tmp_path, out):
    path = jsonl(tmp_path / "rows.jsonl", *rows(TEXTS))
    assert b"\\ud83d" in path.read_bytes()
    done = program("score", path, "-o", tmp_path / out, "-m", ",".join(METRICS), "--keep", "answer,reference")
    assert done.code == 0, done.err
    pq.write_table(pa.table(columns(MENDED)), tmp_path / "mended.parquet")
    keep = ["answer", "reference"]
    fm.score(tmp_path / "mended.parquet", output=tmp_path / f"m{out}", metrics=METRICS, keep=keep)
    assert (tmp_path / f"m{out}").read_bytes() == (tmp_path / out).read_bytes() or out in ("s.parquet", "s.arrow")
    if out == "s.parquet":
        found = pq.read_table(tmp_path / out)
        assert scores(found) == scores(fm.score(columns(TEXTS), METRICS))
        assert [found[name].to_pylist() for name in ("id", *keep)] == list(columns(MENDED).values())


def test_surrogates_in_kept_objects_and_mixed_ids_are_replaced(tmp_path):
    jsonl(tmp_path / "rows.jsonl", {"id": 1, "answer": "a", "reference": "a", "x": 1}, {"id": HIGH, "x": {HIGH: LOW}})
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "s.parquet", metrics=["exact_match"], keep=["x"])
    found = pq.read_table(tmp_path / "s.parquet")
    assert found["id"].to_pylist() == ["1", "\ufffd"]
    assert found["x"].to_pylist() == ["1", '{"\ufffd": "\ufffd"}']


def test_surrogates_in_ids_of_runs_and_judgements_are_replaced(tmp_path):
    run, qrels = {"q" + HIGH: {"d" + LOW: 0.5, "e": 0.7}}, {"q\ufffd": {"d\ufffd": 1}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    records = [{"qid": query, "docid": doc, "score": one} for query, docs in run.items() for doc, one in docs.items()]
    (tmp_path / "list.json").write_text(json.dumps(records))
    for source in (run, tmp_path / "run.json", tmp_path / "list.json", jsonl(tmp_path / "run.jsonl", *records)):
        assert fm.rank(source, qrels, "mrr").mean == {"mrr": 0.5}


def test_surrogates_in_options_are_replaced():
    assert fm.politeness([HIGH], markers=[LOW]).tolist() == [0.5]


def test_surrogate_bytes_are_invalid_utf8_in_memory_and_files():
    raw = pa.array(["a", "\ufffd"])
    data = pa.py_buffer(raw.buffers()[2].to_pybytes().replace("\ufffd".encode(), HIGH.encode("utf-8", "surrogatepass")))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, raw.buffers()[1], data])
    with pytest.raises(InputError, match="column 'answer', row 1: expected UTF-8 text"):
        fm.score(pa.table({"answer": broken, "reference": ["a", "b"]}), ["exact_match"])


NAN = float("nan")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"answer": [NAN, NAN], "reference": ["a", "b"]}),
        pd.DataFrame({"answer": [None, NAN], "reference": ["a", "b"]}),
        {"answer": pd.Series([NAN, NAN]), "reference": ["a", "b"]},
    ],
    ids=["floats", "objects", "series"],
)
def test_columns_without_any_text_are_missing(table):
    assert fm.score(table, "token_f1")["token_f1"].to_pylist() == [None, None]
    assert np.isnan(fm.token_f1(table["answer"], table["reference"])).all()


def test_frames_without_rows_have_no_scores():
    assert fm.score(pd.DataFrame({"answer": [], "reference": []}), "token_f1")["token_f1"].to_pylist() == []


def test_nan_among_the_texts_of_records_and_lists_is_missing():
    frame = pd.DataFrame({"answer": ["a", NAN], "reference": ["a", "b"], "contexts": [["a"], NAN]})
    scores = fm.score(frame.to_dict("records"), "token_f1,overlap_faithfulness")
    assert scores["token_f1"].to_pylist() == [1.0, None]
    assert scores["overlap_faithfulness"].is_null().to_pylist() == [False, True]
    assert fm.token_f1(frame["answer"].tolist(), ["a", "b"]).tolist()[0] == 1.0


def test_numbers_are_read_as_texts():
    assert fm.score({"answer": [1.5, None], "reference": ["1.5", "b"]}, "token_f1")["token_f1"].to_pylist() == [1, None]
