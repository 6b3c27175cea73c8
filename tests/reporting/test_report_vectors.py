"""The report's page of vectors: where points lie, which rows they are, and what cannot be placed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.reporting.sections.vectors_section import POINTS
from fastmetrics.vectors.projection import pca
from tests.reporting.test_report import made, read
from tests.support.browser import complaints, width
from tests.support.goldens import refused
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
        refused(ColumnError, "a b", fm.report, scores, out, vectors=given, overwrite=True)
        refused(UnknownNameError, "d", fm.report, scores, out, vectors=given, vectors_column="d", overwrite=True)
    command = ["report", scores, "--vectors", file, "-o", tmp_path / "c.html"]
    done = program(*command)
    assert (done.code, "--vectors-column" in done.err) == (3, True)
    assert program(*command, "--vectors-column", "b").code == 0
    assert read(tmp_path / "c.html")[2]["points"] == read(out)[2]["points"]


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("form", ["result", "table", "file"])
def test_points_of_project_are_shown_where_they_are(tmp_path, dims, form):
    held = vectors(20)
    held[3] = np.nan
    pq.write_table(pa.table({"id": [f"q{at}" for at in range(20)], "v": held.tolist()}), tmp_path / "v.parquet")
    placed = fm.vectors.project(tmp_path / "v.parquet", dims=dims)
    pq.write_table(placed.to_arrow(), tmp_path / "points.parquet")
    given = {"result": placed, "table": placed.to_arrow(), "file": tmp_path / "points.parquet"}[form]
    fm.report(made(25), tmp_path / "r.html", vectors=given)
    page, _, data = read(tmp_path / "r.html")
    points = data["points"]
    assert points["at"] == [at for at in range(20) if at != 3]
    for at, name in enumerate("xyz"[:dims]):
        np.testing.assert_allclose(points[name], placed.points[points["at"], at], rtol=1e-5)
    assert ("z" in points, 'id="point-turn"' in page) == (dims == 3, dims == 3)
    assert "where vectors project placed them" in page


def test_points_are_coloured_by_kept_columns_with_few_values(tmp_path):
    topics = [f"<b>{at % 9}" if at % 4 else None for at in range(90)]
    scores = (
        made(90).append_column("topic", pa.array(topics)).append_column("text", pa.array(list(map(str, range(90)))))
    )
    scores = scores.append_column("same", pa.array(["x"] * 90))
    fm.report(scores, tmp_path / "r.html", vectors=vectors(90))
    [column] = read(tmp_path / "r.html")[2]["points"]["columns"]
    assert (column["name"], len(column["values"])) == ("topic", 7)
    shown = [None if code is None else (column["values"] + ["other"])[code] for code in column["codes"]]
    assert all(a == b or (a == "other" and b not in column["values"]) for a, b in zip(shown, topics, strict=True))
    assert "other" in shown


def test_points_turn_in_a_browser_and_have_the_colours_of_a_column(driver, tmp_path):
    held = pa.table({"id": [f"q{at}" for at in range(40)], "v": vectors(40).tolist()})
    pq.write_table(held, tmp_path / "v.parquet")
    scores = made(40).append_column("topic", pa.array(["</script>" if at % 2 else "b" for at in range(40)]))
    fm.report(scores, tmp_path / "r.html", vectors=fm.vectors.project(tmp_path / "v.parquet", dims=3))
    width(driver, 1280)
    driver.get((tmp_path / "r.html").as_uri() + "#page=vectors")
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, "#points .dots circle"))
    places = "return [...document.querySelectorAll('#points .dots circle')].map((dot) => dot.getAttribute('cx'))"
    before = driver.execute_script(places)
    driver.find_element(By.ID, "point-turn").send_keys(Keys.END)
    assert driver.execute_script(places) != before
    Select(driver.find_element(By.ID, "point-metric")).select_by_visible_text("topic")
    dots = "[...document.querySelectorAll('#points .dots circle')]"
    fills = dict(driver.execute_script(f"return {dots}.map((dot) => [dot.dataset.at, dot.getAttribute('fill')])"))
    assert {fills[str(at)] for at in range(0, 40, 2)}.isdisjoint({fills[str(at)] for at in range(1, 40, 2)})
    assert sorted(driver.find_element(By.CSS_SELECTOR, "#points .keys").text.split()) == ["</script>", "b"]
    driver.find_element(By.ID, "point-find").send_keys("Q7")
    clear = f"return {dots}.filter((dot) => !dot.hasAttribute('opacity')).map((dot) => dot.dataset.at)"
    assert driver.execute_script(clear) == ["7"]
    assert [one["id"] for one in Axe().run(driver)["violations"]] == []
    assert complaints(driver) == []
