"""CSV records of too few or too many fields, whatever their bytes, held against Python's own csv module."""

import csv
import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Position
from tests.support.program import program

NAMES = ["id", "é"]
SMALL = ReadSizes(csv_block_bytes=64)
HEADER = ",".join(NAMES).encode()
FIELDS = st.lists(st.text(st.sampled_from('a\xe9\xff "\n,'), max_size=4), min_size=1, max_size=4)


def expected(data):
    """The good records, and the row and number of fields of each bad one."""
    good, bad = [], []
    records = [record for record in csv.reader(io.StringIO(data.decode("latin-1"), newline="")) if record]
    for row, record in enumerate(records[1:]):
        if len(record) == len(NAMES):
            good.append(tuple(cell.encode("latin-1") for cell in record))
        else:
            bad.append((row, len(record)))
    return good, bad


def found(source, start=0):
    """The same, as the reader gives them."""
    selection = source.select(dict.fromkeys(NAMES, "text"))
    good, bad = [], []
    for chunk in source.chunks(selection, Position(0, start)):
        columns = (column.cast("binary").to_pylist() for column in chunk.batch.columns)
        good.extend(zip(chunk.rows.tolist(), *columns, strict=True))
        bad.extend(chunk.rejects)
    return good, bad


@given(records=st.lists(FIELDS, max_size=6), start=st.integers(0, 6))
@example(records=[["a", "a"], ["a", "\xe9", "\xff"], ["a"], ["\xff", "\xff"], ["a"]], start=2)
def test_records_of_any_bytes_are_read_or_reported(tmp_path_factory, records, start):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(records)
    data = HEADER + b"\n" + text.getvalue().encode("latin-1")
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(data)
    source = open_source(path)
    rows, bad = found(source)
    good, named = expected(data)
    assert [row[1:] for row in rows] == good
    assert [str(reject) for reject in bad] == [
        f"{path}, row {row}: expected 2 fields, got {count}" for row, count in named
    ]
    numbered = sorted([row[0] for row in rows] + [reject.position.row for reject in bad])
    assert numbered == list(range(len(numbered)))
    later = found(source, start)
    assert later == ([row for row in rows if row[0] >= start], [one for one in bad if one.position.row >= start])


def test_long_ragged_record_between_good_ones(tmp_path):
    lines = [b"%d,%s" % (n, b"caf\xe9" * (50 if n == 7 else 1)) for n in range(40)]
    lines[20] += b",more"
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + HEADER + b"\n" + b"\n".join(lines))
    rows, bad = found(open_source(path, sizes=SMALL))
    assert [row[1] for row in rows] == [b"%d" % n for n in range(40) if n != 20]
    assert {row[2] for row in rows} == {b"caf\xe9", b"caf\xe9" * 50}
    assert [(reject.where, reject.raw) for reject in bad] == [("row 20", "20,caf\ufffd,more")]


def test_a_chunk_has_the_rejects_before_its_last_row(tmp_path):
    """A reader that fails goes on after the last row and reject of the last chunk: it would lose rows before others."""
    lines = [b"%d,a" % n + b",more" * (n % 7 == 3) for n in range(200)]
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + b"\n" + b"\n".join(lines))
    source = open_source(path, sizes=SMALL)
    done = -1
    for chunk in source.chunks(source.select(dict.fromkeys(NAMES, "text"))):
        numbers = sorted([*chunk.rows.tolist(), *(reject.position.row for reject in chunk.rejects)])
        assert numbers == list(range(done + 1, chunk.stop))
        done = chunk.stop - 1
    assert done == 199


@pytest.mark.parametrize("mark", [",", "\t"])
def test_program_skips_ragged_records_or_names_the_first(tmp_path, mark):
    path = tmp_path / ("t.csv" if mark == "," else "t.tsv")
    rows = [b"id,answer,reference", b"1,a,a", b"2,caf\xe9,b,c", b"3,b,b", b"4,\xff", b"5,x,\xe9", b"6,z,z"]
    path.write_bytes(b"\n".join(rows).replace(b",", mark.encode()))
    out = tmp_path / "o.csv"
    done = program("score", path, "-o", out, "-m", "exact_match", "--on-error", "skip")
    assert (done.code, done.err) == (0, "")
    assert out.read_text().split() == ['"id","exact_match"', '"1",1', '"3",1', '"6",1']
    rejects = [json.loads(line) for line in (tmp_path / "o.csv.rejects.jsonl").read_text().splitlines()]
    assert [(one["row"], one["reason"]) for one in rejects] == [
        (1, "expected 3 fields, got 4"),
        (3, "expected 3 fields, got 2"),
        (4, "invalid UTF-8: byte 0xe9 at byte 0"),
    ]
    done = program("score", path, "-o", out, "-m", "exact_match", "--overwrite")
    assert (done.code, done.err) == (3, f"error: {path}, row 1: expected 3 fields, got 4\n")
