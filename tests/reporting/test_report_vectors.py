"""The report's page of vectors: where points lie, which rows they are, and what cannot be placed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.errors import ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.reporting.sections.vectors_section import POINTS
from fastmetrics.vectors.projection.principal_components import pca
from tests.reporting.test_report import made, read
from tests.support.program import jsonl, program


def vectors(rows, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 6)) * [5, 3, 1, 1, 1, 1]


def test_points_are_matched_to_rows_by_id(tmp_path):
    held, order = vectors(80), np.random.default_rng(1).permutation(80)[:70]
    held[order[3]] = np.nan
    table = pa.table({"id": [f"q{at}" for at in order], "v": held[order].tolist()})
    texts = pa.table({"id": [f"q{at}" for at in range(80)], "question": [f"<b>{at}</b>" for at in range(80)]})
    fm.report(made(80), tmp_path / "r.html", vectors=table, texts=texts)
    page, reader, data = read(tmp_path / "r.html")
    points, placed = data["points"], pca(held[order])
    rows = sorted(set(order.tolist()) - {int(order[3])})
    assert points["at"] == rows
    assert points["id"] == [f"q{at}" for at in rows]
    assert points["text"] == [f"<b>{at}</b>" for at in rows]
    where = {int(row): at for at, row in enumerate(order)}
    np.testing.assert_allclose(points["x"], [placed.points[where[row], 0] for row in rows], rtol=1e-5)
    np.testing.assert_allclose(points["y"], [placed.points[where[row], 1] for row in rows], rtol=1e-5)
    values = made(80)["hallucination"].to_pylist()
    assert points["scores"][2] == [None if values[row] is None else float(f"{values[row]:.6g}") for row in rows]
    assert f"{100 * placed.explained[0]:.1f} % + {100 * placed.explained[1]:.1f} %" in page
    assert "Shows 69 of 69 · left out 11" in page
    assert "b" not in reader.tags


def test_many_points_are_thinned_evenly_and_arrays_match_by_position(tmp_path):
    rows = 2 * POINTS + 1
    np.save(tmp_path / "v.npy", vectors(rows))
    said = fm.report(made(rows), tmp_path / "r.html", vectors=tmp_path / "v.npy")
    points = read(tmp_path / "r.html")[2]["points"]
    assert points["at"] == list(range(0, rows, 3))
    assert said.n_bytes < 5_000_000
    fm.report(made(5), tmp_path / "few.html", vectors=vectors(5))
    assert read(tmp_path / "few.html")[2]["points"]["at"] == [0, 1, 2, 3, 4]


def test_invalid_vectors_raise(tmp_path):
    out = tmp_path / "r.html"
    with pytest.raises(InputError, match="vectors has 4 vectors without ids for 5 rows; give them ids"):
        fm.report(made(5), out, vectors=vectors(4))
    with pytest.raises(InputError, match="vectors has none of the ids of the scores, such as 'q0'"):
        fm.report(made(5), out, vectors=pa.table({"id": ["x"], "v": [[1.0, 2.0]]}))
    with pytest.raises(ColumnError, match=r"expected one column of lists of numbers, found none; .* vectors_column="):
        fm.report(made(5), out, vectors=pa.table({"id": ["q0"]}))
    with pytest.raises(InputError, match="none of the 5 rows is a finite vector"):
        fm.report(made(5), out, vectors=np.full((5, 2), np.nan))
    assert not out.exists()


def test_report_command_with_vectors(tmp_path):
    pq.write_table(made(5), tmp_path / "s.parquet")
    pq.write_table(pa.table({"id": made(5)["id"], "v": vectors(5).tolist()}), tmp_path / "v.parquet")
    done = program("report", tmp_path / "s.parquet", "--vectors", tmp_path / "v.parquet", "-o", tmp_path / "r.html")
    assert (done.code, done.err) == (0, "")
    assert len(read(tmp_path / "r.html")[2]["points"]["at"]) == 5


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_the_column_of_vectors_can_be_chosen(tmp_path, suffix):
    one, other = vectors(5), vectors(5, seed=3)
    table = pa.table({"id": made(5)["id"], "a": one.tolist(), "b": other.tolist(), "c": [[[1.0]]] * 5, "n": [1.0] * 5})
    file, scores, out = tmp_path / f"v.{suffix}", tmp_path / "s.parquet", tmp_path / "r.html"
    pq.write_table(made(5), scores)
    if suffix == "parquet":
        pq.write_table(table, file)
    else:
        jsonl(file, *table.to_pylist())
    expected = pca(other)
    for given in (file, table):
        fm.report(scores, out, vectors=given, vectors_column="b", overwrite=True)
        np.testing.assert_allclose(read(out)[2]["points"]["x"], expected.points[:, 0], rtol=1e-5)
        with pytest.raises(ColumnError, match="found 'a', 'b'; name one with vectors_column="):
            fm.report(scores, out, vectors=given, overwrite=True)
        with pytest.raises(UnknownNameError, match="unknown column 'd'"):
            fm.report(scores, out, vectors=given, vectors_column="d", overwrite=True)
    command = ["report", scores, "--vectors", file, "-o", tmp_path / "c.html"]
    refused = program(*command)
    assert (refused.code, "name one with --vectors-column" in " ".join(refused.err.split())) == (3, True)
    assert program(*command, "--vectors-column", "b").code == 0
    assert read(tmp_path / "c.html")[2]["points"] == read(out)[2]["points"]


def test_a_column_of_vectors_needs_a_table_of_them(tmp_path):
    with pytest.raises(OptionError, match=r"^vectors_column= goes with vectors=$"):
        fm.report(made(5), tmp_path / "r.html", vectors_column="b")
    with pytest.raises(OptionError, match=r"vectors_column='b': vectors is an array, which has no columns"):
        fm.report(made(5), tmp_path / "r.html", vectors=vectors(5), vectors_column="b")
    np.save(tmp_path / "v.npy", vectors(5))
    with pytest.raises(OptionError, match=r"v\.npy is an array"):
        fm.report(made(5), tmp_path / "r.html", vectors=tmp_path / "v.npy", vectors_column="b")
