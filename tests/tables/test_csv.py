"""Text tables: delimiters, encodings, cells, and formulas that are guarded."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics import score
from fastmetrics.base.errors import FastmetricsError, InputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.encoders import guarded, unguarded
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.opening import open_source, open_table
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.readers import Position
from tests.reporting.test_report import read
from tests.support.goldens import refused
from tests.support.judge_server import judge_server
from tests.support.program import jsonl, program

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
    assert "Анна;0" in str(read(tmp_path / "r.html")[2])
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


_BLANKS = ("missing", "empty")
CELLS_ROWS = "id,answer,reference\n1,Lyon,Paris\n2,Milan,Rome\n,,\n,,\n,,\n"


def csv_of_cells(folder, text, name="rows.csv"):
    """A file of this text."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


def cells(path, kind, column="c", **settings):
    """The values of a column, as one of this kind."""
    return list(whole_table(open_table(path, ReadSettings(**settings)), {column: kind})[column].to_pylist())


def test_blank_rows_are_missing_and_counted(tmp_path):
    summary = fm.score(csv_of_cells(tmp_path, CELLS_ROWS), "exact_match", output=tmp_path / "o.parquet").summary
    found = summary["exact_match"]
    assert (found.mean, found.n, found.n_missing) == (0.0, 2, 3)
    note = "blank cells are missing: 3 of 5 in answer, 3 of 5 in reference; blank='empty' (--blank empty) reads them as"
    assert summary.notes == [f"{note} empty texts"]
    assert fm.summarize(tmp_path / "o.parquet").notes == summary.notes


def test_blank_cells_are_empty_texts_on_request(tmp_path):
    path, output = csv_of_cells(tmp_path, CELLS_ROWS), tmp_path / "o.parquet"
    files = fm.tables.FileSettings(blank="empty")
    assert fm.score(path, "exact_match", files=files)["exact_match"].to_pylist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    done = program("score", path, "-o", output, "-m", "exact_match", "--blank", "empty")
    assert (done.code, fm.summarize(output)["exact_match"].n) == (0, 5)
    assert "--blank" not in done.out


def test_a_run_is_not_resumed_with_another_meaning_of_blank(tmp_path):
    path = csv_of_cells(tmp_path, CELLS_ROWS)
    plain, empty = (open_table(path, ReadSettings(blank=blank)) for blank in _BLANKS)
    assert plain.fingerprint != empty.fingerprint


def test_a_blank_answer_is_not_sent_to_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = csv_of_cells(tmp_path, 'question,answer\nquestion 1?,Paris\nquestion 2?,\nquestion 3?,""\n')
    with judge_server() as judge:
        made = fm.judge(path, "correctness", columns={"reference": "answer"}, model="m", base_url=judge.url)
        assert len(judge.questions) == 2
    assert made["judge_correctness_status"].to_pylist() == ["ok", "missing", "ok"]


def test_a_blank_context_is_no_hallucination(tmp_path):
    text = 'answer,contexts\nParis lies in France.,\nParis lies in France.,""\nParis lies in France.,Paris\n'
    scores = fm.score(csv_of_cells(tmp_path, text), "hallucination_risk")["hallucination_risk"].to_pylist()
    assert scores[0] is None
    assert scores[1] is not None


KINDS = {"text": ["a", None, ""], "texts": ["a", None, ""], "id": ["a", None, ""], "any": ["a", None, ""]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("column", ["c", "d"], ids=["in the middle", "last"])
def test_blank_and_quoted_empty_cells_differ(tmp_path, end, delimiter, column):
    text = end.join(["x,c,d", "1,a,a", "2,,", '3,"",""', ""]).replace(",", delimiter)
    path = csv_of_cells(tmp_path, text, "rows.tsv" if delimiter == "\t" else "rows.csv")
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
    path = csv_of_cells(tmp_path, f'x,c\n1,{cell}\n2,\n3,""\n')
    assert cells(path, kind, blank=blank) == [value, None, None]


def test_lists_in_cells_may_be_blank(tmp_path):
    path = csv_of_cells(tmp_path, 'answer,reference\nParis,"[""Paris"", ""Rome""]"\nParis,\nParis,"[]"\n')
    assert fm.score(path, "exact_match", lists="reference")["exact_match"].to_pylist() == [1.0, None, None]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_is_a_row_of_an_only_column_alone(tmp_path, end):
    """As in Polars; the last line end begins no row."""
    text = end.join(["c", "a", "", '""', "b", "", ""])
    assert cells(csv_of_cells(tmp_path, text), "text") == ["a", None, "", "b", None]
    assert cells(csv_of_cells(tmp_path, text), "text") == pl.read_csv(io.StringIO(text))["c"].to_list()
    two = end.join(["c,d", "a,b", "", ",", ""])
    assert cells(csv_of_cells(tmp_path, two), "text") == ["a", None]
    assert cells(csv_of_cells(tmp_path, two), "text") == [
        text if isinstance(text, str) else None for text in pd.read_csv(io.StringIO(two))["c"]
    ]


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
    table = written(["yes", "no", "maybe"], kind, tmp_path)
    refused(FastmetricsError, "success да/нет maybe", fm.score, table, "task_success")


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
    refused(
        InputError,
        "1 label unsure",
        lambda: fm.validate(scores, {"id": list("abc"), "label": ["yes", "unsure", "no"]}, label="label"),
    )


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


STARTS = "=+-@\t\r\n＝＋－＠"
TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝ 5.ea\"é"), max_size=6) | st.text(
    st.characters(exclude_categories=["Cs"])
)


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
@given(texts=st.lists(st.none() | TEXTS, max_size=8))
def test_guarded_cells_round_trip_without_execution(type_, texts):
    found, count = guarded(pa.array(texts, type_))
    assert found.type == type_
    assert unguarded(found).to_pylist() == texts
    assert count == sum(a != b for a, b in zip(texts, found.to_pylist(), strict=True))
    for cell in found.to_pylist():
        if cell and cell[0] in STARTS:
            assert re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell), "only a number may begin so"


@given(texts=st.lists(TEXTS, max_size=8))
def test_only_risky_and_similar_cells_change(texts):
    for before, after in zip(texts, guarded(pa.array(texts, pa.string()))[0].to_pylist(), strict=True):
        if before.lstrip("'")[:1] not in tuple(STARTS):
            assert after == before
        else:
            assert after in (before, f"'{before}")


RISKY = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "'=1", "-5", "five", None]
LAYOUTS = {
    "string": pa.array(RISKY),
    "large string": pa.array(RISKY, pa.large_string()),
    "string view": pa.array(RISKY, pa.string_view()),
    "dictionary": pa.array(RISKY).dictionary_encode(),
    "binary": pa.array([None if one is None else one.encode() for one in RISKY], pa.binary()),
    "large binary": pa.array([None if one is None else one.encode() for one in RISKY], pa.large_binary()),
}
WRITTEN = ["'=cmd|' /C calc'!A0", "'+1+1", "'-1+1", "'@SUM(1)", "'\t=1", "'\r=1", "''=1", "-5", "five", ""]
FORMULA_GUARD_NUMBERS = {"whole": range(-5, 5), "real": [-0.5 * n for n in range(10)], "gone": [None] * 10}


def kept(tmp_path, out, **options):
    """The scores of rows with risky cells in every layout, a risky id and risky names of columns."""
    columns = {
        **LAYOUTS,
        "=name": pa.array(["a"] * 10),
        **{name: pa.array(list(n)) for name, n in FORMULA_GUARD_NUMBERS.items()},
    }
    texts = {"id": [f"@{n}" for n in range(10)], "answer": ["a"] * 10, "reference": ["a"] * 10}
    pq.write_table(pa.table({**texts, **columns}), tmp_path / "rows.parquet")
    named = {"metrics": ["exact_match"], "keep": list(columns)}
    return score(tmp_path / "rows.parquet", output=tmp_path / out, **named, **options)


@pytest.mark.parametrize("out", ["s.csv", "s.tsv", "s.csv.gz", "s.tsv.zst"])
def test_kept_text_ids_and_names_are_guarded_in_csv_and_numbers_never(tmp_path, out):
    scored = kept(tmp_path, out)
    with pa.input_stream(str(tmp_path / out)) as stream:
        text = stream.read().decode()
    header, *lines = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if ".tsv" in out else ",")
    found = dict(zip(header, zip(*lines, strict=True), strict=True))
    for layout in LAYOUTS:
        assert list(found[layout]) == WRITTEN, layout
    assert list(found["id"]) == [f"'@{n}" for n in range(10)]
    assert "'=name" in found
    assert list(found["whole"]) == [str(n) for n in range(-5, 5)]
    assert list(map(float, found["real"])) == FORMULA_GUARD_NUMBERS["real"]
    assert set(found["gone"]) == {""}
    risky = len(LAYOUTS) * 7 + 10 + 1
    assert scored.guarded == risky == read_metadata(tmp_path / out)["guarded"]


@pytest.mark.parametrize("out", ["s.csv", "s.tsv.gz"])
def test_guarded_cells_are_read_unchanged(tmp_path, out):
    kept(tmp_path, out)
    source = open_source(tmp_path / out)
    selection = source.select({"id": "id", "string": "any", "=name": "any"})
    (batch,) = [source.conform(chunk, selection) for chunk in source.chunks(selection)]
    assert batch.column("id").to_pylist() == [f"@{n}" for n in range(10)]
    assert batch.column("string").to_pylist() == RISKY
    assert batch.column("=name").to_pylist() == ["a"] * 10


@pytest.mark.parametrize("out", ["s.jsonl", "s.arrow", "s.parquet"])
def test_in_other_formats_text_stays_as_it_is(tmp_path, out):
    scored = kept(tmp_path, out)
    source = open_source(tmp_path / out)
    selection = source.select({"string": "any", "=name": "any"})
    (batch,) = [source.conform(chunk, selection) for chunk in source.chunks(selection)]
    assert batch.column("string").to_pylist() == RISKY
    assert scored.guarded == 0
    assert "guarded" not in read_metadata(tmp_path / out)


def test_quotes_in_foreign_files_are_kept(tmp_path):
    (tmp_path / "rows.csv").write_text("id,answer\n1,'=1+1\n")
    source = open_source(tmp_path / "rows.csv")
    assert [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))] == [
        [{"answer": "'=1+1"}]
    ]


def test_program_reports_guarded_cells(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl", {"id": "=1", "answer": "a", "reference": "a"})
    done = program("score", rows, "-o", tmp_path / "a.csv", "-m", "exact_match")
    assert "1 cell that a spreadsheet would run begins with a quote" in done.out
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith('"\'=1"')


def test_answers_of_a_faq_are_guarded_too(tmp_path):
    faq = jsonl(tmp_path / "faq.jsonl", {"question": "How much?", "answer": "=1+1"})
    asked = jsonl(tmp_path / "asked.jsonl", {"question": "How much?"})
    done = program("match", asked, faq, "-o", tmp_path / "a.csv")
    assert ("'=1+1" in (tmp_path / "a.csv").read_text(), "spreadsheet" in done.out) == (True, True)
