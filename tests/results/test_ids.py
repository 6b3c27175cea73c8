"""Ids: one that is repeated in another piece is named, and sorted ids are those of plain Python."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import RANKINGS, SIZES, STANDARD
from fastmetrics.logs import log
from fastmetrics.reporting.page_rows import least
from fastmetrics.results.row_groups import SortedIds, rows_of_ids
from tests.support.program import ENVIRONMENT, jsonl, program

Rows = Sequence[Mapping[str, Any]]

SMALL = (
    (SIZES, dict.fromkeys(("log_rows", "parquet_run_rows", "read_batch_rows", "call_rows"), 2)),
    (SIZES, {"json_block_bytes": 64, "report_part_rows": 2, "report_text_rows": 2}),
    (STANDARD, {"line_block_bytes": 64, "csv_block_bytes": 64}),
    (log._SIZES, {"line_block_bytes": 64, "csv_block_bytes": 64}),
    (RANKINGS, {"trec_block_bytes": 16, "rows": 2}),
)
"""Sizes of pieces that separate a repeated id from its first row."""
IDS = ("a", "b", "c", "d", "e", "f")
REPEATED = ("a", "b", "c", "d", "b", "f")
"""The id of row 1 is repeated in row 4, in another piece of two rows."""


def batches(path: Path, rows: Rows) -> Path:
    return jsonl(path.with_suffix(".jsonl"), *rows)


def files(path: Path, rows: Rows) -> Path:
    path.mkdir()
    for number in range(0, len(rows), 2):
        jsonl(path / f"{number}.jsonl", *rows[number : number + 2])
    return path


def row_groups(path: Path, rows: Rows) -> Path:
    place = path.with_suffix(".parquet")
    pq.write_table(pa.Table.from_pylist(list(rows)), place, row_group_size=2)
    return place


PIECES = (batches, files, row_groups)


@pytest.fixture(params=PIECES, ids=lambda write: write.__name__)
def write(request, monkeypatch, tmp_path):
    """A function that writes rows under a name, in pieces of two rows."""
    for sizes, small in SMALL:
        for name, size in small.items():
            if sizes is SIZES:
                monkeypatch.setattr(sizes, name, size)
            else:  # the default sizes of reading are frozen
                monkeypatch.setitem(vars(sizes), name, size)
    return lambda name, rows: request.param(tmp_path / name, rows)


def scores(ids: Sequence[str]) -> Rows:
    return [{"id": name, "m": number / 7} for number, name in enumerate(ids)]


def texts(ids: Sequence[str]) -> Rows:
    return [{"id": name, "question": f"q {name}", "answer": f"answer {number}"} for number, name in enumerate(ids)]


def judgements(ids: Sequence[str]) -> Rows:
    return [
        {"id": name, "question": f"q {name}", "answer": "a", "judge_x": float(number % 5 + 1), "judge_x_status": "ok"}
        for number, name in enumerate(ids)
    ]


def names_b(call: Callable[..., object], *arguments: object, **options: Any) -> None:
    """A call refuses the id b that occurs twice."""
    with pytest.raises(InputError) as raised:
        call(*arguments, **options)
    assert re.search(r"\bb\b.*(2 rows|several rows|twice)", str(raised.value)), raised.value


@pytest.mark.parametrize("repeated", [0, 1])
def test_paired_runs_take_repeats_and_say_so(write, repeated):
    """Of the repeated id b the two scores, 1/7 and 4/7, are one question's mean; e has a score in one run alone."""
    ids = [IDS, IDS]
    ids[repeated] = REPEATED
    base, other = write("base", scores(ids[0])), write("other", scores(ids[1]))
    found = fm.compare([base, other])
    pair, change = found["m"], 1.5 / 7 * (1 if repeated else -1)
    assert (pair.n_paired, pair.delta) == (5, pytest.approx(change / 5))
    assert "1 to 2 answers to each of 5 questions" in str(found)
    gate = fm.gate(other, ["m.delta >= -1"], baseline=base, better={"m": "higher"}, unpaired="ignore")
    assert gate[0].value == pytest.approx(change / 5)


def test_a_table_of_segments_names_the_id(write):
    base, other = write("base", scores(IDS)), write("other", scores(IDS))
    side = write("side", [{"id": name, "lang": "de"} for name in REPEATED])
    names_b(fm.compare, [base, other], by="lang", segments=side)


@pytest.mark.parametrize("repeated", [0, 1])
def test_human_labels_name_the_id(write, repeated):
    ids = [IDS, IDS]
    ids[repeated] = REPEATED
    judged = write("judged", judgements(ids[0]))
    labels = write("labels", [{"id": name, "human": float(n % 3 + 1)} for n, name in enumerate(ids[1])])
    done = program("validate", judged, labels, "--label", "human")
    assert (done.code, "'b'" in done.err) == (3, True), done
    names_b(fm.judge_report, judged, labels)


def test_the_texts_of_rows_name_the_id(write, tmp_path):
    scored, answers = write("scored", scores(IDS)), write("texts", texts(REPEATED))
    done = program(
        "summarize", scored, "--worst", "m", "--answers", answers, "--better", "m=higher", "-o", tmp_path / "rows.csv"
    )
    assert (done.code != 0, "'b' in 2 rows" in done.err) == (True, True)
    for rows in ("sample", "all"):
        names_b(fm.report, scored, texts=answers, rows=rows, output=tmp_path / f"{rows}.html")


@pytest.mark.parametrize("rows", ["sample", "all"])
def test_judgements_and_vectors_of_a_report_name_the_id(write, rows, tmp_path):
    scored, page = write("scored", scores(IDS)), tmp_path / "page.html"
    names_b(fm.report, scored, judged=write("judged", judgements(REPEATED)), rows=rows, output=page)
    vectors = write("vectors", [{"id": name, "vector": [float(n), 1.0, 2.0]} for n, name in enumerate(REPEATED)])
    names_b(fm.report, scored, vectors=vectors, rows=rows, output=page)
    assert not page.exists()


def test_chunks_name_the_id(write):
    log = write("log", [{"id": name, "question": "q", "retrieved_ids": [name]} for name in IDS])
    chunks = write("chunks", [{"chunk_id": name, "text": "t"} for name in REPEATED])
    names_b(fm.logs.chunk_utilization, log, chunks=chunks)


def test_a_check_counts_the_rows_of_the_id(write, tmp_path):
    done = program("logs", "check", write("asked", texts(REPEATED)), "--json")
    assert "doubled id" in done.out + done.err, done


@pytest.mark.parametrize("repeated", ["run", "qrels"])
def test_runs_and_judgements_name_the_document_and_the_query(write, repeated):
    lines = [{"query_id": "q", "doc_id": name} for name in IDS]
    again = [{"query_id": "q", "doc_id": name} for name in REPEATED]
    of_run, of_qrels = (again, lines) if repeated == "run" else (lines, again)
    run = write("run", [{**row, "score": 9.0 - n} for n, row in enumerate(of_run)])
    qrels = write("qrels", [{**row, "grade": 1} for row in of_qrels])
    names_b(fm.rank, run, qrels, "mrr")


TEXTS = st.lists(st.text("ab\x00é中", max_size=3), max_size=12)


@given(TEXTS)
def test_duplicates_come_in_the_order_of_their_first_rows(texts: list[str]) -> None:
    ids = SortedIds.of(pa.array(texts, pa.large_string()))
    counts = Counter(texts)
    assert list(ids.duplicates()) == [(text, count) for text, count in counts.items() if count > 1]
    assert ids.are_distinct == (len(counts) == len(texts))
    by_bytes = sorted(counts, key=str.encode)
    assert ids.distinct().to_pylist() == by_bytes
    assert [by_bytes[number] for number in ids.numbers] == texts
    assert [ids.distinct_text(place) for place in range(len(counts))] == by_bytes


@given(st.tuples(TEXTS, TEXTS, TEXTS))
def test_each_distinct_id_has_its_row_in_every_column(columns: tuple[list[str], ...]) -> None:
    unique = [list(dict.fromkeys(texts)) for texts in columns]
    every, rows = rows_of_ids([SortedIds.of(pa.array(texts, pa.large_string())) for texts in unique])
    names = every.distinct().to_pylist()
    assert names == sorted({text for texts in unique for text in texts}, key=str.encode)
    for texts, places in zip(unique, rows, strict=True):
        assert places.tolist() == [texts.index(name) if name in texts else -1 for name in names]


def test_duplicates_are_seen_across_blocks() -> None:
    texts = [f"{number:07d}" for number in range(300_000)]
    for place in (0, 131_071, 131_072, 299_999):
        ids = SortedIds.of(pa.array([*texts, texts[place]], pa.large_string()))
        assert list(ids.duplicates()) == [(texts[place], 2)]


def test_least_rows_are_the_same_in_blocks() -> None:
    values = np.random.default_rng(0).integers(0, 40, 600_000).astype(float)
    values[::7] = np.nan
    rows = np.flatnonzero(np.isfinite(values))
    expected = rows[np.lexsort((rows, values[rows]))][:25]
    assert least(values, 25).tolist() == expected.tolist()


@pytest.mark.full
@pytest.mark.parametrize("order", [pytest.param("same", marks=pytest.mark.full), "other"])
def test_comparing_takes_a_few_numbers_per_row(tmp_path: Path, order: str) -> None:
    n = 200_000
    rng = np.random.default_rng(0)
    for name in ("old", "new"):
        rows = rng.permutation(n) if (name, order) == ("new", "other") else np.arange(n)
        table = {"id": [f"question-{row:08d}" for row in rows], "token_f1": rng.random(n), "chrf": rng.random(n)}
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    script = """
import sys, tracemalloc
import pyarrow as pa
import fastmetrics as fm
fm.compare(sys.argv[1:], bootstrap=20, resamples=20)
before = pa.default_memory_pool().max_memory()
tracemalloc.start()
fm.compare(sys.argv[1:], bootstrap=20, resamples=20)
print(tracemalloc.get_traced_memory()[1], before)
"""
    paths = [str(tmp_path / f"{name}.parquet") for name in ("old", "new")]
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    numpy_bytes, arrow_bytes = map(int, done.stdout.split())
    # about 11 numbers per row, and 16 if the runs have different orders; the ids, which have 26 bytes, and the columns
    # of both runs, which are read at once
    assert numpy_bytes / n < {"same": 100, "other": 145}[order]
    assert arrow_bytes / n < {"same": 240, "other": 240}[order]  # some of it whatever the number of rows
