"""Workbooks of Excel, and text files as Excel and Windows write them."""

import string
import sys
import zipfile

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FastmetricsError, FileFormatError, MissingExtraError
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


def test_a_sheet_is_read_by_its_name(tmp_path):
    book = write_workbook(tmp_path / "rows.xlsx", {"January": ROWS, "Февраль": [["answer"], ["yes"]]})
    assert "with --sheet January" in program("score", book, "-m", "answer_words").err
    assert fm.score(book, "answer_words", files=fm.tables.FileSettings(sheet="Февраль")).num_rows == 1
    header = write_workbook(tmp_path / "header.xlsx", {"Sheet1": [["answer"]]})
    assert fm.score(header, "answer_words").num_rows == 0


def test_a_row_with_a_bad_cell_is_set_aside(tmp_path):
    rows = [[None, None], ["answer", "latency_ms"], ["a", 1], ["b", "slow"], ["c", 2]]
    book = write_workbook(tmp_path / "rows.xlsx", {"Sheet1": rows})
    done = fm.score(book, "latency_ms", output=tmp_path / "s.csv", files=fm.tables.FileSettings(on_error="skip"))
    assert (done.rows, done.rejected) == (2, 1)


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
