"""CSV: its delimiter, decimal comma and encoding, and records of too few or too many fields."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.readers import Position
from tests.support.program import program

ROWS = "id,answer,reference\n1,Lyon,Paris\n2,Rome,Rome\n"


def names(path, text):
    """The columns of a file of this text."""
    path.write_text(text, encoding="utf-8")
    return open_source(path).schema.names


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_the_header_and_the_first_row_is_found(tmp_path, delimiter):
    (tmp_path / "rows.csv").write_text(ROWS.replace(",", delimiter))
    assert fm.score(tmp_path / "rows.csv", "exact_match")["exact_match"].to_pylist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("answer\na;b\n", ["answer"]),
        ("a|b\nx\n", ["a|b"]),
        ("a,b;c\nx,y;z\n", ["a", "b;c"]),
        ('a;"b, c"\n"x; y";1\n', ["a", "b, c"]),
        ("a;b, c;d\n1;2;3\n", ["a", "b, c", "d"]),
        ("a;b\n", ["a", "b"]),
        ("id;answer, reference\n1;in Paris, France\n2;Rome\n", ["id", "answer, reference"]),
        ("id,a|b|c\n1,x|y\n2,z\n", ["id", "a|b|c"]),
        ("id;a;b\n1;0,5;0,5\n2;1,5;2,5\n3;more;than;fits\n", ["id", "a", "b"]),
        ("a\tb, c\n1\tx\n", ["a", "b, c"]),
        ("sep=;\na;b,c\n1;2,3\n", ["a", "b,c"]),
        ("SEP=|\r\na,b|c,d\r\n1,2|3,4\r\n", ["a,b", "c,d"]),
    ],
)
def test_the_delimiter_gives_most_equal_fields(tmp_path, text, columns):
    assert names(tmp_path / "rows.csv", text) == columns


def test_a_line_that_states_the_delimiter_is_no_row(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("\ufeffsep=;\r\nid;answer\r\n1;a b\r\n2\r\n3;c\r\n")
    files = fm.tables.FileSettings(on_error="skip")
    fm.score(path, "answer_words", output=tmp_path / "o.parquet", files=files)
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"id": ["1", "3"], "answer_words": [2, 1]}


NUMBERS = "id;latency_ms\n1;0,5\n2;1.5\n3;\n4;1,25e2\n"


@pytest.mark.parametrize(
    ("text", "decimal", "numbers"),
    [
        (NUMBERS, None, [0.5, 1.5, None, 125.0]),
        (NUMBERS.replace(";", "\t"), None, [0.5, 1.5, None, 125.0]),
        (NUMBERS, ",", [0.5, 1.5, None, 125.0]),
        ('id,latency_ms\n1,"0,5"\n', ",", [0.5]),
    ],
)
def test_a_decimal_comma_is_read(tmp_path, text, decimal, numbers):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    files = fm.tables.FileSettings(decimal=decimal)
    assert fm.score(path, "latency_ms", files=files)["latency_ms"].to_pylist() == numbers


def test_scores_with_a_decimal_comma_are_summarized(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id;token_f1;human\n1;0,5;4\n2;1;5\n3;0,25;3\n")
    assert fm.summarize(path)["token_f1"].mean == pytest.approx(1.75 / 3)


def test_a_run_remembers_how_its_file_was_read(tmp_path):
    path, out = tmp_path / "rows.txt", tmp_path / "o.csv"
    path.write_bytes(("id|answer;x|reference\n" + "".join(f"{n}|Анна;{n}|Анна\n" for n in range(9))).encode("cp1251"))
    how = ["--format", "csv", "--delimiter", "|", "--encoding", "cp1251", "--columns", "answer=answer;x"]
    assert program("score", path, "-o", out, "-m", "token_f1", *how).code == 0
    assert read_metadata(out)["inputs"]["reading"] == {"format": "csv", "delimiter": "|", "encoding": "cp1251"}
    done = program("summarize", out, "--worst", "token_f1", "-n", 1, "--answers", path)
    assert (done.code, "Анна;0" in done.out) == (0, True), done.err
    assert program("report", out, "--texts", path, "-o", tmp_path / "r.html").code == 0
    assert "Анна;0" in (tmp_path / "r.html").read_text()
    copy = tmp_path / "rows.jsonl"
    copy.write_text("".join(f'{{"id": "{n}", "answer;x": "Lea {n}", "reference": "x"}}\n' for n in range(9)))
    done = program("summarize", out, "--worst", "token_f1", "-n", 1, "--answers", copy)
    assert (done.code, "Lea 0" in done.out) == (0, True), done.err
    assert program("score", path, "-o", out, "-m", "token_f1", *how, "--resume").code == 0
    (tmp_path / "semi.csv").write_text(NUMBERS)
    fm.score(tmp_path / "semi.csv", "latency_ms", output=out, overwrite=True)
    assert read_metadata(out)["inputs"]["reading"] == {"format": "csv", "delimiter": ";"}


def test_a_delimiter_can_be_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a|b;answer\nx|y;Rome\n")
    found = fm.score(path, "answer_words", files=fm.tables.FileSettings(delimiter=";"))
    assert found["answer_words"].to_pylist() == [1.0]
    assert program("score", path, "-m", "answer_words", "-o", tmp_path / "o.csv", "--delimiter", ";").code == 0


RUSSIAN = "вопрос;answer;reference\nКто?;Анна, «Аня»;Анна\nГде?;Рим;Рим\n"


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16", "utf-16-le", "utf-8-sig"])
def test_an_encoding_can_be_named(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    text = RUSSIAN.replace("«Аня»", "Аня")
    path.write_bytes(text.encode(encoding))
    files = fm.tables.FileSettings(encoding=encoding)
    assert fm.score(path, "exact_match", files=files)["exact_match"].to_pylist() == [0.0, 1.0]
    assert open_source(path, settings=files).schema.names == ["вопрос", "answer", "reference"]
    big = "id,answer\n" + "".join(f"{n},Анна {n}\n" for n in range(100_000))
    path.write_bytes(big.encode(encoding))
    assert set(fm.score(path, "answer_words", files=files)["answer_words"].to_pylist()) == {2.0}


def test_every_command_takes_the_options_of_reading_and_one_shows_them(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes("id|p;q|e\n1|Да|Да\n2|Нет|Да\n3|Нет|Нет\n4|Да|Да\n".encode("cp1251"))
    how = ["--format", "csv", "--encoding", "cp1251", "--delimiter", "|"]
    done = program("classification", path, "--predicted", "p;q", "--expected", "e", *how)
    assert (done.code, "accuracy" in done.out, "Нет" in done.out) == (0, True, True), done.err
    scores = tmp_path / "s.csv"  # written by this package: what is named is for the other file
    assert program("score", path, "-o", scores, "-m", "answer_words", "--columns", "answer=p;q", *how).code == 0
    labels = tmp_path / "labels.csv"
    labels.write_bytes("id|human\n1|4\n2|5\n3|1\n4|2\n".encode("cp1251"))
    done = program("validate", scores, labels, "--label", "human", *how[2:])
    assert "human" in done.out + done.err
    assert "delimiter" not in done.err
    for command in ("score", "validate", "classification", "logs check"):
        pages = [program(*command.split(), option).out for option in ("--help", "--help-all")]
        assert [("--delimiter" in page, "--delimiter TEXT" in page) for page in pages] == [(True, False), (True, True)]


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
