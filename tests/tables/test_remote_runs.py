"""Folders of runs, reports of all rows and small files at addresses."""

import re
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, UnknownNameError
from fastmetrics.metrics.prices import price_of
from fastmetrics.models.bots import read_knowledge
from fastmetrics.models.prompts import read_rubric
from fastmetrics.results.gate_rules import read_rules
from tests.support.loopback import BUCKET, KEY, SECRET
from tests.support.program import jsonl, program

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    """Three runs in a folder: two files, and a folder of parts."""
    rows = jsonl(tmp_path / "rows.jsonl", *({"id": n, "answer": f"a {n % 3}", "reference": "a 1"} for n in range(9)))
    (tmp_path / "runs").mkdir()
    for name in ("a.parquet", "b.csv", "c/"):
        fm.score(rows, output=f"{tmp_path}/runs/{name}", metrics="token_f1", name=name)
    return tmp_path


def test_runs_at_an_address_are_those_of_the_folder(s3, tmp_path, folder):
    address = s3.put(folder / "runs", "listed/runs")
    (tmp_path / "none").mkdir()
    assert fm.results.list_runs(address).equals(fm.results.list_runs(folder / "runs"))
    assert fm.results.list_runs(Path(address)).num_rows == fm.results.list_runs(f"{address}/").num_rows == 3
    assert fm.trend(address, "token_f1").to_dict() == fm.trend(folder / "runs", "token_f1").to_dict()
    secret = address.replace("s3://", f"s3://{KEY}:{SECRET}@")
    assert fm.trend(secret, "token_f1").to_dict() == fm.trend(folder / "runs", "token_f1").to_dict()
    with pytest.raises(UnknownNameError, match=r"^s3://\*\*\*@rows/listed/runs: no run has it: unknown metric 'f2'"):
        fm.trend(secret, "f2")
    assert fm.results.list_runs(tmp_path / "none").num_rows == 0
    s3.put(folder / "rows.jsonl", "listed/others/rows.jsonl")
    assert fm.results.list_runs(f"s3://{BUCKET}/listed/others").num_rows == 0
    for place, reason in (
        (f"s3://{BUCKET}/listed/nothing", "there is no such file or folder"),
        ("s3://nowhere/runs", "there is no such file or folder"),
    ):
        with pytest.raises(FileFormatError, match=f"^{place}: cannot be read: {reason}$"):
            fm.results.list_runs(place)


def test_a_report_of_all_rows_at_an_address_is_replaced_as_a_whole(s3, tmp_path, folder):
    address = f"s3://{BUCKET}/pages/report"
    options = ("report", folder / "runs" / "a.parquet", "--rows", "all", "-o")
    assert program(*options, address).code == 0
    done = program(*options, address)
    assert (done.code, done.err) == (4, f"error: {address} exists; choose --overwrite to replace it\n")
    s3.put(folder / "rows.jsonl", "pages/report/older.js")
    assert program(*options, address, "--overwrite").code == 0
    assert program(*options, tmp_path / "report").code == 0
    files = (one for one in (tmp_path / "report").rglob("*") if one.is_file())
    local = sorted(one.relative_to(tmp_path / "report").as_posix() for one in files)
    assert s3.names("pages/report") == local
    s3.put(folder / "rows.jsonl", "pages/own/labels.csv")
    done = program(*options, f"s3://{BUCKET}/pages/own", "--overwrite")
    assert done.code == 4
    assert "is not a folder that such a run made" in done.err
    assert s3.names("pages/own") == ["labels.csv"]


@pytest.mark.parametrize("name", ["rules.toml", "prices.toml", "rubric.toml", "knowledge.txt"])
def test_small_files_name_what_is_wrong(s3, tmp_path, name):
    reads = {
        "rules.toml": read_rules,
        "prices.toml": lambda path: price_of("m", path),
        "rubric.toml": read_rubric,
        "knowledge.txt": lambda path: read_knowledge([path]),
    }
    (tmp_path / name).write_bytes(b"\xff")
    address = s3.put(tmp_path / name, f"small/{name}")
    for place in (str(tmp_path / name), address):
        with pytest.raises(FileFormatError, match=f"^{re.escape(place)}: byte 0 is not UTF-8; convert the file first$"):
            reads[name](place)
        with pytest.raises(
            FileFormatError, match=f"^{re.escape(place)}x[.]toml: cannot be read: (No|there is no) such file"
        ):
            reads[name](f"{place}x.toml")
