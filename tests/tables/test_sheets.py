"""Workbooks of Excel, and text files as Excel and Windows write them."""

import string
import sys
import zipfile

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError, FileFormatError, InputError, MissingExtraError, OptionError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Position
from tests.support.program import program
from tests.support.workbooks import write_workbook

ROWS = [
    ["id", "answer", "reference", "latency_ms", "answerable", "retrieved_ids", "relevant_ids"],
    [7, "в Париже", "Париж", 1.5, True, '["d1", "d2"]', '["d2"]'],
    [8, 42, 42, 12, False, '["d3"]', '["d4"]'],
    [9, None, "Rome", None, None, None, None],
]
METRICS = "exact_match,token_f1,latency_ms,reciprocal_rank,answer_words"


def test_a_sheet_is_scored_like_the_same_table_in_csv(tmp_path):
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": ROWS})
    lines = [
        "id,answer,reference,latency_ms,answerable,retrieved_ids,relevant_ids",
        '7,в Париже,Париж,1.5,true,"[""d1"", ""d2""]","[""d2""]"',
        '8,42,42,12,false,"[""d3""]","[""d4""]"',
        "9,,Rome,,,,",
    ]
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]))
    scored = [
        fm.score(path, METRICS, output=tmp_path / f"{path.suffix[1:]}.parquet")
        for path in (book, tmp_path / "rows.csv")
    ]
    assert scored[0].summary == scored[1].summary
    assert scored[0].summary["exact_match"].n_missing == 1
    assert "blank cells are missing: 1 of 3 in answer" in scored[0].summary.notes[0]
    assert fm.score(book, "answer_words").to_pydict() == {"id": ["7", "8", "9"], "answer_words": [2.0, 1.0, None]}


def test_a_blank_cell_may_be_an_empty_text(tmp_path):
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": ROWS})
    scores = fm.score(book, "answer_words", files=fm.tables.FileSettings(blank="empty"))
    assert scores["answer_words"].to_pylist() == [2.0, 1.0, 0.0]


def test_several_sheets_are_named(tmp_path):
    other = [["answer"], ["yes"]]
    book = write_workbook(tmp_path / "rows.xlsx", {"January": ROWS, "Февраль": other})
    with pytest.raises(
        FileFormatError, match=r"the workbook has the sheets 'January', 'Февраль'; name the one to read"
    ):
        fm.score(book, "answer_words")
    assert "with --sheet January" in program("score", str(book), "-m", "answer_words").err
    assert fm.score(book, "answer_words", files=fm.tables.FileSettings(sheet="Февраль")).num_rows == 1
    with pytest.raises(FileFormatError, match=r"unknown sheet 'Januar'; did you mean 'January'\?"):
        fm.score(book, "answer_words", files=fm.tables.FileSettings(sheet="Januar"))
    (tmp_path / "rows.csv").write_text("answer\nyes\n")
    with pytest.raises(OptionError, match=r"rows.csv is csv; it has no sheets"):
        fm.score(tmp_path / "rows.csv", "answer_words", files=fm.tables.FileSettings(sheet="January"))


def test_a_bad_cell_is_named_as_excel_numbers_its_row(tmp_path):
    rows = [[None, None], ["answer", "latency_ms"], ["a", 1], ["b", "slow"], ["c", 2]]
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": rows})
    with pytest.raises(InputError, match=r"rows.xlsx, line 4, column 'latency_ms': expected a number, got 'slow'"):
        fm.score(book, "latency_ms")
    done = fm.score(book, "latency_ms", output=tmp_path / "s.csv", files=fm.tables.FileSettings(on_error="skip"))
    assert (done.rows, done.rejected) == (2, 1)


def test_odd_workbooks(tmp_path):
    empty = write_workbook(tmp_path / "empty.xlsx", {"Sheet1": []})
    with pytest.raises(FileFormatError, match="the file is empty"):
        fm.score(empty, "answer_words")
    header = write_workbook(tmp_path / "header.xlsx", {"Sheet1": [["answer"]]})
    assert fm.score(header, "answer_words").num_rows == 0
    whole = header.read_bytes()
    for size in (0, 30, len(whole) // 2, len(whole) - 3):
        (tmp_path / "cut.xlsx").write_bytes(whole[:size])
        with pytest.raises(FileFormatError, match="cannot be read as a workbook"):
            fm.score(tmp_path / "cut.xlsx", "answer_words")


def test_many_rows_are_read_in_batches_and_from_the_middle(tmp_path):
    rows = [["id", "answer"], *([at, f"text {at}"] for at in range(9000))]
    source = open_source(write_workbook(tmp_path / "rows.xlsx", {"Sheet1": rows}))
    selection = source.select({"id": "id"})
    chunks = list(source.chunks(selection))
    assert len(chunks) == 2
    assert [value for chunk in chunks for value in chunk.batch["id"].to_pylist()] == [str(at) for at in range(9000)]
    later = list(source.chunks(selection, Position(0, 8990)))
    assert later[0].batch["id"].to_pylist() == [str(at) for at in range(8990, 9000)]


def test_the_package_is_an_extra(tmp_path, monkeypatch):
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '\.\[xlsx\]'"):
        fm.score(book, "answer_words")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_known_by_its_mark(tmp_path, encoding):
    """As Excel saves "Unicode Text", with tabs."""
    path = tmp_path / "rows.csv"
    path.write_bytes("\ufeffid\tanswer\treference\r\n1\tв Париже\tв Париже\r\n".encode(encoding))
    assert fm.score(path, "exact_match").to_pydict() == {"id": ["1"], "exact_match": [1.0]}
    assert fm.columns(path).columns["answer"].first == "в Париже"


@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_wrong_encoding_half_way_names_the_row(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,answer\n" + "1,Париж\n".encode() * 500 + "2,Рим\n".encode("cp1251"))
    with pytest.raises(FastmetricsError, match=r"rows.csv, row 500, column .answer.: invalid UTF-8"):
        fm.score(path, "answer_words", files=fm.tables.FileSettings(encoding=encoding))
    whole = tmp_path / "whole.csv"
    whole.write_bytes("id,answer\n1,Париж и Рим\n".encode("cp1251"))
    scores = fm.score(whole, "answer_words", files=fm.tables.FileSettings(encoding="cp1251"))
    assert scores["answer_words"].to_pylist() == [3.0]


def test_utf_16_that_is_cut_half_way_names_the_row(tmp_path):
    path = tmp_path / "rows.csv"
    data = "\ufeffid,answer\n1,yes\n2,Париж\n".encode("utf-16-le")
    path.write_bytes(data[:-4] + b"\x00\xd8" + "\n3,b\n".encode("utf-16-le"))
    with pytest.raises(FastmetricsError, match=r"rows.csv, row 1, column .answer."):
        fm.score(path, "answer_words")


@pytest.mark.parametrize("far", ["XFD1048576", "A1048576", "ZZ999999"])
def test_a_cell_far_from_the_others_is_refused_before_there_is_room_for_all_between(tmp_path, far):
    near = write_workbook(tmp_path / "near.xlsx", {"a": [["id", "answer"], ["1", "x"]]})
    path = tmp_path / "rows.xlsx"
    with zipfile.ZipFile(near) as before, zipfile.ZipFile(path, "w") as after:
        for name in before.namelist():
            cell = f'<row r="{far.lstrip(string.ascii_uppercase)}"><c s="1" r="{far}"><v>1</v></c></row></sheetData>'
            after.writestr(name, before.read(name).replace(b"</sheetData>", cell.encode()))
    if far.startswith("A1"):  # a long column alone needs little
        assert open_source(path).schema.names == ["id", "answer"]
        return
    with pytest.raises(FileFormatError, match=r"rows.xlsx: a sheet has [\d,]+ rows and [\d,]+ columns for 5 cells"):
        open_source(path)
