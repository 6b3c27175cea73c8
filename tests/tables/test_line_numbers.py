"""The numbers of rows and lines in messages, whichever thread and file they come from."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, run

N = 3000


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
def test_bad_rows_that_scoring_finds_are_named(tmp_path, threads, full):
    """Threads name rows while this one reads on, and names others."""
    wrong = {n: [b"bad", b"caf\xe9", b"x,y"][n % 3] for n in range(0, N, 7)}
    lines = [b"id,answer", *(b"q%d,%s" % (n, wrong.get(n, b"fine")) for n in range(N))]
    (tmp_path / "in.csv").write_bytes(b"\n".join(lines))
    options = {"threads": threads, "on_error": "skip", "limits": Limits(batch_rows=20)}
    for _ in range(3 if full else 1):
        made = run(
            open_source(tmp_path / "in.csv"),
            FunctionMaker(choosy, KINDS),
            tmp_path / "o.csv",
            overwrite=True,
            **options,
        )
        named = [json.loads(line)["row"] for line in made.rejects.read_text().splitlines()]
        assert named == list(wrong)


GOOD, OF_SCORING = '{"id": "q", "answer": "fine"}\n', '{"id": "q", "answer": "bad"}\n'
SECOND = [
    *(
        (".csv" + pack, "id,answer\n", bad, "q,fine\n", "row 0")
        for pack in ("", ".gz", ".zst")
        for bad in ("q\n", "q,bad\n")
    ),
    *((".tsv", "id\tanswer\n", bad, "q\tfine\n", "row 0") for bad in ("q\n", "q\tbad\n")),
    *((".jsonl" + pack, "", bad, GOOD, "line 1") for pack in ("", ".gz") for bad in ("{\n", OF_SCORING)),
]


def write_text(path, text):
    """A text file, compressed by its suffix."""
    if path.suffix == ".zst":
        path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
    else:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize(("suffix", "header", "bad", "good", "where"), SECOND)
def test_the_first_row_of_the_second_file_is_counted_in_that_file(tmp_path, suffix, header, bad, good, where):
    first, second, output = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}", tmp_path / "o.jsonl"
    write_text(first, header + good + good)
    write_text(second, header + bad + good)
    with pytest.raises(InputError, match=f"^{second}, {where}[:,] "):
        run(open_source([first, second]), FunctionMaker(choosy, KINDS), output)
    made = run(open_source([first, second]), FunctionMaker(choosy, KINDS), output, on_error="skip")
    [reject] = map(json.loads, made.rejects.read_text(encoding="utf-8").splitlines())
    unit, number = where.split()
    assert (reject["file"], reject[unit], made.rows) == (str(second), int(number), 3)


def test_the_first_row_of_the_second_file_of_columns_is_row_0(tmp_path):
    for name, answers in (("a.parquet", ["x", "y"]), ("b.parquet", ["bad", "x"])):
        pq.write_table(pa.table({"id": ["p", "q"], "answer": answers}), tmp_path / name)
    with pytest.raises(InputError, match=f"^{tmp_path}/b.parquet, row 0: "):
        run(open_source(tmp_path), FunctionMaker(choosy, KINDS), tmp_path / "o.jsonl")


def test_the_first_line_of_the_second_file_of_a_run_is_line_1(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.txt").write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 0.4 x\n")
    (tmp_path / "run" / "b.txt").write_text("q2 Q0 d1 1 half x\nq2 Q0 d2 2 0.4 x\n")
    with pytest.raises(FileFormatError, match=f"^{tmp_path}/run/b.txt, line 1: expected a number, got 'half'$"):
        fm.rank(tmp_path / "run", {"q1": {"d1": 1}}, "mrr")


def test_rows_of_the_second_array_of_vectors_are_counted_in_its_file(tmp_path):
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "v" / "a.npy", np.eye(4, 3))
    np.save(tmp_path / "v" / "b.npy", np.ones((5, 3)))
    vectors = Vectors.of(tmp_path / "v")
    assert (vectors.rows, vectors.take([4, 3]).tolist()) == (9, [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert vectors.block(4, 5).tolist() == [[1.0, 1.0, 1.0]]
    with open(tmp_path / "v" / "b.npy", "r+b") as file:
        file.truncate((tmp_path / "v" / "b.npy").stat().st_size - 1)
    with pytest.raises(FileFormatError, match=r"/v/b\.npy: "):
        Vectors.of(tmp_path / "v").block(4, 5)
