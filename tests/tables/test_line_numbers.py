"""The lines of CSV records in messages: whoever asks, in whatever order, and at a cost that does not grow with that."""

from __future__ import annotations

import csv
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.engines.local import Job, run
from fastmetrics.tables import Limits, open_source
from fastmetrics.tables.chunks import Place
from fastmetrics.tables.formats import csv_tsv as records
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
def test_any_record_in_any_order_has_its_line(rows, monkeypatch, kept) -> None:
    monkeypatch.setattr(SIZES, "line_numbers", kept)
    path, starts = rows
    source, rng = open_source(path), random.Random(6)
    asked = [0, 0, 5, 4, 3, 0, N - 1, N - 2, N - 1, *(rng.randrange(N) for _ in range(40))]
    assert [source.where(Place(0, n))[1] for n in asked] == [f"line {starts[n]}" for n in asked]
    assert source.where(Place(0, -1))[1] == "line 1", "the header"
    assert source.where(Place(0, N + 5))[1] == f"line {starts[-1]}", "behind the end: the last there is"
    assert csv.field_size_limit() == 131_072, "of the process, left as it was"


def test_nearby_rows_need_one_read(rows, monkeypatch) -> None:
    path, starts = rows
    source, walks = open_source(path), []
    walk = records.LineNumbers._walk
    monkeypatch.setattr(records.LineNumbers, "_walk", lambda self: (walks.append(self), walk(self))[1])
    asked = [n ^ 7 for n in range(N - 8)]
    assert [source.where(Place(0, n))[1] for n in asked] == [f"line {starts[n]}" for n in asked]
    assert len(walks) == 1


def test_threads_may_ask_at_once(rows) -> None:
    path, starts = rows
    source, order = open_source([path, path]), list(range(N)) * 2
    random.Random(7).shuffle(order)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: source.where(Place(n % 2, n))[1], order, chunksize=50))
    assert found == [f"line {starts[n]}" for n in order]


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
