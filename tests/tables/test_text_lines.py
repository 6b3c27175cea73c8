"""Lines of text files: blank ones, their ends, the mark at the beginning; and the numbers that rows get by them."""

import json
import re

import pytest

from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Position
from tests.support.table_files import read

BLANK = ["", " ", "\t", "  \t ", "\r", "\x0b", "\x0c"]
BAD = [None, "broken", '{"answer": 7}']


def written(path, lines, end):
    path.write_bytes(end.join(lines).encode())
    return path


def found(source, kinds, start=0):
    """The numbers of the good rows, what they hold, and the rejects."""
    chunks = list(source.chunks(source.select(kinds), Position(0, start)))
    rows = [row for chunk in chunks for row in chunk.rows.tolist()]
    texts = [text for chunk in chunks for text in chunk.batch["answer"].to_pylist()]
    return rows, texts, [str(reject) for chunk in chunks for reject in chunk.rejects]


@pytest.mark.slow
@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [8 << 20, 64])
def test_blank_json_lines_are_counted_but_skipped(tmp_path, blank, bad, end, block):
    """Among good lines, which Arrow parses, and where a bad one has all of its block read line by line."""
    lines = [json.dumps({"answer": f"row {n}"}) for n in range(30)]
    at = [0, 1, 7, 8, 20, 29]
    for n in at:
        lines[n] = blank
    wrong = [n for n in (4, 21) if bad is not None]
    for n in wrong:
        lines[n] = bad
    path = written(tmp_path / "in.jsonl", [*lines, blank], end)
    source = open_source(path, sizes=ReadSizes(line_block_bytes=block))
    good = [n for n in range(30) if n not in at and n not in wrong]
    for start in (0, 3, 8, 21, 30):
        rows, texts, rejects = found(source, {"answer": "text"}, start)
        assert rows == [n for n in good if n >= start]
        assert texts == [f"row {n}" for n in rows]
        assert [re.findall(r"line (\d+)[,:]", one) for one in rejects] == [[str(n + 1)] for n in wrong if n >= start]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\n\n"])
def test_last_line_needs_no_newline(tmp_path, end, last):
    texts = ["one", "two\nlines", "three"]
    written(tmp_path / "in.jsonl", [json.dumps({"answer": text}) for text in texts], end)
    written(tmp_path / "in.csv", ["answer", *(f'"{text}"' for text in texts)], end)
    for name in ("in.jsonl", "in.csv"):
        with open(tmp_path / name, "ab") as file:
            file.write(last.encode())
        # a blank line is a row of a single column, without a value
        blank = [None] if (name, last) == ("in.csv", "\n\n") else []
        assert found(open_source(tmp_path / name, "csv" if "csv" in name else None), {"answer": "text"})[:2] == (
            list(range(3 + len(blank))),
            [*texts, *blank],
        )


@pytest.mark.slow
def test_lines_of_many_blocks_keep_their_numbers(tmp_path):
    """Blocks end within lines, at their ends, and within characters of several bytes."""
    lines = [json.dumps({"answer": "ü😀" * (n % 5) + str(n)}, ensure_ascii=False) for n in range(60)]
    lines[40] = "broken"
    written(tmp_path / "in.jsonl", lines, "\n")
    for block in (*range(1, 40), 100, 1000):
        source = open_source(tmp_path / "in.jsonl", sizes=ReadSizes(line_block_bytes=block))
        rows, texts, rejects = found(source, {"answer": "text"})
        assert rows == [n for n in range(60) if n != 40]
        assert texts == ["ü😀" * (n % 5) + str(n) for n in rows]
        assert [reject.split(": ")[0] for reject in rejects] == [f"{tmp_path}/in.jsonl, line 41"]


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.tsv"])
@pytest.mark.parametrize("block", [8 << 20, 16])
def test_byte_order_mark_is_stripped_at_the_start(tmp_path, name, block):
    """At the beginning; anywhere else it is a character."""
    lines = ["answer", "\ufeffa", "b"]
    if name == "in.jsonl":
        lines = [json.dumps({"answer": text}, ensure_ascii=False) for text in lines[1:]]
    written(tmp_path / name, ["\ufeff" + lines[0], *lines[1:]], "\n")
    format = None if name == "in.jsonl" else name[3:]
    source = open_source(tmp_path / name, format, sizes=ReadSizes(line_block_bytes=block, csv_block_bytes=block))
    assert source.schema.names == ["answer"]
    assert found(source, {"answer": "text"}) == ([0, 1], ["\ufeffa", "b"], [])


def test_csv_ids_keep_their_spelling(tmp_path):
    ids = ["007", "7", "7.0", "9007199254740993", "99999999999999999999999", "1e3", "true", "NA", "null", " 7", ""]
    written(tmp_path / "in.csv", ["id,answer", *(f"{one},x" for one in ids)], "\n")
    for kind in ("id", "any", "text"):
        assert read(open_source(tmp_path / "in.csv"), {"id": kind})[0]["id"].to_pylist() == [*ids[:-1], None]
    listed = open_source(written(tmp_path / "lists.csv", ["ids,answer", '"[""007"", 7]",x', '"[7.5]",x'], "\n"))
    table, rejects = read(listed, {"ids": "ids"})
    assert table["ids"].to_pylist() == [["007", "7"]]
    assert len(rejects) == 1
