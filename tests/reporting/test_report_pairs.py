"""The rows of any two systems in a real browser: every verdict, cell and segment leads to them."""

from __future__ import annotations

import csv
import io
import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import fastmetrics as fm
from tests.reporting.test_report import HOSTILE
from tests.support.browser import complaints, visible_texts

ROWS = 60
SYSTEMS = ("old", "new", HOSTILE[1], "fourth")
"""The first is the baseline; the third has neither the last row nor the metric jaccard."""
LANGUAGES = ("en", "ru")


def scores(place: int) -> dict[str, list[float]]:
    random = np.random.default_rng(place)
    names = ("token_f1", "hallucination") if place == 2 else ("token_f1", "hallucination", "jaccard")
    return {name: (random.random(ROWS) / 2 + 0.1 * place).round(3).tolist() for name in names}


def run(place: int) -> pa.Table:
    table = pa.table({"id": ids(), "language": [LANGUAGES[at % 2] for at in range(ROWS)], **scores(place)})
    return table.slice(0, ROWS - 1) if place == 2 else table


def ids() -> list[str]:
    return [f"q{at:02}" for at in range(ROWS)]


def texts(place: int) -> pa.Table:
    table = pa.table({"id": ids(), "answer": [f"answer {at} of {place}" for at in range(ROWS)]})
    return table.slice(0, ROWS - 1) if place == 2 else table


@pytest.fixture(scope="module", params=["sample", "all"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pairs") / ("report.html" if request.param == "sample" else "report")
    runs = {SYSTEMS[place]: run(place) for place in (1, 2, 3)}
    fm.report(runs, out, baseline=pa.table(run(0)), by="language", rows=request.param,
              texts=list(map(texts, (1, 2, 3))), baseline_texts=texts(0))  # fmt: skip
    return out if request.param == "sample" else out / "report.html"


def worst(metric: str, before: int, after: int, language: str | None = None) -> list[str]:
    """The ids that both have, the largest loss first."""
    old, new = scores(before)[metric], scores(after)[metric]
    sign = -1 if metric == "hallucination" else 1
    most = ROWS - 1 if 2 in (before, after) else ROWS
    some = [at for at in range(most) if language is None or LANGUAGES[at % 2] == language]
    return [f"q{at:02}" for at in sorted(some, key=lambda at: (sign * round(new[at] - old[at], 6), at))]


def wait_for_rows(driver, expected: list[str]) -> None:
    def first_rows() -> list[str]:
        return [text.split("\n")[0] for text in visible_texts(driver, "#row-table .lines [role=row]")]

    WebDriverWait(driver, 60).until(lambda _: first_rows()[:5] == expected[:5])
    WebDriverWait(driver, 60).until(lambda _: visible_texts(driver, "#row-detail h2") == [expected[0]])


def open_page(driver, page: Path, state: str) -> None:
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#{state}")
    driver.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


def chosen(driver) -> list[str]:
    names = ("metric", "system", "against")
    return [Select(driver.find_element(By.ID, f"row-{name}")).first_selected_option.text for name in names]


@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 3), (1, 2), (2, 3)])
def test_a_line_of_any_pair_opens_its_rows_and_back_and_reload_keep_them(driver, page, before, after):
    open_page(driver, page, "page=comparison")
    baseline = visible_texts(driver, "#comparison h2")[0].partition(" → ")[0]
    names = [baseline, *SYSTEMS[1:]]
    # all differences of the first table are from the baseline
    pair = f"{names[before]} → {names[after]}" if before else f"→ {names[after]}"
    [line] = [
        line
        for line in driver.find_elements(By.CSS_SELECTOR, "#comparison .differences tbody tr")
        if line.find_element(By.CSS_SELECTOR, "td.words").text == pair
        and line.find_element(By.TAG_NAME, "th").text == "hallucination"
    ]
    line.find_element(By.CSS_SELECTOR, "th a").click()
    expected = worst("hallucination", before, after)
    wait_for_rows(driver, expected)
    assert chosen(driver) == ["hallucination", names[after], names[before]]
    at = int(expected[0][1:])
    answers = visible_texts(driver, "#row-detail .beside .text")[:2]
    assert answers == [f"answer {at} of {after}", f"answer {at} of {before}"]
    driver.back()
    assert driver.find_element(By.ID, "comparison").is_displayed()
    driver.forward()
    wait_for_rows(driver, expected)
    driver.refresh()
    wait_for_rows(driver, expected)
    assert complaints(driver) == []


@pytest.mark.parametrize(("before", "after"), [(0, 2), (1, 3)])
def test_a_cell_of_the_heat_map_of_any_pair_opens_its_rows(driver, page, before, after):
    open_page(driver, page, "page=comparison")
    maps = driver.find_elements(By.CSS_SELECTOR, "#comparison details:has(.heat)")
    assert len(maps) == 6
    own = maps[list(itertools.combinations(range(4), 2)).index((before, after))]
    names = [name.text for name in own.find_elements(By.CSS_SELECTOR, "h3 bdi")]
    assert names[1] == SYSTEMS[after]
    assert before == 0 or names[0] == SYSTEMS[before]
    [line] = [line for line in own.find_elements(By.CSS_SELECTOR, "tbody tr") if line.text.startswith("language=ru")]
    line.find_elements(By.CSS_SELECTOR, "td a")[0].click()
    wait_for_rows(driver, worst("token_f1", before, after, "ru"))
    assert chosen(driver)[1:] == names[::-1]
    assert Select(driver.find_element(By.ID, "row-segment")).first_selected_option.text.startswith("language=ru")


def decided(before: str, after: str) -> list[str]:
    """The metrics with a verdict on two of the systems."""
    comparison = fm.compare({SYSTEMS[place]: run(place) for place in range(4)}, by="language", resamples=10_000)
    return [
        pair.metric
        for pair in comparison
        if pair.segment is None and {pair.baseline, pair.other} == {before, after} and comparison.verdict(pair) != "–"
    ]


def test_a_cell_of_the_matrix_and_the_choices_show_a_pair_in_either_order(driver, page):
    open_page(driver, page, "page=comparison")
    [line] = [line for line in driver.find_elements(By.CSS_SELECTOR, "#comparison .matrix tbody tr")
              if line.text.startswith("new")]  # fmt: skip
    heads = visible_texts(driver, "#comparison .matrix thead th")
    line.find_elements(By.CSS_SELECTOR, "td")[heads.index("fourth") - 1].find_element(By.TAG_NAME, "a").click()
    assert chosen(driver)[0] in decided("new", "fourth")
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("token_f1")
    wait_for_rows(driver, worst("token_f1", 3, 1))
    Select(driver.find_element(By.ID, "row-system")).select_by_visible_text(SYSTEMS[2])
    wait_for_rows(driver, worst("token_f1", 3, 2))
    Select(driver.find_element(By.ID, "row-against")).select_by_value("none")
    third = scores(2)["token_f1"]
    wait_for_rows(driver, [f"q{at:02}" for at in sorted(range(ROWS - 1), key=lambda at: (third[at], at))])
    assert not driver.find_element(By.CSS_SELECTOR, "#row-table .before").is_displayed()
    # the third system has no jaccard: its rows are there, without a score
    Select(driver.find_element(By.ID, "row-metric")).select_by_visible_text("jaccard")
    wait_for_rows(driver, ids())
    assert complaints(driver) == []


def test_a_system_without_an_answer_says_so(driver, page):
    open_page(driver, page, f"page=rows&metric=0&row={ROWS - 1}")
    WebDriverWait(driver, 60).until(lambda _: visible_texts(driver, "#row-detail h2") == [ids()[-1]])
    expected = [f"answer {ROWS - 1} of 1", f"answer {ROWS - 1} of 0", "no answer", f"answer {ROWS - 1} of 3"]
    assert visible_texts(driver, "#row-detail .beside p") == expected


def test_rows_of_a_pair_are_downloaded_with_the_scores_of_both(driver, page):
    open_page(driver, page, "page=rows&metric=0&system=3&against=2")
    expected = worst("token_f1", 2, 3)
    wait_for_rows(driver, expected)
    written = driver.execute_async_script(
        "const done = arguments[0]; window.save = save = (blob) => blob.text().then(done);"
        "document.getElementById('row-csv').click()"
    )
    lines = list(csv.DictReader(io.StringIO(written.removeprefix("\ufeff"))))
    at = int(expected[0][1:])
    assert lines[0]["id"] == expected[0]
    assert float(lines[0]["token_f1"]) == scores(3)["token_f1"][at]
    assert float(lines[0][f"token_f1 ({SYSTEMS[2]})"]) == scores(2)["token_f1"][at]


def test_answers_of_all_systems_stand_side_by_side_in_the_colour_of_the_metric(driver, page):
    open_page(driver, page, "page=rows&side=1&metric=0&sort=id")
    lines = "#row-grid .lines [role=row]"
    WebDriverWait(driver, 60).until(lambda _: "answer 1 of 3" in "".join(visible_texts(driver, lines)))
    assert not driver.find_element(By.ID, "row-table").is_displayed()
    first = driver.find_elements(By.CSS_SELECTOR, f"{lines}:first-child [role=gridcell]")
    names = [head.text for head in driver.find_elements(By.CSS_SELECTOR, "#row-grid [role=columnheader]")]
    places = [0, *(SYSTEMS.index(name) for name in names[2:])]
    own = [scores(place)["token_f1"] for place in range(4)]
    for place, cell in zip(places, first[1:], strict=True):
        assert cell.text.endswith(f"· answer 0 of {place}")
        level = math.floor(6 * own[place][0] + 0.5) - 3
        assert cell.get_attribute("class").split()[-1] == f"heat{level}"
    driver.find_elements(By.CSS_SELECTOR, "#row-grid [role=columnheader]")[2].click()
    order = sorted(range(ROWS), key=lambda at: own[1][at])
    WebDriverWait(driver, 60).until(lambda _: visible_texts(driver, lines)[0].startswith(f"q{order[0]:02} · "))
    driver.find_elements(By.CSS_SELECTOR, lines)[1].click()
    WebDriverWait(driver, 60).until(lambda _: visible_texts(driver, "#row-detail h2") == [f"q{order[1]:02}"])
    assert [one["id"] for one in Axe().run(driver)["violations"]] == []
    assert complaints(driver) == []


def test_back_returns_to_the_place_where_the_page_was_left(driver, page):
    open_page(driver, page, "page=comparison")
    link = driver.find_elements(By.CSS_SELECTOR, "#comparison .differences tbody th a")[-1]
    driver.execute_script("arguments[0].scrollIntoView()", link)
    left = driver.execute_script("return scrollY")
    assert left > 300
    driver.execute_script("arguments[0].click()", link)
    WebDriverWait(driver, 60).until(lambda _: driver.find_element(By.ID, "rows").is_displayed())
    assert driver.execute_script("return scrollY") == 0
    driver.back()
    WebDriverWait(driver, 60).until(lambda _: driver.execute_script("return scrollY") == left)
