"""How a run is cut: lines of a text, blocks of queries."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.limits import RANKINGS, RankingSizes
from fastmetrics.retrieval import rank as ranking
from fastmetrics.retrieval.rankings import judgements
from fastmetrics.tables.rankings import Triples


def documents(path: Path, sizes: RankingSizes = RANKINGS) -> list[str]:
    return pa.Table.from_batches(Triples(path, "score", sizes).batches())["doc"].to_pylist()


def test_comment_lines_start_with_a_hash(tmp_path: Path):
    path = tmp_path / "run.txt"
    path.write_text("# q Q0 x 1 9.0 t\n  #q Q0 y 1 8.0 t\nq Q0 #a 1 3.0 t\nq# Q0 b 2 2.0 t # c\nq Q0 c# 3 1.0 t\n#\n")
    assert documents(path) == ["#a", "b", "c#"]
    assert fm.rank(path, {"q": {"#a": 1}}, "mrr").mean == {"mrr": 1.0}


@pytest.mark.parametrize("size", [1, 30, 64, 1000])
@pytest.mark.parametrize("line", ["q Q0 z 2 high t", "q Q0 z 2"])
def test_malformed_line_in_any_block_has_its_line_number(tmp_path, size, line):
    path = tmp_path / "run.txt"
    good = "".join(f"q Q0 d{n} 1 {n} t\n" for n in range(20))
    path.write_text(f"# head\n\n{good}\n{line}\nq Q0 e 1 2.0 t\n")
    with pytest.raises(FileFormatError) as raised:
        documents(path, RankingSizes(trec_block_bytes=size))
    assert "line 24: " in str(raised.value)


def table(queries: list[str]) -> pa.Table:
    docs = [f"d{row}" for row in range(len(queries))]
    return pa.table({"qid": queries, "pid": docs, "score": [float(-row) for row in range(len(queries))]})


JUDGED = judgements({query: {"d0": 1} for query in "abcdefgh"})


def cut(some: pa.Table, size: int) -> list[list[str]]:
    """The queries of each block of a grouped run whose batches have ``size`` rows, each with its number of rows."""
    found = list(ranking.grouped(Triples(some, "score", RankingSizes(size)).batches(), JUDGED))
    for block in found:
        assert len(block.docs) == len(block.scores) == block.starts[-1]
    return [
        [
            f"{query}{stop - start}"
            for query, start, stop in zip(b.names.to_pylist(), b.starts, b.starts[1:], strict=False)
        ]
        for b in found
    ]


def test_query_across_batches_is_one_query():
    ends_with_its_batch = table(list("aabbcc"))
    assert cut(ends_with_its_batch, 2) == [["a2"], ["b2"], ["c2"]]
    goes_on = table(list("aaabbbbbc"))
    for size in (1, 2, 4, 5, 8):
        assert sorted(query for block in cut(goes_on, size) for query in block) == ["a3", "b5", "c1"], size
    several = table(list("abcddefg"))
    assert cut(several, 8) == [["a1", "b1", "c1", "d2", "e1", "f1"], ["g1"]]
    assert cut(several, 4) == [["a1", "b1", "c1"], ["d2", "e1", "f1"], ["g1"]]
    assert cut(several, 3) == [["a1", "b1"], ["c1", "d2"], ["e1", "f1"], ["g1"]]
    long_one = table(list("abbbbbbcdde"))
    assert cut(long_one, 3) == [["a1"], ["b6", "c1"], ["d2"], ["e1"]]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("encoded", [False, True])
def test_grouped_runs_are_detected(monkeypatch, size, encoded):
    def never(*_):
        raise AssertionError("a grouped run was read a second time")

    monkeypatch.setattr(ranking, "together", never)
    some = table(list("aaabbcddddde"))
    if encoded:
        some = some.set_column(0, "qid", some["qid"].combine_chunks().dictionary_encode())
    judged = {query: {f"d{row}": 1} for query, row in zip("abcde", (0, 4, 5, 8, 11), strict=True)}
    found = fm.rank(Triples(some, "score", RankingSizes(size)), judged, "mrr").per_query["mrr"].to_pylist()
    assert found == [1.0, 0.5, 1.0, 1 / 3, 1.0]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_rows_of_a_query_are_brought_together_in_their_order(size):
    some = table(list("eabdececeadeeeefea"))
    found = pa.Table.from_batches(ranking.together(Triples(some, "score", RankingSizes(size))))
    assert "".join(found["query"].to_pylist()) == "eeeeeeeeeaaabddccf"
    assert found["doc"].to_pylist()[9:12] == ["d1", "d9", "d17"]
    judged = {query: {"d17": 1, "d14": 2, "d3": 1, "d16": 1} for query in "aedf"}
    grouped = fm.rank(some.take(pa.array(sorted(range(18), key=lambda row: some["qid"][row].as_py()))), judged)
    assert fm.rank(Triples(some, "score", RankingSizes(size)), judged).to_dict() == grouped.to_dict()


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "memory"])
@pytest.mark.parametrize("row", [0, 3, 4, 9, 10])
def test_rows_in_messages_count_from_the_first_row_of_the_file(tmp_path, suffix, row):
    """The row of a null id is that of the table, in whichever block it is read."""
    some = table(list("aabbccddeef"))
    ids = [None if at == row else name for at, name in enumerate(some["pid"].to_pylist())]
    some = some.set_column(some.schema.get_field_index("pid"), "pid", pa.array(ids, pa.string()))
    path = tmp_path / f"run.{suffix}"
    if suffix == "parquet":
        pq.write_table(some, path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in some.to_pylist()))
    with pytest.raises(ColumnError) as raised:
        fm.rank(Triples(some if suffix == "memory" else path, "score", RankingSizes(4)), {"a": {"d": 1}}, "mrr")
    assert f"row {row}: " in str(raised.value)


@pytest.mark.parametrize("line", [1, 3, 4, 11])
def test_lines_in_messages_count_from_the_first_line_of_the_file(tmp_path, line):
    lines = [f"q{at} Q0 d{at} 1 {at}.5 t" for at in range(1, 12)]
    lines[line - 1] = "q Q0 d 1"
    (tmp_path / "run.txt").write_text("\n".join(lines))
    with pytest.raises(FileFormatError) as raised:
        documents(tmp_path / "run.txt", RankingSizes(trec_block_bytes=40))
    assert f"line {line}: " in str(raised.value)
