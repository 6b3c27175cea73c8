"""The lines of CSV records in messages: whoever asks, in whatever order, and at a cost that does not grow with that."""

from __future__ import annotations

import csv
import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.engines.job import Job
from fastmetrics.engines.run_job import run
from fastmetrics.tables import Limits, open_source
from fastmetrics.tables import csv_files as records
from fastmetrics.tables.table_chunks import Position
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.toy_scores import KINDS, choosy

N = 3000


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Path, list[int]]:
    """A file with blank lines, cells of several lines and one longer than csv allows; where its records start."""
    rng, line, starts, text = random.Random(5), 2, [], ["id,answer\n"]
    for n in range(N):
        blank = rng.randrange(3) == 0
        text.append("\n" * blank)
        starts.append(line + blank)
        cell = "x" * 200_000 if n == 1700 else "\n".join("ab" for _ in range(rng.randrange(1, 4)))
        text.append(f'q{n},"{cell}"\n')
        line += blank + 1 + cell.count("\n")
    (tmp_path / "in.csv").write_text("".join(text))
    return tmp_path / "in.csv", starts


@pytest.mark.parametrize("kept", [1, 2, 100, 1 << 20])
def test_any_record_in_any_order_has_its_line(rows, kept) -> None:
    path, starts = rows
    source, rng = open_source(path, sizes=ReadSizes(line_numbers=kept)), random.Random(6)
    asked = [0, 0, 5, 4, 3, 0, N - 1, N - 2, N - 1, *(rng.randrange(N) for _ in range(40))]
    assert [source.where(Position(0, n))[1] for n in asked] == [f"line {starts[n]}" for n in asked]
    assert source.where(Position(0, -1))[1] == "line 1", "the header"
    assert source.where(Position(0, N + 5))[1] == f"line {starts[-1]}", "behind the end: the last there is"
    assert csv.field_size_limit() == 131_072, "of the process, left as it was"


def test_nearby_rows_need_one_read(rows, monkeypatch) -> None:
    path, starts = rows
    source, walks = open_source(path), []
    walk = records.LineNumbers._walk
    monkeypatch.setattr(records.LineNumbers, "_walk", lambda self: (walks.append(self), walk(self))[1])
    asked = [n ^ 7 for n in range(N - 8)]
    assert [source.where(Position(0, n))[1] for n in asked] == [f"line {starts[n]}" for n in asked]
    assert len(walks) == 1


def test_threads_may_ask_at_once(rows) -> None:
    path, starts = rows
    source, order = open_source([path, path]), list(range(N)) * 2
    random.Random(7).shuffle(order)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: source.where(Position(n % 2, n))[1], order, chunksize=50))
    assert found == [f"line {starts[n]}" for n in order]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
def test_bad_rows_that_scoring_finds_are_named_by_line(tmp_path, threads) -> None:
    """Threads name rows while this one reads on, and names others."""
    wrong = {n: [b"bad", b"caf\xe9", b"x,y"][n % 3] for n in range(0, N, 7)}
    lines = [b"id,answer", *(b"q%d,%s" % (n, wrong.get(n, b"fine")) for n in range(N))]
    (tmp_path / "in.csv").write_bytes(b"\n".join(lines))
    options = {"threads": threads, "on_error": "skip", "limits": Limits(batch_rows=20)}
    for _ in range(3):
        made = run(open_source(tmp_path / "in.csv"), Job(choosy, KINDS), tmp_path / "o.csv", overwrite=True, **options)
        named = [json.loads(line)["line"] for line in made.rejects.read_text().splitlines()]
        assert named == [n + 2 for n in wrong]


GOOD, OF_SCORING = '{"id": "q", "answer": "fine"}\n', '{"id": "q", "answer": "bad"}\n'
SECOND = [
    *((".csv" + pack, "id,answer\n", bad, "q,fine\n", 2) for pack in ("", ".gz", ".zst") for bad in ("q\n", "q,bad\n")),
    *((".tsv", "id\tanswer\n", bad, "q\tfine\n", 2) for bad in ("q\n", "q\tbad\n")),
    *((".jsonl" + pack, "", bad, GOOD, 1) for pack in ("", ".gz") for bad in ("{\n", OF_SCORING)),
]


def write_text(path: Path, text: str) -> None:
    """A text file, compressed by its suffix."""
    if path.suffix == ".zst":
        path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
    else:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize(("suffix", "header", "bad", "good", "line"), SECOND)
def test_the_first_row_of_the_second_file_has_its_line_in_that_file(tmp_path, suffix, header, bad, good, line) -> None:
    first, second, output = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}", tmp_path / "o.jsonl"
    write_text(first, header + good + good)
    write_text(second, header + bad + good)
    with pytest.raises(InputError, match=f"^{second}, line {line}[:,] "):
        run(open_source([first, second]), Job(choosy, KINDS), output)
    made = run(open_source([first, second]), Job(choosy, KINDS), output, on_error="skip")
    [reject] = map(json.loads, made.rejects.read_text(encoding="utf-8").splitlines())
    assert (reject["file"], reject["line"], made.rows) == (str(second), line, 3)


def test_the_first_row_of_the_second_file_of_columns_is_row_0(tmp_path) -> None:
    for name, answers in (("a.parquet", ["x", "y"]), ("b.parquet", ["bad", "x"])):
        pq.write_table(pa.table({"id": ["p", "q"], "answer": answers}), tmp_path / name)
    with pytest.raises(InputError, match=f"^{tmp_path}/b.parquet, row 0: "):
        run(open_source(tmp_path), Job(choosy, KINDS), tmp_path / "o.jsonl")


def test_the_first_line_of_the_second_file_of_a_run_is_line_1(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.txt").write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 0.4 x\n")
    (tmp_path / "run" / "b.txt").write_text("q2 Q0 d1 1 half x\nq2 Q0 d2 2 0.4 x\n")
    with pytest.raises(FileFormatError, match=f"^{tmp_path}/run/b.txt, line 1: expected a number, got 'half'$"):
        fm.rank(tmp_path / "run", {"q1": {"d1": 1}}, "mrr")


def test_rows_of_the_second_array_of_vectors_are_counted_in_its_file(tmp_path) -> None:
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "v" / "a.npy", np.eye(4, 3))
    np.save(tmp_path / "v" / "b.npy", np.ones((5, 3)))
    vectors = Vectors.of(tmp_path / "v")
    assert (vectors.rows, vectors.take([4, 3]).tolist()) == (9, [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert vectors.block(4, 5).tolist() == [[1.0, 1.0, 1.0]]
    with open(tmp_path / "v" / "b.npy", "r+b") as file:
        file.truncate((tmp_path / "v" / "b.npy").stat().st_size - 1)
    with pytest.raises(FileFormatError, match=r"/v/b\.npy: "):
        vectors.block(4, 5)
