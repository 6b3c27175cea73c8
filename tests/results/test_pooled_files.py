"""Summaries of several files: which were added up, and in what their settings differ."""

from __future__ import annotations

import json

import pytest

from fastmetrics.results.summary import summarize
from fastmetrics.tables.addresses import parse
from fastmetrics.tables.input_files import DataFile
from fastmetrics.tables.outputs import read_metadata
from tests.support.program import jsonl, program, unfolded

ROWS = [{"id": n, "answer": "a b", "reference": "a", "gold": "a b"} for n in range(3)]

SIZES = [sum(len(json.dumps(row)) + 1 for row in rows) for rows in (ROWS, ROWS[:2])]
THREE, TWO = (f"{name}.jsonl ({size} bytes)" for name, size in zip(("three", "two"), SIZES, strict=True))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "three.jsonl", *ROWS)
    jsonl(tmp_path / "two.jsonl", *ROWS[:2])


STRANGE = [
    {"inputs": said, "scores": {}}
    for said in (7, [1], {}, {"first": 7}, {"first": [7], "files": 1, "bytes": 1}, {"first": [[1, 2]], "files": 2})
]


def scored(name, out, *options, metrics="token_f1"):
    done = program("score", name, "-o", out, "-m", metrics, *options)
    assert (done.code, done.err) == (0, "")


def notes(*names):
    done = program("summarize", *names, "--json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    printed = unfolded(program("summarize", *names).out)
    assert all(unfolded(note) in printed for note in told["notes"])
    return told["notes"]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".arrow", "/"])
def test_note_names_files_and_their_rows(suffix):
    scored("three.jsonl", f"a{suffix}")
    scored("two.jsonl", f"b{suffix}")
    assert notes(f"a{suffix}") == []
    assert notes(f"a{suffix}", f"b{suffix}") == [
        f"2 files pooled: a{suffix} (3 rows), b{suffix} (2 rows)",
        f"different inputs: a{suffix} from {THREE}; b{suffix} from {TWO}",
    ]
    assert "read: answer, reference (not gold)" in program("summarize", f"a{suffix}", f"b{suffix}").out.splitlines()


def test_files_from_globs_and_folders_are_pooled(tmp_path):
    (tmp_path / "s").mkdir()
    scored("three.jsonl", "s/a.parquet")
    scored("two.jsonl", "s/b.parquet")
    for name in ("s", "s/*.parquet"):
        told = notes(name)
        assert told[0].startswith("2 files pooled: ")
        assert all(part in told[0] for part in ("a.parquet (3 rows)", "b.parquet (2 rows)"))
    both = program("summarize", "s/a.parquet", "s/b.parquet", "--json").out
    figures = json.loads(program("summarize", "s", "--json").out)["metrics"]
    assert figures == json.loads(both)["metrics"]


def test_pooled_glob_distinguishes_undefined_from_missing(tmp_path):
    rows = [{"retrieved_ids": ["a"], "relevant_ids": []}, {"retrieved_ids": None, "relevant_ids": ["a"]}]
    for name in "xy":
        jsonl(tmp_path / f"{name}.jsonl", *rows)
        scored(f"{name}.jsonl", f"{name}.parquet", metrics="r_precision")
    found = summarize("[xy].parquet")["r_precision"]
    assert (found.n, found.n_missing, found.n_undefined) == (0, 2, 2)


def test_differing_settings_are_named(tmp_path):
    scored("three.jsonl", "a.csv", metrics="squad_f1(version=1)")
    scored("two.jsonl", "b.csv", "--columns", "reference=gold", metrics="squad_f1(version=1)")
    assert notes("a.csv", "b.csv")[1:] == [
        "columns.reference is 'reference' in a.csv, 'gold' in b.csv",
        f"different inputs: a.csv from {THREE}; b.csv from {TWO}",
    ]
    path = tmp_path / "b.csv.meta.json"
    told = json.loads(path.read_text())
    told["fastmetrics"] = "0.0.1"
    told["scores"]["squad_f1"]["version"] = 2
    path.write_text(json.dumps(told))
    now = json.loads((tmp_path / "a.csv.meta.json").read_text())["fastmetrics"]
    assert notes("a.csv", "b.csv", "b.csv")[1:] == [
        f"fastmetrics is '{now}' in a.csv, '0.0.1' in b.csv, b.csv",
        "scores.squad_f1.version is 1 in a.csv, 2 in b.csv, b.csv",
        "columns.reference is 'reference' in a.csv, 'gold' in b.csv, b.csv",
        f"different inputs: a.csv from {THREE}; b.csv, b.csv from {TWO}",
        f"files from the same input (by name and size); its rows are counted repeatedly: b.csv, b.csv from {TWO}",
    ]


def test_files_without_metadata_have_unknown_settings(tmp_path):
    scored("three.jsonl", "a.jsonl")
    jsonl(tmp_path / "o.jsonl", {"token_f1": 0.5})
    assert notes("o.jsonl", "a.jsonl")[1:] == ["unknown settings: o.jsonl"]
    assert notes("o.jsonl", "o.jsonl") == ["2 files pooled: o.jsonl (1 rows), o.jsonl (1 rows)"]


def test_note_on_many_files_names_the_first(tmp_path):
    for n in range(9):
        jsonl(tmp_path / f"f{n}.jsonl", {"token_f1": 0.5})
    (note,) = notes(*(f"f{n}.jsonl" for n in range(9)))
    assert note.startswith("9 files pooled: f0.jsonl (1 rows), ")
    assert note.endswith("f4.jsonl (1 rows) and 4 more")


def test_malformed_metadata_cause_no_traceback(tmp_path):
    for n, said in enumerate(
        ({"columns": 7}, {"passed_over": {"a": 7}, "columns": {"a": None}}, {"scores": [1]}, *STRANGE)
    ):
        jsonl(tmp_path / f"f{n}.jsonl", {"token_f1": 0.5})
        (tmp_path / f"f{n}.jsonl.meta.json").write_text(json.dumps(said))
        assert program("summarize", f"f{n}.jsonl").code == 0
    assert program("summarize", *(f"f{n}.jsonl" for n in range(3 + len(STRANGE)))).code == 0


def inputs_of(path):
    return read_metadata(path)["inputs"]


def test_location_of_data_does_not_change_output_bytes(tmp_path):
    for place in ("here", "there/deep"):
        (tmp_path / place).mkdir(parents=True)
        jsonl(tmp_path / place / "three.jsonl", *ROWS)
        for suffix in (".parquet", ".csv", ".arrow"):
            scored(tmp_path / place / "three.jsonl", f"{place}/o{suffix}")
            assert "here" not in json.dumps(inputs_of(f"{place}/o{suffix}"))
    for name in ("o.parquet", "o.csv", "o.csv.meta.json", "o.arrow", "o.arrow.meta.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there/deep" / name).read_bytes()
    assert notes("here/o.csv", "there/deep/o.csv")[1:] == [
        "files from the same input (by name and size); its rows are counted repeatedly: "
        f"here/o.csv, there/deep/o.csv from {THREE}"
    ]


@pytest.mark.parametrize("count", [1, 5, 6, 40])
def test_note_on_many_inputs_names_the_first_and_compares_all(tmp_path, count):
    for n in range(count):
        for side in "ab":
            (tmp_path / side).mkdir(exist_ok=True)
            jsonl(
                tmp_path / side / f"{n:02}.jsonl",
                {"answer": "a" * (1 + (side == "b" and n == count - 1)), "reference": "a"},
            )
    for side in "ab":
        scored(side, f"{side}.parquet")
    found = inputs_of("a.parquet")
    assert (found["files"], len(found["first"])) == (count, min(count, 5))
    assert found["bytes"] == sum(path.stat().st_size for path in (tmp_path / "a").iterdir())
    (note,) = notes("a.parquet", "b.parquet")[1:]
    assert note.startswith("different inputs: a.parquet from 00.jsonl (")
    assert (f" and {count - 5} more, " in note) == (count > 5)


def test_names_of_addresses_and_streams_omit_secrets(tmp_path):
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    scored_in = program("score", "-", "-o", "o.csv", "-m", "token_f1", stdin=rows)
    assert scored_in.code == 0
    assert inputs_of("o.csv")["first"] == [["stream", len(rows)]]
    for address in ("s3://key:secret@bucket/in/rows.csv?region=x", "http://me:secret@host/rows.csv?token=secret"):
        shown = parse(address).shown
        assert DataFile(address, shown, "csv", stamp=(7, None)).name == "rows.csv"


def test_rows_of_files_that_are_read_twice_are_counted_once():
    for name in ("three", "two"):
        scored(f"{name}.jsonl", f"{name}.parquet")
    summary = summarize(["three.parquet", "two.parquet"], statistics={"token_f1": ["p50"]})  # which reads them again
    assert summary.n_rows == 5
    assert "2 files pooled: three.parquet (3 rows), two.parquet (2 rows)" in summary.notes
