"""A report of all rows: what its files hold, and how a browser reads them from a disk."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from fastmetrics.base.errors import InputError, OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.reporting.row_files import kind_of
from tests.reporting.test_report import HOSTILE, read
from tests.support.browser import complaints, requests, width
from tests.support.goldens import refused

ROWS = 700


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patched:
        small = {"report_part_rows": 128, "report_lines": 16, "report_text_chars": 3_000, "report_text_rows": 50}
        for name, value in small.items():
            patched.setattr(SIZES, name, value)
        yield


def scores(seed):
    random = np.random.default_rng(seed)
    made = {"token_f1": random.integers(0, 32, ROWS) / 32, "latency_ms": random.random(ROWS) * 1e9}
    columns = {name: pa.array(one, mask=random.random(ROWS) < 0.1) for name, one in made.items()}
    return pa.table({"id": [f"q{at:03}" for at in range(ROWS)], **columns, "constant": np.zeros(ROWS)})


def texts(word, order=None):
    rows = range(ROWS) if order is None else order
    questions = [HOSTILE[at] if at < len(HOSTILE) else f"Question {at}?" for at in rows]
    answers = [f"{word} {at} [1]." for at in rows]
    contexts = [[f"It is {at}.", HOSTILE[at % 8]] for at in rows]
    return pa.table(
        {"id": [f"q{at:03}" for at in rows], "question": questions, "answer": answers, "contexts": contexts}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("all") / "report"
    judged = {"id": ["q005"], "judge_x": [4.0], "judge_x_status": ["ok"], "judge_x_reason": ["because"]}
    order = np.random.default_rng(9).permutation(ROWS)
    given = {"texts": texts("New", order), "baseline_texts": texts("Old"), "judged": judged}
    said = fm.report({"new": scores(1)}, out, rows="all", baseline=scores(0).slice(0, ROWS - 1), title="All", **given)
    assert (said.n_rows, said.n_shown) == (ROWS, ROWS)
    assert said.n_bytes == sum(one.stat().st_size for one in out.rglob("*.*") if one.is_file())
    return out


def shard(folder: Path, name: str):
    text = (folder / "rows" / f"{name}.js").read_text(encoding="utf-8")
    found = re.fullmatch(r'shards\.take\("([\w-]+)",(.*)\);\n', text, re.S)
    assert found[1] == name
    return json.loads(found[2])


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), f"<{kind}").astype(np.float64)


def test_all_rows_files_hold_every_row(folder):
    page, _, data = read(folder / "report.html")
    assert data["rows"] == []
    assert len(page) < 5_100_000
    body = page[: page.index('id="report-data"')]
    assert "Find in ids and questions" in body
    assert "texts are of a sample" not in body
    known = data["all"]
    assert (known["n"], known["after"], known["before"]) == (ROWS, ["f4", "f8", "f4", "f4"], ["f4", "f8", "f4", None])
    assert data["metrics"][-1]["name"] == "judge_x"
    for at, name in enumerate(("token_f1", "latency_ms", "constant")):
        for file, run in ((f"score-{at}", scores(1)), (f"before-{at}", scores(0))):
            expected = run[name].to_numpy().copy()
            if file.startswith("before"):
                expected[-1] = np.nan
            np.testing.assert_array_equal(numbers(shard(folder, file), known["after"][at]), expected)
    lines = [line for at in range(-(-ROWS // 16)) for line in shard(folder, f"lines-{at}")]
    assert [line[0] for line in lines] == scores(1)["id"].to_pylist()
    assert lines[50][1] == "Question 50?"
    stops = [*known["starts"][1:], ROWS]
    for file, (start, stop) in enumerate(zip(known["starts"], stops, strict=True)):
        part = shard(folder, f"texts-{file}")
        assert len(part["rows"]) == stop - start
        after = numbers(part["s"], known["each"]).reshape(-1, 4)
        np.testing.assert_array_equal(after[:, 0], scores(1)["token_f1"].to_numpy()[start:stop])
        before = numbers(part["b"], known["each"]).reshape(-1, 4)
        np.testing.assert_array_equal(
            before[: ROWS - 1 - start, 0], scores(0)["token_f1"].to_numpy()[start : min(stop, ROWS - 1)]
        )
        for at, row in enumerate(part["rows"], start):
            assert row["t"]["answer"] == f"New {at} [1]."
            assert row["other"] == f"Old {at} [1]."
            assert row["t"]["contexts"][0] == f"It is {at}."
            assert [one[2] for one in row["t"]["cites"]] == [1]
            assert ("j" in row) == (at == 5)
    assert not [one for one in folder.rglob("*") if one.name == "work" or one.suffix == ".arrow"]
    worst = next(one for one in data["strata"] if (one["kind"], one["metrics"]) == ("worst", ["token_f1"]))
    values = scores(1)["token_f1"].to_numpy()
    assert values[worst["rows"]].tolist() == sorted(values[~np.isnan(values)])[:25]


def test_failed_report_writes_nothing(tmp_path):
    run, out = scores(0), tmp_path / "report"
    for order in ([3, 4, 3], [*range(60), 7]):
        refused(InputError, f"q00{order[-1]}", fm.report, run, out, rows="all", texts=texts("Twice", order))
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    refused(OutputError, "overwrite=True", fm.report, run, out, rows="all")
    refused(OutputError, "report", fm.report, run, out, rows="all", overwrite=True)
    assert [one.name for one in out.iterdir()] == ["mine.txt"]
    fm.report(run, tmp_path / "new", rows="all")
    (tmp_path / "new" / "rows" / "extra.js").write_text("")
    fm.report(run, tmp_path / "new", rows="all", overwrite=True)
    assert not (tmp_path / "new" / "rows" / "extra.js").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["new", "report"]


@pytest.mark.parametrize("rows", [0, 1])
def test_all_rows_report_of_few_rows(tmp_path, rows):
    fm.report(scores(0).slice(0, rows), tmp_path / "r", rows="all", baseline=scores(1).slice(0, rows))
    data = read(tmp_path / "r" / "report.html")[2]
    assert (data["all"]["n"], data["all"]["starts"]) == (rows, [0] * rows)


def lines(driver):
    """The cells of the lines that are drawn, read in one piece: a file that arrives draws them anew."""
    found = "[...document.querySelectorAll('#row-table .lines [role=row]')]"
    return driver.execute_script(f"return {found}.map((row) => [...row.children].map((cell) => cell.textContent))")


def until(driver, test):
    WebDriverWait(driver, 20).until(lambda _: test())


def loaded(driver):
    found = lines(driver)
    return bool(found) and all(one[0] != "…" for one in found)


def test_browser_sorts_filters_and_opens_all_rows_from_disk(driver, folder):
    page = folder / "report.html"
    driver.get(f"{page.as_uri()}#page=rows")
    until(driver, lambda: loaded(driver))
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("token_f1")
    values = scores(1)["token_f1"].to_numpy()
    known = values[~np.isnan(values)]
    head = driver.find_elements(By.CSS_SELECTOR, "#row-table [role=columnheader] button")
    for place, expected in ((2, np.sort(known)), (2, np.sort(known)[::-1])):
        head[place].click()
        until(driver, lambda: loaded(driver))
        shown = lines(driver)
        assert [float(one[2]) for one in shown] == pytest.approx(expected[: len(shown)], abs=5.1e-5)  # four digits
        best = np.lexsort((np.arange(ROWS), -values if expected[0] > 0 else values))[: len(shown)]
        assert [one[0] for one in shown] == [f"q{row:03}" for row in best]
    change = (scores(1)["latency_ms"].to_numpy() - scores(0)["latency_ms"].to_numpy())[: ROWS - 1]
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("latency_ms")
    head[4].click()
    until(driver, lambda: loaded(driver) and lines(driver)[0][0] == f"q{np.nanargmin(change):03}")
    driver.find_element(By.ID, "row-table").send_keys(Keys.END)
    until(driver, lambda: loaded(driver))
    chosen = "return document.querySelector('[aria-selected=true]').getAttribute('aria-rowindex')"
    assert driver.execute_script(chosen) == str(ROWS + 1)
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&metric=0&least=0.1&most=0.25&row=5")
    until(driver, lambda: loaded(driver))
    inside = int(((known >= 0.1) & (known <= 0.25)).sum())
    assert driver.find_element(By.ID, "row-count").text == f"shows {inside} of {ROWS}."
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&metric=1&row=5")
    until(driver, lambda: "because" in driver.find_element(By.ID, "row-detail").text)
    detail = driver.find_element(By.ID, "row-detail").text
    assert "New 5 [1]." in detail
    assert "Old 5 [1]." in detail
    assert HOSTILE[5].replace("\x00", "␀").replace("\x1b", "␛") in detail
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#page=rows&find=question+69")
    until(driver, lambda: "shows" in driver.find_element(By.ID, "row-count").text and loaded(driver))
    assert {one[0] for one in lines(driver)} == {"q069", *(f"q69{at}" for at in range(10))}
    for at in range(4):
        driver.get("about:blank")
        driver.get(f"{page.as_uri()}#page=rows&row={at}")
        until(driver, lambda text=HOSTILE[at]: text in driver.find_element(By.ID, "row-detail").text)
    assert driver.title == "All"
    assert complaints(driver) == []
    assert [one for one in requests(driver, page) if not one.startswith((folder / "rows").as_uri())] == []


def test_content_policy_blocks_foreign_scripts(driver, folder):
    driver.get((folder / "report.html").as_uri())
    blocked = """
        const done = arguments[1], script = document.createElement("script");
        script.src = arguments[0];
        script.onload = () => done("ran");
        script.onerror = () => done("stopped");
        document.head.append(script);
    """
    for place in ("data:text/javascript,document.title='owned'", "http://127.0.0.1:9/a.js"):
        assert driver.execute_async_script(blocked, place) == "stopped"
    driver.execute_script(
        "const one = document.createElement('script');one.textContent = 'document.title = 1';document.body.append(one)"
    )
    assert driver.title == "All"
    assert all("Content Security Policy" in one for one in complaints(driver))


@pytest.mark.parametrize("pixels", [1280, 390])
def test_page_of_all_rows_is_accessible(driver, folder, pixels):
    width(driver, pixels)
    driver.get("about:blank")
    driver.get(f"{(folder / 'report.html').as_uri()}#page=rows&row=5&sort=score")
    until(driver, lambda: loaded(driver) and "because" in driver.find_element(By.ID, "row-detail").text)
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in Axe().run(driver)["violations"]] == []
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert complaints(driver) == []


def test_page_without_its_files_shows_a_message(driver, folder, tmp_path):
    (tmp_path / "alone.html").write_bytes((folder / "report.html").read_bytes())
    driver.get(f"{(tmp_path / 'alone.html').as_uri()}#page=rows")
    until(driver, lambda: "keep the folder rows beside" in driver.find_element(By.ID, "row-count").text)


@pytest.mark.parametrize("kind", ["Float64Array", "Float32Array"])
def test_numbers_sort_as_in_python(driver, folder, kind):
    """Also numbers that are equal as float32, few of them or many."""
    driver.get((folder / "report.html").as_uri())
    random = np.random.default_rng(0)
    near = [
        *(0.5 + random.random(90) * 1e-9),
        *(-7 - random.random(9) * 1e-9),
        1e300,
        1e301,
        -1e300,
        -1e301,
        0.25 + 1e-12,
    ]
    values = [*random.normal(size=300).tolist(), 0.0, -0.0, 1e300, -1e-300, 5e-324, *[0.25] * 20, *[None] * 9, 1.0, 2.0]
    values += [float(one) for one in random.permutation(near)]
    if kind == "Float32Array":
        with np.errstate(over="ignore"):
            values = [None if one is None else float(np.float32(one)) for one in values]
        values = [one for one in values if one is None or np.isfinite(one)]  # JSON has no infinity
    script = f"""
        const values = {kind}.from(arguments[0], (one) => one ?? NaN);
        return Array.from(sortedPlaces(values, upTo(values.length), arguments[1]));
    """
    for down in (False, True):
        known = [at for at, one in enumerate(values) if one is not None]
        expected = sorted(known, key=lambda at, down=down: -values[at] if down else values[at])
        found = driver.execute_script(script, values, down)
        assert found == [*expected, *(at for at, one in enumerate(values) if one is None)]


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ([], "f4"),
        ([np.nan, -np.inf], "f4"),
        ([0.5, -3.0, np.nan], "f4"),
        ([2.0**24, -(2.0**24)], "f4"),
        ([1.0, 2.0**24 + 1], "f8"),
        ([1.0, -(2.0**24) - 1], "f8"),
    ],
)
def test_scores_that_four_bytes_would_round_to_other_integers_have_eight(scores, kind):
    assert kind_of(np.array(scores, np.float64)) == kind
