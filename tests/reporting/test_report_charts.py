"""The charts that a report draws itself: their figures, what is not defined, gaps, and the size of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import fastmetrics as fm
from fastmetrics.reporting.charts import LineChart
from tests.support.browser import browser, complaints

ROWS = 300


def scores(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    columns = {name: random.random(ROWS).round(3) for name in ("token_f1", "ndcg@1", "ndcg@5", "ndcg@10")}
    columns["same"] = np.full(ROWS, 0.5)
    return pa.table({"id": [f"q{at}" for at in range(ROWS)], **columns})


def texts() -> pa.Table:
    long = {name: [f"{name} {at} in some ten words that are not long" for at in range(ROWS)] for name in ("question",)}
    answers = [f"answer {at} with words of its own, and more of them than the question" * 3 for at in range(ROWS)]
    return pa.table({"id": scores(0)["id"], **long, "answer": answers, "reference": answers})


def test_a_page_of_300_rows_is_smaller_than_a_megabyte(tmp_path):
    said = fm.report(scores(1), tmp_path / "r.html", baseline=scores(0), texts=texts(), baseline_texts=texts())
    assert said.n_shown == ROWS
    assert said.n_bytes == (tmp_path / "r.html").stat().st_size < 1_000_000


def test_a_line_chart_has_texts_on_its_axis_where_it_is_given_them():
    chart = LineChart("m", "run", [1, 2], {"mean": [0.5, None]}, x_labels=["2026-01-01", "b\u202ec"])
    assert chart.data()["x_labels"] == ["2026-01-01", "b␦c"]
    assert "x_labels" not in LineChart("m", "k", [1], {"mean": [0.5]}).data()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("charts") / "r.html"
    fm.report(scores(1), out, baseline=scores(0))
    return out


@pytest.fixture(scope="module")
def driver(page: Path) -> Iterator[object]:
    with browser() as window:
        window.get(page.as_uri())
        yield window


def drawn(driver, selector):
    """Scroll to the charts, and wait until those in view are drawn."""
    driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, f"{selector} svg.drawn"))


def test_bars_of_a_histogram_are_its_counts(driver, tmp_path):
    fm.report(scores(1), tmp_path / "one.html")
    driver.get(f"{(tmp_path / 'one.html').as_uri()}#page=distributions")
    drawn(driver, "#histograms .chart")
    bars = driver.execute_script(
        "return [...document.querySelector('#histograms .chart').querySelectorAll('.bar')].map((bar) => "
        "[Number(bar.dataset.count), Number(bar.getAttribute('height')), bar.textContent])"
    )
    histogram = fm.results.histograms(scores(1))["token_f1"]
    assert [count for count, _, _ in bars] == list(histogram.counts)
    most = max(histogram.counts)
    highest = max(height for _, height, _ in bars)
    assert [height for _, height, _ in bars] == pytest.approx([highest * n / most for n in histogram.counts], abs=0.02)
    assert bars[0][2].endswith(f": {histogram.counts[0]}")


def test_outlines_of_histograms_are_the_shares_of_each_system(driver, page):
    driver.get(f"{page.as_uri()}#page=distributions")
    drawn(driver, "#histograms .chart")
    outlines = driver.execute_script(
        "return [...document.querySelector('#histograms .chart').querySelectorAll('.series path')].map((one) => "
        "one.getAttribute('d'))"
    )
    shares = [np.array(one.counts) / one.n for one in (fm.results.histograms(scores(at))["token_f1"] for at in (0, 1))]
    levels = [[float(y) for y in re.findall(r"V([\d.]+)", path)] for path in outlines]
    heights = [[line[-1] - y for y in line[:-1]] for line in levels]
    scale = max(map(max, heights)) / max(map(max, shares))
    for line, share in zip(heights, shares, strict=True):
        assert line == pytest.approx(scale * share, abs=0.2)
    assert driver.find_element(By.CSS_SELECTOR, "#distributions .keys").text.split("\n") == [
        "run 1 (baseline)",
        "run 1",
    ]


def test_cells_of_correlations_have_their_values_and_undefined_ones_are_crossed_out(driver, page):
    driver.get(f"{page.as_uri()}#page=distributions")
    driver.execute_script("byId('correlations').scrollIntoView()")
    drawn(driver, "#correlations")
    cells = driver.execute_script(
        "return [...document.querySelectorAll('#correlations .cell:not(.ramp)')].map((cell) => "
        "[cell.classList.contains('absent'), cell.dataset.value ?? null, cell.querySelector('title').textContent])"
    )
    names = scores(1).column_names[1:]
    agreements = {frozenset((pair.a, pair.b)): pair.agreement for pair in fm.results.correlations(scores(1))}
    pairs = [(a, b) for a in names for b in names]
    for (a, b), (absent, value, title) in zip(pairs, cells, strict=True):
        expected = 1.0 if a == b else agreements.get(frozenset((a, b)), np.nan)
        assert title.startswith(f"{a}, {b}: ")
        assert absent == np.isnan(expected)
        if not absent:
            assert float(value) == pytest.approx(expected, rel=1e-5)
    assert sum(absent for absent, *_ in cells) == 2 * (len(names) - 1)


def test_lines_have_the_means_and_a_gap_where_there_is_none(driver, page):
    driver.get(f"{page.as_uri()}#page=retrieval")
    drawn(driver, "#retrieval .chart")
    marks = "return [...document.querySelectorAll('#retrieval .series-1 circle')].map((mark) => mark.dataset.value)"
    summary = fm.summarize(scores(1))
    means = [summary.metrics[f"ndcg@{k}"].mean for k in (1, 5, 10)]
    assert [float(value) for value in driver.execute_script(marks)] == pytest.approx(means, rel=1e-5)
    path = driver.execute_script(
        "data.charts.push({ name: 'x', x_title: 'k', x: [1, 2, 3, 4], lines: [{ name: 'a', y: [1, null, 2, 3] }] });"
        "const home = document.createElement('div');"
        "home.replaceChildren(...charts.lines(home, data.charts.length - 1));"
        "data.charts.pop(); return home.querySelector('svg.drawn .series path').getAttribute('d')"
    )
    assert [path.count(step) for step in "ML"] == [2, 1]
    assert complaints(driver) == []
