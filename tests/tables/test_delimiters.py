"""The delimiter of CSV is found in its first rows, or named."""

from __future__ import annotations

from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OptionError
from fastmetrics.tables import open_source
from tests.support.program import program

ROWS = "id,answer,reference\n1,Lyon,Paris\n2,Rome,Rome\n"


def names(path: Path, text: str) -> list[str]:
    """The columns of a file of this text."""
    path.write_text(text, encoding="utf-8")
    return open_source(path).schema.names


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_the_header_and_the_first_row_is_found(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "rows.csv").write_text(ROWS.replace(",", delimiter))
    assert fm.score(tmp_path / "rows.csv", "exact_match")["exact_match"].to_pylist() == [0.0, 1.0]


def test_a_comma_is_the_delimiter_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert names(path, "answer\na;b\n") == ["answer"]
    assert names(path, "a|b\nx\n") == ["a|b"]
    assert names(path, "a,b;c\nx,y;z\n") == ["a", "b;c"]
    assert names(path, 'a;"b, c"\n"x; y";1\n') == ["a", "b, c"]
    assert names(path, "a;b, c;d\n1;2;3\n") == ["a", "b, c", "d"]
    assert names(path, "a;b\n") == ["a", "b"]


def test_a_delimiter_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a|b;answer\nx|y;Rome\n")
    found = fm.score(path, "answer_words", files=fm.tables.FileSettings(delimiter=";"))
    assert found["answer_words"].to_pylist() == [1.0]
    assert program("score", path, "-m", "answer_words", "-o", tmp_path / "o.csv", "--delimiter", ";").code == 0
    path.write_text(ROWS)
    with pytest.raises(FileFormatError, match=r"rows.csv: the header has ','; expected delimiter=';'$"):
        fm.score(path, "exact_match", files=fm.tables.FileSettings(delimiter=";"))
    with pytest.raises(OptionError, match=r"^delimiter='x': expected ',', ';', 'tab' or '\|'"):
        fm.tables.FileSettings(delimiter="x")


RUSSIAN = "вопрос;answer;reference\nКто?;Анна, «Аня»;Анна\nГде?;Рим;Рим\n"


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16", "utf-16-le", "utf-8-sig"])
def test_an_encoding_can_be_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.csv"
    text = RUSSIAN.replace("«Аня»", "Аня")
    path.write_bytes(text.encode(encoding))
    files = fm.tables.FileSettings(encoding=encoding)
    assert fm.score(path, "exact_match", files=files)["exact_match"].to_pylist() == [0.0, 1.0]
    assert open_source(path, settings=files).schema.names == ["вопрос", "answer", "reference"]
    big = "id,answer\n" + "".join(f"{n},Анна {n}\n" for n in range(100_000))
    path.write_bytes(big.encode(encoding))
    assert set(fm.score(path, "answer_words", files=files)["answer_words"].to_pylist()) == {2.0}


def test_a_wrong_encoding_is_named_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    with pytest.raises(
        FileFormatError,
        match=r"the header is not UTF-8; if it has another encoding, such as cp1252 or cp1251: encoding=\.\.\.",
    ):
        fm.score(path, "exact_match")
    path.write_bytes(b"answer;reference\n" + b"a;a\n" * 3 + b"\x98;a\n")
    with pytest.raises(
        FileFormatError,
        match=r"byte 0x98 at byte 0; if it has another encoding, such as cp1252 or cp1251: encoding=\.\.\.",
    ):
        fm.score(path, "exact_match")
    with pytest.raises(FileFormatError, match=r"row 3, column 'answer': invalid UTF-8: byte 0x98"):
        fm.score(path, "exact_match", files=fm.tables.FileSettings(encoding="cp1251"))
    with pytest.raises(OptionError, match=r"^encoding='none': expected a name such as cp1251 or utf-16$"):
        fm.tables.FileSettings(encoding="none")
