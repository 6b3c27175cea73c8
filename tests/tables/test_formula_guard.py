"""Cells that a spreadsheet would run: kept from it, and read back as they were."""

import csv
import io
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics import score
from fastmetrics.retrieval.rank import rank
from fastmetrics.tables.encoders import guarded, unguarded
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from tests.support.program import jsonl, program

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


@pytest.mark.parametrize("number", ["-5", "+5", "-5.5", "-.5", "+1e5", "-1.5E-7", "-5."])
def test_numbers_stay_as_they_are(number):
    assert guarded(pa.array([number]))[0].to_pylist() == [number]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "-5+cmd|x", "+", "-", "@SUM(1)", "\t=1", "\r=1", "-5\n", "--5"])
def test_formulas_get_a_quote(text):
    assert guarded(pa.array([text]))[0].to_pylist() == [f"'{text}"]


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
NUMBERS = {"whole": range(-5, 5), "real": [-0.5 * n for n in range(10)], "gone": [None] * 10}


def kept(tmp_path, out, **options):
    """The scores of rows with risky cells in every layout, a risky id and risky names of columns."""
    columns = {**LAYOUTS, "=name": pa.array(["a"] * 10), **{name: pa.array(list(n)) for name, n in NUMBERS.items()}}
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
    assert list(map(float, found["real"])) == NUMBERS["real"]
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


def test_query_ids_are_guarded_too(tmp_path):
    (tmp_path / "run").write_text("=q1 Q0 d1 1 0.5 me\n")
    (tmp_path / "qrels").write_text("=q1 0 d1 1\n")
    rank(tmp_path / "run", tmp_path / "qrels", output=tmp_path / "a.csv", measures="mrr")
    assert "'=q1" in (tmp_path / "a.csv").read_text()
